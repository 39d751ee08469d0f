// The model as its file holds it: the fitted numbers, what they rest on, and the card of their error rates.
import { WINDOW_FEATURES, WINDOW_SECONDS } from '../../../packages/scorer/src/features.ts'
import type { MotionModel, WindowModel } from '../../../packages/scorer/src/model.ts'
import type { Evaluation } from './evaluate.ts'
import { fitLogistic, LEVELS, quantile } from './fit.ts'
import { assertNoLeak } from './split.ts'
import { RECIPE, train, type TrainedModel } from './train.ts'
import { selectTrainingBots, selectTrainingPeople, testPeople, type Dataset } from './dataset.ts'

export const VERSION = 'input-2026.11'

/** Six digits: far below what any rate can see, and a third of the size. */
const short = (value: number) => Number(value.toPrecision(6))
const shortAll = (values: readonly number[]) => values.map(short)

/** Two numbers that turn a score into a probability: people against unseen bots, every family with the same say. */
function calibrate(model: TrainedModel, unseen: Evaluation['unseen']): WindowModel['calibration'] {
  const rows = [...model.people, ...unseen.flatMap(({ scores }) => scores)].map((score) =>
    Float64Array.of(score),
  )
  const labels = rows.map((_, index) => (index < model.people.length ? 1 : 0))
  const weights = [
    ...model.people.map(() => 1_000 / model.people.length),
    ...unseen.flatMap(({ scores }) => scores.map(() => 1_000 / (unseen.length * scores.length))),
  ]
  const { weights: slopes, bias } = fitLogistic(rows, labels, weights, 1e-3)
  return { slope: short(slopes[0] ?? 0), offset: short(bias) }
}

function fitWindow(world: Dataset, seconds: WindowModel['seconds'], evaluation: Evaluation): WindowModel {
  const model = train(selectTrainingPeople(world), selectTrainingBots(world, []), seconds)
  assertNoLeak(world.split, [], { trainingRows: model.trainingRows, testRows: [] })
  const sorted = model.people.toSorted((left, right) => left - right)
  const shortScale = (scale: WindowModel['logisticScale']) => ({
    median: short(scale.median),
    width: short(scale.width),
  })
  return {
    seconds,
    quantiles: model.parts.quantiles.map(shortAll),
    center: shortAll(model.parts.center),
    covarianceFactor: model.parts.covarianceFactor.map(shortAll),
    weights: shortAll(model.parts.weights),
    bias: short(model.parts.bias),
    logisticScale: shortScale(model.scales.known),
    distanceScale: shortScale(model.scales.distance),
    calibration: calibrate(
      model,
      evaluation.unseen.filter((part) => part.seconds === seconds),
    ),
    onePercentScore: short(quantile(sorted, 0.01)),
  }
}

const units = (sessions: readonly { readonly unit: string }[]) =>
  new Set(sessions.map(({ unit }) => unit)).size

/** Fits every window length. The evaluation gives the calibration its unseen bots, and the card its rates. */
export function buildModel(world: Dataset, evaluation: Evaluation) {
  const model: MotionModel = {
    version: VERSION,
    features: WINDOW_FEATURES,
    levels: shortAll(LEVELS),
    windows: WINDOW_SECONDS.map((seconds) => fitWindow(world, seconds, evaluation)),
  }
  return {
    ...model,
    recipe: {
      ridge: RECIPE.ridge,
      penalty: RECIPE.penalty,
      density: RECIPE.density,
      perFamily: RECIPE.perFamily,
    },
    data: {
      trainingPeople: units(selectTrainingPeople(world)),
      trainingSessions: selectTrainingPeople(world).length / 2,
      testPeople: units(testPeople(world.people, world.split)),
      botSessions: world.bots.length,
      variantSessions: world.variants.length,
      botFamilies: new Set(world.bots.map(({ family }) => family)).size,
    },
    card: evaluation.families.map((result) => ({
      family: result.family,
      seconds: result.seconds,
      peopleWindows: result.peopleWindows,
      botWindows: result.botWindows,
      auc: short(result.auc),
      eer: short(result.eer),
      humansLostAt95: short(result.lostAt95),
      humansLostAt99: short(result.lostAt99),
    })),
  }
}
