import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inTransaction } from '../platform/db.ts'
import { startHarness } from '../../test/harness.ts'
import { openRecorder } from '../../test/recorder.ts'
import { readRecords } from './index.ts'

const harness = await startHarness()
const { apiKey, agentId } = await harness.register('test')
const open = (options: Partial<Parameters<typeof openRecorder>[0]> = {}) =>
  openRecorder({ send: harness.call, site: agentId, ...options })

test('a session is recorded chunk by chunk, closes, and opens again for the scorer', async () => {
  const recorder = await open({ challenge: 'for the shop' })
  assert.equal(recorder.created.json.receipt.seq, 0)
  assert.deepEqual(recorder.created.json.receipt.progress, { done: 0, of: 3 })
  await recorder.chunk({ t1: 100, events: [['s', 10, 40]] })
  const second = await recorder.chunk({ t1: 200, events: [['f', 10, 1, 1, 100]] })
  assert.equal(second.seq, 2)
  const ended = await recorder.finish({ t1: 300 })
  assert.equal(ended.status, 200, ended.text)
  assert.equal(ended.json.status, 'closed')
  assert.match(ended.json.vt, /^vt_/)
  const key = { agentId, mode: 'test' as const, sessionId: recorder.sessionId }
  const opened = await inTransaction(harness.ctx, agentId, (tx) => readRecords(tx, harness.ctx, key))
  assert.ok(opened)
  assert.deepEqual(
    opened.records.map(({ seq }) => seq),
    [1, 2, 3],
  )
  assert.deepEqual(opened.flags, [])
  const read = await harness.call('GET', `/api/agents/sessions/${recorder.sessionId}`, { key: apiKey })
  assert.equal(read.status, 200, read.text)
  assert.equal(read.json.telemetry.n, 3)
  assert.equal(read.json.telemetry.link, recorder.now().link.toString('base64url'))
  const pages = await harness.call('GET', `/api/agents/sessions/${recorder.sessionId}/chunks?limit=2`, {
    key: apiKey,
  })
  assert.equal(pages.status, 200, pages.text)
  assert.equal(pages.json.chunks.length, 2)
  assert.equal(pages.json.nextFrom, 3)
  const verified = await harness.call('POST', '/api/agents/verify', {
    key: apiKey,
    body: { sessionId: recorder.sessionId },
  })
  assert.equal(verified.json.error, 'session_not_ready')
})
