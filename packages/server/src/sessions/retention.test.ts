import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { enrolMember, registerConfirmedAgent } from '../../test/fixtures/people/member.ts'
import { playSession } from '../../test/fixtures/people/play-session.ts'
import { openRecorder } from '../../test/fixtures/people/recorder.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'

const harness = await startHarness({ SESSION_KEEP_DAYS: '40' })
const live = await registerConfirmedAgent(harness, 'live', 'one@example.com')
const dayMs = 86_400_000

const read = (sessionId: string) =>
  harness.call('GET', `/api/agents/sessions/${sessionId}`, { key: live.apiKey })

/** The tables that hold a row of this session. */
const tablesOf = async (sessionId: string): Promise<string[]> => {
  const found = []
  for (const table of ['sessions', 'session_claims', 'session_keys', 'session_recorders', 'session_chunks']) {
    const { rowCount } = await harness.owner.query(`select from ${table} where session_id = $1 limit 1`, [
      sessionId,
    ])
    if ((rowCount ?? 0) > 0) found.push(table)
  }
  return found
}

test('a session that nobody verified is deleted after its retention; verified ones and those of members stay', async () => {
  const visitor = await playSession(harness, { site: live.agentId })
  const unfinished = await openRecorder({ send: harness.call, site: live.agentId })
  const verified = await playSession(harness, { site: live.agentId })
  const body = { sessionId: verified.sessionId }
  const minted = await harness.call('POST', '/api/agents/verify', { key: live.apiKey, body })
  assert.equal(minted.status, 200, minted.text)
  const member = await enrolMember(harness, live)

  await harness.advance(39 * dayMs)
  await harness.runJobs()
  assert.equal((await read(visitor.sessionId)).status, 200)

  await harness.advance(2 * dayMs)
  await harness.runJobs()
  for (const { sessionId } of [visitor, unfinished]) {
    assertRefusal(await read(sessionId), 404, 'not_found')
    assert.deepEqual(await tablesOf(sessionId), [])
  }
  assert.equal((await read(verified.sessionId)).json.status, 'sealed')
  assert.deepEqual(await tablesOf(member.sessionId), ['sessions', 'session_claims', 'session_keys'])
})

test('the retention reads an index, however many verified sessions there are', async () => {
  const client = await harness.owner.connect()
  // The table of this test is small: without this the planner reads all of it.
  await client.query('set enable_seqscan = off')
  const { rows } = await client.query(
    `explain select session_id from sessions where status <> 'sealed' and member_ref is null
       and at < pohf_now() - interval '40 days' order by at, session_id limit 500`,
  )
  client.release(true)
  assert.match(JSON.stringify(rows), /Index (Only )?Scan using \w+_at_session_id_idx/)
})
