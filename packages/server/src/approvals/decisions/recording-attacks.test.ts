import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, test } from 'node:test'
import { decodeJwt } from 'jose'
import type { Claims } from '@pohf/verify'
import { approvalView, canonicalJson, viewHash, type Envelope } from '@pohf/verify/approvals'
import { attacksIn } from '../../../../verify/test/approvals/run-attack.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { grantCredits } from '../../../test/fixtures/payments/ledger.ts'
import {
  enrolApprover,
  makeApproval,
  makeAttackTools,
  recordDecision,
} from '../../../test/fixtures/people/approver.ts'
import { makeAttestedModel } from '../../../test/fixtures/people/attested-model.ts'
import { makePasskey } from '../../../test/fixtures/people/authenticator.ts'
import { playSession } from '../../../test/fixtures/people/play-session.ts'
import { openSecurityKey } from '../../../test/fixtures/people/security-key.ts'

// Each of these must be refused, and leave the approval as it was.

const attack = attacksIn(import.meta.url)
const model = await makeAttestedModel()
after(model.close)
const harness = await startHarness(model.settings)
const agent = await harness.register('live')
await grantCredits(harness, agent, 100n)
const ada = await enrolApprover(harness, agent)
const bob = await enrolApprover(harness, agent)
const { attend, askToApprove, approve, assertRefused } = makeAttackTools(harness, agent)

attack('view-of-other-renderer', async (refused) => {
  const made = await makeApproval(harness, agent, [ada])
  const view = approvalView(made.envelope, undefined)
  const changed: Envelope = { ...made.envelope, action: { ...made.envelope.action, amount: '1.00' } }
  const hashes = [
    createHash('sha256')
      .update(canonicalJson({ ...view, view: 'approval-2' }))
      .digest('base64url'),
    await viewHash(approvalView(changed, undefined)),
    made.envelopeHash,
  ]
  for (const hash of hashes) {
    const answer = await ada.options(made.approvalId, {
      decision: 'approve',
      sessionId: await attend(ada, made),
      viewHash: hash,
    })
    await assertRefused(made, answer, refused)
  }
})

attack('no-attention', async (refused) => {
  const made = await makeApproval(harness, agent, [ada])
  await assertRefused(made, await ada.options(made.approvalId, { decision: 'approve' }), refused)
})

attack('attention-of-another', async (refused) => {
  const made = await makeApproval(harness, agent, [ada, bob])
  const other = await makeApproval(harness, agent, [ada])
  const challenge = (await ada.read(made.approvalId)).json.challenge as string
  const foreign = [
    'ses_of_nobody',
    await attend(ada, other),
    await attend(bob, made),
    await recordDecision(harness, agent, challenge, { kind: 'view' }),
    await recordDecision(harness, agent, challenge, { kind: 'work' }),
    await recordDecision(harness, await harness.register('live'), challenge),
  ]
  for (const sessionId of foreign)
    await assertRefused(made, await ada.options(made.approvalId, { decision: 'approve', sessionId }), refused)
})

/** A recording of this person's page, from its beginning to its end. */
const playDecision = async (made: Awaited<ReturnType<typeof makeApproval>>, over: object) => {
  const { site, challenge } = (await ada.read(made.approvalId)).json
  const headers = { origin: ada.browser.origin }
  const played = { site, challenge, kind: 'approval', headers, lastsMs: 4_000, ...over } as const
  const { sessionId } = await playSession(harness, played)
  return ada.options(made.approvalId, { decision: 'approve', sessionId })
}

attack('under-a-script', async (refused) => {
  const made = await makeApproval(harness, agent, [ada])
  await assertRefused(made, await playDecision(made, { webdriver: true }), refused)
})

attack('page-in-background', async (refused) => {
  const made = await makeApproval(harness, agent, [ada])
  const { json } = await playDecision(made, { visible: 0 })
  const codes: string[] = json.details.map(({ code }: { code: string }) => `${json.error} ${code}`)
  refused(codes.find((code) => code.endsWith('focus_low')))
})

test('a recording of a decision opens on our own page alone, with the challenge of a turn that waits', async () => {
  const made = await makeApproval(harness, agent, [ada])
  const { site, challenge } = (await ada.read(made.approvalId)).json
  const { origin } = ada.browser
  const open = (from: string, over: object = {}) =>
    playSession(harness, { site, challenge, kind: 'approval', headers: { origin: from }, ...over })
  await assert.rejects(open('https://agent.example'), /Only the page of this service records decisions/)
  await assert.rejects(open(origin, { challenge: 'apl_guess' }), /No decision with this challenge waits/)
  const otherSite = await harness.register('live')
  await assert.rejects(open(origin, { site: otherSite.agentId }), /No decision with this challenge waits/)
  await ada.decideWhole(made.approvalId, { decision: 'deny' })
  await assert.rejects(open(origin), /No decision with this challenge waits/)
  const shared = await makeApproval(harness, agent, [ada, bob], { policy: { quorum: 2 } })
  const own = (await ada.read(shared.approvalId)).json.challenge as string
  assert.equal((await approve(ada, shared)).json.status, 'pending')
  await assert.rejects(open(origin, { challenge: own }), /No decision with this challenge waits/)
})

attack('recording-as-credential', async (refused) => {
  const made = await makeApproval(harness, agent, [ada])
  const sessionId = await attend(ada, made)
  const answer = await harness.call('POST', '/api/agents/verify', {
    key: agent.apiKey,
    body: { sessionId },
  })
  await assertRefused(made, answer, refused)
})

test('a device that the requester brings raises no assurance, and the recording serves no presence', async () => {
  const made = await makeApproval(harness, agent, [ada])
  const { site, challenge } = (await ada.read(made.approvalId)).json
  const headers = { origin: ada.browser.origin }
  const { sessionId } = await playSession(harness, {
    site,
    challenge,
    kind: 'approval',
    headers,
    lastsMs: 4_000,
  })
  for (const subject of [sessionId, ada.memberId]) {
    const brought = await openSecurityKey(harness, model).attest(agent.apiKey, subject)
    assert.equal(brought.json.attested, true, brought.text)
  }
  const presence = await harness.call('POST', '/api/kinetic/submit', {
    key: agent.apiKey,
    body: { memberId: ada.memberId, sessionId, source: 'receipt', photoHash: '0'.repeat(64) },
  })
  assert.equal(presence.json.error, 'session_expired', presence.text)
  const decided = await ada.decideWhole(made.approvalId, { decision: 'approve', sessionId })
  const stored = await harness.call('GET', `/api/agents/credentials/${decided.json.credentialId}`, {
    key: agent.apiKey,
  })
  const claims = decodeJwt(stored.json.pohf_jwt)
  const { assurance, device, roots } = claims as unknown as Claims
  assert.deepEqual([assurance, device, roots?.map(({ kind }) => kind)], ['low', undefined, ['network']])
})

attack('too-fast', async (refused) => {
  const made = await makeApproval(harness, agent, [ada], { policy: { minSeconds: 8 } })
  const sessionId = await attend(ada, made, { seconds: 7 })
  const answer = await ada.options(made.approvalId, { decision: 'approve', sessionId })
  await assertRefused(made, answer, refused)
})

attack('old-recording', async (refused) => {
  const made = await makeApproval(harness, agent, [ada], { decideMinutes: 100 })
  const sessionId = await attend(ada, made)
  await harness.advance(3_590_000)
  const asked = await ada.options(made.approvalId, { decision: 'approve', sessionId })
  assert.equal(asked.status, 200, asked.text)
  await harness.advance(20_000)
  const late = await ada.decide(made.approvalId, asked, ada.sign(asked))
  await assertRefused(made, late, refused)
})

attack('too-many-decisions', async (refused) => {
  const person = await enrolApprover(harness, agent)
  await harness.owner.query(
    "insert into approval_settings (agent_id, mode, decisions_per_hour, changed_by) values ($1, 'live', 2, 'x')",
    [agent.agentId],
  )
  for (let n = 0; n < 2; n++)
    assert.equal((await approve(person, await makeApproval(harness, agent, [person]))).status, 200)
  const made = await makeApproval(harness, agent, [person])
  const shown = await person.read(made.approvalId)
  assert.ok(Date.parse(shown.json.retryAt) > harness.ctx.clock.now().getTime())
  await assertRefused(made, await approve(person, made), refused)
  assert.equal((await person.decideWhole(made.approvalId, { decision: 'deny' })).status, 200)
  await harness.owner.query('delete from approval_settings')
})

attack('synced-passkey', async (refused) => {
  const person = await enrolApprover(harness, agent)
  const made = await makeApproval(harness, agent, [person], { policy: { passkey: 'device_bound' } })
  const setKey = (assurance: string, synced: boolean) =>
    harness.owner.query('update person_passkeys set assurance = $2, synced = $3 where credential_id = $1', [
      person.passkey.id.toString('base64url'),
      assurance,
      synced,
    ])
  await assertRefused(made, await askToApprove(person, made), refused)
  await setKey('hardware', true)
  await assertRefused(made, await askToApprove(person, made), refused)
  await setKey('hardware', false)
  // The person has such a passkey, and signs with another one.
  const asked = await askToApprove(person, made)
  assert.equal(asked.status, 200, asked.text)
  const weak = makePasskey()
  await harness.owner.query(
    `insert into person_passkeys (credential_id, person_id, public_key, counter, assurance, synced)
     select $2, person_id, public_key, 0, 'software', true from person_passkeys where credential_id = $1`,
    [person.passkey.id.toString('base64url'), weak.id.toString('base64url')],
  )
  const copy = { ...weak, privateKey: person.passkey.privateKey }
  const byOther = await person.decide(made.approvalId, asked, person.sign(asked, { passkey: copy }))
  await assertRefused(made, byOther, refused)
  const again = await askToApprove(person, made)
  assert.equal(again.json.publicKey.allowCredentials.length, 1)
  assert.equal((await person.decide(made.approvalId, again, person.sign(again))).status, 200)
})
