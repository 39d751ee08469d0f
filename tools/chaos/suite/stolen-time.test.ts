import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measureStolenTime, parseCpuTime } from './stolen-time.ts'

test('stolen time is the eighth number of all cores; time of guests is counted with their user', () => {
  const stat = 'cpu  10 1 20 300 4 5 6 54 7 8\ncpu0 5 1 10 150 2 2 3 27 3 4\nintr 1 2\n'
  assert.deepEqual(parseCpuTime(stat), { stolen: 54, all: 400 })
})

test('a measurement gives a percentage, or null where the system has no such figures', () => {
  const { recent, end } = measureStolenTime()
  const until = performance.now() + 50
  while (performance.now() < until);
  const { average, highest } = end()
  for (const percent of [recent(), average, highest])
    assert.ok(
      percent === null ? process.platform !== 'linux' : percent >= 0 && percent <= 100,
      String(percent),
    )
})
