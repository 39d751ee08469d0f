import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import * as fc from 'fast-check'
import type { SimulatorState } from '@pohf/checkout-simulator'
import { ledgerFaults } from '../../../test/fixtures/payments/ledger.ts'
import { startCardHarness } from '../../../test/fixtures/payments/card.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import * as ledger from '../../ledger/index.ts'
import * as operators from '../../operators/index.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { cardSettler as creditsSettler } from '../../credits/index.ts'
import { makeCardSettler } from '../../work/index.ts'
import { refundedUsdCentsOf } from '../card/facts.ts'
import { makeCardProvider, makePayments, requestRefund } from '../index.ts'
import { sendRefunds } from './send-refunds.ts'

const card = await startCardHarness()
const { harness, simulator } = card
const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
const operate = (method: 'GET' | 'POST', path: string, body?: object) =>
  harness.operate(method, path, { key: operatorKey, ...(body ? { body } : {}) })

const cardSettler = makeCardSettler({
  platformAgentOf: () => 'agt_house',
  starsAccountOf: () => 'stars:user',
})
const settlers = { order: cardSettler, credits: creditsSettler }
const provider = makeCardProvider(harness.ctx)
assert.ok(provider)
/** One turn of the duty alone: the others would hear by the list of messages what a test keeps back. */
const send = () => sendRefunds(harness.ctx, { provider, settlers })

type Agent = { apiKey: string; agentId: `agt_${string}` }
const accountsOf = async ({ agentId }: Pick<Agent, 'agentId'>) => {
  const { rows } = await harness.owner.query<{ account: string; balance: number }>(
    "select account, balance::int from ledger_accounts where agent_id = $1 and unit = 'usd_cent' and balance <> 0 order by account",
    [agentId],
  )
  return Object.fromEntries(rows.map((row) => [row.account.replace(/^escrow:.*/, 'escrow'), row.balance]))
}
const statusOf = async (orderId: string) =>
  (await harness.owner.query('select status from orders where order_id = $1', [orderId])).rows[0].status
const refundsOf = async ({ agentId }: Pick<Agent, 'agentId'>) => {
  const { rows } = await harness.owner.query<{ state: string; fault: string | null; id: string }>(
    'select state, fault, refund_id as id from card_refunds where agent_id = $1 order by refund_id',
    [agentId],
  )
  return rows
}
const providerRefundsOf = async (payment: string) =>
  (await card.state()).refunds.filter(({ paymentId }) => paymentId === payment)

/** An order over two dollars, paid, of a new agent. */
const paidOrder = async () => {
  const agent = await card.liveAgent()
  const { json: order } = await harness.call('POST', '/api/agents/order', {
    key: agent.apiKey,
    body: { taskType: 'wf_photo_label', quantity: 4 },
  })
  const orderId = String(order.orderId)
  const { json } = await harness.call('POST', '/api/agents/order/fund', {
    key: agent.apiKey,
    body: { orderId },
  })
  const sessionId = new URL(json.checkoutUrl).pathname.split('/').at(-1) ?? ''
  const payment = await card.pay(sessionId)
  await pollUntil('funded', async () => (await statusOf(orderId)) === 'funded')
  const { rows } = await harness.owner.query('select checkout_id from checkouts where agent_id = $1', [
    agent.agentId,
  ])
  return { agent, orderId, payment, checkoutId: String(rows[0].checkout_id) }
}
type PaidOrder = Awaited<ReturnType<typeof paidOrder>>
/** What the owner of orders does: the money leaves escrow and is wanted back, in one transaction. */
const requestOrderRefund = ({ agent, orderId, checkoutId }: PaidOrder, amount: bigint, reference: string) =>
  inTransaction(harness.ctx, agent.agentId, async (tx) => {
    const book = { agentId: agent.agentId, mode: 'live' } as const
    const { repeated } = await ledger.post(tx, {
      ...book,
      kind: 'order_release',
      reference,
      lines: [
        { account: `escrow:${orderId}`, unit: 'usd_cent', amount: -amount },
        { account: 'unused:card', unit: 'usd_cent', amount },
      ],
    })
    if (!repeated) {
      // Units of 50 cents; where none is left, the order is over.
      await sql`
        update order_units set status = 'cancelled', ended_at = pohf_now() where order_id = ${orderId} and n in (
          select n from order_units where order_id = ${orderId} and status = 'open' order by n limit ${amount / 50n})`.execute(
        tx,
      )
      await sql`
        update orders set status = 'cancelled' where order_id = ${orderId} and not exists (
          select from order_units where order_id = ${orderId} and status = 'open')`.execute(tx)
    }
    return requestRefund(
      tx,
      { ...book, checkoutId, amountUsdCents: amount, reference, reason: 'test' },
      cardSettler,
    )
  })
const waitForRefundState = (agent: Agent, state: string) =>
  pollUntil(state, async () => (await refundsOf(agent)).every((row) => row.state === state))
const withHeldEvents = async <T>(work: () => Promise<T>): Promise<T> => {
  await simulator.control('manner', { hold: true })
  try {
    return await work()
  } finally {
    await simulator.control('manner', { hold: false })
  }
}
const newEventIds = (before: SimulatorState, after: SimulatorState) => {
  const known = new Set(before.events.map(({ id }) => id))
  return after.events.filter(({ id }) => !known.has(id)).map(({ id }) => id)
}

test('a part goes back once, however often it is asked for, and escrow keeps the rest', async () => {
  const paid = await paidOrder()
  const [first, ...rest] = await Promise.all(
    Array.from({ length: 10 }, () => requestOrderRefund(paid, 50n, 'unit 1')),
  )
  assert.ok(first && rest.every(({ refundId }) => refundId === first.refundId))
  assert.deepEqual(await accountsOf(paid.agent), { escrow: 150, 'unused:card': 50, 'world:card': -200 })
  await harness.work()
  await waitForRefundState(paid.agent, 'done')
  assert.deepEqual(
    (await providerRefundsOf(paid.payment)).map(({ amount, status }) => [amount, status]),
    [[50, 'succeeded']],
  )
  assert.deepEqual(await accountsOf(paid.agent), { escrow: 150, 'world:card': -150 })
  assert.equal(await statusOf(paid.orderId), 'funded')
  await requestOrderRefund(paid, 50n, 'unit 1')
  await harness.work()
  assert.equal((await providerRefundsOf(paid.payment)).length, 1)
  assert.deepEqual(await accountsOf(paid.agent), { escrow: 150, 'world:card': -150 })
})

test('the same reference in other words is refused, and so is more than was paid', async () => {
  const paid = await paidOrder()
  const wish = {
    agentId: paid.agent.agentId,
    mode: 'live' as const,
    checkoutId: paid.checkoutId,
    reference: 'one',
    reason: 'test',
  }
  const ask = (more: object) =>
    inTransaction(harness.ctx, paid.agent.agentId, (tx) =>
      requestRefund(tx, { ...wish, amountUsdCents: 150n, ...more }, cardSettler),
    )
  await ask({})
  await assert.rejects(ask({ amountUsdCents: 10n }), /other words/)
  await assert.rejects(ask({ reference: 'two', amountUsdCents: 51n }), /more would be given back/)
  const both = await Promise.allSettled(
    ['three', 'four'].map((reference) => ask({ reference, amountUsdCents: 30n })),
  )
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  await assert.rejects(ask({ reference: 'five', checkoutId: 'chk_none', amountUsdCents: 1n }))
  await assert.rejects(ask({ reference: 'six', amountUsdCents: 0n }))
  await harness.work()
})

let clockOffsetMs = 0
/** Both clocks go on together: a signature is good for five minutes. */
const advanceClock = async (ms: number) => {
  clockOffsetMs += ms
  await harness.advance(ms)
  await simulator.control('clock', { offsetMs: clockOffsetMs })
}
test('where the answer is lost, nothing is given twice: by the key within a day, by its name after that', async () => {
  for (const later of [false, true]) {
    const paid = await paidOrder()
    await withHeldEvents(async () => {
      await requestOrderRefund(paid, 200n, 'all')
      // The SDK asks again by itself once; both answers are cut off after the provider has acted.
      await simulator.control('misbehave', { kind: 'cut', calls: 2 })
      await send()
      assert.equal((await providerRefundsOf(paid.payment)).length, 1)
      assert.deepEqual(
        (await refundsOf(paid.agent)).map(({ state, fault }) => [state, fault]),
        [['wanted', 'not_reached']],
      )
      await advanceClock(15_000)
      if (later) await simulator.control('forget', { keys: true })
      await send()
      assert.equal((await providerRefundsOf(paid.payment)).length, 1)
      await waitForRefundState(paid.agent, 'sent')
    })
    assert.deepEqual(await accountsOf(paid.agent), { 'unused:card': 200, 'world:card': -200 })
    // No message ever comes: it is looked at after a while, and counts then.
    await advanceClock(660_000)
    await send()
    await waitForRefundState(paid.agent, 'done')
    assert.deepEqual(await accountsOf(paid.agent), {})
    assert.equal(await statusOf(paid.orderId), 'refunded')
  }
})

test('a message that is faster than the answer counts, and the answer changes nothing', async () => {
  const paid = await paidOrder()
  await requestOrderRefund(paid, 200n, 'all')
  await simulator.control('misbehave', { kind: 'cut', calls: 2 })
  await harness.work()
  await waitForRefundState(paid.agent, 'done')
  assert.deepEqual(await accountsOf(paid.agent), {})
  await advanceClock(60_000)
  await harness.work()
  assert.equal((await providerRefundsOf(paid.payment)).length, 1)
})

test('faults of the provider are tried again under another key; its no is final, is alarmed, and an operator goes on', async () => {
  const paid = await paidOrder()
  await requestOrderRefund(paid, 100n, 'half')
  await simulator.control('misbehave', { kind: 'error', calls: 1 })
  await harness.work()
  assert.equal((await refundsOf(paid.agent))[0]?.state, 'wanted')
  await advanceClock(15_000)
  await harness.work()
  await waitForRefundState(paid.agent, 'done')
  assert.equal((await providerRefundsOf(paid.payment)).length, 1)
  // Somebody gave the rest back in the dashboard, and we want it too.
  await requestOrderRefund(paid, 100n, 'other half')
  const refunded = await withHeldEvents(async () => {
    const before = await card.state()
    await simulator.control(`payments/${paid.payment}/refund`)
    const ids = newEventIds(before, await card.state())
    const at = harness.lines.length
    await send()
    assert.match(harness.lines.slice(at).join(''), /could not be given back/)
    return ids
  })
  assert.deepEqual(
    (await refundsOf(paid.agent)).map(({ state, fault }) => [state, fault]),
    [
      ['done', null],
      ['failed', 'charge_already_refunded'],
    ],
  )
  const { json } = await operate('GET', `/operator/refunds?state=failed&agentId=${paid.agent.agentId}`)
  assert.equal(json.refunds.length, 1)
  assert.equal(json.refunds[0].fault, 'charge_already_refunded')
  await card.deliver(refunded)
  assert.deepEqual(await accountsOf(paid.agent), {})
  const again = await operate('POST', `/operator/refunds/${json.refunds[0].refundId}/retry`)
  assert.equal(again.status, 403)
  assert.match(again.json.message, /no longer here/)
})

test('a refund that never gets through is given up with an alarm after a bounded number of tries', async () => {
  const paid = await paidOrder()
  await requestOrderRefund(paid, 200n, 'all')
  await harness.owner.query('update card_refunds set attempts = 23 where agent_id = $1', [paid.agent.agentId])
  const at = harness.lines.length
  await simulator.control('misbehave', { kind: 'error', calls: 2 })
  await harness.work()
  assert.deepEqual(
    (await refundsOf(paid.agent)).map(({ state, fault }) => [state, fault]),
    [['failed', 'given_up']],
  )
  assert.match(harness.lines.slice(at).join(''), /could not be given back/)
  assert.deepEqual(await accountsOf(paid.agent), { 'unused:card': 200, 'world:card': -200 })
  const [row] = await refundsOf(paid.agent)
  assert.equal((await operate('POST', `/operator/refunds/${row?.id}/retry`)).json.state, 'wanted')
  assert.equal((await operate('POST', `/operator/refunds/${row?.id}/retry`)).status, 403)
  await harness.work()
  await waitForRefundState(paid.agent, 'done')
  assert.deepEqual(await accountsOf(paid.agent), {})
})

test('the bank sends it back: the money is here again, in any order of messages, and an operator tries anew', async () => {
  for (const reversed of [false, true]) {
    const paid = await paidOrder()
    const before = await card.state()
    const ids = await withHeldEvents(async () => {
      await simulator.control('manner', { slowRefunds: true })
      await requestOrderRefund(paid, 200n, 'all')
      await send()
      const [refund] = await providerRefundsOf(paid.payment)
      assert.equal(refund?.status, 'pending')
      await simulator.control(`refunds/${refund?.id}/end`, { succeeded: true })
      await simulator.control(`refunds/${refund?.id}/end`, { succeeded: false })
      await simulator.control('manner', { slowRefunds: false })
      return newEventIds(before, await card.state())
    })
    assert.equal((await refundsOf(paid.agent))[0]?.state, 'sent')
    assert.ok(ids.length >= 5)
    await card.deliver(reversed ? ids.toReversed() : ids)
    await card.deliver(ids)
    assert.deepEqual(
      (await refundsOf(paid.agent)).map(({ state, fault }) => [state, fault]),
      [['failed', 'sent_back']],
    )
    assert.deepEqual(await accountsOf(paid.agent), { 'unused:card': 200, 'world:card': -200 })
    const [row] = await refundsOf(paid.agent)
    assert.equal((await operate('POST', `/operator/refunds/${row?.id}/retry`)).status, 200)
    await harness.work()
    await waitForRefundState(paid.agent, 'done')
    await card.deliver(ids)
    assert.equal((await refundsOf(paid.agent))[0]?.state, 'done', 'what was said of the first is old')
    assert.deepEqual(await accountsOf(paid.agent), {})
  }
})

test('a pack whose refund the bank sends back is given back too', async () => {
  const agent = await card.liveAgent()
  const { sessionId, checkoutId } = await card.openCheckout(agent)
  const payment = await card.pay(sessionId)
  await card.waitForState(checkoutId, 'completed')
  const given = await operate('POST', '/operator/refunds', { checkoutId, reason: 'asked by mail' })
  assert.deepEqual([given.status, given.json.state, given.json.amountUsd], [200, 'wanted', 49])
  const twice = await operate('POST', '/operator/refunds', { checkoutId, reason: 'asked by mail' })
  assert.equal(twice.status, 403)
  await harness.work()
  await waitForRefundState(agent, 'done')
  assert.equal((await card.balance(agent)).balance, 0)
  const [refund] = await providerRefundsOf(payment)
  await simulator.control(`refunds/${refund?.id}/end`, { succeeded: false })
  await waitForRefundState(agent, 'failed')
  await pollUntil('credits', async () => (await card.balance(agent)).balance === 100)
})

test('money for an order that no longer waits goes back by itself', async () => {
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
  await harness.work()
  await waitForRefundState(agent, 'done')
  assert.equal((await providerRefundsOf(payment)).length, 1)
  assert.deepEqual(await accountsOf(agent), {})
})

test('an operator gives back what is unused, and no more', async () => {
  const paid = await paidOrder()
  const { checkoutId } = paid
  const give = (body: object) => operate('POST', '/operator/refunds', { checkoutId, reason: 'test', ...body })
  assert.equal((await give({})).status, 403, 'it is in escrow')
  await simulator.control(`payments/${paid.payment}/dispute`, { amount: 80 })
  // A dispute of a part stops the order: what is left of its money waits for an operator.
  await pollUntil('disputed', async () => (await accountsOf(paid.agent))['unused:card'] === 120)
  const { rows } = await harness.owner.query('select dispute_id from card_disputes where payment_id = $1', [
    paid.payment,
  ])
  await simulator.control(`disputes/${rows[0].dispute_id}/close`, { how: 'won' })
  await pollUntil('won', async () => (await accountsOf(paid.agent))['unused:card'] === 200)
  assert.equal((await give({ amountUsdCents: 201 })).status, 403)
  assert.equal((await give({ amountUsdCents: 30 })).json.amountUsd, 0.3)
  assert.equal((await give({})).json.amountUsd, 1.7)
  assert.equal((await give({})).status, 403)
  assert.equal((await operate('POST', '/operator/refunds', { checkoutId: 'chk_x', reason: 'x' })).status, 404)
  await harness.work()
  await waitForRefundState(paid.agent, 'done')
  assert.deepEqual(await accountsOf(paid.agent), {})
  const { rows: logged } = await harness.owner.query(
    "select count(*)::int as n from operator_audit where action = 'refund.wanted' and details->>'agentId' = $1",
    [paid.agent.agentId],
  )
  assert.equal(logged[0].n, 2)
})

test('a sandbox checkout has no provider: it is given back in the books at once', async () => {
  const agent = await harness.register('test')
  const book = { agentId: agent.agentId, mode: 'test' } as const
  const payments = makePayments(harness.ctx, undefined)
  const result = await inTransaction(harness.ctx, agent.agentId, async (tx) => {
    const { checkoutId } = await payments.openTestCheckout(tx, {
      ...book,
      purpose: 'order',
      reference: 'ord_sandbox',
      amountUsdCents: 200n,
      description: 'test',
    })
    const move = (kind: string, from: string, to: string, amount: bigint) =>
      ledger.post(tx, {
        ...book,
        kind,
        reference: checkoutId,
        lines: [
          { account: from, unit: 'usd_cent', amount: -amount },
          { account: to, unit: 'usd_cent', amount },
        ],
      })
    await move('order_payment', 'world:card', 'escrow:ord_sandbox', 200n)
    await move('order_release', 'escrow:ord_sandbox', 'unused:card', 150n)
    const wish = { ...book, checkoutId, amountUsdCents: 150n, reference: 'cancel', reason: 'test' }
    const first = await requestRefund(tx, wish, cardSettler)
    assert.deepEqual(await requestRefund(tx, wish, cardSettler), first)
    return first
  })
  assert.equal(result.state, 'done')
  assert.deepEqual(await accountsOf(agent), { escrow: 50, 'world:card': -50 })
})

test('the database refuses every other step of a refund', async () => {
  const { agent, ...paid } = await paidOrder()
  const { refundId } = await requestOrderRefund({ agent, ...paid }, 10n, 'one')
  const set = (what: string) =>
    harness.owner.query(`update card_refunds set ${what} where refund_id = $1`, [refundId])
  await assert.rejects(set("state = 'done', provider_refund_id = 're_x'"), /cannot go from wanted to done/)
  await assert.rejects(set("state = 'sent'"), /card_refunds_sent_has_a_name/)
  await assert.rejects(set("state = 'failed'"), /card_refunds_failed_says_why/)
  await assert.rejects(set('amount_usd_cents = 11'), /stands/)
  await assert.rejects(set("reference = 'two'"), /stands/)
})

test('what stands of refunds is right whether or not the provider lowers its sum', () => {
  const refund = fc.record({
    amountUsdCents: fc.bigInt({ min: 1n, max: 1_000n }),
    state: fc.constantFrom('pending' as const, 'succeeded' as const, 'failed' as const),
  })
  fc.assert(
    fc.property(fc.array(refund, { maxLength: 8 }), fc.boolean(), (refunds, lowers) => {
      // The provider's sum after each refund, and after each that fails; we keep the largest that we hear.
      let sum = 0n
      let heard = 0n
      let stands = 0n
      for (const one of refunds) {
        sum += one.amountUsdCents
        heard = heard > sum ? heard : sum
        if (one.state === 'failed') sum -= lowers ? one.amountUsdCents : 0n
        else stands += one.amountUsdCents
      }
      assert.equal(refundedUsdCentsOf(heard, refunds), stands)
    }),
    { numRuns: 500 },
  )
})

test('afterwards the books are whole and agree with the card', async () => {
  assert.deepEqual(await ledgerFaults(harness), [])
  const { json } = await operate('GET', '/operator/credits/check')
  assert.deepEqual(json.faults, [])
  assert.deepEqual(json.unmatched, [])
})
