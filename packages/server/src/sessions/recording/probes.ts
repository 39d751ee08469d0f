import type { Probe } from '@pohf/protocol'
import { probeWindows } from '@pohf/protocol/probes'
import type { ProbeTruth } from '@pohf/protocol/telemetry'
import { sha256 } from './chain.ts'
import { between, height, renderPicture, seededRandom, shuffled, width, type Ring } from './picture.ts'
import type { ProbeSeed } from './schedule.ts'

/**
 * A pointing probe is a picture of rings on noise, one of which has a gap. The shape marks it, not the colour, and
 * the picture holds no text. Everything is derived from the seed, so a receipt can be rendered again and only the
 * seed is stored.
 */

/** Rings are placed in cells, so that no two touch. */
const grid = { columns: 5, rows: 3 } as const
const ringCount = 7

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

export const renderPointProbe = (seed: string): Buffer => renderPicture(seed, ringsOf(seed))

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
