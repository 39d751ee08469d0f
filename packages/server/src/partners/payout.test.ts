import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { registerPartner } from '../../test/fixtures/partner.ts'
import * as operators from '../operators/index.ts'
import { userAccountOf } from './rules.ts'

const harness = await startHarness({ PAYOUT_APPROVAL: 'on' })
const live = await registerPartner(harness)
const sandbox = await harness.register('test')
const ada = await operators.create(harness.ctx, 'machine', 'Ada')
const bob = await operators.create(harness.ctx, 'machine', 'Bob')
type Operator = typeof ada

const request = (userRef: string, stars: number, agent = live) =>
  harness.call('POST', '/api/partner/payout/request', { key: agent.apiKey, body: { userRef, stars } })
const convertPoints = (userRef: string, points: number, agent = live) =>
  harness.call('POST', '/api/partner/points/convert', { key: agent.apiKey, body: { userRef, points } })
const step = (operator: Operator, requestId: string, name: string, body?: unknown) =>
  harness.callOperator('POST', `/operator/payouts/${requestId}/${name}`, { key: operator.operatorKey, body })
const balance = async (account: string, agent = live): Promise<number> => {
  const { rows } = await harness.owner.query(
    "select balance from ledger_accounts where agent_id = $1 and account = $2 and unit = 'star'",
    [agent.agentId, account],
  )
  return Number(rows[0]?.balance ?? 0)
}
const starsOfUser = (userRef: string, agent = live) => balance(userAccountOf(agent.agentId, userRef), agent)
/** A queued request of 40 of 100 Stars. */
const requestQueuedPayout = async (userRef: string): Promise<string> => {
  await convertPoints(userRef, 100)
  const { status, json } = await request(userRef, 40)
  assert.equal(status, 200)
  return json.requestId as string
}
const eventsAbout = async (requestId: string): Promise<string[]> => {
  const { rows } = await harness.owner.query('select type from events where subject = $1 order by event_id', [
    requestId,
  ])
  return rows.map((row: { type: string }) => row.type)
}
const auditOf = async (requestId: string): Promise<string[]> => {
  const { json } = await harness.callOperator('GET', '/operator/audit?limit=1000', { key: ada.operatorKey })
  assert.equal(json.intact, true)
  return (json.entries as { target: string; action: string }[])
    .filter((entry) => entry.target === requestId)
    .map((entry) => entry.action)
}

void test('a request holds the Stars at once', async () => {
  const requestId = await requestQueuedPayout('holder')
  assert.match(requestId, /^pay_/)
  assert.equal(await starsOfUser('holder'), 60)
  assert.equal(await balance(`hold:${requestId}`), 40)
  const { status, json } = await request('holder', 61)
  assert.equal(status, 409)
  assert.equal(json.error, 'insufficient_stars')
})

void test('two operators bring it to paid; the held Stars leave the ledger, and the audit log has every transition', async () => {
  const requestId = await requestQueuedPayout('paid')
  assert.equal((await step(ada, requestId, 'review')).json.status, 'in_review')
  assert.equal((await step(bob, requestId, 'approve')).json.status, 'approved')
  assert.equal((await step(ada, requestId, 'pay', { paymentRef: 'wire 7' })).json.status, 'paid')
  assert.equal(await starsOfUser('paid'), 60)
  assert.equal(await balance(`hold:${requestId}`), 0)
  assert.ok((await balance('world:payouts')) >= 40)
  assert.deepEqual(await auditOf(requestId), ['payout.in_review', 'payout.approved', 'payout.paid'])
  assert.deepEqual(await eventsAbout(requestId), ['payout.requested', 'payout.approved', 'payout.paid'])
  const { json } = await harness.callOperator('GET', '/operator/payouts?status=paid', {
    key: ada.operatorKey,
  })
  const shown = json.payouts.find((payout: { requestId: string }) => payout.requestId === requestId)
  assert.equal(shown.reviewedBy, ada.operatorId)
  assert.equal(shown.approvedBy, bob.operatorId)
  assert.equal(shown.paymentRef, 'wire 7')
})

void test('the operator who reviewed a payout cannot approve it, not even by direct SQL', async () => {
  const requestId = await requestQueuedPayout('alone')
  await step(ada, requestId, 'review')
  const { status, json } = await step(ada, requestId, 'approve')
  assert.equal(status, 403)
  assert.match(json.message, /Another operator/)
  await assert.rejects(
    harness.owner.query(
      "update payout_requests set state = 'approved', approved_by = $1 where request_id = $2",
      [ada.operatorId, requestId],
    ),
    /payout_two_operators/,
  )
})

for (const steps of [[], ['review'], ['review', 'approve']]) {
  void test(`rejecting after [${steps.join(', ')}] gives the Stars back once, and that is the end`, async () => {
    const userRef = `rejected-${steps.length}`
    const requestId = await requestQueuedPayout(userRef)
    for (const [index, name] of steps.entries())
      assert.equal((await step(index === 0 ? ada : bob, requestId, name)).status, 200)
    assert.equal((await step(bob, requestId, 'reject', { reason: 'unknown user' })).json.status, 'rejected')
    assert.equal((await step(bob, requestId, 'reject', { reason: 'again' })).status, 403)
    assert.equal((await step(ada, requestId, 'review')).status, 403)
    assert.equal(await starsOfUser(userRef), 100)
    assert.equal((await eventsAbout(requestId)).at(-1), 'payout.rejected')
  })
}

void test('no step can be skipped, by the program or by the database', async () => {
  const requestId = await requestQueuedPayout('skip')
  for (const [name, body] of [['approve'], ['pay', { paymentRef: 'x' }]] as const)
    assert.equal((await step(bob, requestId, name, body)).status, 403)
  const set = (columns: string) =>
    harness.owner.query(`update payout_requests set ${columns} where request_id = $1`, [requestId])
  await assert.rejects(
    set("state = 'paid', reviewed_by = 'a', approved_by = 'b', paid_by = 'c', payment_ref = 'd'"),
    /cannot go from queued to paid/,
  )
  await assert.rejects(set("state = 'in_review'"), /payout_reviewed/)
  await assert.rejects(set("state = 'in_review', reviewed_by = 'a', stars = 1"), /what a payout says stands/)
  await assert.rejects(
    harness.owner.query(
      "insert into payout_requests (agent_id, request_id, mode, user_ref, stars, state, reviewed_by) values ('agt_x', 'pay_x', 'live', 'u', 1, 'in_review', 'a')",
    ),
    /begins as queued/,
  )
  assert.equal(await balance(`hold:${requestId}`), 40)
})

void test('an unknown request is not found', async () => {
  assert.equal((await step(ada, 'pay_none', 'review')).status, 404)
  assert.equal((await step(ada, 'pay_none', 'reject', { reason: 'x' })).status, 404)
})

void test('the list pages through the queue, oldest first', async () => {
  const ids = [await requestQueuedPayout('list-1'), await requestQueuedPayout('list-2')]
  const listed: string[] = []
  for (let after = ''; ;) {
    const { json } = await harness.callOperator(
      'GET',
      `/operator/payouts?status=queued&limit=1&after=${after}`,
      {
        key: ada.operatorKey,
      },
    )
    const [payout] = json.payouts as { requestId: string; status: string }[]
    if (!payout) break
    assert.equal(payout.status, 'queued')
    listed.push(payout.requestId)
    after = payout.requestId
  }
  assert.deepEqual(listed, listed.toSorted())
  assert.ok(ids.every((id) => listed.includes(id)))
})

void test('a test key without a balance gets a simulated request that moves no value', async () => {
  const { status, json } = await request('nobody', 500, sandbox)
  assert.equal(status, 200)
  assert.equal(json.status, 'queued')
  await step(ada, json.requestId, 'review')
  await step(bob, json.requestId, 'approve')
  assert.equal((await step(bob, json.requestId, 'pay', { paymentRef: 'none' })).status, 200)
  assert.equal(await balance('world:payouts', sandbox), 0)
})

void test('a test key with a balance has it held like a live one', async () => {
  await convertPoints('tester', 10, sandbox)
  const { json } = await request('tester', 10, sandbox)
  assert.equal(await starsOfUser('tester', sandbox), 0)
  assert.equal(await balance(`hold:${json.requestId}`, sandbox), 10)
})

void test('a live request without a balance is refused and leaves nothing behind', async () => {
  assert.equal((await request('poor', 1)).status, 409)
  const { rowCount } = await harness.owner.query("select from payout_requests where user_ref = 'poor'")
  assert.equal(rowCount, 0)
})

for (const parallel of [2, 20, 100]) {
  void test(`of ${parallel} requests at once for all of the Stars, exactly one holds them`, async () => {
    const userRef = `race-${parallel}`
    await convertPoints(userRef, 50)
    const answers = await Promise.all(Array.from({ length: parallel }, () => request(userRef, 50)))
    const accepted = answers.filter((answer) => answer.status === 200)
    assert.equal(accepted.length, 1)
    assert.ok(answers.every((answer) => answer.status === 200 || answer.json.error === 'insufficient_stars'))
    assert.equal(await starsOfUser(userRef), 0)
    assert.equal(await balance(`hold:${accepted[0]?.json.requestId}`), 50)
  })
}

void test('of two operators who pay and reject at once, one acts, and the Stars go one way', async () => {
  for (let round = 0; round < 5; round++) {
    const userRef = `clash-${round}`
    const requestId = await requestQueuedPayout(userRef)
    await step(ada, requestId, 'review')
    await step(bob, requestId, 'approve')
    const answers = await Promise.all([
      step(ada, requestId, 'pay', { paymentRef: 'wire' }),
      step(bob, requestId, 'reject', { reason: 'late' }),
    ])
    assert.deepEqual(
      answers.map((answer) => answer.status).toSorted((a, b) => a - b),
      [200, 403],
    )
    assert.equal(await balance(`hold:${requestId}`), 0)
    assert.equal(await starsOfUser(userRef), answers[0]?.status === 200 ? 60 : 100)
  }
})
