import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Mode } from '@pohf/protocol'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { enrolMember, registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'
import { createPasskey, makePasskey } from '../../../test/fixtures/people/authenticator.ts'
import { makeAttestedModel } from '../../../test/fixtures/people/attested-model.ts'
import { addOutsideProof, officeIssuer } from '../../../test/fixtures/people/outside-proof.ts'
import { openSecurityKey } from '../../../test/fixtures/people/security-key.ts'
import { makeWalletClients, newWallet } from '../../../test/fixtures/people/wallet-clients.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { payoutFacts, type ShownRoot } from '../../roots/index.ts'
import { findSession } from '../../sessions/index.ts'
import { sessionAssuranceInputs } from './assurance-inputs.ts'
import { playSession } from '../../../test/fixtures/people/play-session.ts'

const model = await makeAttestedModel()
after(() => model.close())
const harness = await startHarness(model.settings, [officeIssuer])
const live = await registerConfirmedAgent(harness, 'live', 'agent@example.com')
const origin = new URL(harness.ctx.config.BASE_URL).origin

const post = (path: string, body: unknown) => harness.call('POST', path, { key: live.apiKey, body })
const claimsOf = (jwt: string) => JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString())

const findOwnSession = async (sessionId: string) => {
  const session = await inTransaction(harness.ctx, 'system', (tx) =>
    findSession(tx, { agentId: live.agentId, mode: 'live', sessionId }),
  )
  assert.ok(session)
  return session
}

/** Attests this subject with a passkey without a certificate. */
const attest = async (subjectRef: string): Promise<void> => {
  const { nonce, challengeB64url } = (await post('/api/agents/attest/challenge', {})).json
  const credential = createPasskey(makePasskey(), { challenge: challengeB64url, origin }, { fmt: 'none' })
  const { json } = await post('/api/agents/attest/verify', {
    method: 'webauthn',
    nonce,
    subjectRef,
    evidence: { credential },
  })
  assert.deepEqual(json, { attested: true, assurance: 'software', reason: 'device_unproven' })
}
/** Inserts an attestation of hardware that is bound to no act. */
const makeHardware = (subjectRef: string, mode: Mode = 'live') =>
  harness.owner.query(
    "insert into device_attestations values ($1, $2, $3, 'webauthn', 'hardware', pohf_now(), pohf_now() + interval '1 day')",
    [live.agentId, mode, subjectRef],
  )

test('an attested device of a session is in its credential; it raises the assurance only where it answered in the act', async () => {
  const levels: Record<string, unknown> = {}
  for (const level of ['none', 'software', 'hardware', 'in this act']) {
    const { sessionId } = await playSession(harness, { site: live.agentId })
    if (level === 'software') await attest(sessionId)
    if (level === 'hardware') await makeHardware(sessionId)
    if (level === 'in this act') await openSecurityKey(harness, model).attest(live.apiKey, sessionId)
    const { json, text } = await post('/api/agents/verify', { sessionId })
    assert.ok(json.pohf_jwt, text)
    const claims = claimsOf(json.pohf_jwt)
    assert.equal(claims.assurance, json.assurance)
    levels[level] = [claims.device?.assurance, claims.assurance]
  }
  assert.deepEqual(levels, {
    none: [undefined, 'low'],
    software: ['software', 'low'],
    hardware: ['hardware', 'low'],
    'in this act': ['hardware_strong', 'substantial'],
  })
})

const submit = (memberId: string, sessionId?: string) =>
  post('/api/kinetic/submit', {
    memberId,
    source: 'geo_photo',
    lat: 48.2,
    lng: 16.4,
    photoHash: `p-${memberId}-${sessionId}`,
    sessionId,
  })

test('live presence needs an enrolled member or a hardware device, and a session of the last 15 minutes', async () => {
  await attest('somebody')
  const soft = await submit('somebody')
  assert.deepEqual([soft.status, soft.json.error], [404, 'not_found'])
  const { memberId } = await enrolMember(harness, live)
  const member = (await submit(memberId)).json
  assert.deepEqual([member.verified, member.assurance, member.components.device], [true, 'low', 0.8])
  assert.ok(member.quality <= 0.55)
  await makeHardware('with a device')
  assertRefusal(await submit('with a device'), 409, 'session_expired')
  const { sessionId } = await playSession(harness, { site: live.agentId })
  const device = (await submit('with a device', sessionId)).json
  assert.deepEqual([device.verified, device.assurance, device.components.device], [true, 'low', 1])
  const minted = await post('/api/agents/verify', { sessionId: device.sessionId })
  assert.equal(claimsOf(minted.json.pohf_jwt).device.assurance, 'hardware')

  await harness.advance(15 * 60_000 + 1_000)
  assertRefusal(await submit(memberId), 409, 'session_expired')
  assertRefusal(await submit(memberId, sessionId), 409, 'session_expired')
  assertRefusal(await submit(memberId, 'ses_unknown'), 409, 'session_expired')
})

test('presence has the assurance of the session that it rests on, at its submission and in its credential', async () => {
  const { memberId } = await enrolMember(harness, live)
  await openSecurityKey(harness, model).attest(live.apiKey, memberId)
  const { sessionId } = await playSession(harness, { site: live.agentId })
  for (const [name, session, expected] of [
    ['its attention check, for which a device answered', undefined, 'substantial'],
    ['a session without a device', sessionId, 'low'],
  ] as const) {
    const submitted = (await submit(memberId, session)).json
    const minted = await post('/api/agents/verify', { sessionId: submitted.sessionId })
    assert.deepEqual([submitted.assurance, minted.json.assurance], [expected, expected], name)
  }
})

test('personhood is substantial for a day after a device answered for the last attention check', async () => {
  const { memberId } = await enrolMember(harness, live)
  const wallet = () => makeWalletClients(harness).ask(live.apiKey, memberId, newWallet())
  const levelNow = async () => claimsOf((await wallet()).pohf_jwt).assurance
  assert.equal(await levelNow(), 'low', 'an enrolment with a passkey in software')
  await harness.owner.query('update members set good_checks = 30 where member_id = $1', [memberId])
  assert.equal((await submit(memberId)).json.components.history, 0.5, 'good checks, which cost nothing')
  await makeHardware(memberId)
  assert.equal(await levelNow(), 'low', 'good checks and a device that answered in no act')
  await openSecurityKey(harness, model).attest(live.apiKey, memberId)
  assert.equal(await levelNow(), 'substantial')
  await harness.advance(24 * 3_600_000 + 1_000)
  assert.equal(await levelNow(), 'low')
})

test('an account that was paid for work raises work, and an outside proof everything of its member', async () => {
  const { memberId, browser } = await enrolMember(harness, live)
  const { sessionId } = await playSession(harness, { site: live.agentId })
  const act = { agent: live, session: await findOwnSession(sessionId) }
  const worker = { agentId: live.agentId, mode: 'live', memberId } as const
  const payoutAccount: ShownRoot = {
    ...payoutFacts,
    key: 'hash',
    name: 'payout_account',
    counted: true,
    fresh: false,
    at: harness.ctx.clock.now(),
  }
  const strengthOf = async (facts: object) => {
    const [inputs] = await inTransaction(harness.ctx, 'system', (tx) =>
      sessionAssuranceInputs(tx, [{ ...act, ...facts }]),
    )
    return [inputs?.assurance, ...(inputs?.roots ?? []).map(({ kind }) => kind)]
  }
  assert.deepEqual(await strengthOf({ worker }), ['low'])
  assert.deepEqual(await strengthOf({ worker, payoutAccount }), ['substantial', 'payout_account'])
  await addOutsideProof(browser)
  assert.deepEqual(await strengthOf({ worker, payoutAccount }), ['high', 'world_id', 'payout_account'])
  assert.deepEqual(await strengthOf({}), ['low'], 'nobody knows whose session it is')
  assert.equal((await post('/api/agents/verify-personhood', { memberId })).json.assurance, 'high')
  // In a session that the agent names, it is the agent's word that this is the member.
  assert.equal((await submit(memberId, sessionId)).json.assurance, 'low')
  const own = (await submit(memberId)).json
  assert.equal(own.assurance, 'high')
  assert.equal((await post('/api/agents/verify', { sessionId: own.sessionId })).json.assurance, 'high')
})

test('a task whose page names a member does not count for that member', async () => {
  const { memberId } = await enrolMember(harness, live)
  const { sessionId } = await playSession(harness, { site: live.agentId, kind: 'task' })
  await harness.owner.query('update sessions set member_ref = $1 where session_id = $2', [
    memberId,
    sessionId,
  ])
  const { json } = await post('/api/agents/verify', { sessionId })
  assert.equal(json.assurance, 'low')
})
