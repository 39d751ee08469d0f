import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { readChunk, telemetryLimits } from '@pohf/protocol/telemetry'
import { Recorder } from '../src/recorder.ts'

const chunkOf = (recorder: Recorder, now: number, seq = 1) => {
  const { t0, t1, ev } = recorder.cut(now)
  const text = JSON.stringify({ v: 1, seq, receipt: 'A'.repeat(22), t0, t1, ev })
  const chunk = readChunk(text)
  assert.ok(chunk, 'the protocol reads what was recorded')
  return { chunk, bytes: Buffer.byteLength(text) }
}
const mouse = { how: 'm', trusted: true } as const

test('motion is one run until something else happens, and times and places survive', () => {
  const recorder = new Recorder()
  recorder.move(mouse, [
    { t: 10.2, x: 5.4, y: 7 },
    { t: 12, x: 6, y: 9 },
  ])
  recorder.move(mouse, [{ t: 20, x: 7, y: 9 }])
  recorder.key(31, 'd', false, true)
  recorder.move(mouse, [{ t: 40, x: 8, y: 8 }])
  const { chunk } = chunkOf(recorder, 50)
  assert.deepEqual(
    chunk.events.map(({ type, t }) => [type, t]),
    [
      ['motion', 10],
      ['key', 31],
      ['motion', 40],
    ],
  )
  const [run] = chunk.events
  assert.ok(run?.type === 'motion')
  assert.equal(run.dispatched, 2)
  assert.deepEqual(run.points, [
    { t: 10, x: 5, y: 7 },
    { t: 12, x: 6, y: 9 },
    { t: 20, x: 7, y: 9 },
  ])
})

test('an event that the browser hands over late stands at the end of the chunk before it', () => {
  const recorder = new Recorder()
  recorder.scroll(100, 5)
  assert.equal(chunkOf(recorder, 120).chunk.t1, 120)
  recorder.scroll(90, 7)
  const { chunk } = chunkOf(recorder, 200, 2)
  assert.equal(chunk.t0, 120)
  assert.deepEqual(chunk.events, [{ type: 'scroll', t: 120, dy: 7 }])
})

test('a buffer that nobody empties stays below the limit of a chunk, says what it dropped, and keeps answers', () => {
  const recorder = new Recorder()
  const far = 99_999
  let given = 0
  for (let t = 0; t < 60_000; t += 4) {
    recorder.move(mouse, [{ t, x: (given % 2) * far, y: ((given + 1) % 2) * far }])
    given += 1
  }
  assert.ok(recorder.isFilling())
  for (let t = 60_000; t < 70_000; t += 2) recorder.key(t, 'd', false, true)
  recorder.point('probe-1', mouse, { t: 70_000, x: 5, y: 6 })
  const { chunk, bytes } = chunkOf(recorder, 70_000)
  assert.ok(bytes < telemetryLimits.chunkBytes - 1_000, `${bytes} bytes`)
  const lost = chunk.events.find((event) => event.type === 'lost')
  const kept = chunk.events.reduce(
    (sum, event) => sum + (event.type === 'motion' ? event.points.length : event.type === 'key' ? 1 : 0),
    0,
  )
  assert.ok(lost?.type === 'lost')
  assert.equal(kept + lost.count, given + 5_000)
  assert.ok(chunk.events.some((event) => event.type === 'point'))
  assert.deepEqual(chunkOf(recorder, 70_100, 2).chunk.events, [], 'the next chunk begins empty')
})

const when = fc.double({ min: -50, max: 1_000_000, noNaN: true })
const where = fc.double({ min: -1e9, max: 1e9, noNaN: true })
const by = fc.record({
  how: fc.constantFrom('m' as const, 't' as const, 'p' as const),
  trusted: fc.boolean(),
})
const act: fc.Arbitrary<(recorder: Recorder) => void> = fc.oneof(
  fc.tuple(by, fc.array(fc.record({ t: when, x: where, y: where }), { maxLength: 30 })).map(
    ([source, points]) =>
      (recorder: Recorder) =>
        recorder.move(source, points),
  ),
  fc.tuple(by, when, where, where).map(
    ([source, t, x, y]) =>
      (recorder: Recorder) =>
        recorder.press('d', source, { t, x, y }),
  ),
  fc.tuple(by, when).map(
    ([source, t]) =>
      (recorder: Recorder) =>
        recorder.click(t, source),
  ),
  fc.tuple(when, where).map(
    ([t, dy]) =>
      (recorder: Recorder) =>
        recorder.scroll(t, dy),
  ),
  fc.tuple(when, fc.boolean(), fc.boolean(), where).map(
    ([t, a, b, share]) =>
      (recorder: Recorder) =>
        recorder.focus(t, a, b, share),
  ),
  fc.tuple(by, when, where, where).map(
    ([source, t, x, y]) =>
      (recorder: Recorder) =>
        recorder.point('p', source, { t, x, y }),
  ),
  when.map((t) => (recorder: Recorder) => recorder.shown(t, 'p')),
)

test('whatever happens, in whatever order of times, the protocol reads it, and each chunk begins where one ended', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.array(act, { maxLength: 60 }), when), { maxLength: 5 }), (chunks) => {
      const recorder = new Recorder()
      let end = 0
      for (const [index, [acts, cutAt]] of chunks.entries()) {
        for (const go of acts) go(recorder)
        const { chunk } = chunkOf(recorder, cutAt, index + 1)
        assert.equal(chunk.t0, end)
        end = chunk.t1
      }
    }),
  )
})
