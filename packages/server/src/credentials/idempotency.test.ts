import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startHarness, type TestResponse } from '../../test/fixtures/harness.ts'
import {
  budgetSettings,
  makeSeenSessions,
  moveClockTo,
  registerPayingAgent,
} from '../../test/fixtures/networks.ts'
import { makeAttestedModel } from '../../test/fixtures/people/attested-model.ts'
import { enrolMember } from '../../test/fixtures/people/member.ts'
import { playSession } from '../../test/fixtures/people/play-session.ts'
import { openSecurityKey } from '../../test/fixtures/people/security-key.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'
import { makeScoredSession, passOpenedSessions } from '../../test/fixtures/scored-session.ts'
import { inTransaction } from '../platform/db/db.ts'
import { insertUnscoredSession } from '../sessions/index.ts'

const model = await makeAttestedModel()
after(() => model.close())
const harness = await startHarness({ ...budgetSettings, ...model.settings, ROOT_ADDRESS_PER_HOUR: '4' })
const agent = await registerPayingAgent(harness)
const seen = makeSeenSessions(harness)
let keys = 0
/** One call that is sent again and again under its own Idempotency-Key. */
const callUnderKey = (path: string, body: object) => {
  const headers = { 'idempotency-key': `key ${++keys}` }
  return () => harness.call('POST', `/api/agents/${path}`, { key: agent.apiKey, body, headers })
}
/** Minted now, and the same answer for every further call under the key. */
const assertMintsOnce = async (call: () => Promise<TestResponse>): Promise<void> => {
  const minted = await call()
  assert.equal(minted.status, 200, minted.text)
  assert.equal(minted.headers['idempotent-replayed'], undefined)
  const repeated = await call()
  assert.equal(repeated.headers['idempotent-replayed'], 'true')
  assert.equal(repeated.json.pohf_jwt, minted.json.pohf_jwt)
}

test('the same key succeeds once the budget of the network is open', async () => {
  await moveClockTo(harness, 9, 20)
  const [first = '', second = '', third = ''] = await seen(3, agent, '203.0.113.1')
  for (const sessionId of [first, second])
    assert.equal((await callUnderKey('verify', { sessionId })()).status, 200)
  const verify = callUnderKey('verify', { sessionId: third })
  assertRefusal(await verify(), 409, 'network_busy')
  await harness.advance(3_600_000)
  await assertMintsOnce(verify)
})

test('the same key succeeds once the session is scored', async () => {
  const key = { agentId: agent.agentId, mode: agent.mode, sessionId: 'ses_open' }
  await inTransaction(harness.ctx, agent.agentId, (tx) =>
    insertUnscoredSession(tx, key, { kind: 'view', status: 'open', simulated: false }),
  )
  const verify = callUnderKey('verify', { sessionId: key.sessionId })
  assertRefusal(await verify(), 409, 'session_not_ready')
  await passOpenedSessions(harness, agent.agentId, [key.sessionId])
  await assertMintsOnce(verify)
})

test('the same key succeeds once the person has stepped up, for a session and for a member', async () => {
  const { sessionId } = await playSession(harness, { site: agent.agentId })
  const verify = callUnderKey('verify', { sessionId, minAssurance: 'substantial' })
  assertRefusal(await verify(), 409, 'session_rejected')
  await openSecurityKey(harness, model).attest(agent.apiKey, sessionId)
  await assertMintsOnce(verify)

  const { memberId } = await enrolMember(harness, agent)
  const personhood = callUnderKey('verify-personhood', { memberId, minAssurance: 'substantial' })
  assertRefusal(await personhood(), 409, 'below_policy')
  await openSecurityKey(harness, model).attest(agent.apiKey, memberId)
  await assertMintsOnce(personhood)
})

test('a session that did not pass is refused with the stored answer', async () => {
  const { sessionId } = await makeScoredSession(harness, agent, {
    verified: false,
    reasons: ['attention_unproven'],
  })
  const verify = callUnderKey('verify', { sessionId })
  const refused = await verify()
  assertRefusal(refused, 409, 'session_rejected')
  const repeated = await verify()
  assert.deepEqual([repeated.status, repeated.text], [409, refused.text])
  assert.equal(refused.headers['idempotent-replayed'], undefined)
  assert.equal(repeated.headers['idempotent-replayed'], 'true')
})
