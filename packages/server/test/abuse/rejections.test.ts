import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as operators from '../../src/operators/index.ts'
import { needsDecision } from '../../src/work/units/rules.ts'
import { startCardHarness } from '../fixtures/payments/card.ts'
import { ledgerFaults } from '../fixtures/payments/ledger.ts'
import { makeWorker } from '../fixtures/people/worker.ts'
import { pollUntil } from '../fixtures/polling.ts'

const card = await startCardHarness()
const { harness } = card
const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
const answer = { judgement: 'It is fine. I think so.', sure: 4 }

test('a buyer who rejects everything and keeps the answers does not decide alone', async () => {
  const buyer = await card.liveAgent()
  const call = (method: string, path: string, body?: unknown) =>
    harness.call(method, `/api/agents/${path}`, {
      key: buyer.apiKey,
      ...(body === undefined ? {} : { body }),
    })
  const { json: order } = await call('POST', 'order', { taskType: 'wf_judge', quantity: 6 })
  const { json: funding } = await call('POST', 'order/fund', { orderId: order.orderId })
  await card.pay(new URL(funding.checkoutUrl).pathname.split('/').at(-1) ?? '')
  const isFunded = async () => (await call('GET', `orders/${order.orderId}`)).json.status === 'funded'
  await pollUntil('funded', isFunded)
  const worker = await makeWorker(harness, { ...(await card.liveAgent()), mode: 'live' })
  for (let n = 1; n <= 6; n += 1) {
    const delivered = await worker.work('wf_judge', answer)
    assert.equal(delivered.json.status, 'delivered', delivered.text)
  }
  const statuses: string[] = []
  for (let n = 1; n <= 6; n += 1)
    statuses.push(
      (await call('POST', `orders/${order.orderId}/units/${n}/reject`, { reason: 'low_effort' })).json.status,
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
  const { escrow } = (await call('GET', `orders/${order.orderId}`)).json
  assert.equal(escrow.heldUsd, 6, 'nothing is refunded before the decisions')
  assert.deepEqual(await ledgerFaults(harness), [])
})

test('three rejections, or a fifth of what was delivered, are decided by the buyer alone', () => {
  assert.equal(needsDecision({ rejected: 3, delivered: 3 }), false)
  assert.equal(needsDecision({ rejected: 4, delivered: 20 }), false)
  assert.equal(needsDecision({ rejected: 5, delivered: 20 }), true)
})
