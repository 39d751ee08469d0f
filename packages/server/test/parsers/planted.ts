import type { Target } from './target.ts'

const seeds = [{ text: Buffer.from('a parser that is wrong, and a checksum: 7') }]
/** Refuses what does not end like the seed. */
const isBelieved = (text: Buffer): boolean => text.at(-1) === seeds[0]?.text.at(-1)
const make = (name: string, run: Target['run']): Target => ({ name, forms: { text: 'bytes' }, seeds, run })

/** Targets with a fault each, and one without: what the battery must tell apart. */
export const targets = async (): Promise<readonly Target[]> => [
  make('crash', ({ text = Buffer.alloc(0) }) => {
    if (text.length > 60) text.readUInt8(text.length)
    return text.equals(seeds[0]?.text ?? text) ? 'equal' : 'refused'
  }),
  make('accepted', ({ text = Buffer.alloc(0) }, seed) => {
    if (!isBelieved(text)) return 'refused'
    return seed['text']?.equals(text) === true ? 'equal' : 'accepted'
  }),
  make('hang', ({ text = Buffer.alloc(0) }, seed) => {
    for (let round = 0; text.length === 3;) round += 1
    return seed['text']?.equals(text) === true ? 'equal' : 'refused'
  }),
  make('good', ({ text = Buffer.alloc(0) }, seed) =>
    seed['text']?.equals(text) === true ? 'equal' : 'refused',
  ),
]
