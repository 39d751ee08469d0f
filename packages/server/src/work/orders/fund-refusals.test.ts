import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCardHarness } from '../../../test/fixtures/payments/card.ts'
import {
  assertRefusalOrder,
  namesInOrder,
  refusalNames,
  withoutTriggers,
  type RefusalStep,
} from '../../../test/fixtures/refusal-order.ts'
import { fundingRefusals } from './fund.ts'

const { harness, simulator, liveAgent } = await startCardHarness()
const buyer = await liveAgent()
const stranger = await liveAgent()
const placed = await harness.call('POST', '/api/agents/order', {
  key: buyer.apiKey,
  body: { taskType: 'wf_text_review', quantity: 2 },
})
assert.equal(placed.status, 200, placed.text)
const { orderId } = placed.json
const changeOrder = (change: string) =>
  withoutTriggers(harness.owner, `update orders set ${change} where order_id = '${orderId}'`)
const caller = { apiKey: stranger.apiKey }
const fund = () => harness.call('POST', '/api/agents/order/fund', { key: caller.apiKey, body: { orderId } })

const steps: readonly RefusalStep[] = [
  {
    name: 'order_not_found',
    status: 404,
    error: 'not_found',
    removeReason: () => {
      caller.apiKey = buyer.apiKey
    },
  },
  {
    name: 'order_not_created',
    status: 404,
    error: 'not_found',
    message: /this order is cancelled/,
    removeReason: () => changeOrder("status = 'created'"),
  },
  {
    name: 'order_expired',
    status: 404,
    error: 'not_found',
    message: /expired before it was funded/,
    removeReason: () => changeOrder("expires_at = pohf_now() + interval '1 day'"),
  },
  {
    name: 'below_card_minimum',
    status: 400,
    error: 'validation_failed',
    message: /too_small/,
    removeReason: () => changeOrder('total_usd_cents = 200'),
  },
  {
    name: 'card_provider_unreachable',
    status: 503,
    error: 'card_provider_unreachable',
    // The simulator fails one call only.
    removeReason: () => undefined,
  },
]

test('funding is refused in the order of its list', async () => {
  await changeOrder("status = 'cancelled', expires_at = pohf_now(), total_usd_cents = 49")
  await simulator.control('faults', { kind: 'error', calls: 1 })
  const answer = await assertRefusalOrder(fund, steps)
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(namesInOrder(steps), refusalNames(fundingRefusals))
})
