/** A text as a reader takes it in: one form for each letter, without characters that are not seen. */
export type TextView = {
  readonly original: string
  readonly text: string
  /** Where a position of the view is in the original. */
  readonly positionOf: (index: number) => number
}

/** From the start of a match to its end, in the original text. */
export type Span = readonly [start: number, end: number]

const ignorable = /\p{Default_Ignorable_Code_Point}/gu
/** Accents and strokes above and below Latin letters. Marks that belong to one script are letters of their own. */
const accents = /(?=\p{Script=Inherited})\p{M}/gu

const pairs = (from: string, to: string): [string, string][] =>
  Array.from(from, (letter, index) => [letter, to[index] ?? letter])
/** Letters of other scripts that look like Latin ones, and dots that NFKC keeps apart. */
const lookAlikes = new Map([
  ...pairs('авеикмнорстухѕіјԛԁһґ', 'abeukmhopctyxsijqdhr'),
  ...pairs('αβεικνορτυχγ', 'abeikvoptuxy'),
  ...pairs('。۔·∙⋅•・‧․﹒．', '...........'),
])

const readCharacter = (character: string): string => {
  const plain = character.normalize('NFKD').replaceAll(ignorable, '').replaceAll(accents, '').toLowerCase()
  return Array.from(plain, (one) => lookAlikes.get(one) ?? one).join('')
}

/** Character by character, so that each position of the view leads back to the original. */
export const viewOf = (original: string): TextView => {
  const positions: number[] = []
  let text = ''
  let position = 0
  for (const character of original) {
    const read = readCharacter(character)
    for (let index = 0; index < read.length; index += 1) positions.push(position)
    text += read
    position += character.length
  }
  return { original, text, positionOf: (index) => positions[index] ?? original.length }
}
