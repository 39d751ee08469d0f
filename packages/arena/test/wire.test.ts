import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readChunk, type TelemetryEvent } from '@pohf/protocol/telemetry'
import { createTimeline } from '../src/bots/timeline.ts'
import { writeChunk } from '../src/protocol/wire.ts'

const receipt = 'A'.repeat(22)
const write = (events: readonly TelemetryEvent[], t0: number, t1: number) =>
  readChunk(writeChunk({ seq: 2, receipt, t0, t1, environment: null, events, last: null }))

test('what is written is read back as it was, every kind of event', () => {
  const events: TelemetryEvent[] = [
    { type: 'focus', t: 1_000, visible: true, focused: true, share: 80 },
    {
      type: 'motion',
      t: 1_010,
      pointer: 'm',
      trusted: true,
      dispatched: 2,
      points: [
        { t: 1_010, x: 5, y: 6 },
        { t: 1_026, x: 9, y: 2 },
      ],
    },
    { type: 'down', t: 1_030, pointer: 'm', trusted: true, x: 9, y: 2 },
    { type: 'up', t: 1_100, pointer: 'm', trusted: true, x: 9, y: 2 },
    { type: 'click', t: 1_100, how: 'm', trusted: true },
    { type: 'key', t: 1_200, phase: 'down', navigates: true, trusted: true },
    { type: 'key', t: 1_260, phase: 'up', navigates: false, trusted: false },
    { type: 'scroll', t: 1_300, dy: -40 },
    { type: 'shown', t: 1_310, probe: 'abc' },
    { type: 'point', t: 1_900, probe: 'abc', how: 'm', trusted: true, x: 3, y: 4 },
    { type: 'choose', t: 1_950, probe: 'abd', how: 'k', trusted: true, choice: 2 },
    { type: 'alternative', t: 1_960 },
    { type: 'honeypot', t: 1_970 },
    { type: 'lost', t: 1_980, count: 4 },
  ]
  assert.deepEqual(write(events, 900, 2_000)?.events, events)
})

test('a timeline hands out each thing once, in order, and cuts a stroke where a chunk ends', () => {
  const timeline = createTimeline({ x: 0, y: 0 })
  timeline.move(100, [
    { t: 0, x: 1, y: 0 },
    { t: 16, x: 2, y: 0 },
    { t: 33, x: 3, y: 0 },
  ])
  timeline.plan({ type: 'shown', t: 110, probe: 'abc' })
  const first = timeline.take(120)
  assert.deepEqual(
    first.map(({ type, t }) => [type, t]),
    [
      ['motion', 100],
      ['shown', 110],
      ['motion', 116],
    ],
  )
  assert.deepEqual(
    timeline.take(500).map(({ type, t }) => [type, t]),
    [['motion', 133]],
  )
  assert.deepEqual(timeline.take(1_000), [])
})

test('a person who sees something else stops where the hand is', () => {
  const timeline = createTimeline({ x: 7, y: 7 })
  assert.deepEqual(timeline.stop(0), { x: 7, y: 7 })
  timeline.move(100, [
    { t: 0, x: 1, y: 0 },
    { t: 50, x: 2, y: 0 },
  ])
  assert.deepEqual(timeline.stop(120), { x: 1, y: 0 })
  assert.deepEqual(
    timeline.take(500).map(({ type, t }) => [type, t]),
    [['motion', 100]],
  )
})
