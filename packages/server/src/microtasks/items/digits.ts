import {
  between,
  height,
  renderPicture,
  seededRandom,
  shuffled,
  width,
  type Ring,
  type Stroke,
} from '../../sessions/index.ts'

// A picture of eight rings with a digit in each, on noise. Some rings have a gap. The answer is the digits in the rings with
// a gap, or the digits in the rings without one, in reading order: five digits, so that a guess is right once in 100,000.

const grid = { columns: 4, rows: 2 } as const
const cellCount = grid.columns * grid.rows
/** How many digits an answer has. */
const answerDigits = 5

/** The lines of each digit, as on a display of seven segments: a is the top one, then clockwise, g the middle one. */
const segmentsOf = ['abcdef', 'bc', 'abged', 'abgcd', 'fgbc', 'afgcd', 'afgecd', 'abc', 'abcdefg', 'abcdfg']
const lineOf: Readonly<Record<string, Stroke>> = {
  a: [-1, -1, 1, -1],
  b: [1, -1, 1, 0],
  c: [1, 0, 1, 1],
  d: [-1, 1, 1, 1],
  e: [-1, 0, -1, 1],
  f: [-1, -1, -1, 0],
  g: [-1, 0, 1, 0],
}
const digitSize = { x: 7, y: 12 } as const

type Cell = { readonly digit: number; readonly isOpen: boolean }

/** The digits with their rings, in reading order. Exactly five are of the asked sort. */
const cellsOf = (seed: string, asksOpen: boolean): Cell[] => {
  const draw = seededRandom(seed, 'digits', 64)
  const asked = new Set(
    shuffled(
      Array.from({ length: cellCount }, (_, n) => n),
      draw,
    ).slice(0, answerDigits),
  )
  return Array.from({ length: cellCount }, (_, cell) => ({
    digit: Math.floor(draw() * 10),
    isOpen: asked.has(cell) === asksOpen,
  }))
}

type DigitPosition = { readonly x: number; readonly y: number; readonly lean: number }
/** A point of a digit in the picture. */
const pointOf = ({ x, y, lean }: DigitPosition, px: number, py: number) =>
  [x + px * digitSize.x - py * lean, y + py * digitSize.y] as const
const digitStrokes = (digit: number, place: DigitPosition): Stroke[] =>
  (segmentsOf[digit] ?? '').split('').flatMap((segment) => {
    const line = lineOf[segment]
    if (!line) return []
    const [x1, y1, x2, y2] = line
    return [[...pointOf(place, x1, y1), ...pointOf(place, x2, y2)] as const]
  })

/** The right answer of the picture. */
export const digitsOf = (seed: string, asksOpen: boolean): string =>
  cellsOf(seed, asksOpen)
    .filter(({ isOpen }) => isOpen === asksOpen)
    .map(({ digit }) => digit)
    .join('')

/** The picture as a PNG. */
export const renderDigits = (seed: string, asksOpen: boolean): Buffer => {
  const draw = seededRandom(seed, 'places', 256)
  const placed = cellsOf(seed, asksOpen).map((cell, index) => {
    const ring: Ring = {
      x: ((index % grid.columns) + 0.5) * (width / grid.columns) + between(draw, -4, 4),
      y: (Math.floor(index / grid.columns) + 0.5) * (height / grid.rows) + between(draw, -9, 9),
      radius: between(draw, 26, 30),
      stroke: between(draw, 5, 7),
      squash: between(draw, 0.88, 1),
      tilt: between(draw, 0, Math.PI),
      ink: between(draw, 9, 13),
      gap: cell.isOpen ? between(draw, 1.2, 1.6) : 0,
      gapAt: between(draw, 0, 2 * Math.PI),
    }
    return { ring, strokes: digitStrokes(cell.digit, { x: ring.x, y: ring.y, lean: between(draw, -3, 3) }) }
  })
  return renderPicture(
    seed,
    placed.map(({ ring }) => ring),
    placed.flatMap(({ strokes }) => strokes),
  )
}
