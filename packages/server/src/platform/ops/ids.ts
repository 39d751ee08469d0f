import { randomBytes, randomFillSync, randomInt } from 'node:crypto'
import { base32Alphabet, idPrefixes, isId, type IdPrefix } from '@pohf/protocol'
import type { Clock } from './clock.ts'

/** The id of an agent, as every row of the agent has it. */
export type AgentId = `agt_${string}`

/** Five bits of a number from 0 up to 2^50, most significant first. */
const encodeTime = (ms: number): string => {
  let text = ''
  for (let rest = ms, i = 0; i < 10; i++, rest = Math.floor(rest / 32))
    text = base32Alphabet[rest % 32] + text
  return text
}

/** When an id was made, by the clock of the process that made it; 1970 for one without a time. */
export const timeOfId = (prefix: IdPrefix, id: string): Date => {
  if (!isId(prefix, id)) return new Date(0)
  const time = id.slice(prefix.length + 2, prefix.length + 12)
  return new Date(time.split('').reduce((ms, letter) => ms * 32 + base32Alphabet.indexOf(letter), 0))
}

/** Random bytes are read from the system in blocks: one call for each id would cost more than the id. */
const randomPool = Buffer.alloc(8_192)
let poolOffset = randomPool.length
const randomText = (length: number): string => {
  if (poolOffset + length > randomPool.length) {
    randomFillSync(randomPool)
    poolOffset = 0
  }
  let text = ''
  for (const end = poolOffset + length; poolOffset < end; poolOffset++) {
    text += base32Alphabet[randomPool.readUInt8(poolOffset) & 31]
    randomPool[poolOffset] = 0
  }
  return text
}

export type Ids = {
  /** The tag of this cell, which every id, key and token carries. */
  readonly cell: string
  /** A sortable id: prefix, cell tag, 50 bits of milliseconds, then 80 or 130 random bits. */
  make(prefix: IdPrefix): string
  /**
   * 256 random bits as base64url: salts, secrets, and nonces that a client sends together with an id or a key. Tokens that a
   * client sends without either are made in tokens.ts, with the cell tag.
   */
  random(): string
  /** Uniform in [0, 1): jitter for delays, so that retries do not coincide. */
  randomFraction(): number
}

export const makeIds = (cell: string, clock: Clock): Ids => ({
  cell,
  make: (prefix) => {
    const time = encodeTime(clock.now().getTime())
    return `${prefix}${cell}${time}${randomText(idPrefixes[prefix].long ? 26 : 16)}`
  },
  random: () => randomBytes(32).toString('base64url'),
  randomFraction: () => randomInt(2 ** 32) / 2 ** 32,
})
