// Looks at a pointing probe: several rings, one of them open. A ring is what stands out from the paper; it is open when
// the paper outside runs into its middle. Needs no training, no library and a few milliseconds.
import type { Point } from '../generators/types.ts'
import type { GreyImage } from './png.ts'

/** Of the way from paper to the strongest ink. Fainter than this are grain and stray lines. */
const inkShare = 0.55
/** Of all pixels, the strongest: a pointer's black or white says nothing about the ink. Rings cover about a twelfth. */
const strayShare = 0.01
/** Steps of brightness; below that a picture shows nothing. */
const contrastMin = 40
/** Smaller things are no rings. */
const pixelsMin = 120
/** Of the picture's width. Rings span 0.11 and more; the pointer, which the screen shows too, spans less than this. */
const spanMin = 0.09
/** A picture shows seven; fewer than this is no picture yet, only the pointer over an empty dialog. */
const ringsMin = 4
/** No ring comes so near to the edge; what is seen there may belong to what lies around the picture. */
const margin = 2

type Field = {
  readonly image: GreyImage
  readonly isOpen: (at: number) => boolean
  /** Pixels reached so far; what is marked is not entered again. */
  readonly seen: Uint8Array
}

/** All pixels that are connected to the start pixels over open neighbours, each once. */
const flood = ({ image: { width, height }, isOpen, seen }: Field, starts: readonly number[]): number[] => {
  const reached = starts.filter((at) => isOpen(at))
  for (const at of reached) seen[at] = 1
  const enter = (at: number) => {
    if (at < 0 || at >= width * height || seen[at] === 1 || !isOpen(at)) return
    seen[at] = 1
    reached.push(at)
  }
  for (let next = 0; next < reached.length; next += 1) {
    const here = reached[next] ?? 0
    if (here % width > 0) enter(here - 1)
    if (here % width < width - 1) enter(here + 1)
    enter(here - width)
    enter(here + width)
  }
  return reached
}

const medianOf = (values: Uint8Array): number => values.toSorted()[values.length >> 1] ?? 0

/** Marks ink. The paper is the median; ink lies to whichever side reaches farther from it. */
const inkOf = ({ width, height, grey }: GreyImage): Uint8Array => {
  const paper = medianOf(grey)
  const strength = grey.map((value, at) => {
    const [x, y] = [at % width, Math.floor(at / width)]
    const isInside = x >= margin && y >= margin && x < width - margin && y < height - margin
    return isInside ? Math.abs(value - paper) : 0
  })
  const far = strength.toSorted()[Math.floor(strength.length * (1 - strayShare))] ?? 0
  return strength.map((value) => (value >= Math.max(contrastMin, far * inkShare) ? 1 : 0))
}

type Shape = { readonly center: Point; readonly pixels: number; readonly hollow: number }

/** The position of the open ring in pixels of the image; undefined where none is found. */
export const findOpenRing = (image: GreyImage): Point | undefined => {
  const { width, height, grey } = image
  const ink = inkOf(image)
  const border = Array.from(grey.keys()).filter((at) => {
    const [x, y] = [at % width, Math.floor(at / width)]
    return x === 0 || y === 0 || x === width - 1 || y === height - 1
  })
  const outside = new Uint8Array(width * height)
  flood({ image, isOpen: (at) => ink[at] === 0, seen: outside }, border)
  const seen = new Uint8Array(width * height)
  const things: Shape[] = []
  const field = { image, isOpen: (at: number) => ink[at] === 1, seen }
  for (let start = 0; start < ink.length; start += 1) {
    if (ink[start] === 0 || seen[start] === 1) continue
    let [left, right, top, bottom, pixels] = [width, 0, height, 0, 0]
    for (const at of flood(field, [start])) {
      pixels += 1
      const [x, y] = [at % width, Math.floor(at / width)]
      ;[left, right] = [Math.min(left, x), Math.max(right, x)]
      ;[top, bottom] = [Math.min(top, y), Math.max(bottom, y)]
    }
    if (pixels < pixelsMin || Math.max(right - left, bottom - top) < spanMin * width) continue
    const center = { x: Math.round((left + right) / 2), y: Math.round((top + bottom) / 2) }
    let hollow = 0
    for (let y = top; y <= bottom; y += 1)
      for (let x = left; x <= right; x += 1)
        if (ink[y * width + x] === 0 && outside[y * width + x] === 0) hollow += 1
    things.push({ center, pixels, hollow })
  }
  if (things.length < ringsMin) return undefined
  // A closed ring keeps its inside to itself; the open one has the least of it.
  return things.toSorted((a, b) => a.hollow / a.pixels - b.hollow / b.pixels)[0]?.center
}
