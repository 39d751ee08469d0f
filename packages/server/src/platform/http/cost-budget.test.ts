import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { readClientAddress } from './client-address.ts'
import { makeCostBudget } from './cost-budget.ts'
import { Refusal } from './errors.ts'

// The delay of a refusal does not keep a process alive.
const alive = setInterval(() => undefined, 1_000)
after(() => clearInterval(alive))

const makeBudget = (isOn = true) => {
  let nowMs = 1_000_000
  const warnings: unknown[] = []
  const log = { warn: (fields: unknown) => warnings.push(fields) }
  const budget = makeCostBudget({ clock: { now: () => new Date(nowMs) }, log, isOn })
  const codeFor = async (address: string, costMs = 1) => {
    try {
      await budget.admit(readClientAddress(address), costMs)
      return undefined
    } catch (error) {
      assert.ok(error instanceof Refusal)
      assert.match(String(error.options.headers?.['retry-after']), /^[1-9]\d*$/)
      return error.code
    }
  }
  const charge = (address: string, costMs: number) => budget.charge(readClientAddress(address), costMs)
  return { budget, charge, codeFor, warnings, advance: (ms: number) => (nowMs += ms) }
}

test('a network that spent its savings is refused until it has earned something', async () => {
  const { charge, codeFor, advance } = makeBudget()
  charge('192.0.2.1', 1_100)
  assert.equal(await codeFor('192.0.2.1'), 'rate_limited')
  assert.equal(await codeFor('192.0.2.2'), undefined, 'a neighbour has savings of its own')
  advance(1_000)
  assert.equal(await codeFor('192.0.2.1'), 'rate_limited')
  advance(100)
  assert.equal(await codeFor('192.0.2.1'), undefined)
})

test('a client that changes its narrow network spends the savings of the wide one', async () => {
  const { charge, codeFor } = makeBudget()
  for (let n = 0; n < 20; n++) charge(`2001:db8:1:${n.toString(16)}::1`, 101)
  assert.equal(await codeFor('2001:db8:1:ffff::1'), 'rate_limited')
  assert.equal(await codeFor('2001:db8:2::1'), undefined)
})

test('while the event loop lags, the costliest networks are shed first, and those that spent little never', async () => {
  const { budget, charge, codeFor, warnings } = makeBudget()
  charge('192.0.2.1', 850)
  charge('198.51.100.1', 500)
  charge('203.0.113.1', 90)
  const codes = async () => [
    await codeFor('192.0.2.1', 0),
    await codeFor('198.51.100.1', 0),
    await codeFor('203.0.113.1', 0),
  ]
  assert.deepEqual(await codes(), [undefined, undefined, undefined])
  budget.noteLag(100)
  assert.deepEqual(await codes(), ['overloaded', undefined, undefined])
  for (let n = 0; n < 10; n++) budget.noteLag(100)
  assert.deepEqual(await codes(), ['overloaded', 'overloaded', undefined])
  assert.equal(warnings.length, 1)
  for (let n = 0; n < 20; n++) budget.noteLag(0)
  assert.deepEqual(await codes(), [undefined, undefined, undefined])
})

test('the calls of one client start apart, however many connections it has; another client does not wait', async () => {
  const { charge, codeFor } = makeBudget()
  charge('192.0.2.1', 300)
  const startedAt = performance.now()
  const calls = Array.from({ length: 11 }, () => codeFor('192.0.2.1', 5))
  await codeFor('198.51.100.1', 5)
  const other = performance.now() - startedAt
  assert.deepEqual(new Set(await Promise.all(calls)), new Set([undefined]))
  const all = performance.now() - startedAt
  // Ten distances of four times the cost; a timer may be a millisecond early.
  assert.ok(all >= 195, `${all} ms`)
  assert.ok(other < all)
})

test('a network that has most of its savings waits for nothing', async () => {
  const { codeFor } = makeBudget()
  const finished: string[] = []
  const page = Promise.all(Array.from({ length: 50 }, () => codeFor('192.0.2.1', 3))).then((codes) => {
    assert.deepEqual(new Set(codes), new Set([undefined]))
    finished.push('page')
  })
  // One call apart would already take 12 ms.
  await Promise.all([page, setTimeout(8).then(() => finished.push('timer'))])
  assert.deepEqual(finished, ['page', 'timer'])
})

test('calls that would wait for longer than a second are refused', async () => {
  const { charge, codeFor } = makeBudget()
  charge('192.0.2.1', 300)
  // The starts of these calls together take five seconds, so that a slow machine makes them in much less. A refused call
  // makes room for one that comes 20 ms later, so which ones are refused depends on the machine.
  const codes = await Promise.all(Array.from({ length: 250 }, () => codeFor('192.0.2.1', 5)))
  assert.equal(codes[0], undefined)
  assert.deepEqual([...new Set(codes)], [undefined, 'rate_limited'])
})

test('a flood of networks does not fill memory, and forgets the network that spent longest ago', async () => {
  const { budget, charge, codeFor } = makeBudget()
  charge('192.0.2.1', 5_000)
  for (let n = 0; n < 60_000; n++) charge(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`, 1)
  assert.equal(budget.size(), 50_000)
  charge('203.0.113.1', 5_000)
  assert.equal(await codeFor('203.0.113.1'), 'rate_limited')
})

test('where addresses are not limited, nothing is refused', async () => {
  const { charge, codeFor } = makeBudget(false)
  charge('127.0.0.1', 10_000)
  assert.equal(await codeFor('127.0.0.1', 10_000), undefined)
})
