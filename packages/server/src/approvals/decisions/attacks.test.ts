import assert from 'node:assert/strict'
import { test } from 'node:test'
import { approvalView, viewHash } from '@pohf/verify/approvals'
import { attacksIn } from '../../../../verify/test/approvals/run-attack.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { grantCredits } from '../../../test/fixtures/payments/ledger.ts'
import { ruleOf } from '../../../test/fixtures/people/approvals.ts'
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

const attack = attacksIn(import.meta.url)
const harness = await startHarness()
const agent = await harness.register('live')
await grantCredits(harness, agent, 100n)
const ada = await enrolApprover(harness, agent)
const bob = await enrolApprover(harness, agent)
const { attend, stateOf, askToApprove, approve, assertRefused } = makeAttackTools(harness, agent)
type Made = Awaited<ReturnType<typeof makeApproval>>

attack('other-approver', async (refused) => {
  const made = await makeApproval(harness, agent, [ada])
  assert.equal((await bob.read(made.approvalId)).status, 404)
  await assertRefused(made, await askToApproveAs(bob, made), refused)
  const asked = await askToApprove(ada, made)
  await assertRefused(made, await bob.decide(made.approvalId, asked, bob.sign(asked)), refused)
})
/** As a person who cannot read it: with what the real approver sees. */
const askToApproveAs = async (person: TestApprover, made: Made) =>
  person.send('POST', `/${made.approvalId}/options`, {
    decision: 'approve',
    sessionId: await attend(ada, made),
    viewHash: await viewHash(approvalView(made.envelope, undefined)),
  })

attack('challenge-of-other-approver', async (refused) => {
  const made = await makeApproval(harness, agent, [ada, bob], { policy: { quorum: 2 } })
  const asked = await askToApprove(ada, made)
  const stolen = await bob.decide(made.approvalId, asked, bob.sign(asked))
  await assertRefused(made, stolen, refused)
})

attack('passkey-of-other-person', async (refused) => {
  const made = await makeApproval(harness, agent, [ada])
  const asked = await askToApprove(ada, made)
  const byBob = await ada.decide(made.approvalId, asked, bob.sign(asked))
  await assertRefused(made, byBob, refused)
})

attack('unregistered-passkey', async (refused) => {
  const made = await makeApproval(harness, agent, [ada])
  const asked = await askToApprove(ada, made)
  const answer = await ada.decide(made.approvalId, asked, ada.sign(asked, { passkey: makePasskey() }))
  await assertRefused(made, answer, refused)
})

attack('login-alone', async (refused) => {
  const made = await makeApproval(harness, agent, [ada])
  for (const credential of [{}, { id: ada.passkey.id.toString('base64url') }, null]) {
    const asked = await askToApprove(ada, made)
    await assertRefused(made, await ada.decide(made.approvalId, asked, credential), refused)
  }
})

attack('no-login', async (refused) => {
  const made = await makeApproval(harness, agent, [ada])
  const path = `/api/approve/approvals/${made.approvalId}`
  assert.equal((await harness.call('GET', path)).json.error, 'sign_in_required')
  const origin = ada.browser.origin
  const answer = await harness.call('POST', `${path}/options`, {
    headers: { origin },
    body: { decision: 'deny', viewHash: 'v'.repeat(43) },
  })
  await assertRefused(made, answer, refused)
})

attack('other-site', async (refused) => {
  const made = await makeApproval(harness, agent, [ada])
  const answer = await harness.call('POST', `/api/approve/approvals/${made.approvalId}/options`, {
    headers: { origin: 'https://elsewhere.example', cookie: ada.browser.cookie() ?? '' },
    body: { decision: 'deny', viewHash: 'v'.repeat(43) },
  })
  await assertRefused(made, answer, refused)
})

attack('key-as-approver', async (refused) => {
  const made = await makeApproval(harness, agent, [ada])
  const answer = await harness.call('POST', `/api/approve/approvals/${made.approvalId}/options`, {
    key: agent.apiKey,
    headers: { origin: ada.browser.origin },
    body: { decision: 'approve', viewHash: 'v'.repeat(43) },
  })
  await assertRefused(made, answer, refused)
})

attack('no-user-verification', async (refused) => {
  const made = await makeApproval(harness, agent, [ada])
  const asked = await askToApprove(ada, made)
  const answer = await ada.decide(made.approvalId, asked, ada.sign(asked, { flags: 1 }))
  await assertRefused(made, answer, refused)
})

attack('other-origin', async (refused) => {
  const made = await makeApproval(harness, agent, [ada])
  const asked = await askToApprove(ada, made)
  const answer = await ada.decide(
    made.approvalId,
    asked,
    ada.sign(asked, { origin: 'https://elsewhere.example' }),
  )
  await assertRefused(made, answer, refused)
})

attack('denial-as-approval', async (refused) => {
  const made = await makeApproval(harness, agent, [ada])
  const denial = await ada.options(made.approvalId, { decision: 'deny' })
  const other = await askToApprove(ada, await makeApproval(harness, agent, [ada]))
  const earlier = await askToApprove(ada, made)
  for (const source of [denial, other, earlier]) {
    const asked = await askToApprove(ada, made)
    const challenge = source.json.publicKey.challenge as string
    assert.notEqual(challenge, asked.json.publicKey.challenge)
    const answer = await ada.decide(made.approvalId, asked, ada.sign(asked, { challenge }))
    await assertRefused(made, answer, refused)
  }
})

attack('stale-challenge', async (refused) => {
  const made = await makeApproval(harness, agent, [ada])
  const first = await askToApprove(ada, made)
  await askToApprove(ada, made)
  const answer = await ada.decide(made.approvalId, first, ada.sign(first))
  await assertRefused(made, answer, refused)
})

attack('expired-challenge', async (refused) => {
  const made = await makeApproval(harness, agent, [ada])
  const asked = await askToApprove(ada, made)
  await harness.advance(301_000)
  const answer = await ada.decide(made.approvalId, asked, ada.sign(asked))
  await assertRefused(made, answer, refused)
})

attack('failed-challenge', async (refused) => {
  const made = await makeApproval(harness, agent, [ada])
  const asked = await askToApprove(ada, made)
  await ada.decide(made.approvalId, asked, {})
  const answer = await ada.decide(made.approvalId, asked, ada.sign(asked))
  await assertRefused(made, answer, refused)
})

attack('replayed-decision', async (refused) => {
  const made = await makeApproval(harness, agent, [ada, bob], { policy: { quorum: 2 } })
  const asked = await askToApprove(ada, made)
  const credential = ada.sign(asked)
  assert.equal((await ada.decide(made.approvalId, asked, credential)).status, 200)
  refused(ruleOf(await ada.decide(made.approvalId, asked, credential)))
  assert.equal((await stateOf(made))?.approved, 1)
})

attack('replayed-assertion', async (refused) => {
  const [made, other] = [await makeApproval(harness, agent, [ada]), await makeApproval(harness, agent, [ada])]
  const asked = await askToApprove(ada, made)
  const credential = ada.sign(asked)
  assert.equal((await ada.decide(made.approvalId, asked, credential)).status, 200)
  const askedOther = await askToApprove(ada, other)
  await assertRefused(other, await ada.decide(other.approvalId, askedOther, credential), refused)
})

attack('copied-passkey', async (refused) => {
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
  await assertRefused(second, await bob.decide(second.approvalId, asked, bob.sign(asked)), refused)
  await harness.owner.query('update person_passkeys set counter = 100 where credential_id = $1', [
    bob.passkey.id.toString('base64url'),
  ])
})

attack('late-decision', async (refused) => {
  const made = await makeApproval(harness, agent, [ada], { decideMinutes: 3 })
  const asked = await askToApprove(ada, made)
  await harness.advance(181_000)
  const late = await ada.decide(made.approvalId, asked, ada.sign(asked))
  await assertRefused(made, late, refused)
  const begun = await ada.options(made.approvalId, { decision: 'deny' })
  await assertRefused(made, begun, refused)
})

attack('decision-after-the-end', async (refused) => {
  for (const [status, end] of [
    ['consumed', "status = 'consumed', consumed_at = pohf_now()"],
    ['denied', "status = 'denied', ended_at = pohf_now()"],
  ] as const) {
    const made = await makeApproval(harness, agent, [ada, bob])
    const asked = await askToApprove(bob, made)
    assert.equal((await approve(ada, made)).status, 200)
    await harness.owner.query(`update approvals set ${end} where approval_id = $1`, [made.approvalId])
    const answer = await bob.decide(made.approvalId, asked, bob.sign(asked))
    refused(ruleOf(answer))
    const veto = await bob.options(made.approvalId, { decision: 'deny' })
    refused(ruleOf(veto))
    assert.equal((await stateOf(made))?.status, status)
  }
})
const refusedWords = (rule: string | undefined) => assert.equal(rule, 'approval_refused words_with_approval')
test('an approval with words is refused', async () => {
  const made = await makeApproval(harness, agent, [ada])
  const asked = await askToApprove(ada, made)
  const answer = await ada.decide(made.approvalId, asked, ada.sign(asked), 'Fine.')
  await assertRefused(made, answer, refusedWords)
})

attack('two-approvers-one-person', async (refused) => {
  const second = await invite(harness, agent.apiKey)
  const answer = await ada.browser.post('enrol', {
    token: second.token,
    consentVersion,
    language: 'en',
  })
  refused(ruleOf(answer))
})

attack('removed-approver', async (refused) => {
  const removed = await enrolApprover(harness, agent)
  const made = await makeApproval(harness, agent, [removed])
  const asked = await askToApprove(removed, made)
  await harness.owner.query(
    "update approvers set removed_at = pohf_now(), removed_by = 'x' where approver_id = $1",
    [removed.approver],
  )
  await assertRefused(made, await removed.decide(made.approvalId, asked, removed.sign(asked)), refused)
})

attack('withdrawn-approver', async (refused) => {
  const withdrawn = await enrolApprover(harness, agent)
  const made = await makeApproval(harness, agent, [withdrawn])
  const asked = await askToApprove(withdrawn, made)
  await harness.owner.query("update members set status = 'withdrawn' where member_id = $1", [
    withdrawn.memberId,
  ])
  await assertRefused(made, await withdrawn.decide(made.approvalId, asked, withdrawn.sign(asked)), refused)
})

attack('left-company', async (refused) => {
  const left = await enrolApprover(harness, agent)
  const made = await makeApproval(harness, agent, [left])
  const asked = await askToApprove(left, made)
  await harness.owner.query("update members set required_issuer = 'acme' where member_id = $1", [
    left.memberId,
  ])
  await harness.owner.query(
    `insert into person_proofs (issuer, code_hash, person_id, withdrawn_at)
     select 'acme', sha256(person_id::bytea), person_id, pohf_now() from members where member_id = $1`,
    [left.memberId],
  )
  await assertRefused(made, await left.decide(made.approvalId, asked, left.sign(asked)), refused)
})

test('an approver who is erased decides nothing', async () => {
  const erased = await enrolApprover(harness, agent)
  const made = await makeApproval(harness, agent, [erased])
  const asked = await askToApprove(erased, made)
  const signed = erased.sign(asked)
  assert.equal((await erased.browser.post('me/erase', { confirm: 'delete everything' })).status, 200)
  const answer = await erased.decide(made.approvalId, asked, signed)
  await assertRefused(made, answer, (rule) => assert.equal(rule, 'sign_in_required'))
})

attack('added-passkey', async (refused) => {
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
  await assertRefused(made, answer, refused)
  // A request that comes later can be approved with it.
  const later = await makeApproval(harness, agent, [person])
  const askedLater = await askToApprove(person, later)
  const signed = person.sign(askedLater, { passkey })
  assert.equal((await person.decide(later.approvalId, askedLater, signed)).status, 200)
  const denial = await person.options(made.approvalId, { decision: 'deny' })
  const denied = await person.decide(made.approvalId, denial, person.sign(denial, { passkey }))
  assert.equal(denied.json.status, 'denied', denied.text)
})
