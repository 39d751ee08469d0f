import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { decodeJwt } from 'jose'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { budgetSettings, makeSeenSessions, registerPayingAgent } from '../../../test/fixtures/networks.ts'
import { makeAttestedModel } from '../../../test/fixtures/people/attested-model.ts'
import { createPasskey, makePasskey } from '../../../test/fixtures/people/authenticator.ts'
import {
  makeAppAssertion,
  makeAppAttestation,
  makeAppDevice,
  sha256,
} from '../../../test/fixtures/people/device-attestation.ts'
import { enrolMember } from '../../../test/fixtures/people/member.ts'
import { giveTask } from '../../../test/fixtures/people/micro-task.ts'
import { playSession } from '../../../test/fixtures/people/play-session.ts'
import { openSecurityKey } from '../../../test/fixtures/people/security-key.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'
import * as operators from '../../operators/index.ts'

const model = await makeAttestedModel()
after(() => model.close())
const harness = await startHarness({ ...budgetSettings, ...model.settings })
const operator = await operators.create(harness.ctx, 'machine', 'Ada')
const live = await registerPayingAgent(harness)
const post = (path: string, body: unknown) =>
  harness.call('POST', `/api/agents/${path}`, { key: live.apiKey, body })
const seen = makeSeenSessions(harness)
let addresses = 0
/** Sessions that passed, each with a key, from an address of their own. */
const passed = async (count: number): Promise<string[]> => {
  const sessionIds = await seen(count, live, `198.51.100.${++addresses}`)
  await harness.owner.query(
    "update sessions set jkt = rpad(right(session_id, 20), 43, 'A') where session_id = any($1)",
    [sessionIds],
  )
  return sessionIds
}
const passedOne = async (): Promise<string> => (await passed(1))[0] ?? ''
const levelOf = async (sessionId: string) => {
  const answer = await post('verify', { sessionId })
  assert.equal(answer.status, 200, answer.text)
  const { assurance } = decodeJwt(answer.json.pohf_jwt)
  assert.equal(answer.json.assurance, assurance)
  return assurance
}

test('an attested authenticator that answers for a session a person played raises its credential', async () => {
  const key = openSecurityKey(harness, model)
  const { sessionId } = await playSession(harness, { site: live.agentId })
  const answer = await key.attest(live.apiKey, sessionId)
  assert.deepEqual(answer.json, { attested: true, assurance: 'hardware_strong' })
  assert.equal(await levelOf(sessionId), 'substantial')
  const next = await passedOne()
  assert.deepEqual((await key.attest(live.apiKey, next)).json, {
    attested: true,
    assurance: 'hardware_strong',
  })
  assert.equal(await levelOf(next), 'substantial', 'the same key in another session')
  assert.equal(await levelOf(await passedOne()), 'low', 'a session for which it did not answer')
})

/** Completes a micro-task; returns the session of its completion. */
const completeTask = async (isAttested: boolean): Promise<string> => {
  const { token, answer } = giveTask(harness, { ...live, mode: 'live' })
  const { sessionId } = await playSession(harness, { site: live.agentId, kind: 'task' })
  if (isAttested) await openSecurityKey(harness, model).attest(live.apiKey, sessionId)
  const done = await harness.call('POST', '/api/tasks/complete', { body: { token, answer, sessionId } })
  assert.equal(done.json.verified, true, done.text)
  return done.json.sessionId
}

test('an authenticator that answers for the recording of a micro-task raises the credential of the micro-task', async () => {
  assert.equal(await levelOf(await completeTask(true)), 'substantial')
  assert.equal(await levelOf(await completeTask(false)), 'low')
})

test('an answer for another session, for none, or without user verification raises nothing', async () => {
  const [mine, other] = [await passedOne(), await passedOne()]
  const key = openSecurityKey(harness, model)
  await key.attest(live.apiKey, other)
  const moved = await key.attest(live.apiKey, mine, { challengeFor: other })
  assert.deepEqual(moved.json, { attested: false, assurance: 'none', reason: 'challenge_mismatch' })
  const unbound = await openSecurityKey(harness, model).attest(live.apiKey, mine, { challengeFor: null })
  assert.deepEqual(unbound.json, { attested: true, assurance: 'hardware_strong', reason: 'not_bound' })
  const touched = await openSecurityKey(harness, model).attest(live.apiKey, mine, { flags: 1 })
  assert.deepEqual(touched.json, { attested: true, assurance: 'hardware', reason: 'device_unproven' })
  assert.equal(await levelOf(mine), 'low')
  assert.equal(await levelOf(other), 'substantial')
})

test('the key of the session is part of what the device signs', async () => {
  const sessionId = await passedOne()
  const asked = (await post('attest/challenge', { subjectRef: sessionId })).json
  assert.equal(asked.bound, true)
  const origin = new URL(harness.ctx.config.BASE_URL).origin
  // A device that signs the nonce alone has not seen the key of the session.
  const credential = createPasskey(
    makePasskey(),
    { challenge: asked.nonce, origin, aaguid: model.aaguid },
    { fmt: 'packed', batch: model.batch },
  )
  const answer = await post('attest/verify', {
    method: 'webauthn',
    nonce: asked.nonce,
    subjectRef: sessionId,
    evidence: { credential },
  })
  assert.equal(answer.json.reason, 'passkey_refused')
  assert.equal((await post('attest/challenge', {})).json.bound, false)
  assert.equal((await post('attest/challenge', { subjectRef: 'nobody' })).json.bound, false)
})

test('a replayed answer counts once', async () => {
  const [first, second] = [await passedOne(), await passedOne()]
  const asked = (await post('attest/challenge', { subjectRef: first })).json
  const origin = new URL(harness.ctx.config.BASE_URL).origin
  const credential = createPasskey(
    makePasskey(),
    { challenge: asked.challengeB64url, origin, aaguid: model.aaguid },
    { fmt: 'packed', batch: model.batch },
  )
  const show = (nonce: string, subjectRef: string) =>
    post('attest/verify', { method: 'webauthn', nonce, subjectRef, evidence: { credential } })
  assert.deepEqual((await show(asked.nonce, first)).json, { attested: true, assurance: 'hardware_strong' })
  assertRefusal(await show(asked.nonce, second), 409, 'nonce_used')
  const fresh = (await post('attest/challenge', { subjectRef: second })).json
  assert.equal((await show(fresh.nonce, second)).json.reason, 'passkey_refused')
  assert.equal(await levelOf(second), 'low')
})

test('a key raises 60 credentials in a day, and the 61st is refused uncharged', async () => {
  const key = openSecurityKey(harness, model)
  const sessionIds = await passed(61)
  for (const sessionId of sessionIds) await key.attest(live.apiKey, sessionId)
  for (const sessionId of sessionIds.slice(0, 60)) assert.equal(await levelOf(sessionId), 'substantial')
  const balance = async () =>
    (await harness.call('GET', '/api/agents/credits/balance', { key: live.apiKey })).json
  const before = await balance()
  assertRefusal(await post('verify', { sessionId: sessionIds[60] }), 409, 'network_busy')
  assert.deepEqual(await balance(), before)
})

test('a key that answered for more than three other members of an agent raises nothing for a further one, and flags presence', async () => {
  const key = openSecurityKey(harness, model)
  const members: string[] = []
  for (const _ of Array(5)) members.push((await enrolMember(harness, live)).memberId)
  const reasons: unknown[] = []
  for (const memberId of members) reasons.push((await key.attest(live.apiKey, memberId)).json.reason)
  assert.deepEqual(reasons, [undefined, undefined, undefined, undefined, 'device_shared'])
  const fifth = members[4] ?? ''
  assert.equal((await post('verify-personhood', { memberId: fifth })).json.assurance, 'low')
  assert.equal((await post('verify-personhood', { memberId: members[3] })).json.assurance, 'substantial')
  const presence = await harness.call('POST', '/api/kinetic/submit', {
    key: live.apiKey,
    body: { memberId: fifth, source: 'geo_photo', photoHash: 'shared' },
  })
  assert.deepEqual([presence.json.verified, presence.json.flags], [false, ['device_shared']], presence.text)
})

const appId = 'TEAM012345.com.example.app'
const [appOrigin, rpId] = ['https://app.example', 'app.example']
const changeAdmission = (kind: 'app' | 'rp_id', name: string, admitted: boolean) =>
  harness.callOperator('POST', `/operator/agents/${live.agentId}/apps`, {
    key: operator.operatorKey,
    body: { kind, name, admitted, reason: 'known to us' },
  })

test('a relying party that an agent names for itself raises nothing until an operator admits it', async () => {
  const named = await harness.call('PATCH', '/api/agents/me', {
    key: live.apiKey,
    body: {
      attestation: {
        appAttest: { appIds: [appId] },
        webauthn: { origins: [appOrigin], rpIds: [rpId] },
      },
    },
  })
  assert.equal(named.status, 200, named.text)
  const key = openSecurityKey(harness, model)
  const [before, during, after_] = await passed(3)
  const attest = async (sessionId = '') =>
    (await key.attest(live.apiKey, sessionId, { origin: appOrigin })).json.reason
  assert.equal(await attest(before), 'app_not_admitted')
  assert.equal(await levelOf(before ?? ''), 'low')
  assert.equal((await changeAdmission('rp_id', rpId, true)).status, 200)
  assert.equal(await attest(during), undefined)
  assert.equal(await levelOf(during ?? ''), 'substantial')
  assert.equal((await changeAdmission('rp_id', rpId, false)).status, 200)
  assertRefusal(await changeAdmission('rp_id', rpId, false), 404, 'not_found')
  assert.equal(await attest(after_), 'app_not_admitted')
  assert.equal(await levelOf(after_ ?? ''), 'low')
  const { rows } = await harness.owner.query<{ details: object }>(
    "select details from operator_audit where action = 'app.admit' order by seq",
  )
  assert.deepEqual(
    rows.map(({ details }) => details),
    [true, false].map((admitted) => ({ kind: 'rp_id', name: rpId, admitted, reason: 'known to us' })),
  )
})

test('an app raises nothing until an operator admits it, also by a later signature of its key', async () => {
  const device = await makeAppDevice()
  const keyId = device.keyId.toString('base64')
  const answer = async (sessionId: string, make: (challenge: string) => Promise<object>) => {
    const asked = (await post('attest/challenge', { subjectRef: sessionId })).json
    const evidence = { keyId, ...(await make(asked.challengeB64url)) }
    return (
      await post('attest/verify', {
        method: 'app_attest',
        nonce: asked.nonce,
        subjectRef: sessionId,
        evidence,
      })
    ).json
  }
  const attestation = async (challenge: string) => {
    const { root, intermediate } = model
    const options = { root, intermediate, appId, clientDataHash: sha256(challenge) }
    return { attestationObject: (await makeAppAttestation(device, options)).toString('base64') }
  }
  const assertion = async (challenge: string) => {
    const clientData = Buffer.from(JSON.stringify({ challenge }))
    const signed = await makeAppAssertion(device, { appId, clientData, counter: 1, category: 4 })
    return { assertion: signed.toString('base64'), clientData: clientData.toString('base64') }
  }
  const [before, later] = [await passedOne(), await passedOne()]
  assert.equal((await answer(before, attestation)).reason, 'app_not_admitted')
  assert.equal(await levelOf(before), 'low')
  assert.equal((await changeAdmission('app', appId, true)).status, 200)
  assert.deepEqual(await answer(later, assertion), { attested: true, assurance: 'hardware_strong' })
  assert.equal(await levelOf(later), 'substantial')
})
