import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeCoalescer, runBisected, type Outcome } from './coalesce.ts'

/** A run that waits until it is released, and records its batches. */
const deferredRun = () => {
  const batches: number[][] = []
  const gates: (() => void)[] = []
  const run = async (items: readonly number[]): Promise<Outcome<number>[]> => {
    batches.push([...items])
    await new Promise<void>((resolve) => gates.push(resolve))
    return items.map((item) => ({ value: item * 2 }))
  }
  return { batches, run, letGo: () => gates.shift()?.() }
}
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))
const full = () => new Error('full')

test('one call alone leaves at once; what comes while two batches are under way leaves together', async () => {
  const { batches, run, letGo } = deferredRun()
  const add = makeCoalescer({
    run,
    batchMax: 3,
    inFlightMax: 2,
    batchWaitMs: 60_000,
    waitingMax: 100,
    waitLimitMs: 60_000,
    fullError: full,
  })
  const first = add(1)
  await nextTurn()
  const second = add(2)
  await nextTurn()
  assert.deepEqual(batches, [[1], [2]])
  const rest = [3, 4, 5, 6].map(add)
  await nextTurn()
  assert.deepEqual(batches, [[1], [2]], 'no third batch while two are under way')
  letGo()
  assert.equal(await first, 2)
  await nextTurn()
  assert.deepEqual(batches, [[1], [2], [3, 4, 5]])
  for (let n = 0; n < 3; n++) {
    letGo()
    await nextTurn()
  }
  assert.equal(await second, 4)
  assert.deepEqual(await Promise.all(rest), [6, 8, 10, 12])
})

test('beside a batch in flight, calls gather until they are as many or the first has waited long enough', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { batches, run, letGo } = deferredRun()
  const add = makeCoalescer({
    run,
    batchMax: 100,
    inFlightMax: 2,
    batchWaitMs: 5,
    waitingMax: 100,
    waitLimitMs: 60_000,
    fullError: full,
  })
  const first = [1, 2, 3].map(add)
  await nextTurn()
  const second = [add(4)]
  await nextTurn()
  second.push(add(5))
  await nextTurn()
  assert.deepEqual(batches, [[1, 2, 3]], 'fewer than the batch in flight wait')
  second.push(add(6))
  await nextTurn()
  assert.deepEqual(batches, [
    [1, 2, 3],
    [4, 5, 6],
  ])
  letGo()
  await Promise.all(first)
  const third = add(7)
  await nextTurn()
  now = 4
  t.mock.timers.tick(4)
  assert.equal(batches.length, 2)
  now = 5
  t.mock.timers.tick(1)
  assert.deepEqual(batches[2], [7], 'a call waits for 5 ms')
  const fourth = [add(8), add(9)]
  await nextTurn()
  assert.equal(batches.length, 3, 'no third batch while two are in flight')
  for (let n = 0; n < 3; n++) {
    letGo()
    await nextTurn()
    await nextTurn()
  }
  assert.deepEqual(batches[3], [8, 9])
  assert.deepEqual(await Promise.all([...second, third, ...fourth]), [8, 10, 12, 14, 16, 18])
})

test('a call that comes when too many wait is refused at once', async () => {
  const { run, letGo } = deferredRun()
  const add = makeCoalescer({
    run,
    batchMax: 1,
    inFlightMax: 1,
    batchWaitMs: 60_000,
    waitingMax: 2,
    waitLimitMs: 60_000,
    fullError: full,
  })
  const one = add(1)
  await nextTurn()
  const waiting = [add(2), add(3)]
  await assert.rejects(add(4), /full/)
  for (let n = 0; n < 3; n++) {
    letGo()
    await nextTurn()
    await nextTurn()
  }
  assert.deepEqual(await Promise.all([one, ...waiting]), [2, 4, 6])
})

test('each call gets its own outcome, and a run that throws fails its batch and no other', async () => {
  const add = makeCoalescer<number, number>({
    run: async (items) => {
      if (items.includes(13)) throw new Error('unlucky')
      return items.map((item) => (item < 0 ? { error: new Error('negative') } : { value: item }))
    },
    batchMax: 2,
    inFlightMax: 1,
    batchWaitMs: 60_000,
    waitingMax: 10,
    waitLimitMs: 60_000,
    fullError: full,
  })
  const results = await Promise.allSettled([1, -1, 13, 4, 5].map(add))
  assert.deepEqual(
    results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason))),
    [1, 'Error: negative', 'Error: unlucky', 'Error: unlucky', 5],
  )
})

test('a batch that fails as a whole fails only the items at fault; an error of no item is not retried', async () => {
  for (const poison of [[7], [0, 15], [3, 4, 5], []]) {
    let runs = 0
    const outcomes = await runBisected(
      Array.from({ length: 16 }, (_, index) => index),
      async (items) => {
        runs += 1
        if (items.some((item) => poison.includes(item))) throw new Error('poison')
        return items.map((value) => ({ value }))
      },
      () => false,
    )
    const failed = outcomes.flatMap((outcome, index) => ('error' in outcome ? [index] : []))
    assert.deepEqual(failed, poison)
    assert.ok(runs <= 1 + poison.length * 8, `${runs} runs`)
  }
  let runs = 0
  const away = await runBisected<number, number>(
    [1, 2, 3],
    async () => {
      runs += 1
      throw new Error('away')
    },
    (error) => error instanceof Error && error.message === 'away',
  )
  assert.equal(runs, 1)
  assert.ok(away.every((outcome) => 'error' in outcome))
})

test('a call that has waited too long for a batch is refused, and the others run', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const { batches, run, letGo } = deferredRun()
  const add = makeCoalescer({
    run,
    batchMax: 1,
    inFlightMax: 1,
    batchWaitMs: 60_000,
    waitingMax: 9,
    waitLimitMs: 50,
    fullError: full,
  })
  const running = add(1)
  await nextTurn()
  const late = assert.rejects(add(2), /full/)
  now = 51
  const inTime = add(3)
  letGo()
  assert.equal(await running, 2)
  await late
  await nextTurn()
  assert.deepEqual(batches, [[1], [3]])
  letGo()
  assert.equal(await inTime, 6)
})
