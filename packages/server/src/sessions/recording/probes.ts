import { createCipheriv } from 'node:crypto'
import type { Probe } from '@pohf/protocol'
import { probeWindows } from '@pohf/protocol/probes'
import type { ProbeTruth } from '@pohf/protocol/telemetry'
import { sha256 } from './chain.ts'
import { encodePng, type Colour } from './png.ts'
import type { ProbeSeed } from './schedule.ts'

/**
 * A pointing probe is a picture of rings on noise, one of which has a gap. The shape marks it, not the colour, and
 * the picture holds no text. Everything is derived from the seed, so a receipt can be rendered again and only the
 * seed is stored.
 */
const width = 320
const height = 200
/** Rings are placed in cells, so that no two touch. */
const grid = { columns: 5, rows: 3 } as const
const ringCount = 7
/** Grain is drawn in blocks of two by two pixels: it looks the same on every screen and compresses well. */
const block = 2
const grainMax = 2
const levels = 16

/** Deterministic bytes from a seed. `use` separates domains. */
const seededBytes = (seed: string, use: string, length: number): Buffer =>
  createCipheriv('aes-256-ctr', sha256(`${use} ${seed}`), Buffer.alloc(16)).update(Buffer.alloc(length))

/** Deterministic numbers in [0, 1) from a seed. */
const seededRandom = (seed: string, use: string, count: number): (() => number) => {
  const bytes = seededBytes(seed, use, 4 * count)
  let at = 0
  return () => {
    if (at >= bytes.length) throw new Error(`more than ${count} seeded numbers were drawn for ${use}`)
    at += 4
    return bytes.readUInt32BE(at - 4) / 2 ** 32
  }
}
const between = (draw: () => number, min: number, max: number): number => min + draw() * (max - min)

const shuffled = <T>(items: readonly T[], draw: () => number): T[] => {
  const list = [...items]
  for (let last = list.length - 1; last > 0; last--) {
    const other = Math.floor(draw() * (last + 1))
    const [a, b] = [list[last], list[other]]
    if (a !== undefined && b !== undefined) [list[last], list[other]] = [b, a]
  }
  return list
}

type Ring = {
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

/** The first ring is the target. */
const ringsOf = (seed: string): Ring[] => {
  const draw = seededRandom(seed, 'rings', 256)
  const cells = Array.from({ length: grid.columns * grid.rows }, (_, n) => n)
  const [cellWidth, cellHeight] = [width / grid.columns, height / grid.rows]
  return shuffled(cells, draw)
    .slice(0, ringCount)
    .map((cell, index) => ({
      x: ((cell % grid.columns) + 0.5) * cellWidth + between(draw, -4, 4),
      y: (Math.floor(cell / grid.columns) + 0.5) * cellHeight + between(draw, -5, 5),
      radius: between(draw, 17, 21),
      stroke: between(draw, 5.5, 8),
      squash: between(draw, 0.84, 1),
      tilt: between(draw, 0, Math.PI),
      ink: between(draw, 11, 15),
      gap: index === 0 ? between(draw, 1.35, 1.75) : 0,
      gapAt: between(draw, 0, 2 * Math.PI),
    }))
}

const hitMargin = 4
const radiusMin = 22

const expectedPointOf = (id: string, seed: string): ProbeTruth => {
  const [target] = ringsOf(seed)
  if (!target) throw new Error(`no target ring for probe ${id}`)
  return {
    id,
    kind: 'point',
    x: Math.round(target.x),
    y: Math.round(target.y),
    radius: Math.max(radiusMin, Math.round(target.radius + target.stroke / 2 + hitMargin)),
    ...probeWindows.point,
  }
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

/** Faint lines, so that a ring is not simply what is darker. */
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

export const renderPointProbe = (seed: string): Buffer => {
  const draw = seededRandom(seed, 'paint', 256)
  const palette = paletteOf(draw)
  const pixels = backgroundOf(seed)
  paintLines(pixels, draw)
  for (const ring of ringsOf(seed)) paintRing(pixels, ring)
  return encodePng({ width, height, palette, pixels })
}

/** Short words that are easy to read, hear and distinguish; the same order and number in each language. */
const vocabularies = {
  en: {
    ask: (word: string) => `Choose the word “${word}”.`,
    words:
      'apple bread chair cloud dance eagle flame glass green horse house juice knife lemon light metal mouse music night ocean paper piano plant queen river rough sheep shirt smile snake stone sugar table tiger train uncle water wheel winter yellow',
  },
  de: {
    ask: (word: string) => `Wählen Sie das Wort „${word}“.`,
    words:
      'Apfel Brot Stuhl Wolke Tanz Adler Flamme Glas grün Pferd Haus Saft Messer Zitrone Licht Metall Maus Musik Nacht Meer Papier Klavier Pflanze Königin Fluss rau Schaf Hemd Lächeln Schlange Stein Zucker Tisch Tiger Zug Onkel Wasser Rad Winter gelb',
  },
} as const
export type Language = keyof typeof vocabularies
const wordCount = vocabularies.en.words.split(' ').length
const choiceCount = 4

/** The language of word probes: the requested one when supported, else English. */
export const probeLanguageOf = (tag: string | undefined): Language =>
  tag?.slice(0, 2).toLowerCase() === 'de' ? 'de' : 'en'

/** The indexes of the words, and which is right: the same in every language. */
const choiceOf = (seed: string) => {
  const draw = seededRandom(seed, 'words', 64)
  const numbers = shuffled(
    Array.from({ length: wordCount }, (_, n) => n),
    draw,
  ).slice(0, choiceCount)
  return { numbers, choice: Math.floor(draw() * choiceCount) }
}

/** Does not reveal the seed. */
const probeIdOf = (seed: string): string => sha256(`id ${seed}`).toString('base64url').slice(0, 16)

/** The right answer. Never sent before the person has answered. */
export const expectedAnswerOf = ({ kind, seed }: ProbeSeed): ProbeTruth =>
  kind === 'point'
    ? expectedPointOf(probeIdOf(seed), seed)
    : { id: probeIdOf(seed), kind, choice: choiceOf(seed).choice, ...probeWindows.choose }

/** The probe as the page receives it. */
export const renderProbe = ({ kind, seed }: ProbeSeed, language: Language = 'en'): Probe => {
  const id = probeIdOf(seed)
  if (kind === 'choose') {
    const { ask, words } = vocabularies[language]
    const { numbers, choice } = choiceOf(seed)
    const choices = numbers.map((n) => words.split(' ')[n] ?? '')
    return { id, kind, say: ask(choices[choice] ?? ''), choices, windowMs: probeWindows.choose.toMs }
  }
  const image = `data:image/png;base64,${renderPointProbe(seed).toString('base64')}`
  return { id, kind, image, width, height, windowMs: probeWindows.point.toMs }
}
