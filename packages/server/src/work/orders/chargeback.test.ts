import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ledgerFaults } from '../../../test/fixtures/payments/ledger.ts'
import { startCardHarness } from '../../../test/fixtures/payments/card.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import { makeWorker } from '../../../test/fixtures/people/worker.ts'
import { platformAgentId } from '../../agents/index.ts'
import { reconcile } from '../../ledger/index.ts'
import * as operators from '../../operators/index.ts'
import { escrowReconciliation } from '../index.ts'

const card = await startCardHarness({ ORDER_REVIEWS: '0' })
const { harness, simulator } = card
const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
const answer = { judgement: 'It is fine. I think so.', sure: 4 }

/** An order of wf_judge that a card really paid. */
const paidOrder = async (quantity: number, items: readonly string[] | undefined) => {
  const agent = { ...(await card.liveAgent()), mode: 'live' as const }
  const call = (method: string, path: string, body?: unknown) =>
    harness.call(method, `/api/agents/${path}`, {
      key: agent.apiKey,
      ...(body === undefined ? {} : { body }),
    })
  const placed = await call('POST', 'order', { taskType: 'wf_judge', quantity, items })
  const orderId = String(placed.json.orderId)
  const { json } = await call('POST', 'order/fund', { orderId })
  const payment = await card.pay(new URL(json.checkoutUrl).pathname.split('/').at(-1) ?? '')
  const statusIs = async (status: string) => (await call('GET', `orders/${orderId}`)).json.status === status
  await pollUntil('funded', () => statusIs('funded'))
  const balanceOf = async (account: string, agentId: string = agent.agentId) => {
    const { rows } = await harness.owner.query(
      'select balance::int as balance from ledger_accounts where agent_id = $1 and account = $2',
      [agentId, account],
    )
    return Number(rows[0]?.balance ?? 0)
  }
  const unitsNow = async () =>
    (await call('GET', `orders/${orderId}/results`)).json.units.map((unit: { status: string }) => unit.status)
  return { agent, call, orderId, payment, statusIs, balanceOf, unitsNow }
}

test('a chargeback stops the order and claws back vesting Stars, and an operator may still pay', async () => {
  const order = await paidOrder(4, undefined)
  const home = { ...(await card.liveAgent()), mode: 'live' as const }
  const worker = await makeWorker(harness, home)
  const other = await makeWorker(harness, home)
  for (let count = 0; count < 2; count++)
    assert.equal((await worker.work('wf_judge', answer)).json.status, 'delivered')
  assert.equal((await other.claim('wf_judge')).status, 200)
  await order.call('POST', `orders/${order.orderId}/units/1/accept`)
  const starsOf = async () => (await worker.get('earnings')).json.books[0].vestingStars
  assert.equal(await starsOf(), 50)
  assert.equal(await order.balanceOf('backing:stars'), 50)
  await simulator.control(`payments/${order.payment}/dispute`)
  await pollUntil('stopped', () => order.statusIs('refunded'))
  assert.deepEqual(await order.unitsNow(), ['accepted', 'rejected', 'cancelled', 'cancelled'])
  assert.equal(await order.balanceOf(`escrow:${order.orderId}`), 0)
  assert.equal(await order.balanceOf('owed:card'), -100, 'what was paid on is owed')
  assert.equal(await starsOf(), 0, 'vesting Stars are clawed back')
  assert.equal(await order.balanceOf('backing:stars'), 0)
  assert.equal((await other.get('tasks')).json.current, null)
  // The person who delivered appeals; the operator pays, and the unit, which had no input of the buyer, is stock.
  const { json } = await worker.get('earnings')
  const rejected = json.assignments.find((one: { status: string }) => one.status === 'rejected')
  assert.match(rejected.rejection.note, /taken back/)
  const appealed = await worker.post(`assignments/${rejected.assignmentId}/appeal`, { text: 'I did it.' })
  assert.equal(appealed.status, 200, appealed.text)
  const decided = await harness.callOperator('POST', `/operator/appeals/${rejected.assignmentId}/decide`, {
    key: operatorKey,
    body: { decision: 'accepted', reason: 'The work is good.' },
  })
  assert.equal(decided.status, 200, decided.text)
  assert.equal(await starsOf(), 50)
  assert.equal(await order.balanceOf('world:operator', platformAgentId(harness.ctx.config, 'live')), -50)
  const { rows } = await harness.owner.query(
    "select n, stock from order_units where order_id = $1 and stock = 'shelf'",
    [order.orderId],
  )
  assert.deepEqual(rows, [{ n: 2, stock: 'shelf' }])
  assert.deepEqual(await ledgerFaults(harness), [])
})

test('a chargeback also stops a unit whose claim has not committed', async () => {
  const order = await paidOrder(2, ['First?', 'Second?'])
  const home = { ...(await card.liveAgent()), mode: 'live' as const }
  const [early, late] = [await makeWorker(harness, home), await makeWorker(harness, home)]
  assert.equal((await early.claim('wf_judge')).status, 200)
  const waitsFor = (statement: string) =>
    pollUntil(statement, async () => {
      const { rowCount } = await harness.owner.query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like $1",
        [`%${statement}%`],
      )
      return rowCount === 1
    })
  // The lock holds the claim after it took its unit, and before it commits.
  const lock = await harness.owner.connect()
  await lock.query('begin; lock table assignments in share mode')
  const claim = late.claim('wf_judge')
  await waitsFor('insert into "assignments"')
  const dispute = simulator.control(`payments/${order.payment}/dispute`)
  await waitsFor("update order_units set status = 'cancelled'")
  await lock.query('commit')
  lock.release()
  assert.equal((await claim).status, 200)
  await dispute
  await pollUntil('stopped', () => order.statusIs('refunded'))
  assert.deepEqual(await order.unitsNow(), ['cancelled', 'cancelled'])
  assert.equal((await late.get('tasks')).json.current, null)
  assert.deepEqual(await ledgerFaults(harness), [])
})

test('vested Stars stay with the person, and the earning is flagged', async () => {
  const order = await paidOrder(1, ['Mine?'])
  const worker = await makeWorker(harness, { ...(await card.liveAgent()), mode: 'live' })
  await worker.work('wf_judge', answer)
  await order.call('POST', `orders/${order.orderId}/units/1/accept`)
  await harness.owner.query("update worker_earnings set status = 'vested' where order_id = $1", [
    order.orderId,
  ])
  await simulator.control(`payments/${order.payment}/dispute`)
  await pollUntil('owed', async () => (await order.balanceOf('owed:card')) === -100)
  const { rows } = await harness.owner.query(
    'select status, flagged from worker_earnings where order_id = $1',
    [order.orderId],
  )
  assert.deepEqual(rows, [{ status: 'vested', flagged: true }])
})

test('a cancelled live order refunds its open units to the card, and nothing more', async () => {
  const order = await paidOrder(3, ['One?', 'Two?', 'Three?'])
  const worker = await makeWorker(harness, { ...(await card.liveAgent()), mode: 'live' })
  await worker.work('wf_judge', answer)
  const { json } = await order.call('POST', `orders/${order.orderId}/cancel`)
  assert.equal(json.status, 'cancelled')
  assert.deepEqual(json.escrow, { status: 'held', heldUsd: 1, paidUsd: 0, returnedUsd: 2 })
  assert.equal(await order.balanceOf('unused:card'), 200)
  await harness.runJobs()
  await pollUntil('given back', async () => (await order.balanceOf('unused:card')) === 0)
  assert.equal(await order.balanceOf('world:card'), -100)
  const accepted = await order.call('POST', `orders/${order.orderId}/units/1/accept`)
  assert.equal(accepted.status, 200, 'what was delivered is paid')
  assert.equal(await order.balanceOf(`escrow:${order.orderId}`), 0)
})

test('reconciliation finds an escrow that differs from its units', async () => {
  const order = await paidOrder(2, ['Here?', 'There?'])
  const check = async () =>
    (await reconcile(harness.ctx, [escrowReconciliation])).open.filter(
      ({ subject }) => subject === order.orderId,
    )
  assert.deepEqual(await check(), [])
  // Planted: a unit ends and its money stays.
  await harness.owner.query(
    "update order_units set status = 'cancelled', ended_at = pohf_now() where order_id = $1 and n = 1",
    [order.orderId],
  )
  const [drift] = await check()
  assert.match(drift?.detail ?? '', /holds 200, and the units that are not ended need 100/)
})
