import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import { startWorker } from './worker.ts'

const harness = await startHarness()

test('a duty runs again at once while there is work, and rests when there is none', async () => {
  const backlog = [5, 4, 3, 0, 0, 0]
  let runs = 0
  const worker = startWorker(harness.ctx, [
    { name: 'busy', everyMs: 3_600_000, run: async () => (runs++, backlog.shift() ?? 0) },
  ])
  await pollUntil('the backlog is done', async () => runs === 4)
  await worker.stop()
  assert.equal(runs, 4, 'after nothing was left it rested')
})

test('a duty that fails is logged, goes on after a while, and takes no other with it', async () => {
  const ran = { broken: 0, sound: 0 }
  const worker = startWorker(harness.ctx, [
    {
      name: 'broken',
      everyMs: 10,
      run: async () => {
        ran.broken += 1
        if (ran.broken === 1) throw new Error('planted fault')
        return 0
      },
    },
    { name: 'sound', everyMs: 10, run: async () => (ran.sound++, 0) },
  ])
  await pollUntil('the sound one goes on', async () => ran.sound >= 5)
  assert.equal(ran.broken, 1)
  await pollUntil('the broken one goes on', async () => ran.broken >= 2)
  await worker.stop()
  assert.ok(harness.lines.some((line) => line.includes('planted fault') && line.includes('"duty":"broken"')))
})

test('stopping ends a rest at once and waits for what has begun', async () => {
  const release = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  let finished = false
  const worker = startWorker(harness.ctx, [
    { name: 'resting', everyMs: 3_600_000, run: async () => 0 },
    {
      name: 'working',
      everyMs: 10,
      run: async () => {
        begun.resolve()
        await release.promise
        finished = true
        return 5
      },
    },
  ])
  await begun.promise
  const stopped = worker.stop()
  const soon = new Promise((resolve) => setTimeout(resolve, 50, 'waiting'))
  assert.equal(await Promise.race([stopped, soon]), 'waiting')
  assert.equal(finished, false)
  release.resolve()
  await stopped
  assert.equal(finished, true)
})
