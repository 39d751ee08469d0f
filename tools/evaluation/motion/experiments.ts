// What might tell a blend of two human strokes from a person: each idea is tried on the blends alone, unseen.
import { correlation, deviation, length, ln, mean } from '../../../packages/scorer/src/arithmetic.ts'
import {
  STROKE_FEATURES,
  strokeFeatures,
  summarise,
  WINDOW_FEATURES,
} from '../../../packages/scorer/src/features.ts'
import { toStrokes, type Stroke } from '../../../packages/scorer/src/index.ts'
import type { Session } from '../data.ts'
import { equalErrorRate } from './metrics.ts'
import { windowsOf, type FeaturedSession, type WindowSummary } from './windows.ts'
import { RECIPE, train } from './train.ts'
import { selectTrainingBots, loadDataset, selectTrainingPeople, testPeople, type Dataset } from './dataset.ts'

export type ExperimentResult = {
  readonly idea: string
  readonly seconds: 3 | 10
  /** Equal error against test people as recorded, on the frame clock, and training people left out in turn. */
  readonly eer: number
  readonly eerReclocked: number
  readonly eerTraining: number
}

/** Four more numbers behind the features of a stroke: log distance, its direction (x, y), signed deflection. */
function withGeometry({ points, ...session }: Session): FeaturedSession {
  const strokes = toStrokes(points).map((stroke) => [...strokeFeatures(stroke), ...geometryOf(stroke)])
  return { ...session, strokes }
}

function geometryOf({ x, y }: Stroke): [number, number, number, number] {
  const right = (x.at(-1) ?? 0) - (x[0] ?? 0)
  const down = (y.at(-1) ?? 0) - (y[0] ?? 0)
  const distance = length(right, down) + 1e-9
  let side = 0
  for (let index = 0; index < x.length; index += 1) {
    side += (((y[index] ?? 0) - (y[0] ?? 0)) * right - ((x[index] ?? 0) - (x[0] ?? 0)) * down) / distance
  }
  return [ln(1 + distance), right / distance, down / distance, side / x.length / distance]
}

const GEOMETRY = STROKE_FEATURES.length
const column = (strokes: FeaturedSession['strokes'], index: number) =>
  strokes.map((stroke) => stroke[index] ?? 0)
const without =
  (names: (name: string) => boolean): WindowSummary =>
  (strokes) =>
    summarise(strokes).filter((_, index) => !names(WINDOW_FEATURES[index] ?? ''))

const TREMOR = /^(tremor|noise)/
const CORRECTIONS = /^(peaks_per_second|second_peak|main_hump|half_width|half_rise|head_time|tail_time)/

const EXPERIMENTS: readonly { readonly idea: string; readonly summary: WindowSummary }[] = [
  { idea: 'the model as it is', summary: summarise },
  { idea: 'without the tremor spectrum', summary: without((name) => TREMOR.test(name)) },
  { idea: 'without correction sub-movements', summary: without((name) => CORRECTIONS.test(name)) },
  { idea: 'without the spread between strokes', summary: without((name) => name.endsWith('.spread')) },
  {
    idea: 'with distance against duration (Fitts) across strokes',
    summary: (strokes) => {
      const distance = column(strokes, GEOMETRY)
      const duration = column(strokes, 0).map((seconds) => ln(0.05 + seconds))
      const fit = correlation(distance, duration)
      return [...summarise(strokes), fit, deviation(duration) * Math.sqrt(Math.max(0, 1 - fit * fit))]
    },
  },
  {
    idea: 'with the likeness of consecutive strokes',
    summary: (strokes) => [
      ...summarise(strokes),
      ...['speed_mean', 'tremor', 'jerk', 'straightness'].map((name) => {
        const values = column(strokes, (STROKE_FEATURES as readonly string[]).indexOf(name))
        return correlation(values.slice(0, -1), values.slice(1))
      }),
    ],
  },
  {
    idea: 'with the side of the curve by direction (the hand pivots)',
    summary: (strokes) => {
      const [x, y, side] = [1, 2, 3].map((offset) => column(strokes, GEOMETRY + offset))
      const by = (weights: readonly number[]) =>
        mean((side ?? []).map((value, index) => value * (weights[index] ?? 0)))
      const turned = (x ?? []).map((value, index) => value * (y?.[index] ?? 0))
      return [...summarise(strokes), mean(side ?? []), by(x ?? []), by(y ?? []), by(turned)]
    },
  },
]

/** Tries every idea against blends; takes about a minute. */
export function runExperiments(folder: string, sessionsPerFamily: number): ExperimentResult[] {
  const world: Dataset = loadDataset(folder, { sessionsPerFamily, variantsPerFamily: 20 }, withGeometry)
  const hidden = world.split.groups.find((group) => group.includes('stroke_morph')) ?? []
  const results: ExperimentResult[] = []
  for (const seconds of [3, 10] as const) {
    for (const { idea, summary } of EXPERIMENTS) {
      const model = train(selectTrainingPeople(world), selectTrainingBots(world, hidden), seconds, {
        ...RECIPE,
        summary,
      })
      const scores = (sessions: readonly FeaturedSession[]) =>
        windowsOf(sessions, seconds, summary).map(({ features }) => model.score(features))
      const bots = scores(world.bots.filter(({ family }) => family === 'stroke_morph'))
      results.push({
        idea,
        seconds,
        eer: equalErrorRate(scores(testPeople(world.people, world.split)), bots),
        eerReclocked: equalErrorRate(scores(testPeople(world.reclockedTestPeople, world.split)), bots),
        eerTraining: equalErrorRate(model.people, bots),
      })
    }
  }
  return results
}
