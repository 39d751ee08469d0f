import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { inTransaction } from '../platform/db/db.ts'
import { startHarness } from '../../test/fixtures/harness.ts'
import { playSession } from '../../test/fixtures/people/play-session.ts'
import { makeSessionKey, openRecorder } from '../../test/fixtures/people/recorder.ts'
import type { AgentId } from '../platform/ops/ids.ts'
import { findSession, readRecords, updateSessionsScored, type DecryptedSession } from './index.ts'
import { thumbprintOf } from './recording/chain.ts'
import { deleteSubjectKey } from './recording/store.ts'

const harness = await startHarness()
const { apiKey, agentId } = await harness.register('test')
const open = (options: Partial<Parameters<typeof openRecorder>[0]> = {}) =>
  openRecorder({ send: harness.call, site: agentId, ...options })

const decryptedOf = async (sessionId: string): Promise<DecryptedSession> => {
  const opened = await inTransaction(harness.ctx, agentId, (tx) =>
    readRecords(tx, harness.ctx, { agentId, mode: 'test', sessionId }),
  )
  assert.ok(opened)
  return opened
}

test('a session is recorded chunk by chunk, closes, and opens again for the scorer', async () => {
  const recorder = await open({ challenge: 'for the shop' })
  assert.equal(recorder.created.json.receipt.seq, 0)
  assert.deepEqual(recorder.created.json.receipt.progress, { done: 0, of: 2, hits: 0 })
  assert.equal(recorder.created.json.receipt.probe.kind, 'point', 'the first probe comes with the session')
  await recorder.chunk({ t1: 100, events: [['s', 10, 40]] })
  const second = await recorder.chunk({ t1: 200, events: [['f', 10, 1, 1, 100]] })
  assert.equal(second.seq, 2)
  const ended = await recorder.finish({ t1: 300 })
  assert.equal(ended.status, 200, ended.text)
  assert.equal(ended.json.status, 'scored')
  assert.match(ended.json.vt, /^vt_/)
  const opened = await decryptedOf(recorder.sessionId)
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
  assert.equal(verified.json.error, 'session_rejected')
})

const chunksOf = (sessionId: string, key = apiKey, query = '') =>
  harness.call('GET', `/api/agents/sessions/${sessionId}/chunks${query}`, { key })
const withoutId = (text: string) => text.replaceAll(/req_[\w-]+/g, '')

test('the same bytes again get the same receipt again, a probe included, and count once', async () => {
  const recorder = await open()
  let made = await recorder.make()
  let answer = await recorder.post(made)
  for (let step = 0; step < 50 && answer.json.receipt.probe === null; step++) {
    recorder.take(made, answer)
    await harness.advance(answer.json.receipt.nextMs)
    made = await recorder.make()
    answer = await recorder.post(made)
  }
  assert.equal(answer.json.receipt.probe.kind, 'point')
  // No response arrived: the page sends the same bytes again, also concurrently.
  const again = await Promise.all([1, 2, 3].map(() => recorder.post(made)))
  for (const one of again) assert.deepEqual(one.json, answer.json)
  recorder.take(made, answer)
  const ended = await recorder.finish()
  assert.equal(ended.status, 200, ended.text)
  const { json } = await chunksOf(recorder.sessionId, apiKey, '?limit=100')
  assert.equal(json.telemetry.n, recorder.now().seq)
  assert.equal(json.chunks.length, json.telemetry.n)
})

test('many sessions at once share transactions and nothing else', async () => {
  const recorders = await Promise.all(Array.from({ length: 40 }, () => open()))
  const before = harness.ctx.db.statements()
  for (let round = 0; round < 3; round++) await Promise.all(recorders.map((recorder) => recorder.chunk()))
  const perChunk = (harness.ctx.db.statements() - before) / 120
  assert.ok(perChunk < 2, `${perChunk} statements a chunk: they go one by one`)
  const garbage = { chunk: '{}', signature: 'A'.repeat(86) }
  const [first] = recorders
  assert.ok(first)
  // A refused chunk fails none of its batch.
  const mixed = await Promise.all([
    ...recorders.map((recorder) => recorder.chunk()),
    first.post(garbage),
    harness.call('POST', `/api/sessions/${first.sessionId.slice(0, -1)}0/telemetry`, { body: garbage }),
  ])
  assert.equal(mixed.length, 42)
  for (const recorder of recorders) {
    assert.equal((await recorder.finish()).status, 200)
    const { json } = await chunksOf(recorder.sessionId)
    assert.equal(json.telemetry.n, 5)
    assert.equal(json.telemetry.link, recorder.now().link.toString('base64url'))
  }
})

test('of two concurrent chunks of one session, one is accepted and the other refused with its rule', async () => {
  const recorder = await open()
  const [one, two] = [await recorder.make({ t1: 10 }), await recorder.make({ t1: 20 })]
  const answers = await Promise.all([recorder.post(one), recorder.post(two)])
  assert.deepEqual(answers.map(({ status }) => String(status)).toSorted(), ['200', '409'])
})

test('a session whose key cannot be decrypted fails alone', async () => {
  const [broken, sound] = [await open(), await open()]
  await harness.owner.query("update session_keys set sealed = 'broken' where session_id = $1", [
    broken.sessionId,
  ])
  const [bad, good] = await Promise.all([broken.post(await broken.make()), sound.post(await sound.make())])
  assert.equal(bad.status, 500)
  assert.equal(good.status, 200)
})

test('a site is an agent that exists and is not suspended', async () => {
  const { jwk } = await makeSessionKey()
  const unknown = `${agentId.slice(0, -1)}${agentId.endsWith('0') ? '1' : '0'}`
  for (const site of ['', 'nobody', unknown]) {
    const answer = await harness.call('POST', '/api/sessions', { body: { site, key: jwk } })
    assert.equal(answer.status, 404, answer.text)
  }
  const gone = await harness.register('test')
  await harness.owner.query('update agents set suspended_at = now() where agent_id = $1', [gone.agentId])
  const answer = await harness.call('POST', '/api/sessions', { body: { site: gone.agentId, key: jwk } })
  assert.equal(answer.status, 404)
})

test('when an agent lists origins, only their pages open sessions', async () => {
  const site = await harness.register('test')
  await harness.call('PATCH', '/api/agents/me', {
    key: site.apiKey,
    body: { allowedOrigins: ['https://shop.example'] },
  })
  const { jwk } = await makeSessionKey()
  const from = (headers: Record<string, string>) =>
    harness.call('POST', '/api/sessions', { body: { site: site.agentId, key: jwk }, headers })
  for (const headers of [{}, { origin: 'https://evil.example' }, { origin: 'https://shop.example:8443' }]) {
    const answer = await from(headers)
    assert.equal(answer.status, 403, answer.text)
    assert.equal(answer.json.error, 'forbidden')
  }
  const { rows } = await harness.owner.query('select from sessions where agent_id = $1', [site.agentId])
  assert.equal(rows.length, 0)
  const allowed = await from({ origin: 'https://shop.example' })
  assert.equal(allowed.status, 200, allowed.text)
  assert.equal(allowed.headers['access-control-allow-origin'], 'https://shop.example')
})

test('a key that is not a point on P-256, or not canonical, is refused', async () => {
  const { jwk } = await makeSessionKey()
  const last = jwk.x.at(-1) ?? ''
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  // The last of 43 characters carries two bits that belong to no byte.
  const otherWay = `${jwk.x.slice(0, -1)}${alphabet[alphabet.indexOf(last) ^ 1] ?? ''}`
  for (const key of [{ ...jwk, x: jwk.y }, { ...jwk, x: 'A'.repeat(43) }, { ...jwk, x: otherWay }, jwk.x]) {
    const answer = await harness.call('POST', '/api/sessions', { body: { site: agentId, key } })
    assert.equal(answer.status, 400, JSON.stringify(key))
    assert.equal(answer.json.error, 'validation_failed')
  }
})

test('a page sends text/plain, so that its browser sends no preflight request', async () => {
  const recorder = await openRecorder({
    site: agentId,
    send: (method, path, { body }) =>
      harness.call(method, path, {
        raw: JSON.stringify(body),
        headers: { 'content-type': 'text/plain;charset=UTF-8', origin: 'https://any.example' },
      }),
  })
  await recorder.chunk()
  const ended = await recorder.finish()
  assert.equal(ended.status, 200, ended.text)
  assert.equal(ended.headers['access-control-allow-origin'], 'https://any.example')
})

test("another agent's session reads exactly like one that does not exist", async () => {
  const stranger = await harness.register('test')
  const recorder = await open({ kind: 'work', workflowId: 'wf_1' })
  await recorder.chunk()
  const ended = await recorder.finish()
  assert.equal(ended.json.vt, undefined)
  const none = `${recorder.sessionId.slice(0, -1)}${recorder.sessionId.endsWith('0') ? '1' : '0'}`
  for (const suffix of ['', '/chunks']) {
    const path = (sessionId: string) => `/api/agents/sessions/${sessionId}${suffix}`
    const foreign = await harness.call('GET', path(recorder.sessionId), { key: stranger.apiKey })
    const unknown = await harness.call('GET', path(none), { key: stranger.apiKey })
    assert.equal(foreign.status, 404)
    assert.equal(withoutId(foreign.text), withoutId(unknown.text))
    const own = await harness.call('GET', path(recorder.sessionId), { key: apiKey })
    assert.equal(own.status, 200, own.text)
  }
})

test('row-level security hides every table of a recording from other tenants', async () => {
  const stranger = await harness.register('test')
  const recorder = await open()
  await recorder.chunk()
  for (const table of ['sessions', 'session_recorders', 'session_keys', 'session_chunks'] as const) {
    const count = (tenant: AgentId) =>
      inTransaction(harness.ctx, tenant, (tx) =>
        tx.selectFrom(table).select('session_id').where('session_id', '=', recorder.sessionId).execute(),
      )
    assert.equal((await count(agentId)).length, 1, table)
    assert.equal((await count(stranger.agentId)).length, 0, table)
  }
})

test('erasing the key of a subject makes every record unreadable, and the hashes stay valid', async () => {
  const recorder = await open()
  await recorder.chunk({ events: [['s', 0, 40]] })
  await recorder.finish()
  const before = await chunksOf(recorder.sessionId)
  assert.equal(before.json.chunks.length, 2)
  const key = { agentId, mode: 'test' as const, sessionId: recorder.sessionId }
  assert.equal(await inTransaction(harness.ctx, agentId, (tx) => deleteSubjectKey(tx, key)), true)
  const after = await chunksOf(recorder.sessionId)
  assert.equal(after.status, 200, after.text)
  assert.deepEqual(after.json.chunks, [])
  assert.deepEqual(after.json.telemetry, before.json.telemetry)
  assert.equal(
    await inTransaction(harness.ctx, agentId, (tx) => readRecords(tx, harness.ctx, key)),
    undefined,
  )
  // The remaining leaves are those of the undecryptable bytes.
  const { rows } = await harness.owner.query(
    "select s.leaves, string_agg(sha256('\\x00'::bytea || c.ciphertext), null order by c.seq) as hashed from sessions s join session_chunks c using (agent_id, session_id) where session_id = $1 group by s.leaves",
    [recorder.sessionId],
  )
  assert.deepEqual(rows[0].leaves, rows[0].hashed)
})

test('records are kept for thirty days, then dropped by daily partition; the hashes stay', async () => {
  const recorder = await open()
  await recorder.chunk()
  await recorder.finish()
  const committed = (await chunksOf(recorder.sessionId)).json.telemetry
  const days = async () => {
    const { rows } = await harness.owner.query(
      "select count(*)::int as count from pg_inherits where inhparent = 'session_chunks'::regclass",
    )
    return rows[0].count as number
  }
  await harness.advance(29 * 86_400_000)
  await harness.runJobs()
  assert.equal((await chunksOf(recorder.sessionId)).json.chunks.length, 2)
  const before = await days()
  await harness.advance(3 * 86_400_000)
  await harness.runJobs()
  assert.ok((await days()) < before + 3)
  const after = await chunksOf(recorder.sessionId)
  assert.deepEqual(after.json.chunks, [])
  assert.deepEqual(after.json.telemetry, committed)
  const { rows } = await harness.owner.query('select count(*)::int as count from session_recorders')
  assert.equal(rows[0].count, 0, 'recorders go a day after their time')
  // New ones are recorded as before.
  const next = await open()
  await next.chunk()
  assert.equal((await next.finish()).status, 200)
})

test('the service role may drop daily partitions of recordings, and nothing else', async () => {
  const drop = (target: string, days: number) =>
    inTransaction(harness.ctx, 'system', (tx) => sql`select pohf_drop_days(${target}, ${days})`.execute(tx))
  await assert.rejects(drop('sessions', 30), /cannot be dropped/)
  await assert.rejects(drop('credentials', 1), /cannot be dropped/)
  await assert.rejects(drop('session_chunks', 0), /cannot be dropped/)
  await assert.rejects(
    inTransaction(harness.ctx, 'system', (tx) => sql`delete from session_chunks`.execute(tx)),
    /permission denied/,
  )
})

test('a session is scored once, and its credential names the key of the page', async () => {
  const key = await makeSessionKey()
  const claimsOf = async () => {
    const { sessionId, status, recorder } = await playSession(harness, { site: agentId, key })
    assert.equal(status, 'scored')
    const sessionKey = { agentId, mode: 'test' as const, sessionId }
    const stored = await inTransaction(harness.ctx, 'system', (tx) => findSession(tx, sessionKey))
    assert.ok(stored)
    const score = {
      quality: 0.7,
      verified: true,
      assurance: 'low' as const,
      scoring: 'test',
      components: { focus: 1, probe: 0.8, input: null, gaze: null, device: 0.3, history: 0.5 },
      flags: [],
      reasons: [],
      evidence: [{ type: 'telemetry' as const, alg: 'sha-256' as const, hash: 'A'.repeat(43) }],
      counted: null,
      salt: Buffer.alloc(32),
    }
    const again = await inTransaction(harness.ctx, 'system', (tx) =>
      updateSessionsScored(tx, [{ rowKey: { ...sessionKey, at: stored.at }, ...score }]),
    )
    assert.deepEqual(again, [])
    const minted = await harness.call('POST', '/api/agents/verify', { key: apiKey, body: { sessionId } })
    assert.equal(minted.status, 200, minted.text)
    const payload = (minted.json.pohf_jwt as string).split('.')[1] ?? ''
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
    assert.equal(claims.telemetry.link, recorder.now().link.toString('base64url'))
    return claims as { sub: string; cnf: unknown }
  }
  const [one, two] = [await claimsOf(), await claimsOf()]
  assert.deepEqual(one.cnf, { jkt: thumbprintOf(key.jwk) })
  assert.equal(one.sub, two.sub, 'a page that keeps its key is one subject')
})

test('an id that the database cannot store is a 400, not a 500', async () => {
  for (const path of ['', '/chunks']) {
    const answer = await harness.call('GET', `/api/agents/sessions/nul%00${path}`, { key: apiKey })
    assert.equal(answer.status, 400, answer.text)
  }
})
