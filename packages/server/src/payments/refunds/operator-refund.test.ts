import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { ledgerFaults } from '../../../test/fixtures/payments/ledger.ts'
import { orderSettler, startRefundHarness } from '../../../test/fixtures/payments/refunds.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import * as ledger from '../../ledger/index.ts'
import * as operators from '../../operators/index.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { refundedUsdCentsOf } from '../card/facts.ts'
import { makePayments, requestRefund } from '../index.ts'

const { card, ...refunds } = await startRefundHarness()
const { accountsOf, operate, payOrder, providerRefundsOf, requestOrderRefund, waitForRefundState } = refunds
const { harness, simulator } = card

test('a returned refund of a pack restores its credits', async () => {
  const agent = await card.liveAgent()
  const { sessionId, checkoutId } = await card.openCheckout(agent)
  const payment = await card.pay(sessionId)
  await card.waitForState(checkoutId, 'completed')
  const refunded = await operate('POST', '/operator/refunds', { checkoutId, reason: 'asked by mail' })
  assert.deepEqual([refunded.status, refunded.json.state, refunded.json.amountUsd], [200, 'wanted', 49])
  const twice = await operate('POST', '/operator/refunds', { checkoutId, reason: 'asked by mail' })
  assert.equal(twice.status, 403)
  await harness.runJobs()
  await waitForRefundState(agent, 'done')
  assert.equal((await card.balance(agent)).balance, 0)
  const [refund] = await providerRefundsOf(payment)
  await simulator.control(`refunds/${refund?.id}/end`, { succeeded: false })
  await waitForRefundState(agent, 'failed')
  await pollUntil('credits', async () => (await card.balance(agent)).balance === 100)
})

test('a repeated partial refund with the same Idempotency-Key refunds once', async () => {
  const agent = await card.liveAgent()
  const { sessionId, checkoutId } = await card.openCheckout(agent)
  await card.pay(sessionId)
  await card.waitForState(checkoutId, 'completed')
  const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
  const refund = () =>
    harness.callOperator('POST', '/operator/refunds', {
      key: operatorKey,
      body: { checkoutId, amountUsdCents: 1_000, reason: 'a part' },
      headers: { 'idempotency-key': 'a part' },
    })
  const first = await refund()
  assert.equal(first.status, 200, first.text)
  await harness.advance(61_000)
  const again = await refund()
  assert.equal(again.headers['idempotent-replayed'], 'true')
  assert.equal(again.text, first.text)
  const { rows } = await harness.owner.query(
    'select amount_usd_cents::int as cents from card_refunds where agent_id = $1',
    [agent.agentId],
  )
  assert.deepEqual(rows, [{ cents: 1_000 }])
})

test('a payment for a cancelled order is refunded automatically', async () => {
  const agent = await card.liveAgent()
  const { json: order } = await harness.call('POST', '/api/agents/order', {
    key: agent.apiKey,
    body: { taskType: 'wf_photo_label', quantity: 4 },
  })
  const { json } = await harness.call('POST', '/api/agents/order/fund', {
    key: agent.apiKey,
    body: { orderId: order.orderId },
  })
  await harness.owner.query("update orders set status = 'cancelled' where order_id = $1", [order.orderId])
  const payment = await card.pay(new URL(json.checkoutUrl).pathname.split('/').at(-1) ?? '')
  await pollUntil('unused', async () => (await accountsOf(agent))['unused:card'] === 200)
  await harness.runJobs()
  await waitForRefundState(agent, 'done')
  assert.equal((await providerRefundsOf(payment)).length, 1)
  assert.deepEqual(await accountsOf(agent), {})
})

test('an operator refunds unused money, and no more', async () => {
  const paid = await payOrder()
  const { checkoutId } = paid
  const refund = (body: object) =>
    operate('POST', '/operator/refunds', { checkoutId, reason: 'test', ...body })
  assert.equal((await refund({})).status, 403, 'it is in escrow')
  await simulator.control(`payments/${paid.payment}/dispute`, { amount: 80 })
  // A partial dispute stops the order: the rest of its money waits for an operator.
  await pollUntil('disputed', async () => (await accountsOf(paid.agent))['unused:card'] === 120)
  const { rows } = await harness.owner.query('select dispute_id from card_disputes where payment_id = $1', [
    paid.payment,
  ])
  await simulator.control(`disputes/${rows[0].dispute_id}/close`, { how: 'won' })
  await pollUntil('won', async () => (await accountsOf(paid.agent))['unused:card'] === 200)
  assert.equal((await refund({ amountUsdCents: 201 })).status, 403)
  assert.equal((await refund({ amountUsdCents: 30 })).json.amountUsd, 0.3)
  assert.equal((await refund({})).json.amountUsd, 1.7)
  assert.equal((await refund({})).status, 403)
  assert.equal((await operate('POST', '/operator/refunds', { checkoutId: 'chk_x', reason: 'x' })).status, 404)
  await harness.runJobs()
  await waitForRefundState(paid.agent, 'done')
  assert.deepEqual(await accountsOf(paid.agent), {})
  const { rows: logged } = await harness.owner.query(
    "select count(*)::int as n from operator_audit where action = 'refund.wanted' and details->>'agentId' = $1",
    [paid.agent.agentId],
  )
  assert.equal(logged[0].n, 2)
})

test('a sandbox checkout has no provider: its refund is posted at once', async () => {
  const agent = await harness.register('test')
  const owner = { agentId: agent.agentId, mode: 'test' } as const
  const payments = makePayments(harness.ctx, undefined)
  const result = await inTransaction(harness.ctx, agent.agentId, async (tx) => {
    const { checkoutId } = await payments.openTestCheckout(tx, {
      ...owner,
      purpose: 'order',
      reference: 'ord_sandbox',
      amountUsdCents: 200n,
      description: 'test',
    })
    const move = (kind: string, from: string, to: string, amount: bigint) =>
      ledger.post(tx, {
        ...owner,
        kind,
        reference: checkoutId,
        lines: [
          { account: from, unit: 'usd_cent', amount: -amount },
          { account: to, unit: 'usd_cent', amount },
        ],
      })
    await move('order_payment', 'world:card', 'escrow:ord_sandbox', 200n)
    await move('order_release', 'escrow:ord_sandbox', 'unused:card', 150n)
    const request = { ...owner, checkoutId, amountUsdCents: 150n, reference: 'cancel', reason: 'test' }
    const first = await requestRefund(tx, request, orderSettler)
    assert.deepEqual(await requestRefund(tx, request, orderSettler), first)
    return first
  })
  assert.equal(result.state, 'done')
  assert.deepEqual(await accountsOf(agent), { escrow: 50, 'world:card': -50 })
})

test('the database refuses every other state change of a refund', async () => {
  const { agent, ...paid } = await payOrder()
  const { refundId } = await requestOrderRefund({ agent, ...paid }, 10n, 'one')
  const set = (what: string) =>
    harness.owner.query(`update card_refunds set ${what} where refund_id = $1`, [refundId])
  await assert.rejects(set("state = 'done', provider_refund_id = 're_x'"), /cannot go from wanted to done/)
  await assert.rejects(set("state = 'sent'"), /card_refunds_sent_has_a_name/)
  await assert.rejects(set("state = 'failed'"), /card_refunds_failed_says_why/)
  await assert.rejects(set('amount_usd_cents = 11'), /stands/)
  await assert.rejects(set("reference = 'two'"), /stands/)
})

test('the refunded total is right whether or not the provider lowers its own total', () => {
  const refund = fc.record({
    amountUsdCents: fc.bigInt({ min: 1n, max: 1_000n }),
    state: fc.constantFrom('pending' as const, 'succeeded' as const, 'failed' as const),
  })
  fc.assert(
    fc.property(fc.array(refund, { maxLength: 8 }), fc.boolean(), (refunds, lowers) => {
      // The provider's total after each refund and each failure; the server stores the largest.
      let sum = 0n
      let largest = 0n
      let effective = 0n
      for (const one of refunds) {
        sum += one.amountUsdCents
        largest = largest > sum ? largest : sum
        if (one.state === 'failed') sum -= lowers ? one.amountUsdCents : 0n
        else effective += one.amountUsdCents
      }
      assert.equal(refundedUsdCentsOf(largest, refunds), effective)
    }),
    { numRuns: 500 },
  )
})

test('afterwards the ledger is consistent and agrees with the card payments', async () => {
  assert.deepEqual(await ledgerFaults(harness), [])
  const { json } = await operate('GET', '/operator/credits/check')
  assert.deepEqual(json.faults, [])
  assert.deepEqual(json.unmatched, [])
})
