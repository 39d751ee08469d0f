import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { decodeJwt } from 'jose'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { makeAttestedModel } from '../../../test/fixtures/people/attested-model.ts'
import { enrolMember, registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'
import { addOutsideProof, officeIssuer } from '../../../test/fixtures/people/outside-proof.ts'
import { playSession } from '../../../test/fixtures/people/play-session.ts'
import { openSecurityKey } from '../../../test/fixtures/people/security-key.ts'
import type { ShownRoot } from '../../roots/index.ts'
import { rootsClaim } from './root-claim.ts'

const model = await makeAttestedModel()
after(() => model.close())
const harness = await startHarness(model.settings, [officeIssuer])
const live = await registerConfirmedAgent(harness, 'live', 'roots@example.com')
const post = (path: string, body: unknown, key = live.apiKey) => harness.call('POST', path, { key, body })
type RootFacts = Readonly<Record<string, unknown>>
/** The roots that a credential names, without their times. */
const rootsOf = ({ json, text }: Awaited<ReturnType<typeof post>>): RootFacts[] | undefined => {
  assert.ok(json.pohf_jwt, text)
  const roots = decodeJwt(json.pohf_jwt)['roots'] as RootFacts[] | undefined
  return roots?.map(({ at, ...facts }) => {
    assert.ok(Number.isSafeInteger(at))
    return facts
  })
}
const network = { kind: 'network', class: 'address', counted: false, fresh: true }
const device = { counted: false, fresh: true }
/** Inserts the verdict about an app that is bound to the session. */
const insertAppVerdict = (sessionId: string) =>
  harness.owner.query(
    `insert into device_attestations (agent_id, mode, subject_ref, method, assurance, attested_at, expires_at, session_id, root_name)
     values ($1, 'live', $2, 'app_attest', 'hardware', pohf_now(), pohf_now() + interval '1 day', $2, 'TEAM012345.com.example.app')`,
    [live.agentId, sessionId],
  )

test('the claim names the model of a device and the issuer of a proof, and no key', () => {
  const at = new Date('2026-11-20T10:00:00Z')
  const facts = { counted: false, fresh: false }
  const [exact, month] = [at.getTime() / 1_000, Date.parse('2026-11-01') / 1_000]
  const root = { key: 'secret', name: 'name', level: 'low', counted: false, fresh: false, at } as const
  const rows: [Partial<ShownRoot> & Pick<ShownRoot, 'kind' | 'class'>, object][] = [
    [{ kind: 'authenticator', class: 'device:fido' }, { model: 'name' }],
    [{ kind: 'app', class: 'device:phone' }, { model: 'name' }],
    [{ kind: 'world_id', class: 'biometric:world' }, { issuer: 'name' }],
    [
      { kind: 'organization', class: 'employer', issuer: 'https://login.example' },
      { issuer: 'https://login.example' },
    ],
    [{ kind: 'payout_account', class: 'bank' }, {}],
  ]
  for (const [shown, named] of rows) {
    const { kind, class: of } = shown
    assert.deepEqual(rootsClaim('live', [{ ...root, ...shown }], at), {
      roots: [{ kind, class: of, ...named, ...facts, at: 'model' in named ? exact : month }],
    })
    assert.deepEqual(rootsClaim('test', [{ ...root, ...shown }], at), {})
  }
  assert.deepEqual(rootsClaim('live', [], at), { roots: [{ ...network, at: exact }] })
})

test('a proof names the act or the month, so that two agents cannot tell that it is the same', () => {
  const checked = new Date('2026-11-20T10:04:31Z')
  const proof = { kind: 'world_id', class: 'biometric:world', key: 'secret', name: 'name' } as const
  const root = { ...proof, level: 'high', counted: true, at: checked } as const
  const atOf = (fresh: boolean, act: string) =>
    rootsClaim('live', [{ ...root, fresh }], new Date(act)).roots?.[0]?.at
  assert.equal(atOf(false, '2026-11-20T11:00:00Z'), Date.parse('2026-11-01') / 1_000)
  assert.equal(atOf(true, '2026-11-20T10:09:00Z'), Date.parse('2026-11-20T10:09:00Z') / 1_000)
})

test('every live credential names its roots', async () => {
  // One after another: each moves the clock, and the questions of the others would run out.
  const playedSession = async () => (await playSession(harness, { site: live.agentId })).sessionId
  const [plain, key, app] = [await playedSession(), await playedSession(), await playedSession()]
  const attested = await openSecurityKey(harness, model).attest(live.apiKey, key)
  assert.deepEqual(attested.json, { attested: true, assurance: 'hardware_strong' })
  await insertAppVerdict(app)
  const verify = (sessionId: string) => post('/api/agents/verify', { sessionId })
  assert.deepEqual(rootsOf(await verify(plain)), [network])
  assert.deepEqual(rootsOf(await verify(key)), [
    { kind: 'authenticator', class: 'device:fido', model: model.aaguid, ...device },
  ])
  assert.deepEqual(rootsOf(await verify(app)), [
    { kind: 'app', class: 'device:phone', model: 'TEAM012345.com.example.app', ...device },
  ])
  const bound = await post('/api/agents/bind-transaction', { paymentRef: 'other:1', sessionId: plain })
  assert.deepEqual(rootsOf(bound), [network])
})

const personhood = async (memberId: string) =>
  rootsOf(await post('/api/agents/verify-personhood', { memberId }))

test('a personhood credential names the network, and the issuer once the member has an outside proof', async () => {
  const plain = await enrolMember(harness, live)
  assert.deepEqual(await personhood(plain.memberId), [network])
  const withProof = await enrolMember(harness, live)
  await addOutsideProof(withProof.browser)
  assert.deepEqual(await personhood(withProof.memberId), [
    { kind: 'world_id', class: 'biometric:world', issuer: officeIssuer.name, counted: true, fresh: false },
  ])
})

test('a test credential names no root, whatever the device', async () => {
  const agent = await harness.register('test')
  const verified = await post('/api/agents/verify', { sessionId: 'ses_test_pass' }, agent.apiKey)
  assert.equal(rootsOf(verified), undefined)
  const person = await post('/api/agents/verify-personhood', { memberId: 'someone' }, agent.apiKey)
  assert.equal(rootsOf(person), undefined)
  const bound = await post(
    '/api/agents/bind-transaction',
    { paymentRef: 'other:1', sessionId: 'ses_test_pass' },
    agent.apiKey,
  )
  assert.equal(rootsOf(bound), undefined)
})
