import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, test } from 'node:test'
import { cardSettler as creditsSettler } from '../../credits/index.ts'
import { ledgerFaults } from '../../../test/fixtures/payments/ledger.ts'
import { newEventIds, orderSettler, startRefundHarness } from '../../../test/fixtures/payments/refunds.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { makeCardProvider, requestRefund } from '../index.ts'
import { sendRefunds } from './send-refunds.ts'

const { card, ...refunds } = await startRefundHarness()
const { accountsOf, advanceClock, operate, payOrder, providerRefundsOf, refundsOf, requestOrderRefund } =
  refunds
const { send, statusOf, waitForRefundState, withHeldEvents } = refunds
const { harness, simulator } = card

test('a repeated request refunds a part once, and escrow keeps the rest', async () => {
  const paid = await payOrder()
  const [first, ...rest] = await Promise.all(
    Array.from({ length: 10 }, () => requestOrderRefund(paid, 50n, 'unit 1')),
  )
  assert.ok(first && rest.every(({ refundId }) => refundId === first.refundId))
  assert.deepEqual(await accountsOf(paid.agent), { escrow: 150, 'unused:card': 50, 'world:card': -200 })
  await harness.runJobs()
  await waitForRefundState(paid.agent, 'done')
  assert.deepEqual(
    (await providerRefundsOf(paid.payment)).map(({ amount, status }) => [amount, status]),
    [[50, 'succeeded']],
  )
  assert.deepEqual(await accountsOf(paid.agent), { escrow: 150, 'world:card': -150 })
  assert.equal(await statusOf(paid.orderId), 'funded')
  await requestOrderRefund(paid, 50n, 'unit 1')
  await harness.runJobs()
  assert.equal((await providerRefundsOf(paid.payment)).length, 1)
  assert.deepEqual(await accountsOf(paid.agent), { escrow: 150, 'world:card': -150 })
})

test('a reference with another amount is refused, and so is more than was paid', async () => {
  const paid = await payOrder()
  const request = {
    agentId: paid.agent.agentId,
    mode: 'live' as const,
    checkoutId: paid.checkoutId,
    reference: 'one',
    reason: 'test',
  }
  const requestWith = (more: object) =>
    inTransaction(harness.ctx, paid.agent.agentId, (tx) =>
      requestRefund(tx, { ...request, amountUsdCents: 150n, ...more }, orderSettler),
    )
  await requestWith({})
  await assert.rejects(requestWith({ amountUsdCents: 10n }), /reused with a different checkout or amount/)
  await assert.rejects(requestWith({ reference: 'two', amountUsdCents: 51n }), /more would be given back/)
  const both = await Promise.allSettled(
    ['three', 'four'].map((reference) => requestWith({ reference, amountUsdCents: 30n })),
  )
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  await assert.rejects(requestWith({ reference: 'five', checkoutId: 'chk_none', amountUsdCents: 1n }))
  await assert.rejects(requestWith({ reference: 'six', amountUsdCents: 0n }))
  await harness.runJobs()
})

test('after a lost response nothing is refunded twice: by the key within a day, by its id after that', async () => {
  for (const later of [false, true]) {
    const paid = await payOrder()
    await withHeldEvents(async () => {
      await requestOrderRefund(paid, 200n, 'all')
      // The SDK retries once; both responses are lost after the provider has acted.
      await simulator.control('faults', { kind: 'cut', calls: 2 })
      await send()
      assert.equal((await providerRefundsOf(paid.payment)).length, 1)
      assert.deepEqual(
        (await refundsOf(paid.agent)).map(({ state, fault }) => [state, fault]),
        [['wanted', 'not_reached']],
      )
      await advanceClock(75_000)
      if (later) await simulator.control('forget', { keys: true })
      await send()
      assert.equal((await providerRefundsOf(paid.payment)).length, 1)
      await waitForRefundState(paid.agent, 'sent')
    })
    assert.deepEqual(await accountsOf(paid.agent), { 'unused:card': 200, 'world:card': -200 })
    // No event arrives: the refund is polled and posted then.
    await advanceClock(660_000)
    await send()
    await waitForRefundState(paid.agent, 'done')
    assert.deepEqual(await accountsOf(paid.agent), {})
    assert.equal(await statusOf(paid.orderId), 'refunded')
  }
})

test('an event that arrives before the response counts, and the response changes nothing', async () => {
  const paid = await payOrder()
  await requestOrderRefund(paid, 200n, 'all')
  await simulator.control('faults', { kind: 'cut', calls: 2 })
  await harness.runJobs()
  await waitForRefundState(paid.agent, 'done')
  assert.deepEqual(await accountsOf(paid.agent), {})
  await advanceClock(60_000)
  await harness.runJobs()
  assert.equal((await providerRefundsOf(paid.payment)).length, 1)
})

test('a server error is retried under another key; a refusal is final, is logged, and an operator can retry', async () => {
  const paid = await payOrder()
  await requestOrderRefund(paid, 100n, 'half')
  await simulator.control('faults', { kind: 'error', calls: 1 })
  await harness.runJobs()
  assert.equal((await refundsOf(paid.agent))[0]?.state, 'wanted')
  await advanceClock(75_000)
  await harness.runJobs()
  await waitForRefundState(paid.agent, 'done')
  assert.equal((await providerRefundsOf(paid.payment)).length, 1)
  // The rest was refunded in the provider's dashboard, and is requested by us too.
  await requestOrderRefund(paid, 100n, 'other half')
  const refunded = await withHeldEvents(async () => {
    const before = await card.state()
    await simulator.control(`payments/${paid.payment}/refund`)
    const ids = newEventIds(before, await card.state())
    const at = harness.lines.length
    await send()
    assert.match(harness.lines.slice(at).join(''), /card refund failed, money not returned/)
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
  const retried = await operate('POST', `/operator/refunds/${json.refunds[0].refundId}/retry`)
  assert.equal(retried.status, 403)
  assert.match(retried.json.message, /no longer available/)
})

test('a refund that never succeeds is given up and logged after a bounded number of attempts', async () => {
  const paid = await payOrder()
  await requestOrderRefund(paid, 200n, 'all')
  await harness.owner.query('update card_refunds set attempts = 23 where agent_id = $1', [paid.agent.agentId])
  const at = harness.lines.length
  await simulator.control('faults', { kind: 'error', calls: 2 })
  await harness.runJobs()
  assert.deepEqual(
    (await refundsOf(paid.agent)).map(({ state, fault }) => [state, fault]),
    [['failed', 'given_up']],
  )
  assert.match(harness.lines.slice(at).join(''), /card refund failed, money not returned/)
  assert.deepEqual(await accountsOf(paid.agent), { 'unused:card': 200, 'world:card': -200 })
  const [row] = await refundsOf(paid.agent)
  assert.equal((await operate('POST', `/operator/refunds/${row?.id}/retry`)).json.state, 'wanted')
  assert.equal((await operate('POST', `/operator/refunds/${row?.id}/retry`)).status, 403)
  await harness.runJobs()
  await waitForRefundState(paid.agent, 'done')
  assert.deepEqual(await accountsOf(paid.agent), {})
})

test('a returned refund restores the money, in any order of events, and an operator can retry', async () => {
  for (const reversed of [false, true]) {
    const paid = await payOrder()
    const before = await card.state()
    const ids = await withHeldEvents(async () => {
      await simulator.control('delivery', { slowRefunds: true })
      await requestOrderRefund(paid, 200n, 'all')
      await send()
      const [refund] = await providerRefundsOf(paid.payment)
      assert.equal(refund?.status, 'pending')
      await simulator.control(`refunds/${refund?.id}/end`, { succeeded: true })
      await simulator.control(`refunds/${refund?.id}/end`, { succeeded: false })
      await simulator.control('delivery', { slowRefunds: false })
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
    await harness.runJobs()
    await waitForRefundState(paid.agent, 'done')
    await card.deliver(ids)
    assert.equal(
      (await refundsOf(paid.agent))[0]?.state,
      'done',
      'events of the first refund no longer count',
    )
    assert.deepEqual(await accountsOf(paid.agent), {})
  }
})

test('no other process sends a refund while one is slow to send it', async () => {
  for (const paid of [await payOrder(), await payOrder()]) await requestOrderRefund(paid, 200n, 'all')
  const provider = makeCardProvider(harness.ctx)
  assert.ok(provider)
  const sent: string[] = []
  const sendSlowly = (): Promise<number> =>
    sendRefunds(harness.ctx, {
      settlers: { order: orderSettler, credits: creditsSettler },
      provider: {
        ...provider,
        createRefund: async (request) => {
          sent.push(request.refundId)
          if (sent.length === 1) {
            await advanceClock(30_000)
            await sendSlowly()
          }
          return provider.createRefund(request)
        },
      },
    })
  await sendSlowly()
  assert.equal(sent.length, 2)
  assert.equal(new Set(sent).size, 2)
})

/** The last of 150 refunds carries our id. */
const refundFixture = (n: number) => ({
  id: `re_${n}`,
  object: 'refund',
  amount: 1,
  currency: 'usd',
  payment_intent: 'pi_1',
  status: 'succeeded',
  metadata: n === 149 ? { refund_id: 'own' } : {},
})
test('an own refund is found behind more than a page of newer ones', async () => {
  const server = createServer((request, response) => {
    const from = new URL(request.url ?? '', 'http://provider').searchParams.get('starting_after')
    const all = Array.from({ length: 150 }, (_, n) => refundFixture(n))
    const start = from === null ? 0 : all.findIndex(({ id }) => id === from) + 1
    const data = all.slice(start, start + 100)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ object: 'list', has_more: start + 100 < all.length, data }))
  })
  after(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(typeof address === 'object' && address)
  const config = { ...harness.ctx.config, STRIPE_API_BASE: `http://127.0.0.1:${address.port}` }
  const provider = makeCardProvider({ ...harness.ctx, config })
  assert.equal((await provider?.findOwnRefund('pi_1', 'own'))?.providerRefundId, 're_149')
  assert.equal(await provider?.findOwnRefund('pi_1', 'unknown'), undefined)
})

test('afterwards the ledger is consistent and agrees with the card payments', async () => {
  assert.deepEqual(await ledgerFaults(harness), [])
  const { json } = await operate('GET', '/operator/credits/check')
  assert.deepEqual(json.faults, [])
  assert.deepEqual(json.unmatched, [])
})
