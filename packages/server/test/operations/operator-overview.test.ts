import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as operators from '../../src/operators/index.ts'
import { startHarness } from '../fixtures/harness.ts'

const harness = await startHarness()
const ada = await operators.create(harness.ctx, 'machine', 'Ada')
const read = async (key = ada.operatorKey) => {
  const answer = await harness.callOperator('GET', '/operator/overview', { key })
  assert.equal(answer.status, 200, answer.text)
  return answer.json
}
const okOf = (overview: { checks: { name: string; ok: boolean }[] }) =>
  Object.fromEntries(overview.checks.map(({ name, ok }) => [name, ok]))

test('the root of the operators’ listener leads to their pages, and the public one does not', async () => {
  const answer = await harness.callOperator('GET', '/')
  assert.deepEqual([answer.status, answer.headers['location']], [302, '/operator'])
  assert.equal((await harness.call('GET', '/')).headers['location'], undefined)
})

test('a healthy service says so, and names its operator and the end of its keys', async () => {
  await harness.runJobs()
  const overview = await read()
  assert.deepEqual(okOf(overview), {
    database: true,
    signer: true,
    restore: true,
    verify: true,
    'master-key': true,
  })
  assert.equal(overview.worker.ok, true)
  assert.deepEqual(overview.operator, { operatorId: ada.operatorId, name: 'Ada', decidesPayouts: true })
  assert.deepEqual([overview.payoutApproval, overview.mailServer], [false, false])
  assert.ok(overview.keys.length > 0)
  for (const { activeUntil } of overview.keys) assert.ok(Date.parse(activeUntil) > Date.now())
  assert.deepEqual(new Set(Object.values(overview.decisions)), new Set([0]))
  assert.equal(overview.ledgerDifferences, 0)
})

test('an operator that was made over the listener is told that it decides no payouts', async () => {
  const { json } = await harness.callOperator('POST', '/operator/operators', {
    key: ada.operatorKey,
    body: { name: 'Eve' },
  })
  assert.equal((await read(json.operatorKey)).operator.decidesPayouts, false)
})

/** More of everything than the overview counts, written without the guards that want a whole story behind each row. */
const seedWork = async (agentId: string): Promise<void> => {
  const client = await harness.owner.connect()
  try {
    await client.query('set session_replication_role = replica')
    for (const [state, count] of [
      ['queued', 150],
      ['in_review', 3],
      ['approved', 2],
    ] as const)
      await client.query(
        `insert into payout_requests (agent_id, request_id, mode, user_ref, stars, state, reviewed_by, approved_by)
         select $1, 'pay_' || $2 || i, 'live', 'u' || i, 1, $2, 'a', case $2 when 'approved' then 'b' end
         from generate_series(1, ${count}) i`,
        [agentId, state],
      )
    await client.query(
      `insert into card_refunds (agent_id, refund_id, mode, checkout_id, reference, amount_usd_cents, reason, state, fault)
       select $1, 'rfd_' || i, 'live', 'chk', 'r' || i, 1, 'test', 'failed', 'declined' from generate_series(1, 4) i`,
      [agentId],
    )
    await client.query(
      `insert into purchases (agent_id, mode, purchase_id, secret_hash, workflow_id, state, network, payer, amount_usdc_micro,
         transaction_hash)
       select $1, 'test', 'pur_' || lpad(i::text, 38, '0'), '', 'wf', 'refund_due', 'net', 'payer', 1, '0x' || i
       from generate_series(1, 5) i`,
      [agentId],
    )
    await client.query(
      `insert into outbox (agent_id, outbox_id, topic, payload, created_at)
       select $1, 'evt_mail' || i, (array['mail', 'mail_sign_in', 'mail_confirmation'])[i % 3 + 1], '{}', now() - interval '10 minutes' from generate_series(1, 130) i`,
      [agentId],
    )
    await client.query(
      `insert into ledger_drift (agent_id, mode, finding, subject, detail) values ($1, 'live', 'sum', 'x', 'y')`,
      [agentId],
    )
  } finally {
    await client.query('reset session_replication_role')
    client.release()
  }
}

test('an event that was made after the overview began has waited for no time', async () => {
  const { agentId } = await harness.register('live')
  await harness.owner.query('delete from outbox')
  await harness.owner.query(
    `insert into outbox (agent_id, outbox_id, topic, payload, created_at)
     values ($1, 'evt_later', 'event', '{}', pohf_now() + interval '2 seconds')`,
    [agentId],
  )
  const events = (await read()).queues.find(({ name }: { name: string }) => name === 'events')
  assert.deepEqual([events.waiting, events.oldestSeconds], [1, 0])
  await harness.owner.query('delete from outbox')
})

test('counts of what waits stop at 100, and the queues say how long the oldest waits', async () => {
  await seedWork((await harness.register('live')).agentId)
  const { json: order } = await harness.call('POST', '/api/agents/order', {
    key: (await harness.register('test')).apiKey,
    body: { taskType: 'Ring a shop', quantity: 1, maxPriceUsd: 4 },
  })
  assert.ok(order.orderId)
  const overview = await read()
  assert.deepEqual(overview.decisions, {
    payoutsToReview: 100,
    payoutsToApprove: 3,
    payoutsToPay: 2,
    appeals: 0,
    offers: 1,
    reviews: 0,
    failedRefunds: 4,
    purchasesToRefund: 5,
  })
  assert.equal(overview.ledgerDifferences, 1)
  const mails = overview.queues.find(({ name }: { name: string }) => name === 'mails')
  assert.equal(mails.waiting, 100)
  assert.ok(mails.oldestSeconds > 590)
})

test('a signer that is away fails its check, and the overview still answers', async () => {
  await harness.stopSigner()
  try {
    const overview = await read()
    // A check that passed within the last second is not run again.
    const later = overview.keys === null ? await waitForFailure() : overview
    assert.equal(later.keys, null)
    assert.equal(okOf(later)['signer'], false)
    assert.equal(okOf(later)['database'], true)
  } finally {
    await harness.startSigner()
  }
})

const waitForFailure = async () => {
  for (let look = 0; look < 100; look++) {
    const overview = await read()
    if (!okOf(overview)['signer']) return overview
  }
  return assert.fail('the check of the signer does not fail')
}

test('without a worker for a minute the overview says when one was last seen', async () => {
  await harness.advance(61_000)
  const overview = await read()
  assert.equal(overview.worker.ok, false)
  assert.ok(Date.parse(overview.worker.seenAt) < Date.parse(overview.at) - 60_000)
  await harness.runJobs()
  assert.equal((await read()).worker.ok, true)
})
