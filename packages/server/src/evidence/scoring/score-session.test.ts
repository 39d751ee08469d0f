import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inTransaction } from '../../platform/db/db.ts'
import { buildJobs } from '../../wiring/index.ts'
import { findClosedRecording, listClosedSessions } from '../../sessions/index.ts'
import { runJobs, startHarness } from '../../../test/fixtures/harness.ts'
import { playSession, makeStrokes } from '../../../test/fixtures/people/play-session.ts'
import { makeScoring } from './score-session.ts'
import { deleteSketches } from './store.ts'

const harness = await startHarness()
const { apiKey: key, agentId: site } = await harness.register('test')
const read = async (sessionId: string, by = key) =>
  (await harness.call('GET', `/api/agents/sessions/${sessionId}`, { key: by })).json
const verify = (sessionId: string, by = key) =>
  harness.call('POST', '/api/agents/verify', { key: by, body: { sessionId } })

test('an attentive person at a keyboard is recorded, scored at the end and minted with the same numbers', async () => {
  const { sessionId, status } = await playSession(harness, { site })
  assert.equal(status, 'scored')
  const session = await read(sessionId)
  assert.deepEqual([session.verified, session.flags, session.reasons], [true, [], []])
  assert.equal(session.simulated, false)
  assert.equal(session.scoring, 'rules-2026.11.2+input-2026.11')
  assert.equal(session.components.input, null)
  assert.deepEqual([session.counted.probes, session.counted.hits], [2, 2])
  assert.deepEqual(
    [session.counted.pictures, session.counted.words],
    [
      { asked: 0, hit: 0 },
      { asked: 2, hit: 2 },
    ],
  )
  assert.equal(session.counted.returning, false)
  assert.deepEqual(session.counted.observations, [])
  assert.deepEqual(
    session.evidence.map(({ type }: { type: string }) => type),
    ['telemetry'],
  )
  const minted = await verify(sessionId)
  assert.equal(minted.status, 200, minted.text)
  assert.equal(minted.json.quality, session.quality)
  assert.equal(minted.headers['x-sandbox'], undefined, 'nobody simulated this session')
})

const refused: readonly (readonly [
  string,
  Omit<Parameters<typeof playSession>[1], 'site'>,
  readonly string[],
])[] = [
  ['webdriver', { webdriver: true }, ['automation_env']],
  ['untrusted events', { trusted: 0 }, ['untrusted_events']],
  ['a hidden page', { visible: 0 }, ['background']],
  ['nobody who answers', { answers: false }, ['probe_missed']],
  [
    'a headless browser',
    { headers: { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/156.0' } },
    ['automation_env'],
  ],
]
for (const [name, how, flags] of refused) {
  test(`${name}: scored, refused, and the event tells why`, async () => {
    const { sessionId, status } = await playSession(harness, { site, ...how })
    assert.equal(status, 'scored')
    const session = await read(sessionId)
    assert.deepEqual(session.flags, flags)
    assert.equal(session.verified, false)
    const answer = await verify(sessionId)
    assert.equal(answer.json.error, 'session_rejected')
    const { rows } = await harness.owner.query(
      "select type, data->'reasons' as reasons from events where subject = $1",
      [sessionId],
    )
    assert.deepEqual(rows, [{ type: 'session.rejected', reasons: session.reasons }])
  })
}

test('recorded strokes are recognized again, shifted by a pixel and under another agent', async () => {
  const [one, two] = [await harness.register('live'), await harness.register('live')]
  const first = await playSession(harness, { site: one.agentId, strokes: makeStrokes(1) })
  const { rows } = await harness.owner.query(
    'select count(*)::int as n from stroke_sketches where session_id = $1',
    [first.sessionId],
  )
  assert.ok(rows[0].n >= 4, `only ${rows[0].n} strokes can be known again`)
  assert.deepEqual((await read(first.sessionId, one.apiKey)).flags, [])
  const other = await playSession(harness, { site: two.agentId, strokes: makeStrokes(2) })
  assert.deepEqual((await read(other.sessionId, two.apiKey)).flags, [], 'other strokes are other strokes')
  const again = await playSession(harness, { site: two.agentId, strokes: makeStrokes(1, 1) })
  const replayed = await read(again.sessionId, two.apiKey)
  assert.deepEqual([replayed.flags, replayed.verified], [['replay_match'], false])
})

/** Removes a score, as if the process had ended between closing and scoring. */
const unscore = async (...sessionIds: string[]) => {
  await harness.owner.query('alter table sessions disable trigger transition')
  await harness.owner.query(
    "update sessions set status = 'closed', quality = null, verified = null where session_id = any($1)",
    [sessionIds],
  )
  await harness.owner.query('alter table sessions enable trigger transition')
}

const listUnscored = () =>
  inTransaction(harness.ctx, 'system', (tx) => listClosedSessions(tx, { limit: 10, ageSeconds: 0 }))

test('of two copies scored at the same moment, at least one is flagged as a replay', async () => {
  const { agentId, apiKey } = await harness.register('live')
  const ids: string[] = []
  for (const _ of ['first', 'second'])
    ids.push((await playSession(harness, { site: agentId, strokes: makeStrokes(3) })).sessionId)
  const { scoreClosed } = makeScoring(harness.ctx, async () => undefined)
  for (let round = 0; round < 8; round += 1) {
    await unscore(...ids)
    await harness.owner.query('delete from stroke_sketches where agent_id = $1', [agentId])
    const keys = await listUnscored()
    assert.deepEqual(keys.map(({ sessionId }) => sessionId).toSorted(), ids.toSorted())
    const closed = await Promise.all(
      keys.map((key) => inTransaction(harness.ctx, 'system', (tx) => findClosedRecording(tx, key))),
    )
    // As two processes, and as one batch.
    const batches =
      round % 2 === 0 ? closed.map((one) => (one ? [one] : [])) : [closed.flatMap((one) => one ?? [])]
    await Promise.all(batches.map((batch) => scoreClosed(batch)))
    const sessions = await Promise.all(ids.map((sessionId) => read(sessionId, apiKey)))
    assert.ok(sessions.some(({ flags }) => flags.includes('replay_match')))
  }
})

test('sketches are deleted with their recordings', async () => {
  const { agentId } = await harness.register('live')
  const { sessionId } = await playSession(harness, { site: agentId, strokes: makeStrokes(4) })
  const count = async () =>
    (await harness.owner.query('select from stroke_sketches where session_id = $1', [sessionId])).rowCount
  assert.ok(await count())
  await harness.advance(29 * 86_400_000)
  await harness.runJobs()
  assert.ok(await count(), 'kept as long as raw telemetry')
  await harness.advance(3 * 86_400_000)
  await harness.runJobs()
  assert.equal(await count(), 0)
})

test('erasing a session deletes its sketches', async () => {
  const { agentId } = await harness.register('live')
  const { sessionId } = await playSession(harness, { site: agentId, strokes: makeStrokes(5) })
  const count = async () =>
    (await harness.owner.query('select from stroke_sketches where session_id = $1', [sessionId])).rowCount
  assert.ok(await count())
  const other = await harness.register('live')
  await inTransaction(harness.ctx, other.agentId, (tx) => deleteSketches(tx, agentId, [sessionId]))
  assert.ok(await count(), 'another agent erases nothing')
  await inTransaction(harness.ctx, agentId, (tx) => deleteSketches(tx, agentId, [sessionId]))
  assert.equal(await count(), 0)
})

test('a closed session without a score is scored by the worker, once', async () => {
  const { sessionId } = await playSession(harness, { site })
  await unscore(sessionId)
  assert.equal((await verify(sessionId)).json.error, 'session_not_ready')
  // All jobs together take seconds on a busy machine, and after five the session counts as left behind.
  const scoring = buildJobs(harness.ctx).filter(({ name }) => name === 'session scores')
  assert.equal(scoring.length, 1)
  await runJobs(scoring)
  assert.equal((await read(sessionId)).status, 'closed', 'the call that closed it may still score it')
  await harness.advance(5_000)
  await harness.runJobs()
  assert.equal((await read(sessionId)).status, 'scored')
  assert.deepEqual(await listUnscored(), [])
})

test('a session that cannot be decrypted is rejected alone, and those of its batch are scored', async () => {
  const ids: string[] = []
  for (const _ of ['whole', 'broken', 'whole']) ids.push((await playSession(harness, { site })).sessionId)
  await unscore(...ids)
  await harness.owner.query('update session_chunks set ciphertext = $2 where session_id = $1 and seq = 2', [
    ids[1],
    Buffer.alloc(40),
  ])
  const closed = await Promise.all(
    (await listUnscored()).map((key) =>
      inTransaction(harness.ctx, 'system', (tx) => findClosedRecording(tx, key)),
    ),
  )
  const { scoreClosed } = makeScoring(harness.ctx, async () => undefined)
  const scored = await scoreClosed(closed.flatMap((one) => one ?? []))
  assert.deepEqual(
    ids.map((id) => [scored.get(id)?.verified, scored.get(id)?.reasons]),
    [
      [true, []],
      [false, ['scoring_failed']],
      [true, []],
    ],
  )
})

test('a session whose records were deleted is rejected and does not stay closed', async () => {
  const { sessionId } = await playSession(harness, { site })
  await unscore(sessionId)
  await harness.owner.query('delete from session_keys where session_id = $1', [sessionId])
  await harness.advance(5_000)
  await harness.runJobs()
  const session = await read(sessionId)
  assert.deepEqual([session.status, session.verified, session.reasons], ['scored', false, ['records_gone']])
})

test('sessions whose key cannot be opened stay closed and do not keep newer ones from a retry', async () => {
  const { sessionId: original } = await playSession(harness, { site })
  const { sessionId: newer } = await playSession(harness, { site })
  await unscore(original, newer)
  await harness.owner.query(
    `insert into session_keys
     select agent_id, session_id || n, 'unreadable' from session_keys, generate_series(1, 50) n where session_id = $1`,
    [original],
  )
  await harness.owner.query(
    `insert into sessions select copy.* from sessions s, generate_series(1, 50) n,
       jsonb_populate_record(s, jsonb_build_object('session_id', s.session_id || n, 'leaves', '')) copy
     where s.session_id = $1`,
    [original],
  )
  await harness.advance(5_000)
  const [scoring] = makeScoring(harness.ctx, async () => undefined).jobs
  await scoring?.run()
  await scoring?.run()
  assert.equal((await read(newer)).status, 'scored')
  const { rowCount } = await harness.owner.query(
    "select from sessions where status = 'closed' and session_id like $1 || '%'",
    [original],
  )
  assert.equal(rowCount, 50)
})
