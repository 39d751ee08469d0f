import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import { startWorker } from './worker.ts'

const harness = await startHarness()

test('a job runs again at once while there is work, and pauses when there is none', async () => {
  const backlog = [5, 4, 3, 0, 0, 0]
  let runs = 0
  const worker = startWorker(harness.ctx, [
    { name: 'busy', everyMs: 3_600_000, run: async () => (runs++, backlog.shift() ?? 0) },
  ])
  await pollUntil('the backlog is done', async () => runs === 4)
  await worker.stop()
  assert.equal(runs, 4, 'it paused after nothing was left')
})

const failOnce = () => {
  let runs = 0
  const run = async () => {
    runs += 1
    if (runs === 1) throw new Error('planted fault')
    return 0
  }
  return { runs: () => runs, job: { name: 'broken', everyMs: 10, run } }
}

test('a job that fails is logged, waits for its backoff, and does not affect the others', async () => {
  const broken = failOnce()
  let soundRuns = 0
  const sound = { name: 'sound', everyMs: 10, run: async () => (soundRuns++, 0) }
  const worker = startWorker(harness.ctx, [broken.job, sound], 3_600_000)
  await pollUntil('the sound job continues', async () => soundRuns >= 5)
  await worker.stop()
  assert.equal(broken.runs(), 1)
  assert.ok(harness.lines.some((line) => line.includes('planted fault') && line.includes('"job":"broken"')))
})

test('a job that failed is retried after its backoff', async () => {
  const broken = failOnce()
  const worker = startWorker(harness.ctx, [broken.job], 10)
  await pollUntil('the job is retried', async () => broken.runs() >= 2)
  await worker.stop()
})

test('stopping ends a pause at once and waits for the running job', async () => {
  const release = Promise.withResolvers<void>()
  const started = Promise.withResolvers<void>()
  let finished = false
  const worker = startWorker(harness.ctx, [
    { name: 'paused', everyMs: 3_600_000, run: async () => 0 },
    {
      name: 'running',
      everyMs: 3_600_000,
      run: async () => {
        started.resolve()
        await release.promise
        finished = true
        return 0
      },
    },
  ])
  await started.promise
  const stopped = worker.stop()
  let hasStopped = false
  void stopped.then(() => {
    hasStopped = true
  })
  for (let turn = 0; turn < 20; turn++) await setImmediate()
  assert.equal(hasStopped, false)
  assert.equal(finished, false)
  release.resolve()
  await stopped
  assert.equal(finished, true)
})

const fail = async (): Promise<number> => {
  throw new Error('planted fault')
}

test('a job that never succeeds is measured from the start of the worker, and a paused one does not succeed', async () => {
  const { metrics } = harness.ctx
  const startedAt = harness.ctx.clock.now().getTime() / 1_000
  let lookups = 0
  let soundRuns = 0
  const jobs = [
    { name: 'never succeeds', everyMs: 10, run: fail },
    { name: 'is paused', everyMs: 10, run: fail, isPaused: async () => (lookups++, true) },
    { name: 'succeeds', everyMs: 10, run: async () => (soundRuns++, 0) },
  ]
  const worker = startWorker(harness.ctx, jobs, 3_600_000)
  await pollUntil('the jobs began', async () => lookups > 0 && soundRuns > 0)
  await harness.advance(60_000)
  const [seenLookups, seenRuns] = [lookups, soundRuns]
  await pollUntil('the jobs ran again', async () => lookups > seenLookups + 1 && soundRuns > seenRuns + 1)
  await worker.stop()
  const ages = (await metrics.jobSuccess.get()).values.map(
    ({ labels, value }) => [labels.name, value - startedAt >= 60] as const,
  )
  const names = new Set(jobs.map(({ name }) => name))
  assert.deepEqual(
    ages.filter(([name]) => names.has(String(name))),
    [
      ['never succeeds', false],
      ['is paused', false],
      ['succeeds', true],
    ],
  )
  const failures = (await metrics.jobFailures.get()).values.map(({ labels, value }) => [labels.name, value])
  assert.deepEqual(
    failures.filter(([name]) => names.has(String(name))),
    [
      ['never succeeds', 1],
      ['is paused', 0],
      ['succeeds', 0],
    ],
  )
})
