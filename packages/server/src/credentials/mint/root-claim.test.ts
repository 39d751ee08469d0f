import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { decodeJwt } from 'jose'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { makeAttestedModel } from '../../../test/fixtures/people/attested-model.ts'
import { enrolMember, registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'
import { addOutsideProof, officeIssuer } from '../../../test/fixtures/people/outside-proof.ts'
import { playSession } from '../../../test/fixtures/people/play-session.ts'
import { openSecurityKey } from '../../../test/fixtures/people/security-key.ts'
import { rootClaim } from './root-claim.ts'

const model = await makeAttestedModel()
after(() => model.close())
const harness = await startHarness(model.settings, [officeIssuer])
const live = await registerConfirmedAgent(harness, 'live', 'roots@example.com')
const post = (path: string, body: unknown, key = live.apiKey) => harness.call('POST', path, { key, body })
const rootOf = ({ json, text }: Awaited<ReturnType<typeof post>>) => {
  assert.ok(json.pohf_jwt, text)
  return decodeJwt(json.pohf_jwt)['root']
}
/** Inserts the verdict about an app that is bound to the session. */
const insertAppVerdict = (sessionId: string) =>
  harness.owner.query(
    `insert into device_attestations (agent_id, mode, subject_ref, method, assurance, attested_at, expires_at, session_id, root_name)
     values ($1, 'live', $2, 'app_attest', 'hardware', pohf_now(), pohf_now() + interval '1 day', $2, 'TEAM012345.com.example.app')`,
    [live.agentId, sessionId],
  )

test('the claim names the model of a device and the issuer of a proof, and no key', () => {
  const root = { key: 'secret', name: 'name' } as const
  assert.deepEqual(rootClaim('live', undefined), { root: { kind: 'network' } })
  for (const kind of ['authenticator', 'app'] as const)
    assert.deepEqual(rootClaim('live', { ...root, kind }), { root: { kind, model: 'name' } })
  assert.deepEqual(rootClaim('live', { ...root, kind: 'external' }), {
    root: { kind: 'external', issuer: 'name' },
  })
  assert.deepEqual(rootClaim('live', { ...root, kind: 'payout_account' }), {
    root: { kind: 'payout_account' },
  })
  assert.deepEqual(rootClaim('test', { ...root, kind: 'external' }), {})
})

test('every live credential names its root', async () => {
  // One after another: each moves the clock, and the questions of the others would run out.
  const playedSession = async () => (await playSession(harness, { site: live.agentId })).sessionId
  const [plain, key, app] = [await playedSession(), await playedSession(), await playedSession()]
  const attested = await openSecurityKey(harness, model).attest(live.apiKey, key)
  assert.deepEqual(attested.json, { attested: true, assurance: 'hardware_strong' })
  await insertAppVerdict(app)
  const verify = (sessionId: string) => post('/api/agents/verify', { sessionId })
  assert.deepEqual(rootOf(await verify(plain)), { kind: 'network' })
  assert.deepEqual(rootOf(await verify(key)), { kind: 'authenticator', model: model.aaguid })
  assert.deepEqual(rootOf(await verify(app)), { kind: 'app', model: 'TEAM012345.com.example.app' })
  const bound = await post('/api/agents/bind-transaction', { paymentRef: 'other:1', sessionId: plain })
  assert.deepEqual(rootOf(bound), { kind: 'network' })
})

const personhood = async (memberId: string) =>
  rootOf(await post('/api/agents/verify-personhood', { memberId }))

test('a personhood credential names the network, and the issuer once the member has an outside proof', async () => {
  const plain = await enrolMember(harness, live)
  assert.deepEqual(await personhood(plain.memberId), { kind: 'network' })
  const withProof = await enrolMember(harness, live)
  await addOutsideProof(withProof.browser)
  assert.deepEqual(await personhood(withProof.memberId), { kind: 'external', issuer: officeIssuer.name })
})

test('a test credential names no root, whatever the device', async () => {
  const agent = await harness.register('test')
  const verified = await post('/api/agents/verify', { sessionId: 'ses_test_pass' }, agent.apiKey)
  assert.equal(rootOf(verified), undefined)
  const person = await post('/api/agents/verify-personhood', { memberId: 'someone' }, agent.apiKey)
  assert.equal(rootOf(person), undefined)
  const bound = await post(
    '/api/agents/bind-transaction',
    { paymentRef: 'other:1', sessionId: 'ses_test_pass' },
    agent.apiKey,
  )
  assert.equal(rootOf(bound), undefined)
})
