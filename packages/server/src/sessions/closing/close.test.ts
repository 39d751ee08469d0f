import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { openRecorder } from '../../../test/fixtures/people/recorder.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { readRecords } from '../index.ts'

const harness = await startHarness({ DATABASE_POOL_SIZE: '2', DATABASE_WAIT_SECONDS: '10' })
const { apiKey, agentId } = await harness.register('test')
const open = () => openRecorder({ send: harness.call, site: agentId })
const read = async (sessionId: string) =>
  (await harness.call('GET', `/api/agents/sessions/${sessionId}`, { key: apiKey })).json

/** Holds every connection of the pool until it is released. */
const holdPool = async () => {
  const release = Promise.withResolvers<void>()
  const held = Array.from({ length: 2 }, () => {
    const begun = Promise.withResolvers<void>()
    const done = inTransaction(harness.ctx, 'system', async () => {
      begun.resolve()
      await release.promise
    })
    return { begun: begun.promise, done }
  })
  await Promise.all(held.map(({ begun }) => begun))
  return async () => {
    release.resolve()
    await Promise.all(held.map(({ done }) => done))
  }
}

test('chunks are taken while every connection of the pool is in use', async () => {
  const recorder = await open()
  const release = await holdPool()
  try {
    // It has no connection of the pool: they are released afterwards.
    assert.equal((await recorder.chunk()).seq, 1)
  } finally {
    await release()
  }
  assert.equal((await recorder.finish()).json.status, 'scored')
})

test('sessions that end together share transactions, and each has its own result', async () => {
  const recorders = await Promise.all(Array.from({ length: 32 }, open))
  await Promise.all(recorders.map((recorder) => recorder.chunk()))
  const lasts = await Promise.all(recorders.map((recorder) => recorder.makeLast()))
  const before = harness.ctx.db.statements()
  const answers = await Promise.all(
    recorders.map((recorder, index) => recorder.post(lasts[index] ?? { chunk: '', signature: '' }, 'finish')),
  )
  const perFinish = (harness.ctx.db.statements() - before) / recorders.length
  assert.ok(perFinish < 4, `${perFinish} statements for each session: they end one by one`)
  for (const [index, recorder] of recorders.entries()) {
    assert.equal(answers[index]?.status, 200, answers[index]?.text)
    assert.equal(answers[index]?.json.sessionId, recorder.sessionId)
    const session = await pollUntil('the score', async () => {
      const found = await read(recorder.sessionId)
      return found.status === 'scored' ? found : undefined
    })
    assert.deepEqual([session.telemetry.n, session.counted.chunks], [2, 2])
    assert.equal(session.telemetry.link, lasts[index]?.link.toString('base64url'))
  }
})

test('the same end twice at the same moment is one end and no fault', async () => {
  const recorder = await open()
  const last = await recorder.makeLast()
  const answers = await Promise.all([1, 2, 3].map(() => recorder.post(last, 'finish')))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
  )
  const key = { agentId, mode: 'test' as const, sessionId: recorder.sessionId }
  const opened = await inTransaction(harness.ctx, agentId, (tx) => readRecords(tx, harness.ctx, key))
  assert.deepEqual([opened?.records.length, opened?.flags], [1, []])
})

test('a session that cannot be closed fails alone; those that end with it are closed and scored', async () => {
  const recorders = await Promise.all(Array.from({ length: 8 }, open))
  await Promise.all(recorders.map((recorder) => recorder.chunk()))
  const broken = recorders[3]?.sessionId
  await harness.owner.query('delete from session_chunks where session_id = $1', [broken])
  const answers = await Promise.all(recorders.map((recorder) => recorder.finish()))
  assert.deepEqual(
    answers.map(({ status }) => status),
    recorders.map(({ sessionId }) => (sessionId === broken ? 500 : 200)),
  )
  for (const { sessionId } of recorders)
    assert.equal((await read(sessionId)).status, sessionId === broken ? 'open' : 'scored')
})
