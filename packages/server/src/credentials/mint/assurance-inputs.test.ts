import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Mode } from '@pohf/protocol'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { enrolMember, registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'
import { createPasskey, makePasskey } from '../../../test/fixtures/people/authenticator.ts'
import { playSession } from '../../../test/fixtures/people/play-session.ts'

const harness = await startHarness()
const live = await registerConfirmedAgent(harness, 'live', 'agent@example.com')
const origin = new URL(harness.ctx.config.BASE_URL).origin

const post = (path: string, body: unknown) => harness.call('POST', path, { key: live.apiKey, body })
const claimsOf = (jwt: string) => JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString())

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
  assert.deepEqual(json, { attested: true, assurance: 'software' })
}
/** Inserts a hardware attestation, which no test machine can produce. */
const makeHardware = (subjectRef: string, mode: Mode = 'live') =>
  harness.owner.query(
    "insert into device_attestations values ($1, $2, $3, 'webauthn', 'hardware', pohf_now(), pohf_now() + interval '1 day')",
    [live.agentId, mode, subjectRef],
  )

test('an attested device of a session is in its credential; only hardware raises the assurance', async () => {
  const levels: Record<string, unknown> = {}
  for (const level of ['none', 'software', 'hardware']) {
    const { sessionId } = await playSession(harness, { site: live.agentId })
    if (level === 'software') await attest(sessionId)
    if (level === 'hardware') await makeHardware(sessionId)
    const { json, text } = await post('/api/agents/verify', { sessionId })
    assert.ok(json.pohf_jwt, text)
    const claims = claimsOf(json.pohf_jwt)
    assert.equal(claims.assurance, json.assurance)
    levels[level] = [claims.device?.assurance, claims.assurance]
  }
  assert.deepEqual(levels, {
    none: [undefined, 'low'],
    software: ['software', 'low'],
    hardware: ['hardware', 'substantial'],
  })
})

const submit = (memberId: string) =>
  post('/api/kinetic/submit', {
    memberId,
    source: 'geo_photo',
    lat: 48.2,
    lng: 16.4,
    photoHash: `p-${memberId}`,
  })

test('live presence counts with an enrolled member or a hardware device, and not with a software passkey', async () => {
  await attest('somebody')
  const soft = await submit('somebody')
  assert.deepEqual([soft.status, soft.json.error], [404, 'not_found'])

  const { memberId } = await enrolMember(harness, live)
  const member = (await submit(memberId)).json
  assert.deepEqual([member.verified, member.assurance, member.components.device], [true, 'substantial', 0.8])
  assert.ok(member.quality <= 0.55)

  await makeHardware('with a device')
  const device = (await submit('with a device')).json
  assert.deepEqual([device.verified, device.assurance, device.components.device], [true, 'substantial', 1])
  const minted = await post('/api/agents/verify', { sessionId: device.sessionId })
  assert.equal(claimsOf(minted.json.pohf_jwt).device.assurance, 'hardware')
})

test('personhood is high with hardware and three good checks, and not before', async () => {
  const { memberId } = await enrolMember(harness, live)
  await makeHardware(memberId)
  const first = await post('/api/agents/verify-personhood', { memberId })
  assert.equal(first.json.assurance, 'substantial')
  await harness.owner.query('update members set good_checks = 3 where member_id = $1', [memberId])
  await harness.advance(61 * 86_400_000)
  await makeHardware(`${memberId}-unrelated`)
  await harness.owner.query(
    "update device_attestations set expires_at = pohf_now() + interval '1 day' where subject_ref = $1",
    [memberId],
  )
  const later = await post('/api/agents/verify-personhood', { memberId })
  assert.notEqual(later.json.credentialId, first.json.credentialId)
  assert.equal(later.json.assurance, 'high')
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
