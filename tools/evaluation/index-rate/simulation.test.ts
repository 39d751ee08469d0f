import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulate, spreads, type RateName } from './simulation.ts'

const shifts = simulate(spreads.narrow)
const shiftOf = (rate: RateName, attack: string): number => {
  const found = shifts.find((shift) => shift.rate === rate && shift.attack.name === attack)
  assert.ok(found)
  return found.shiftPct
}

test('one cluster with 30 % fake hours at three times the price moves vhh-1 by at most 1.5 %', () => {
  assert.ok(shiftOf('vhh-1', '30 %, one cluster') <= 1.5)
})

test('20 clusters with 20 % fake hours at three times the price move vhh-1 by at most 7 %', () => {
  assert.ok(shiftOf('vhh-1', '20 %, 20 clusters') <= 7)
})

test('without the cap of a cluster, or without the median, the same attack moves the rate further', () => {
  assert.ok(shiftOf('median', '30 %, one cluster') > 5)
  assert.ok(shiftOf('mean without 15 % at each end', '30 %, one cluster') > 40)
  assert.ok(shiftOf('mean', '30 %, one cluster') > 55)
  assert.ok(shiftOf('mean without 15 % at each end', '20 %, 20 clusters') > 15)
  assert.ok(shiftOf('mean', '20 %, 20 clusters') > 35)
})
