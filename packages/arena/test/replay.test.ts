import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createReplayIndex,
  describeStroke,
  isReplay,
  type ReplayDescriptor,
  replayMatchesNeeded,
  replayModel,
  strokeDistance,
} from '@pohf/scorer'
import { createRandom, disguise, type TimedPoint, uniform } from '../src/index.ts'

/** As varied as people's strokes are, which no single family of bots is: those resemble one another too much. */
const stroke = (seed: number): TimedPoint[] => {
  const random = createRandom(seed)
  const bends = Array.from({ length: 4 }, () => uniform(random, -120, 120))
  const haste = Array.from({ length: 4 }, (_, term) => uniform(random, -0.2, 0.2) / (term + 1))
  const [width, durationMs] = [uniform(random, 500, 1_200), uniform(random, 500, 1_500)]
  const count = Math.round(durationMs / 16)
  return Array.from({ length: count + 1 }, (_, index) => {
    const s = index / count
    const waves = (sizes: readonly number[]) =>
      sizes.reduce((sum, size, term) => sum + size * Math.sin((term + 1) * Math.PI * s), 0)
    return { t: durationMs * (s + waves(haste) / 8), x: Math.round(width * s), y: Math.round(waves(bends)) }
  })
}

const describe = (run: readonly TimedPoint[]): ReplayDescriptor => {
  const descriptor = describeStroke(run, replayModel)
  assert.ok(descriptor)
  return descriptor
}

const informative = (from: number, count: number): TimedPoint[][] => {
  const found: TimedPoint[][] = []
  for (let seed = from; found.length < count; seed += 1)
    if (describeStroke(stroke(seed), replayModel)) found.push(stroke(seed))
  return found
}

test('moving, turning, enlarging or slowing a stroke leaves its description alone', () => {
  for (const run of informative(0, 50)) {
    // The ruler is in pixels: beyond 6 px a step it reads every point, before and after.
    const long = run.map(({ t, x, y }) => ({ t, x: x * 40, y: y * 40 }))
    const [cos, sin] = [Math.cos(1) * 1.25, Math.sin(1) * 1.25]
    const turned = long.map(({ t, x, y }) => ({
      t: 1_000 + t * 2,
      x: 300 + x * cos - y * sin,
      y: x * sin + y * cos,
    }))
    const [left, right] = [describeStroke(long, replayModel), describeStroke(turned, replayModel)]
    assert.equal(left === undefined, right === undefined)
    if (left && right) assert.ok(strokeDistance(left, right) < 0.3, `${strokeDistance(left, right)}`)
  }
})

test('a session of disguised strokes is found, and a session of new ones is not', () => {
  const known = informative(0, 400)
  const index = createReplayIndex(replayModel)
  for (const run of known) index.add(describe(run))
  assert.equal(index.size, 400)
  const random = createRandom(5)
  const count = (runs: readonly (readonly TimedPoint[])[]) => {
    const asked = runs.flatMap((run) => describeStroke(run, replayModel) ?? []).slice(0, 8)
    const matched = asked.filter((descriptor) => index.find(descriptor).nearest !== undefined).length
    return isReplay({ informative: asked.length, matched })
  }
  let [replays, innocents] = [0, 0]
  for (let session = 0; session < 20; session += 1) {
    const own = known.slice(session * 20, session * 20 + 20)
    if (count(own.map((run) => disguise(random, run, { jitterPx: 1, warp: 0.05, turns: true })))) replays += 1
    if (count(informative(100_000 + session * 1_000, 8))) innocents += 1
  }
  assert.ok(replays >= 19, `found ${replays} of 20`)
  assert.equal(innocents, 0)
})

test('the grid finds exactly what a comparison with every stored stroke finds', () => {
  const random = createRandom(9)
  const radius = replayModel.radius * 16
  const anywhere = () => Int16Array.from({ length: 18 }, () => Math.round(uniform(random, -1_500, 1_500)))
  const near = (center: ReplayDescriptor, reach: number) =>
    center.map((value) => Math.round(value + uniform(random, -reach, reach)))
  const stored = Array.from({ length: 2_000 }, anywhere)
  const index = createReplayIndex(replayModel)
  for (const descriptor of stored) index.add(descriptor)
  let within = 0
  for (let question = 0; question < 2_000; question += 1) {
    const asked = near(stored[question] ?? anywhere(), radius / 2)
    const distances = stored.map((descriptor) => strokeDistance(asked, descriptor))
    const least = Math.min(...distances)
    const expected = least <= replayModel.radius ? distances.indexOf(least) : undefined
    assert.equal(index.find(asked).nearest, expected)
    if (expected !== undefined) within += 1
  }
  assert.ok(
    within > 100 && within < 1_999,
    `${within} of 2,000 lie within the radius: the test needs both kinds`,
  )
})

test('chance is ruled out by two strokes of eight, by three from fifteen on, and never by one', () => {
  assert.deepEqual(
    [0, 1, 2, 8, 14, 15, 85].map((count) => replayMatchesNeeded(count)),
    [2, 2, 2, 2, 2, 3, 3],
  )
  assert.equal(isReplay({ informative: 1, matched: 1 }), false)
  assert.equal(isReplay({ informative: 8, matched: 1 }), false)
  assert.equal(isReplay({ informative: 8, matched: 2 }), true)
  assert.equal(isReplay({ informative: 20, matched: 2 }), false)
})
