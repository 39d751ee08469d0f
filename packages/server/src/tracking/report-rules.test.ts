import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flagList, heatOf, percentileMs, qualityList, seriesOf } from './report-rules.ts'

const hour = (at: string, views: number) => ({
  hour: new Date(at),
  views,
  verified: views,
  rejected: 0,
  scored: views,
  quality: views * 0.8,
})
const bins = (entries: Readonly<Record<number, number>>) =>
  Array.from({ length: 32 }, (_, bin) => entries[bin] ?? 0)

test('a percentile lies within its bin, and none is given without checks', () => {
  assert.equal(percentileMs(bins({}), 0.5), null)
  // Bin 7 is from 4 to 5 seconds.
  assert.equal(percentileMs(bins({ 7: 10 }), 0.5), 4_500)
  assert.equal(percentileMs(bins({ 7: 10 }), 0.9), 4_900)
  assert.equal(percentileMs(bins({ 0: 9, 31: 1 }), 0.9), 1_000)
  assert.equal(percentileMs(bins({ 0: 1, 31: 9 }), 0.5), 1_000_000)
})

test('heat follows the clocks of the zone, over a change to summer time and with half hours', () => {
  const hours = [
    hour('2026-03-28T23:00:00Z', 1),
    hour('2026-03-29T01:00:00Z', 2),
    hour('2026-03-29T22:00:00Z', 4),
  ]
  // Berlin: Sunday 00:00, 03:00 (the hour from 2 does not exist), Monday 00:00.
  assert.deepEqual(
    heatOf(hours, 'Europe/Berlin').map((cell) => [cell.weekday, cell.hour, cell.views]),
    [
      [1, 0, 4],
      [7, 0, 1],
      [7, 3, 2],
    ],
  )
  assert.deepEqual(heatOf([hour('2026-03-28T20:00:00Z', 1)], 'Asia/Kolkata'), [
    { weekday: 7, hour: 1, views: 1, verified: 1 },
  ])
  assert.deepEqual(heatOf([hour('2026-03-28T01:00:00Z', 1)], 'America/New_York'), [
    { weekday: 5, hour: 21, views: 1, verified: 1 },
  ])
})

test('a series has hours up to three days and days beyond, without gaps, at most 400 of them', () => {
  const at = new Date('2026-05-04T10:30:00Z')
  const later = (days: number) => new Date(at.getTime() + days * 86_400_000)
  assert.equal(seriesOf([], at, later(3)).length, 73)
  const days = seriesOf([hour('2026-05-05T00:00:00Z', 2), hour('2026-05-05T23:00:00Z', 3)], at, later(4))
  assert.deepEqual(
    days.map(({ at: day, views }) => [day, views]),
    [
      ['2026-05-04T00:00:00.000Z', 0],
      ['2026-05-05T00:00:00.000Z', 5],
      ['2026-05-06T00:00:00.000Z', 0],
      ['2026-05-07T00:00:00.000Z', 0],
      ['2026-05-08T00:00:00.000Z', 0],
    ],
  )
  assert.equal(days[1]?.quality, 0.8)
  assert.equal(days[0]?.quality, null)
  assert.equal(seriesOf([], at, later(399)).length, 400)
})

test('buckets have their bounds, and flags the most frequent first', () => {
  const list = qualityList([1, 2])
  assert.equal(list.length, 20)
  assert.deepEqual(list[1], { from: 0.05, to: 0.1, views: 2 })
  assert.deepEqual(list[19], { from: 0.95, to: 1, views: 0 })
  assert.deepEqual(flagList({ b: 2, a: 2, c: 5 }), [
    { flag: 'c', views: 5 },
    { flag: 'a', views: 2 },
    { flag: 'b', views: 2 },
  ])
})
