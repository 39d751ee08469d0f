import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import stored from '../src/models/input-2026.11.json' with { type: 'json' }
import { mean } from '../src/arithmetic.ts'
import { currentModel } from '../src/current-model.ts'
import {
  STROKE_FEATURES,
  strokeFeatures,
  toWindows,
  WINDOW_FEATURES,
  WINDOW_SECONDS,
} from '../src/features.ts'
import { evaluateMotion, toStrokes } from '../src/index.ts'
import { combine, distanceScore, humanProbability, normalise, windowScore } from '../src/model.ts'
import { straightRecording, wobblyRecording } from './traces.ts'

const rising = (values: readonly number[]) =>
  values.every((value, index) => index === 0 || value >= (values[index - 1] ?? 0))

test('the stored model has every number that it needs, and fits the features of this code', () => {
  assert.match(currentModel.version, /^input-\d{4}\.\d{2}$/)
  assert.deepEqual(currentModel.features, WINDOW_FEATURES)
  assert.deepEqual(
    currentModel.windows.map(({ seconds }) => seconds),
    [...WINDOW_SECONDS],
  )
  const size = WINDOW_FEATURES.length
  assert.ok(rising(currentModel.levels))
  for (const window of currentModel.windows) {
    assert.equal(window.quantiles.length, size)
    assert.equal(window.center.length, size)
    assert.equal(window.weights.length, size)
    assert.equal(window.covarianceFactor.length, size)
    for (const knots of window.quantiles) {
      assert.equal(knots.length, currentModel.levels.length)
      assert.ok(knots.every(Number.isFinite) && rising(knots))
    }
    for (const [row, line] of window.covarianceFactor.entries()) {
      assert.equal(line.length, row + 1)
      assert.ok(line.every(Number.isFinite) && (line.at(-1) ?? 0) > 0)
    }
    assert.ok(
      [...window.weights, ...window.center, window.bias, window.onePercentScore].every(Number.isFinite),
    )
    assert.ok(
      window.logisticScale.width > 0 && window.distanceScale.width > 0 && window.calibration.slope > 0,
    )
  }
})

test('the card of the stored model has a rate for every family, and says how many windows it rests on', () => {
  const families = new Set(stored.card.map(({ family }) => family))
  assert.ok(families.size >= 10, `only ${families.size} families`)
  for (const row of stored.card) {
    assert.ok(row.peopleWindows > 50 && row.botWindows >= 20, `${row.family} rests on too little`)
    for (const rate of [row.auc, row.eer, row.humansLostAt95, row.humansLostAt99])
      assert.ok(rate >= 0 && rate <= 1)
    assert.ok(row.humansLostAt95 <= row.humansLostAt99)
  }
  assert.equal(stored.data.trainingPeople + stored.data.testPeople, 100)
})

test('normalising keeps the order, and a value far outside counts only so much', () => {
  const levels = [-2, -1, 0, 1, 2]
  const knots = [0, 0, 0, 4, 9]
  assert.equal(normalise(0, knots, levels), -1, 'the middle of the run of zeros')
  assert.equal(normalise(4, knots, levels), 1)
  assert.equal(normalise(1e9, knots, levels), 5)
  assert.equal(normalise(-1e9, knots, levels), -5)
  const value = fc.double({ min: -50, max: 50, noNaN: true })
  fc.assert(
    fc.property(value, value, (left, right) => {
      const [low, high] = [Math.min(left, right), Math.max(left, right)]
      assert.ok(normalise(low, knots, levels) <= normalise(high, knots, levels) + 1e-12)
    }),
  )
})

test('the distance score is highest at the centre and falls away from it', () => {
  const factor = [[1], [0.5, 1]]
  const score = (step: number) => distanceScore([step, -step], [0, 0], factor)
  assert.ok(score(0) === 0)
  assert.ok(score(1) < score(0) && score(2) < score(1) && score(-2) < score(-1))
})

test('a very human value on one side does not make up for a low one on the other', () => {
  const scales = { logisticScale: { median: 0, width: 1 }, distanceScale: { median: 0, width: 1 } }
  assert.equal(combine(100, -5, scales), combine(1, -5, scales))
  assert.ok(combine(100, -5, scales) < combine(0, 0, scales))
})

test('the probability rises with the score', () => {
  const [window] = currentModel.windows
  assert.ok(window)
  const score = fc.double({ min: -40, max: 2, noNaN: true })
  fc.assert(
    fc.property(score, score, (left, right) => {
      const [low, high] = [Math.min(left, right), Math.max(left, right)]
      assert.ok(humanProbability(low, window) <= humanProbability(high, window))
    }),
  )
})

test('without a second of motion there is no probability and no flag', () => {
  const nothing = { motionSeconds: 0, strokes: 0, p: null, synthetic: false }
  assert.deepEqual(evaluateMotion([], currentModel), nothing)
  assert.deepEqual(evaluateMotion([{ t: 0, x: 1, y: 1, type: 'down' }], currentModel), nothing)
  const short = evaluateMotion(straightRecording(1), currentModel)
  assert.ok(short.motionSeconds > 0 && short.motionSeconds < 1)
  assert.equal(short.p, null)
})

test('straight lines at one speed are flagged from three seconds on, and not before', () => {
  const two = evaluateMotion(straightRecording(3), currentModel)
  assert.ok(two.motionSeconds > 1 && two.motionSeconds < 3)
  assert.ok((two.p ?? 1) < 0.01)
  assert.equal(two.synthetic, false)
  const long = evaluateMotion(straightRecording(20), currentModel)
  assert.ok(long.motionSeconds > 10)
  assert.ok((long.p ?? 1) < 0.01)
  assert.equal(long.synthetic, true)
})

test('a recording is evaluated by the longest window that it fills', () => {
  const points = wobblyRecording(21, 30)
  const evaluation = evaluateMotion(points, currentModel)
  assert.ok(evaluation.motionSeconds > 10)
  const strokes = toStrokes(points).map(strokeFeatures)
  const longest = currentModel.windows.find(({ seconds }) => seconds === 10)
  assert.ok(longest)
  const scores = toWindows(strokes, 10).map((row) => windowScore(row, longest, currentModel.levels))
  assert.ok(scores.length > 0)
  assert.equal(evaluation.p, humanProbability(mean(scores), longest))
  assert.equal(evaluation.strokes, strokes.length)
})

// A change here changes what every stored session is worth when it is computed again: give the model a new version.
const GOLDEN_FEATURES: readonly number[] = [
  0.6166666666666667, 8.057263354214788, 0.3031106489879007, 1.549906717733387, 0.23218432788624077,
  -0.23081470897785494,
]

const GOLDEN_JUDGEMENT = {
  motionSeconds: 5.8999999999999995,
  strokes: 11,
  p: 0.000012692592964124074,
  synthetic: true,
}

test('the same points give the same bits, twice and today as on the day these were written down', () => {
  const points = wobblyRecording(1, 12)
  assert.deepEqual(evaluateMotion(points, currentModel), evaluateMotion(points, currentModel))
  assert.deepEqual(evaluateMotion(points, currentModel), GOLDEN_JUDGEMENT)
  const [stroke = []] = toStrokes(points).map(strokeFeatures)
  assert.deepEqual(
    ['seconds', 'jerk', 'turn_spread', 'direction_entropy', 'tremor', 'power_slope'].map(
      (name) => stroke[(STROKE_FEATURES as readonly string[]).indexOf(name)],
    ),
    GOLDEN_FEATURES,
  )
})
