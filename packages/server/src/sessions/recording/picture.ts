import { createCipheriv } from 'node:crypto'
import { sha256 } from './chain.ts'
import { encodePng, type Colour } from './png.ts'

// Rings and lines on noise, for questions that are answered by looking. Everything is derived from a seed.

export const width = 320
export const height = 200
/** Grain is drawn in blocks of two by two pixels: it looks the same on every screen and compresses well. */
const block = 2
const grainMax = 2
const levels = 16

const strokeInk = 14
const strokeThickness = 3

/** Deterministic bytes from a seed. `use` separates domains. */
const seededBytes = (seed: string, use: string, length: number): Buffer =>
  createCipheriv('aes-256-ctr', sha256(`${use} ${seed}`), Buffer.alloc(16)).update(Buffer.alloc(length))

/** Deterministic numbers in [0, 1) from a seed. */
export const seededRandom = (seed: string, use: string, count: number): (() => number) => {
  const bytes = seededBytes(seed, use, 4 * count)
  let at = 0
  return () => {
    if (at >= bytes.length) throw new Error(`more than ${count} seeded numbers were drawn for ${use}`)
    at += 4
    return bytes.readUInt32BE(at - 4) / 2 ** 32
  }
}
export const between = (draw: () => number, min: number, max: number): number => min + draw() * (max - min)

export const shuffled = <T>(items: readonly T[], draw: () => number): T[] => {
  const list = [...items]
  for (let last = list.length - 1; last > 0; last--) {
    const other = Math.floor(draw() * (last + 1))
    const [a, b] = [list[last], list[other]]
    if (a !== undefined && b !== undefined) [list[last], list[other]] = [b, a]
  }
  return list
}

export type Ring = {
  readonly x: number
  readonly y: number
  readonly radius: number
  readonly stroke: number
  readonly squash: number
  readonly tilt: number
  readonly ink: number
  /** The open angle in radians, 0 for a closed ring. */
  readonly gap: number
  readonly gapAt: number
}

/** Coverage of the pixel by the ring, 0 to 1, with a soft edge of one pixel. */
const makeCover = (ring: Ring): ((px: number, py: number) => number) => {
  const [cos, sin] = [Math.cos(ring.tilt), Math.sin(ring.tilt)]
  return (px, py) => {
    const dx = px - ring.x
    const dy = py - ring.y
    const u = dx * cos + dy * sin
    const v = (dy * cos - dx * sin) / ring.squash
    const inside = ring.stroke / 2 - Math.abs(Math.sqrt(u * u + v * v) - ring.radius)
    if (inside <= -0.5) return 0
    const cover = Math.min(1, inside + 0.5)
    if (ring.gap === 0) return cover
    const turn = Math.atan2(v, u) - ring.gapAt
    const away = Math.abs(Math.atan2(Math.sin(turn), Math.cos(turn))) - ring.gap / 2
    return cover * Math.min(1, Math.max(0, away * ring.radius + 0.5))
  }
}

const paintRing = (pixels: Uint8Array, ring: Ring): void => {
  const coverOf = makeCover(ring)
  const reach = Math.ceil(ring.radius + ring.stroke / 2 + 1)
  const left = Math.max(0, Math.floor(ring.x) - reach)
  const right = Math.min(width - 1, Math.ceil(ring.x) + reach)
  const bottom = Math.min(height - 1, Math.ceil(ring.y) + reach)
  for (let y = Math.max(0, Math.floor(ring.y) - reach); y <= bottom; y++)
    for (let x = left; x <= right; x++) {
      const cover = coverOf(x + 0.5, y + 0.5)
      if (cover === 0) continue
      const at = y * width + x
      const paper = pixels[at] ?? 0
      // The grain shows through the ink.
      pixels[at] = Math.round(paper * (1 - cover) + (ring.ink - Math.min(paper, grainMax)) * cover)
    }
}

/** Faint lines, so that a program cannot find the rings by their dark pixels alone. */
const paintLines = (pixels: Uint8Array, draw: () => number): void => {
  for (let line = 0; line < 9; line++) {
    const [x, y, angle] = [draw() * width, draw() * height, between(draw, 0, Math.PI)]
    const [length, ink] = [between(draw, 40, 140), Math.round(between(draw, 3.5, 6))]
    for (let step = 0; step < length; step += 0.5) {
      const [px, py] = [Math.floor(x + Math.cos(angle) * step), Math.floor(y + Math.sin(angle) * step)]
      if (px < 0 || px >= width - 1 || py < 0 || py >= height) continue
      pixels[py * width + px] = ink
      pixels[py * width + px + 1] = ink
    }
  }
}

/** The background with its grain. */
const backgroundOf = (seed: string): Uint8Array => {
  const columns = width / block
  const grain = seededBytes(seed, 'grain', columns * (height / block))
  const pixels = new Uint8Array(width * height)
  for (let y = 0; y < height; y++) {
    const row = (y >> 1) * columns
    for (let x = 0; x < width; x++) pixels[y * width + x] = (grain[row + (x >> 1)] ?? 0) % (grainMax + 1)
  }
  return pixels
}

/** Sixteen shades from background to ink, slightly tinted; dark on light or light on dark. */
const paletteOf = (draw: () => number): Colour[] => {
  const tint = (base: number): number[] => [0, 1, 2].map(() => base + between(draw, -14, 14))
  const [pale, deep] = [tint(between(draw, 218, 238)), tint(between(draw, 20, 48))]
  const [paper, ink] = draw() < 0.5 ? [pale, deep] : [deep, pale]
  const mix = (channel: number, share: number) =>
    Math.round((paper[channel] ?? 0) * (1 - share) + (ink[channel] ?? 0) * share)
  return Array.from({ length: levels }, (_, level): Colour => {
    const share = level / (levels - 1)
    return [mix(0, share), mix(1, share), mix(2, share)]
  })
}

/** The end points of a line in ink. */
export type Stroke = readonly [x1: number, y1: number, x2: number, y2: number]

/** A line of ink, `thickness` pixels thick. */
const paintStroke = (pixels: Uint8Array, [x1, y1, x2, y2]: Stroke, thickness: number): void => {
  const length = Math.hypot(x2 - x1, y2 - y1)
  for (let step = 0; step <= length; step += 0.5) {
    const [cx, cy] = [x1 + ((x2 - x1) * step) / length, y1 + ((y2 - y1) * step) / length]
    for (let dy = 0; dy < thickness; dy++)
      for (let dx = 0; dx < thickness; dx++) {
        const [px, py] = [Math.round(cx + dx - thickness / 2), Math.round(cy + dy - thickness / 2)]
        if (px >= 0 && px < width && py >= 0 && py < height) pixels[py * width + px] = strokeInk
      }
  }
}

/** A PNG with these rings, and lines of ink over them. */
export const renderPicture = (
  seed: string,
  rings: readonly Ring[],
  strokes: readonly Stroke[] = [],
): Buffer => {
  const draw = seededRandom(seed, 'paint', 256)
  const palette = paletteOf(draw)
  const pixels = backgroundOf(seed)
  paintLines(pixels, draw)
  for (const ring of rings) paintRing(pixels, ring)
  for (const stroke of strokes) paintStroke(pixels, stroke, strokeThickness)
  return encodePng({ width, height, palette, pixels })
}
