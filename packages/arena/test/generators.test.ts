import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom, families, generatorOf, offlineSession, type StrokeLibrary } from '../src/index.ts'

/** Stands for recorded strokes: this file tests how a library is used, not what is in it. */
const library: StrokeLibrary = Array.from({ length: 40 }, (_, index) =>
  generatorOf('sigma_lognormal')(createRandom(index), { x: 100, y: 100 }, { x: 150 + index * 25, y: 400 }),
)

const from = { x: 200, y: 620 }
const to = { x: 930, y: 140 }

test('the same seed gives the same bits, in a stroke and in a session', () => {
  for (const family of families) {
    const stroke = () => generatorOf(family, library)(createRandom(7), from, to)
    assert.deepEqual(stroke(), stroke(), family)
    assert.deepEqual(offlineSession(family, 7, library), offlineSession(family, 7, library), family)
  }
})

test('another seed gives another session', () => {
  for (const family of families)
    assert.notDeepEqual(offlineSession(family, 7, library), offlineSession(family, 8, library), family)
})

test('no two families make the same stroke', () => {
  const strokes = families.map((family) =>
    JSON.stringify(generatorOf(family, library)(createRandom(3), from, to)),
  )
  assert.equal(new Set(strokes).size, 10)
})

test('every stroke ends on the target, and its time never runs back', () => {
  let seen = 0
  for (const family of families)
    for (let seed = 0; seed < 100; seed += 1) {
      const random = createRandom(seed)
      const end = { x: 60 + random() * 1_160, y: 80 + random() * 560 }
      const stroke = generatorOf(family, library)(random, from, end)
      const last = stroke.at(-1)
      assert.ok(last, `${family} ${seed} is empty`)
      const miss = Math.hypot(last.x - end.x, last.y - end.y)
      assert.ok(miss < 22, `${family} ${seed} misses by ${miss.toFixed(1)} px`)
      for (const [index, point] of stroke.entries())
        assert.ok(point.t >= (stroke[index - 1]?.t ?? 0), `${family} ${seed} runs back at ${index}`)
      seen += 1
    }
  assert.equal(seen, 1_000)
})

test('a session is a minute of whole pixels with one press and one release at each target', () => {
  for (const family of families) {
    const session = offlineSession(family, 1, library)
    assert.ok((session.at(-1)?.t ?? 0) >= 55_000, family)
    assert.ok(
      session.every((event) => Number.isInteger(event.x) && Number.isInteger(event.y)),
      family,
    )
    assert.ok(
      session.every((event, index) => event.t >= (session[index - 1]?.t ?? 0)),
      family,
    )
    const buttons = session.filter((event) => event.type !== 'move').map((event) => event.type)
    assert.ok(buttons.length >= 20, family)
    assert.ok(
      buttons.every((type, index) => type === (index % 2 === 0 ? 'down' : 'up')),
      family,
    )
  }
})

test('without a library the human-derived families refuse to start', () => {
  assert.throws(() => offlineSession('stroke_replay', 1), /at least two strokes/)
  assert.throws(() => offlineSession('stroke_morph', 1), /at least two strokes/)
})
