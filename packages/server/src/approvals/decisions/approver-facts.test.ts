import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { decodeJwt } from 'jose'
import type { Claims } from '@pohf/verify'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { grantCredits } from '../../../test/fixtures/payments/ledger.ts'
import { makeAdministration } from '../../../test/fixtures/people/approvals.ts'
import { enrolApprover, makeApproval, makeAttackTools } from '../../../test/fixtures/people/approver.ts'
import { makeAttestedModel } from '../../../test/fixtures/people/attested-model.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'

// What the credential of a decision says of the approver: the key, the enrolment, and how many had approved.

const model = await makeAttestedModel()
after(model.close)
const harness = await startHarness(model.settings)
const agent = await harness.register('live')
await grantCredits(harness, agent, 100n)
const { attend, approve } = makeAttackTools(harness, agent)

type Approved = { readonly json: { readonly credentialId: string } }
const claimsOf = async ({ json }: Approved): Promise<Claims> => {
  const stored = await harness.call('GET', `/api/agents/credentials/${json.credentialId}`, {
    key: agent.apiKey,
  })
  return decodeJwt(stored.json.pohf_jwt) as unknown as Claims
}
const approverOf = async (answer: Approved) => {
  const { approver } = await claimsOf(answer)
  assert.ok(approver)
  return approver
}

/** UP and UV; with BE, the key can be copied. */
const [bound, copyable] = [5, 13]

/** What the credential says of a key with these flags when it was registered and when it was used. */
const keyOf = async (registered: number, used: number) => {
  const person = await enrolApprover(harness, agent, { flags: registered })
  const made = await makeApproval(harness, agent, [person])
  const sessionId = await attend(person, made)
  const asked = await person.options(made.approvalId, { decision: 'approve', sessionId })
  const answer = await person.decide(made.approvalId, asked, person.sign(asked, { flags: used }))
  assert.equal(answer.status, 200, answer.text)
  const { key, model: named } = await approverOf(answer)
  return [key, named]
}

test('a key is named by the flag of its registration, and is unknown once it says the other', async () => {
  assert.deepEqual(await keyOf(bound, bound), ['device', undefined])
  assert.deepEqual(await keyOf(copyable, copyable), ['synced', undefined])
  assert.deepEqual(await keyOf(bound, copyable), ['unknown', undefined])
  assert.deepEqual(await keyOf(copyable, bound), ['unknown', undefined])
})

test('a key that says now that it can be copied is not device-bound', async () => {
  const person = await enrolApprover(harness, agent, { model })
  const made = await makeApproval(harness, agent, [person], { policy: { passkey: 'device_bound' } })
  const sessionId = await attend(person, made)
  const decide = async (flags: number) => {
    const asked = await person.options(made.approvalId, { decision: 'approve', sessionId })
    return person.decide(made.approvalId, asked, person.sign(asked, { flags }))
  }
  const refused = await decide(copyable)
  assert.equal(refused.json.details[0].code, 'passkey_not_device_bound')
  assert.equal((await decide(bound)).status, 200)
})

test('the model of an attested key is named, and of no other', async () => {
  const attested = await enrolApprover(harness, agent, { model })
  const plain = await enrolApprover(harness, agent)
  const [first, second] = [attested, plain].map(async (person) =>
    approverOf(await approve(person, await makeApproval(harness, agent, [person]))),
  )
  assert.equal((await first)?.model, model.aaguid)
  assert.equal((await second)?.model, undefined)
})

test('each credential says how many had approved with it, also where somebody approves while it is signed', async () => {
  const [ada, ben, cleo] = [
    await enrolApprover(harness, agent),
    await enrolApprover(harness, agent),
    await enrolApprover(harness, agent),
  ]
  const made = await makeApproval(harness, agent, [ada, ben, cleo], { policy: { quorum: 3 } })
  const first = await approverOf(await approve(ada, made))
  assert.deepEqual([first.decided, first.needed], [1, 3])
  const sessionId = await attend(ben, made)
  const asked = await ben.options(made.approvalId, { decision: 'approve', sessionId })
  const other = await harness.owner.connect()
  await other.query('begin')
  await other.query('update approvals set approved = approved + 1 where approval_id = $1', [made.approvalId])
  const running = ben.decide(made.approvalId, asked, ben.sign(asked))
  await pollUntil('the decision to wait', async () => {
    const { rowCount } = await harness.owner.query(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    )
    return rowCount === 0 ? undefined : true
  })
  await other.query('commit')
  other.release()
  const answer = await running
  assert.equal(answer.json.status, 'approved', answer.text)
  const last = await approverOf(answer)
  assert.deepEqual([last.decided, last.needed], [3, 3])
  const { rows } = await harness.owner.query(
    "select count(*)::int as n from credentials where kind = 'approval' and jwt like '%.%' and credential_id = $1",
    [answer.json.credentialId],
  )
  assert.deepEqual(rows, [{ n: 1 }])
})

test('an approver is enrolled by the owner who invited them last, and since then', async () => {
  const owner = await makeAdministration(harness, 'live')
  const { approver, email } = await owner.enrol()
  const rowOf = async () => {
    const { rows } = await harness.owner.query(
      'select created_by, enrolled_way, invited_at from approvers where approver_id = $1',
      [approver],
    )
    return rows[0]
  }
  const before = await rowOf()
  assert.deepEqual([before.created_by, before.enrolled_way], [owner.personId, 'mail_link'])
  await harness.owner.query("update approvers set created_by = 'prs_other' where approver_id = $1", [
    approver,
  ])
  await harness.advance(60_000)
  await owner.invite(email)
  const renewed = await rowOf()
  assert.equal(renewed.created_by, owner.personId)
  assert.ok(renewed.invited_at > before.invited_at)
})
