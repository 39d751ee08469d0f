// Leaves out one group of families at a time and tests it with models that were not trained with it, nor with the people.
import { WINDOW_SECONDS, type WindowSeconds } from '../../../packages/scorer/src/features.ts'
import { createRandom } from '../../../packages/arena/src/index.ts'
import { auc, equalErrorRate, falseRejectionRate, shareAtOrBelow } from './metrics.ts'
import { windowsOf, type FeatureWindow } from './windows.ts'
import { assertNoLeak } from './split.ts'
import { train, type TrainedModel } from './train.ts'
import { selectTrainingBots, selectTrainingPeople, testPeople, type Dataset } from './dataset.ts'

export type Rates = {
  readonly auc: number
  readonly eer: number
  readonly lostAt95: number
  readonly lostAt99: number
}
type Interval = readonly [number, number]
export type FamilyResult = Rates & {
  readonly family: string
  readonly seconds: WindowSeconds
  readonly peopleWindows: number
  readonly botWindows: number
  readonly botSessions: number
  /** 95 % by drawing users and sessions anew. */
  readonly intervals: { readonly eer: Interval; readonly lostAt95: Interval; readonly lostAt99: Interval }
  /** The same bots against the same people on the frame clock of the bots. */
  readonly reclocked: Rates
  /** Share of bot windows that pass where 1 % of people are lost. */
  readonly passAt1: number
  /** Bots passed and people lost, threshold by threshold. */
  readonly curve: readonly CurvePoint[]
}
type CurvePoint = { readonly passed: number; readonly lost: number }
type RecordedBotResult = {
  readonly family: string
  readonly seconds: WindowSeconds
  readonly windows: number
  readonly rejectedAt5: number
  readonly rejectedAt1: number
}
export type Evaluation = {
  readonly families: readonly FamilyResult[]
  readonly captured: readonly RecordedBotResult[]
  /** Scores of bots by models that never saw them, for the calibration. */
  readonly unseen: readonly {
    readonly family: string
    readonly seconds: WindowSeconds
    readonly scores: readonly number[]
  }[]
}

/** Fewer windows than this make no rate. */
const WINDOWS_MIN = 20
const BOOTSTRAP_DRAWS = 200
/** Made of human strokes. Motion alone is not expected to stop them. */
export const HUMAN_DERIVED: readonly string[] = ['stroke_replay', 'stroke_morph']

type ScoredWindow = { readonly unit: string; readonly score: number }

function ratesOf(people: readonly number[], bots: readonly number[]): Rates {
  return {
    auc: auc(people, bots),
    eer: equalErrorRate(people, bots),
    lostAt95: falseRejectionRate(people, bots, 0.95),
    lostAt99: falseRejectionRate(people, bots, 0.99),
  }
}

function byUnit(scored: readonly ScoredWindow[]): number[][] {
  const units = new Map<string, number[]>()
  for (const { unit, score } of scored) units.set(unit, [...(units.get(unit) ?? []), score])
  return [...units.values()]
}

function intervalsOf(
  people: readonly ScoredWindow[],
  bots: readonly ScoredWindow[],
  seed: number,
): FamilyResult['intervals'] {
  const random = createRandom(seed)
  const draw = (units: readonly number[][]) =>
    Array.from({ length: units.length }, () => units[Math.floor(random() * units.length)] ?? []).flat()
  const peopleUnits = byUnit(people)
  const botUnits = byUnit(bots)
  const drawn = Array.from({ length: BOOTSTRAP_DRAWS }, () => ratesOf(draw(peopleUnits), draw(botUnits)))
  const between = (rate: (rates: Rates) => number): Interval => {
    const sorted = drawn.map(rate).toSorted((left, right) => left - right)
    return [
      sorted[Math.floor(BOOTSTRAP_DRAWS * 0.025)] ?? 0,
      sorted[Math.ceil(BOOTSTRAP_DRAWS * 0.975) - 1] ?? 1,
    ]
  }
  return {
    eer: between(({ eer }) => eer),
    lostAt95: between(({ lostAt95 }) => lostAt95),
    lostAt99: between(({ lostAt99 }) => lostAt99),
  }
}

const scoresOf = (rows: readonly FeatureWindow[], model: TrainedModel): ScoredWindow[] =>
  rows.map(({ unit, features }) => ({ unit, score: model.score(features) }))
const scoreValues = (scored: readonly ScoredWindow[]) => scored.map(({ score }) => score)

/** Tests one hidden group at one window length. */
function evaluateGroup(world: Dataset, hidden: readonly string[], seconds: WindowSeconds): Evaluation {
  const model = train(selectTrainingPeople(world), selectTrainingBots(world, hidden), seconds)
  const peopleRows = windowsOf(testPeople(world.people, world.split), seconds)
  const reclockedRows = windowsOf(testPeople(world.reclockedTestPeople, world.split), seconds)
  const botRows = windowsOf(
    world.bots.filter(({ family }) => hidden.includes(family)),
    seconds,
  )
  const capturedRows = windowsOf(
    world.captured.filter(({ family }) => hidden.includes(family)),
    seconds,
  )
  assertNoLeak(world.split, hidden, {
    trainingRows: model.trainingRows,
    testRows: [...peopleRows, ...reclockedRows, ...botRows, ...capturedRows],
  })
  const people = scoresOf(peopleRows, model)
  const reclocked = scoreValues(scoresOf(reclockedRows, model))
  const families: FamilyResult[] = []
  const captured: RecordedBotResult[] = []
  const unseen: { family: string; seconds: WindowSeconds; scores: number[] }[] = []
  const of = (rows: readonly FeatureWindow[], family: string) =>
    scoresOf(
      rows.filter((row) => row.family === family),
      model,
    )
  for (const family of hidden) {
    const real = scoreValues(of(capturedRows, family))
    if (real.length > 0) {
      captured.push({
        family,
        seconds,
        windows: real.length,
        rejectedAt5: shareAtOrBelow(real, scoreAtShare(scoreValues(people), 0.05)),
        rejectedAt1: shareAtOrBelow(real, scoreAtShare(scoreValues(people), 0.01)),
      })
    }
    const bots = of(botRows, family)
    if (bots.length < WINDOWS_MIN) continue
    unseen.push({ family, seconds, scores: scoreValues(bots) })
    families.push({
      family,
      seconds,
      peopleWindows: people.length,
      botWindows: bots.length,
      botSessions: byUnit(bots).length,
      ...ratesOf(scoreValues(people), scoreValues(bots)),
      intervals: intervalsOf(people, bots, 31 * seconds + family.length),
      reclocked: ratesOf(reclocked, scoreValues(bots)),
      passAt1: 1 - shareAtOrBelow(scoreValues(bots), scoreAtShare(scoreValues(people), 0.01)),
      curve: curveOf(scoreValues(people), scoreValues(bots)),
    })
  }
  return { families, captured, unseen }
}

function curveOf(people: readonly number[], bots: readonly number[]): CurvePoint[] {
  return Array.from({ length: 41 }, (_, step) => {
    const limit = scoreAtShare(people, 10 ** (-3 + (3 * step) / 40))
    return { passed: 1 - shareAtOrBelow(bots, limit), lost: shareAtOrBelow(people, limit) }
  })
}

/** The score at or below which this share of people lies. */
function scoreAtShare(people: readonly number[], share: number): number {
  const sorted = people.toSorted((left, right) => left - right)
  return sorted[Math.max(0, Math.floor(share * sorted.length) - 1)] ?? -Infinity
}

export function evaluate(
  world: Dataset,
  note: (text: string) => void,
  lengths: readonly WindowSeconds[] = WINDOW_SECONDS,
): Evaluation {
  const families: FamilyResult[] = []
  const captured: RecordedBotResult[] = []
  const unseen: Evaluation['unseen'][number][] = []
  for (const seconds of lengths) {
    for (const hidden of world.split.groups) {
      if (!world.bots.some(({ family }) => hidden.includes(family))) continue
      note(`judging ${hidden.join(', ')} on ${seconds} s, unseen`)
      const part = evaluateGroup(world, hidden, seconds)
      families.push(...part.families)
      captured.push(...part.captured)
      unseen.push(...part.unseen)
    }
  }
  return { families, captured, unseen }
}
