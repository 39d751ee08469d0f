import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as operators from '../../src/operators/index.ts'
import { buildJobs } from '../../src/wiring/index.ts'
import { needsDecision } from '../../src/work/units/rules.ts'
import { runJobs } from '../fixtures/harness.ts'
import { makeCardSteps } from '../fixtures/payments/card-steps.ts'
import { startCardHarness } from '../fixtures/payments/card.ts'
import { ledgerFaults } from '../fixtures/payments/ledger.ts'
import { makeWorker } from '../fixtures/people/worker.ts'
import { pollUntil } from '../fixtures/polling.ts'

const card = await startCardHarness({ ORDER_REVIEWS: '0' })
const { harness, simulator } = card
const steps = makeCardSteps(card)
const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
const answer = { judgement: 'It is fine. I think so.', sure: 4 }

/** An order of wf_judge that a card really paid, and a worker who has delivered every unit. */
const deliveredOrder = async (quantity: number) => {
  const buyer = await card.liveAgent()
  const call = (method: string, path: string, body?: unknown) =>
    harness.call(method, `/api/agents/${path}`, {
      key: buyer.apiKey,
      ...(body === undefined ? {} : { body }),
    })
  const { json } = await call('POST', 'order', { taskType: 'wf_judge', quantity })
  const orderId = String(json.orderId)
  const { json: funding } = await call('POST', 'order/fund', { orderId })
  const payment = await card.pay(new URL(funding.checkoutUrl).pathname.split('/').at(-1) ?? '')
  await pollUntil('funded', async () => (await call('GET', `orders/${orderId}`)).json.status === 'funded')
  const worker = await makeWorker(harness, { ...(await card.liveAgent()), mode: 'live' })
  for (let n = 1; n <= quantity; n += 1) {
    const delivered = await worker.work('wf_judge', answer)
    assert.equal(delivered.json.status, 'delivered', delivered.text)
  }
  return { buyer, call, orderId, payment, worker }
}

test('a buyer who rejects everything and keeps the answers does not decide alone', async () => {
  const { call, orderId } = await deliveredOrder(6)
  const statuses: string[] = []
  for (let n = 1; n <= 6; n += 1)
    statuses.push(
      (await call('POST', `orders/${orderId}/units/${n}/reject`, { reason: 'low_effort' })).json.status,
    )
  assert.deepEqual(statuses, ['rejected', 'rejected', 'rejected', 'appealed', 'appealed', 'appealed'])
  const { json } = await harness.callOperator('GET', '/operator/appeals', { key: operatorKey })
  assert.deepEqual(
    json.appeals.map(({ n, text }: { n: number; text: string }) => [
      n,
      /rejected (\d) of the 6 units/.exec(text)?.[1],
    ]),
    [
      [4, '4'],
      [5, '5'],
      [6, '6'],
    ],
  )
  const { escrow } = (await call('GET', `orders/${orderId}`)).json
  assert.equal(escrow.heldUsd, 6, 'nothing is refunded before the decisions')
  assert.deepEqual(await ledgerFaults(harness), [])
})

test('three rejections, or a fifth of what was delivered, are decided by the buyer alone', () => {
  assert.equal(needsDecision({ rejected: 3, delivered: 3 }), false)
  assert.equal(needsDecision({ rejected: 4, delivered: 20 }), false)
  assert.equal(needsDecision({ rejected: 5, delivered: 20 }), true)
})

test('of a chargeback and the vesting of the same Stars at once, one wins, and no Star is made or lost', async () => {
  const { buyer, call, orderId, payment, worker } = await deliveredOrder(1)
  await call('POST', `orders/${orderId}/units/1/accept`)
  await steps.advanceClock(15 * 24 * 3_600_000)
  const vesting = buildJobs(harness.ctx).filter(({ name }) => name === 'stars')
  assert.equal(vesting.length, 1)
  await Promise.all([simulator.control(`payments/${payment}/dispute`), runJobs(vesting)])
  const owed = async () => {
    const { rows } = await harness.owner.query(
      "select balance::int as balance from ledger_accounts where agent_id = $1 and account = 'owed:card'",
      [buyer.agentId],
    )
    return rows[0]?.balance as number | undefined
  }
  await pollUntil('the buyer owes it', async () => (await owed()) === -100)
  const { rows } = await harness.owner.query(
    'select status, flagged, stars::int as stars from worker_earnings where order_id = $1',
    [orderId],
  )
  const [earning] = rows as { status: string; flagged: boolean; stars: number }[]
  assert.ok(earning?.status === 'taken_back' || earning?.flagged === true, JSON.stringify(earning))
  const book = (await worker.get('earnings')).json.books.find(({ mode }: { mode: string }) => mode === 'live')
  assert.equal(book.vestingStars + book.vestedStars, earning.status === 'vested' ? earning.stars : 0)
  assert.deepEqual(await ledgerFaults(harness), [])
})
