import assert from 'node:assert/strict'
import { test } from 'node:test'
import { approvalView, viewHash } from '@pohf/verify/approvals'
import { startHarness, type TestResponse } from '../../../test/fixtures/harness.ts'
import { grantCredits } from '../../../test/fixtures/payments/ledger.ts'
import {
  enrolApprover,
  makeApproval,
  makeAttackTools,
  type TestApprover,
} from '../../../test/fixtures/people/approver.ts'
import { makePasskey } from '../../../test/fixtures/people/authenticator.ts'
import { invite } from '../../../test/fixtures/people/member.ts'
import { consentVersion } from '../../members/rules.ts'

// Each of these must be refused, and leave the approval as it was.

const harness = await startHarness()
const agent = await harness.register('live')
await grantCredits(harness, agent, 100n)
const ada = await enrolApprover(harness, agent)
const bob = await enrolApprover(harness, agent)
const { attend, stateOf, askToApprove, approve, assertRefused } = makeAttackTools(harness, agent)
type Made = Awaited<ReturnType<typeof makeApproval>>

test('the turn of another approver is not found', async () => {
  const made = await makeApproval(harness, agent, [ada])
  assert.equal((await bob.read(made.approvalId)).status, 404)
  await assertRefused(made, await askToApproveAs(bob, made), 'not_found')
  const asked = await askToApprove(ada, made)
  await assertRefused(made, await bob.decide(made.approvalId, asked, bob.sign(asked)), 'not_found')
})
/** As a person who cannot read it: with what the real approver sees. */
const askToApproveAs = async (person: TestApprover, made: Made) =>
  person.send('POST', `/${made.approvalId}/options`, {
    decision: 'approve',
    sessionId: await attend(ada, made),
    viewHash: await viewHash(approvalView(made.envelope, undefined)),
  })

test('the challenge of one approver does not serve another of the same approval', async () => {
  const made = await makeApproval(harness, agent, [ada, bob], { policy: { quorum: 2 } })
  const asked = await askToApprove(ada, made)
  const stolen = await bob.decide(made.approvalId, asked, bob.sign(asked))
  await assertRefused(made, stolen, 'approval_refused', 'challenge_unknown')
})

test('the passkey of another person does not sign, even over the right challenge', async () => {
  const made = await makeApproval(harness, agent, [ada])
  const asked = await askToApprove(ada, made)
  const byBob = await ada.decide(made.approvalId, asked, bob.sign(asked))
  await assertRefused(made, byBob, 'passkey_refused')
})

test('a passkey that nobody registered does not sign', async () => {
  const made = await makeApproval(harness, agent, [ada])
  const asked = await askToApprove(ada, made)
  const answer = await ada.decide(made.approvalId, asked, ada.sign(asked, { passkey: makePasskey() }))
  await assertRefused(made, answer, 'passkey_refused')
})

test('a login alone decides nothing', async () => {
  const made = await makeApproval(harness, agent, [ada])
  for (const credential of [{}, { id: ada.passkey.id.toString('base64url') }, null]) {
    const asked = await askToApprove(ada, made)
    await assertRefused(made, await ada.decide(made.approvalId, asked, credential), 'passkey_refused')
  }
})

test('without a login nothing is read or decided', async () => {
  const made = await makeApproval(harness, agent, [ada])
  const path = `/api/approve/approvals/${made.approvalId}`
  assert.equal((await harness.call('GET', path)).json.error, 'sign_in_required')
  const origin = ada.browser.origin
  const answer = await harness.call('POST', `${path}/options`, {
    headers: { origin },
    body: { decision: 'deny', viewHash: 'v'.repeat(43) },
  })
  await assertRefused(made, answer, 'sign_in_required')
})

test('a page of another site cannot decide with the cookie', async () => {
  const made = await makeApproval(harness, agent, [ada])
  const answer = await harness.call('POST', `/api/approve/approvals/${made.approvalId}/options`, {
    headers: { origin: 'https://elsewhere.example', cookie: ada.browser.cookie() ?? '' },
    body: { decision: 'deny', viewHash: 'v'.repeat(43) },
  })
  await assertRefused(made, answer, 'forbidden')
})

test('the API key of the requester cannot decide', async () => {
  const made = await makeApproval(harness, agent, [ada])
  const answer = await harness.call('POST', `/api/approve/approvals/${made.approvalId}/options`, {
    key: agent.apiKey,
    headers: { origin: ada.browser.origin },
    body: { decision: 'approve', viewHash: 'v'.repeat(43) },
  })
  await assertRefused(made, answer, 'sign_in_required')
})

test('an assertion without user verification is refused', async () => {
  const made = await makeApproval(harness, agent, [ada])
  const asked = await askToApprove(ada, made)
  const answer = await ada.decide(made.approvalId, asked, ada.sign(asked, { flags: 1 }))
  await assertRefused(made, answer, 'passkey_refused')
})

test('an assertion of another origin is refused', async () => {
  const made = await makeApproval(harness, agent, [ada])
  const asked = await askToApprove(ada, made)
  const answer = await ada.decide(
    made.approvalId,
    asked,
    ada.sign(asked, { origin: 'https://elsewhere.example' }),
  )
  await assertRefused(made, answer, 'passkey_refused')
})

test('an assertion for a denial does not approve, and one for another approval or nonce counts for nothing', async () => {
  const made = await makeApproval(harness, agent, [ada])
  const denial = await ada.options(made.approvalId, { decision: 'deny' })
  const other = await askToApprove(ada, await makeApproval(harness, agent, [ada]))
  const earlier = await askToApprove(ada, made)
  for (const source of [denial, other, earlier]) {
    const asked = await askToApprove(ada, made)
    const challenge = source.json.publicKey.challenge as string
    assert.notEqual(challenge, asked.json.publicKey.challenge)
    const answer = await ada.decide(made.approvalId, asked, ada.sign(asked, { challenge }))
    await assertRefused(made, answer, 'passkey_refused')
  }
})

test('a challenge that was replaced is unknown', async () => {
  const made = await makeApproval(harness, agent, [ada])
  const first = await askToApprove(ada, made)
  await askToApprove(ada, made)
  const answer = await ada.decide(made.approvalId, first, ada.sign(first))
  await assertRefused(made, answer, 'approval_refused', 'challenge_unknown')
})

test('a challenge expires after five minutes', async () => {
  const made = await makeApproval(harness, agent, [ada])
  const asked = await askToApprove(ada, made)
  await harness.advance(301_000)
  const answer = await ada.decide(made.approvalId, asked, ada.sign(asked))
  await assertRefused(made, answer, 'approval_refused', 'challenge_unknown')
})

test('a failed attempt uses up its challenge', async () => {
  const made = await makeApproval(harness, agent, [ada])
  const asked = await askToApprove(ada, made)
  await ada.decide(made.approvalId, asked, {})
  const answer = await ada.decide(made.approvalId, asked, ada.sign(asked))
  await assertRefused(made, answer, 'approval_refused', 'challenge_unknown')
})

test('a replayed decision and a replayed assertion are refused', async () => {
  const made = await makeApproval(harness, agent, [ada, bob], { policy: { quorum: 2 } })
  const asked = await askToApprove(ada, made)
  const credential = ada.sign(asked)
  assert.equal((await ada.decide(made.approvalId, asked, credential)).status, 200)
  const again = await ada.decide(made.approvalId, asked, credential)
  assert.equal(again.json.details[0].code, 'challenge_unknown', again.text)
  const other = await makeApproval(harness, agent, [ada])
  const askedOther = await askToApprove(ada, other)
  const replayed = await ada.decide(other.approvalId, askedOther, credential)
  await assertRefused(other, replayed, 'passkey_refused')
})

test('a passkey whose counter does not move is refused: it may be a copy', async () => {
  const [first, second] = [
    await makeApproval(harness, agent, [bob]),
    await makeApproval(harness, agent, [bob]),
  ]
  const askedFirst = await askToApprove(bob, first)
  assert.equal((await bob.decide(first.approvalId, askedFirst, bob.sign(askedFirst))).status, 200)
  await harness.owner.query('update person_passkeys set counter = 1000 where credential_id = $1', [
    bob.passkey.id.toString('base64url'),
  ])
  const asked = await askToApprove(bob, second)
  await assertRefused(second, await bob.decide(second.approvalId, asked, bob.sign(asked)), 'passkey_refused')
  await harness.owner.query('update person_passkeys set counter = 100 where credential_id = $1', [
    bob.passkey.id.toString('base64url'),
  ])
})

test('past its deadline nobody decides, whether or not the job has run', async () => {
  const made = await makeApproval(harness, agent, [ada], { decideMinutes: 3 })
  const asked = await askToApprove(ada, made)
  await harness.advance(181_000)
  const late = await ada.decide(made.approvalId, asked, ada.sign(asked))
  await assertRefused(made, late, 'approval_conflict', 'too_late')
  const begun = await ada.options(made.approvalId, { decision: 'deny' })
  await assertRefused(made, begun, 'approval_conflict', 'too_late')
})

test('what was consumed or denied is decided no more', async () => {
  for (const [status, end] of [
    ['consumed', "status = 'consumed', consumed_at = pohf_now()"],
    ['denied', "status = 'denied', ended_at = pohf_now()"],
  ] as const) {
    const made = await makeApproval(harness, agent, [ada, bob])
    const asked = await askToApprove(bob, made)
    assert.equal((await approve(ada, made)).status, 200)
    await harness.owner.query(`update approvals set ${end} where approval_id = $1`, [made.approvalId])
    const answer = await bob.decide(made.approvalId, asked, bob.sign(asked))
    assert.equal(answer.json.details[0].code, 'not_pending', answer.text)
    const veto = await bob.options(made.approvalId, { decision: 'deny' })
    assert.equal(veto.json.details[0].code, 'not_pending', veto.text)
    assert.equal((await stateOf(made))?.status, status)
  }
})
test('words go with a denial', async () => {
  const made = await makeApproval(harness, agent, [ada])
  const asked = await askToApprove(ada, made)
  const answer = await ada.decide(made.approvalId, asked, ada.sign(asked), 'Fine.')
  await assertRefused(made, answer, 'approval_refused', 'words_with_approval')
})

test('one person cannot be two approvers of an agent', async () => {
  const second = await invite(harness, agent.apiKey)
  const answer = await ada.browser.post('enrol', {
    token: second.token,
    consentVersion,
    language: 'en',
  })
  assert.equal(answer.json.error, 'member_not_enrolled', answer.text)
  assert.equal(answer.json.details[0].code, 'duplicate')
})

test('a removed approver, one who withdrew and one who is erased decide nothing', async () => {
  const [removed, withdrawn, erased] = [
    await enrolApprover(harness, agent),
    await enrolApprover(harness, agent),
    await enrolApprover(harness, agent),
  ]
  const made = await makeApproval(harness, agent, [removed, withdrawn, erased])
  const asked = {
    removed: await askToApprove(removed, made),
    withdrawn: await askToApprove(withdrawn, made),
    erased: await askToApprove(erased, made),
  }
  await harness.owner.query(
    "update approvers set removed_at = pohf_now(), removed_by = 'x' where approver_id = $1",
    [removed.approver],
  )
  await harness.owner.query("update members set status = 'withdrawn' where member_id = $1", [
    withdrawn.memberId,
  ])
  const signed = erased.sign(asked.erased)
  assert.equal((await erased.browser.post('me/erase', { confirm: 'delete everything' })).status, 200)
  const decide = (person: TestApprover, options: TestResponse, credential = person.sign(options)) =>
    person.decide(made.approvalId, options, credential)
  await assertRefused(made, await decide(removed, asked.removed), 'not_found')
  await assertRefused(
    made,
    await decide(withdrawn, asked.withdrawn),
    'approval_refused',
    'approver_not_enrolled',
  )
  await assertRefused(made, await decide(erased, asked.erased, signed), 'sign_in_required')
})

test('a passkey that was added after the request does not approve it, and can deny it', async () => {
  const person = await enrolApprover(harness, agent)
  const made = await makeApproval(harness, agent, [person])
  await harness.advance(1_000)
  const added = makePasskey()
  await harness.owner.query(
    `insert into person_passkeys (credential_id, person_id, public_key, counter, assurance, synced)
     select $2, person_id, public_key, 0, assurance, synced from person_passkeys where credential_id = $1`,
    [person.passkey.id.toString('base64url'), added.id.toString('base64url')],
  )
  const passkey = { ...added, privateKey: person.passkey.privateKey }
  const asked = await askToApprove(person, made)
  const answer = await person.decide(made.approvalId, asked, person.sign(asked, { passkey }))
  await assertRefused(made, answer, 'approval_refused', 'passkey_too_new')
  // A request that comes later can be approved with it.
  const later = await makeApproval(harness, agent, [person])
  const askedLater = await askToApprove(person, later)
  const signed = person.sign(askedLater, { passkey })
  assert.equal((await person.decide(later.approvalId, askedLater, signed)).status, 200)
  const denial = await person.options(made.approvalId, { decision: 'deny' })
  const denied = await person.decide(made.approvalId, denial, person.sign(denial, { passkey }))
  assert.equal(denied.json.status, 'denied', denied.text)
})
