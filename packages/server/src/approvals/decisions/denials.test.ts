import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { grantCredits } from '../../../test/fixtures/payments/ledger.ts'
import { enrolApprover, makeApproval, makeAttackTools } from '../../../test/fixtures/people/approver.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'

// A denial is stored whatever becomes of its recording and of its credential.

const harness = await startHarness()
const agent = await harness.register('live')
await grantCredits(harness, agent, 100n)
const ada = await enrolApprover(harness, agent)
const bob = await enrolApprover(harness, agent)
const { attend, askToApprove, approve, stateOf } = makeAttackTools(harness, agent)
const withoutCredential = { status: 'denied', decision: 'deny', credentialId: null }
const creditsOf = async ({ apiKey }: { readonly apiKey: string }): Promise<number> =>
  (await harness.call('GET', '/api/agents/credits/balance', { key: apiKey })).json.balance

/** Holds an approval, so that decisions wait where they commit. */
const holdApproval = async (approvalId: string) => {
  const client = await harness.owner.connect()
  await client.query('begin')
  await client.query('select from approvals where approval_id = $1 for update', [approvalId])
  return {
    awaitWaiting: (count: number) =>
      pollUntil(`${count} decisions to wait`, async () => {
        const { rowCount } = await harness.owner.query(
          "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        )
        return rowCount === count ? true : undefined
      }),
    release: async () => {
      await client.query('commit')
      client.release()
    },
  }
}

test('an attended denial without credits is stored without a credential', async () => {
  const poor = await harness.register('live', 'poor@example.com')
  const person = await enrolApprover(harness, poor)
  const made = await makeApproval(harness, poor, [person])
  const sessionId = await makeAttackTools(harness, poor).attend(person, made)
  const denied = await person.decideWhole(made.approvalId, { decision: 'deny', sessionId }, 'No.')
  assert.deepEqual(denied.json, withoutCredential, denied.text)
  const { own } = (await person.read(made.approvalId)).json
  assert.deepEqual([own.words, own.inViewSeconds], ['No.', 10])
})

test('a denial whose last credit goes while it is signed is stored without a credential', async () => {
  const poor = await harness.register('live', 'last-credit@example.com')
  await grantCredits(harness, poor, 1n)
  const person = await enrolApprover(harness, poor)
  const made = await makeApproval(harness, poor, [person])
  const sessionId = await makeAttackTools(harness, poor).attend(person, made)
  const asked = await person.options(made.approvalId, { decision: 'deny', sessionId })
  const held = await holdApproval(made.approvalId)
  const running = person.decide(made.approvalId, asked, person.sign(asked))
  await held.awaitWaiting(1)
  await grantCredits(harness, poor, -1n, 'taken')
  await held.release()
  const denied = await running
  assert.deepEqual(denied.json, withoutCredential, denied.text)
  assert.equal(await creditsOf(poor), 0)
  assert.deepEqual(await stateOf(made), { status: 'denied', approved: 0, decided: 1 })
})

test('a recording that is open, not scored, expired, old or of another act stops no denial', async () => {
  const setStatus = (sessionId: string, status: string) =>
    harness.owner.query(
      `alter table sessions disable trigger transition;
       update sessions set status = '${status}', verified = null where session_id = '${sessionId}';
       alter table sessions enable trigger transition`,
    )
  const before = await creditsOf(agent)
  for (const status of ['open', 'closed', 'expired']) {
    const made = await makeApproval(harness, agent, [ada])
    const sessionId = await attend(ada, made)
    await setStatus(sessionId, status)
    const denied = await ada.decideWhole(made.approvalId, { decision: 'deny', sessionId })
    assert.deepEqual(denied.json, withoutCredential, `${status}: ${denied.text}`)
  }
  const made = await makeApproval(harness, agent, [ada], { decideMinutes: 100 })
  const other = await makeApproval(harness, agent, [ada])
  const old = await attend(ada, made)
  await harness.advance(3_601_000)
  for (const sessionId of [await attend(ada, other), old]) {
    const asked = await ada.options(made.approvalId, { decision: 'deny', sessionId })
    assert.deepEqual([asked.status, asked.json.telemetryLink], [200, ''], asked.text)
  }
  const denied = await ada.decideWhole(made.approvalId, { decision: 'deny', sessionId: old })
  assert.deepEqual(denied.json, withoutCredential, denied.text)
  assert.equal(await creditsOf(agent), before)
})

test('a denial that was signed before the approval of the same person committed counts, without a credential', async () => {
  const made = await makeApproval(harness, agent, [ada, bob], { policy: { quorum: 2 } })
  const before = await creditsOf(agent)
  const approval = await askToApprove(ada, made)
  const held = await holdApproval(made.approvalId)
  const approving = ada.decide(made.approvalId, approval, ada.sign(approval))
  await held.awaitWaiting(1)
  const denial = await ada.options(made.approvalId, {
    decision: 'deny',
    sessionId: await attend(ada, made),
  })
  const denying = ada.decide(made.approvalId, denial, ada.sign(denial))
  await held.awaitWaiting(2)
  await held.release()
  const approved = await approving
  assert.equal(approved.json.status, 'pending', approved.text)
  const denied = await denying
  assert.deepEqual(denied.json, withoutCredential, denied.text)
  assert.deepEqual(await stateOf(made), { status: 'denied', approved: 0, decided: 1 })
  assert.equal(await creditsOf(agent), before - 1)
})

test('the credential of an approval that was taken back is not shown under the denial', async () => {
  const made = await makeApproval(harness, agent, [ada], { policy: { delaySeconds: 300 } })
  assert.equal((await approve(ada, made)).json.status, 'approved')
  const read = () => harness.call('GET', `/api/agents/approvals/${made.approvalId}`, { key: agent.apiKey })
  assert.match((await read()).json.decisions[0].pohf_jwt, /^ey/)
  assert.equal((await ada.decideWhole(made.approvalId, { decision: 'deny' })).status, 200)
  const [decision] = (await read()).json.decisions
  assert.deepEqual([decision.decision, decision.credentialId, decision.pohf_jwt], ['deny', null, null])
})
