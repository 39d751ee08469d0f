import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { enrolMember, openBrowser, registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'
import { playSession } from '../../../test/fixtures/people/play-session.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'

const harness = await startHarness()
const live = await registerConfirmedAgent(harness, 'live', 'one@example.com')

const ids = (list: readonly { sessionId: string }[]) => list.map((one) => one.sessionId)

/** Inserts sessions without recordings, some of them at the same time. */
const insertSessions = (memberId: string, count: number) =>
  harness.owner.query(
    `with made as (
       insert into session_claims (agent_id, mode, session_id, at)
       select $1, 'live', 'ses_planted_' || lpad(n::text, 6, '0'), pohf_now() - (n / 3) * interval '1 second'
       from generate_series(1, $3::int) n returning agent_id, session_id, at)
     insert into sessions (agent_id, mode, session_id, at, kind, status, member_ref)
     select agent_id, 'live', session_id, at, 'view', 'expired', $2 from made`,
    [live.agentId, memberId, count],
  )

test('an export holds every session and every recording, however many there are, and is streamed', async () => {
  const { browser, memberId, sessionId } = await enrolMember(harness, live)
  const played = [sessionId]
  for (let n = 0; n < 50; n += 1) {
    const one = await playSession(harness, { site: live.agentId })
    played.push(one.sessionId)
  }
  await harness.owner.query('update sessions set member_ref = $1 where session_id = any($2)', [
    memberId,
    played,
  ])
  await insertSessions(memberId, 1_203)
  const file = await browser.get('me/export')
  assert.equal(file.status, 200)
  assert.equal(file.headers['content-length'], undefined, 'it was all made before it was sent')
  assert.deepEqual(ids(file.json.recordings).toSorted(), played.toSorted())
  for (const { records } of file.json.recordings) assert.ok(records.length >= 2)
  const acts = ids(file.json.sessions)
  assert.deepEqual([acts.length, new Set(acts).size], [1_203 + 51, 1_203 + 51])
  assert.equal((await browser.get('me')).json.memberships[0].sessions.length, 500)
})

test('an export requires sign-in', async () => {
  assertRefusal(await openBrowser(harness).get('me/export'), 401, 'sign_in_required')
})
