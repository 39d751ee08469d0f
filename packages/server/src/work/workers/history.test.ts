import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCardHarness } from '../../../test/fixtures/payments/card.ts'
import { playSession } from '../../../test/fixtures/people/play-session.ts'
import { makeWorker } from '../../../test/fixtures/people/worker.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import * as operators from '../../operators/index.ts'

const card = await startCardHarness({ ORDER_REVIEWS: '0' })
const { harness, simulator } = card
const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
const answer = { judgement: 'It is fine. I think so.', sure: 4 }
const worker = await makeWorker(harness, { ...(await card.liveAgent()), mode: 'live' })

type Buyer = Awaited<ReturnType<typeof card.liveAgent>>
const callAs =
  ({ apiKey }: Buyer) =>
  (path: string, body: object = {}) =>
    harness.call('POST', `/api/agents/${path}`, { key: apiKey, body })

/** An order that a card really paid. */
const paidOrder = async (buyer: Buyer, items: readonly string[]) => {
  const call = callAs(buyer)
  const placed = await call('order', { taskType: 'wf_judge', quantity: items.length, items })
  const { orderId } = placed.json
  const { json } = await call('order/fund', { orderId })
  const payment = await card.pay(new URL(json.checkoutUrl).pathname.split('/').at(-1) ?? '')
  await pollUntil('funded', async () => {
    const read = await harness.call('GET', `/api/agents/orders/${orderId}`, { key: buyer.apiKey })
    return read.json.status === 'funded'
  })
  return { orderId: String(orderId), payment }
}
const countTakenBack = async (orderId: string): Promise<number> => {
  const { rows } = await harness.owner.query(
    "select count(*)::int as n from worker_earnings where order_id = $1 and status = 'taken_back'",
    [orderId],
  )
  return rows[0].n
}

/** Claims a unit, records the work, hands it in; returns the history component of the recording. */
const workAndReadHistory = async (): Promise<number> => {
  const { json, status, text } = await worker.claim('wf_judge')
  assert.equal(status, 200, text)
  const { site, challenge, assignmentId } = json
  const { sessionId } = await playSession(harness, { site, challenge, kind: 'work' })
  await harness.runJobs()
  const { rows } = await harness.owner.query('select components from sessions where session_id = $1', [
    sessionId,
  ])
  const delivered = await worker.deliver(assignmentId, sessionId, answer)
  assert.equal(delivered.json.status, 'delivered', delivered.text)
  return rows[0].components.history
}

/** The worker appeals the rejection, and an operator refuses the appeal: the buyer gets the price back. */
const refuseAppeal = async (): Promise<void> => {
  const { json } = await worker.get('earnings')
  const { assignmentId } = json.assignments.find((one: { status: string }) => one.status === 'rejected')
  await worker.post(`assignments/${assignmentId}/appeal`, { text: 'It is right.' })
  const decided = await harness.callOperator('POST', `/operator/appeals/${assignmentId}/decide`, {
    key: operatorKey,
    body: { decision: 'refused', reason: 'It is wrong.' },
  })
  assert.equal(decided.status, 200, decided.text)
}

test('the history of a worker counts what this buyer accepted and still pays for, and nothing else', async () => {
  const [buyer, stranger] = [await card.liveAgent(), await card.liveAgent()]
  const { orderId, payment } = await paidOrder(buyer, ['One?', 'Two?', 'Three?', 'Four?'])
  const review = async (n: number, verdict: 'accept' | 'reject') => {
    const body = verdict === 'reject' ? { reason: 'wrong_answer' } : {}
    const reviewed = await callAs(buyer)(`orders/${orderId}/units/${n}/${verdict}`, body)
    assert.equal(reviewed.status, 200, reviewed.text)
  }
  assert.equal(await workAndReadHistory(), 0.5, 'no history')
  assert.equal(await workAndReadHistory(), 0.5, 'delivered is not accepted')
  await review(1, 'accept')
  assert.equal(await workAndReadHistory(), 0.6, 'one accepted')
  await review(2, 'reject')
  await refuseAppeal()
  await review(3, 'accept')
  assert.equal(await workAndReadHistory(), 0.571, 'two accepted, one refused and refunded')

  await paidOrder(stranger, ['Elsewhere?'])
  assert.equal(await workAndReadHistory(), 0.5, 'another buyer learns nothing of it')

  await simulator.control(`payments/${payment}/dispute`)
  await pollUntil('charged back', async () => (await countTakenBack(orderId)) === 2)
  await paidOrder(buyer, ['Again?'])
  assert.equal(await workAndReadHistory(), 0.4, 'the chargeback takes back what was accepted')
})
