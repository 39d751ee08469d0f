import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeCardSteps } from '../../../test/fixtures/payments/card-steps.ts'
import { startCardHarness } from '../../../test/fixtures/payments/card.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import * as operators from '../../operators/index.ts'

const card = await startCardHarness()
const { harness, simulator } = card
const { withHeldEvents, advanceClock } = makeCardSteps(card)
const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
const readCheck = async () =>
  (await harness.callOperator('GET', '/operator/credits/check', { key: operatorKey })).json as {
    ok: boolean
    checkouts: number
    postings: number
    faults: unknown[]
    unmatched: { eventId: string }[]
  }

const statusOf = async (orderId: string) =>
  (await harness.owner.query('select status from orders where order_id = $1', [orderId])).rows[0].status

test('a live pack is paid at the provider and posted once', async () => {
  const agent = await card.liveAgent()
  const { sessionId, checkoutId, checkoutUrl } = await card.openCheckout(agent)
  assert.ok(checkoutUrl.startsWith(`${simulator.url}/pay/cs_test_`))
  assert.equal((await card.balance(agent)).balance, 0)
  await card.pay(sessionId)
  await card.waitForState(checkoutId, 'completed')
  assert.deepEqual(
    await card.balance(agent).then(({ balance, lifetimePurchased }) => [balance, lifetimePurchased]),
    [100, 100],
  )
  assert.deepEqual(await card.eventsOf(agent.agentId), [
    { type: 'credits.purchased', data: { balance: 100, pack: 'starter', credits: 100 } },
  ])
  const page = await harness.call('GET', `/checkout/${checkoutId}?returned=paid`)
  assert.match(page.text, /The credits are posted/)
  assert.notEqual(
    (await card.openCheckout(agent)).checkoutId,
    checkoutId,
    'the next pack is another checkout',
  )
})

test('a repeated request returns the same checkout, with or without an Idempotency-Key', async () => {
  const agent = await card.liveAgent()
  const first = await card.buy(agent, 'growth', { 'idempotency-key': 'buy-1' })
  const repeated = await card.buy(agent, 'growth', { 'idempotency-key': 'buy-1' })
  assert.equal(repeated.text, first.text)
  assert.equal(repeated.headers['idempotent-replayed'], 'true')
  assert.equal((await card.buy(agent, 'growth')).text, first.text)
})

for (const parallel of [2, 20, 100])
  test(`${parallel} concurrent calls create one session at the provider`, async () => {
    const agent = await card.liveAgent()
    const before = (await card.state()).sessions.length
    const answers = await Promise.all(Array.from({ length: parallel }, () => card.buy(agent)))
    assert.ok(answers.every(({ status }) => status === 200))
    assert.equal(new Set(answers.map(({ json }) => json.checkoutUrl)).size, 1)
    assert.equal((await card.state()).sessions.length, before + 1)
  })

test('an expired session expires its checkout, and the next call opens another', async () => {
  const agent = await card.liveAgent()
  const { sessionId, checkoutId } = await card.openCheckout(agent)
  await simulator.control(`sessions/${sessionId}/expire`)
  await card.waitForState(checkoutId, 'expired')
  assert.notEqual((await card.openCheckout(agent)).sessionId, sessionId)
})

test('the provider is down at buy: a documented error, and the retry creates one session', async () => {
  for (const kind of ['error', 'cut'] as const) {
    const agent = await card.liveAgent()
    const before = (await card.state()).sessions.length
    // The SDK retries a closed connection once; a server error of the provider is final for its key.
    await simulator.control('faults', { kind, calls: kind === 'cut' ? 2 : 1 })
    const failed = await card.buy(agent, 'starter', { 'idempotency-key': `down-${kind}` })
    assert.equal(failed.status, 503, failed.text)
    assert.equal(failed.json.error, 'card_provider_unreachable')
    assert.equal(failed.json.retryable, true)
    assert.ok(Number(failed.headers['retry-after']) > 0)
    const { rows } = await harness.owner.query(
      'select checkout_id, provider_session_id from checkouts where agent_id = $1',
      [agent.agentId],
    )
    assert.equal(rows.length, 1)
    assert.equal(rows[0].provider_session_id, null)
    const { checkoutId, sessionId } = await card.openCheckout(agent)
    assert.equal(checkoutId, rows[0].checkout_id, 'the same checkout')
    assert.equal((await card.state()).sessions.length, before + 1, `${kind}: one session`)
    await card.pay(sessionId)
    await card.waitForState(checkoutId, 'completed')
    assert.equal((await card.balance(agent)).balance, 100)
  }
})

test('an open checkout is polled, and a page past its expiry is expired at the provider first', async () => {
  const paid = await card.liveAgent()
  const left = await card.liveAgent()
  const one = await card.openCheckout(paid)
  const two = await card.openCheckout(left)
  await withHeldEvents(async () => {
    await card.pay(one.sessionId)
    await simulator.control('forget')
    await harness.runJobs()
    assert.equal((await card.balance(paid)).balance, 0, 'no event has arrived yet')
    await advanceClock(660_000)
    // The provider fails: the next run polls again.
    await simulator.control('faults', { kind: 'error', calls: 2 })
    await harness.runJobs()
    await advanceClock(660_000)
    await harness.runJobs()
    assert.equal((await card.balance(paid)).balance, 100)
    assert.equal((await card.checkoutOf(two.checkoutId)).state, 'created')
    await advanceClock(24 * 3_600_000)
    await harness.runJobs()
    assert.equal((await card.checkoutOf(two.checkoutId)).state, 'expired')
    const { sessions } = await card.state()
    assert.equal(sessions.find(({ id }) => id === two.sessionId)?.status, 'expired')
  })
})

test('a session that the provider does not know expires its checkout, so that a new one can be opened', async () => {
  const agent = await card.liveAgent()
  const { checkoutId } = await card.openCheckout(agent)
  await harness.owner.query('alter table checkouts disable trigger state_change')
  await harness.owner.query("update checkouts set provider_session_id = 'cs_gone' where checkout_id = $1", [
    checkoutId,
  ])
  await harness.owner.query('alter table checkouts enable trigger state_change')
  await advanceClock(660_000)
  await harness.runJobs()
  assert.equal((await card.checkoutOf(checkoutId)).state, 'expired')
  assert.notEqual((await card.openCheckout(agent)).checkoutId, checkoutId)
})

test('a checkout funds an order once, and a refund of its money ends the order', async () => {
  const agent = await card.liveAgent()
  const order = async (quantity: number) =>
    String(
      (
        await harness.call('POST', '/api/agents/order', {
          key: agent.apiKey,
          body: { taskType: 'wf_photo_label', quantity },
        })
      ).json.orderId,
    )
  const fund = (orderId: string) =>
    harness.call('POST', '/api/agents/order/fund', { key: agent.apiKey, body: { orderId } })
  const orderId = await order(4)
  const { json } = await fund(orderId)
  assert.equal((await fund(orderId)).json.checkoutUrl, json.checkoutUrl)
  const sessionId = new URL(json.checkoutUrl).pathname.split('/').at(-1) ?? ''
  const { payment, ids } = await withHeldEvents(async () => ({
    payment: await card.pay(sessionId),
    ids: await card.heldEvents(['checkout.session.completed']),
  }))
  await card.deliver([...ids, ...ids, ...ids], { together: true })
  assert.equal(await statusOf(orderId), 'funded')
  const accounts = async () => {
    const { rows } = await harness.owner.query(
      "select account, balance::int from ledger_accounts where agent_id = $1 and unit = 'usd_cent' order by account",
      [agent.agentId],
    )
    return Object.fromEntries(rows.map((row) => [row.account, row.balance]))
  }
  assert.deepEqual(await accounts(), { [`escrow:${orderId}`]: 200, 'world:card': -200 })
  assert.equal((await card.eventsOf(agent.agentId, 'order.funded')).length, 1)
  assert.match((await fund(orderId)).json.message, /funded/)
  await simulator.control(`payments/${payment}/refund`)
  await pollUntil('refunded', async () => (await statusOf(orderId)) === 'refunded')
  assert.deepEqual(await accounts(), { [`escrow:${orderId}`]: 0, 'unused:card': 0, 'world:card': 0 })
  const small = await fund(
    await order(1).then(async (id) => {
      await harness.owner.query('alter table orders disable trigger transition')
      await harness.owner.query('update orders set total_usd_cents = 49 where order_id = $1', [id])
      await harness.owner.query('alter table orders enable trigger transition')
      return id
    }),
  )
  assert.equal(small.status, 400)
  assert.match(small.json.details[0].message, /0\.50 USD/)
})

test('an order whose slow payment failed gets a new checkout', async () => {
  const agent = await card.liveAgent()
  const call = (path: string, body: object) =>
    harness.call('POST', `/api/agents/${path}`, { key: agent.apiKey, body })
  const { orderId } = (await call('order', { taskType: 'wf_photo_label', quantity: 4 })).json
  const fund = async () => String((await call('order/fund', { orderId })).json.checkoutUrl)
  const checkoutId = async () => {
    const { rows } = await harness.owner.query('select checkout_id from orders where order_id = $1', [
      orderId,
    ])
    return String(rows[0].checkout_id)
  }
  const failedUrl = await fund()
  const failedId = await checkoutId()
  const sessionId = new URL(failedUrl).pathname.split('/').at(-1)
  await simulator.control(`sessions/${sessionId}/pay-slowly`)
  await card.waitForState(failedId, 'processing')
  assert.equal(await fund(), `${harness.ctx.config.BASE_URL}/checkout/${failedId}`, 'no second payment')
  await simulator.control(`sessions/${sessionId}/settle`, { succeeded: false })
  await card.waitForState(failedId, 'failed')
  assert.notEqual(await fund(), failedUrl)
  assert.notEqual(await checkoutId(), failedId)
})

test('an order is returned to the checkout that paid it, also where a newer one was opened', async () => {
  const agent = await card.liveAgent()
  const call = (path: string, body: object) =>
    harness.call('POST', `/api/agents/${path}`, { key: agent.apiKey, body })
  const { orderId } = (await call('order', { taskType: 'wf_photo_label', quantity: 4 })).json
  const fund = async () => {
    const { json } = await call('order/fund', { orderId })
    const { rows } = await harness.owner.query('select checkout_id from orders where order_id = $1', [
      orderId,
    ])
    const sessionId = new URL(json.checkoutUrl).pathname.split('/').at(-1) ?? ''
    return { sessionId, checkoutId: String(rows[0].checkout_id) }
  }
  const older = await fund()
  // Here the checkout expires; the page of the provider stays open.
  await harness.advance(25 * 3_600_000)
  const newer = await fund()
  assert.notEqual(newer.checkoutId, older.checkoutId)
  await card.pay(older.sessionId)
  await harness.runJobs()
  assert.equal(await statusOf(orderId), 'funded')
  const cancelled = await call(`orders/${orderId}/cancel`, {})
  assert.equal(cancelled.status, 200, cancelled.text)
  const { rows } = await harness.owner.query('select checkout_id from card_refunds where agent_id = $1', [
    agent.agentId,
  ])
  assert.deepEqual(rows, [{ checkout_id: older.checkoutId }])
  await advanceClock(0)
  await harness.runJobs()
})

test('afterwards money and credits agree', async () => {
  const { ok, faults, unmatched } = await readCheck()
  assert.deepEqual({ ok, faults, unmatched }, { ok: true, faults: [], unmatched: [] })
})

test('with a provider the manifest and the page /buy say that cards are taken', async () => {
  const { json } = await harness.call('GET', '/api/agents/discovery')
  assert.equal(json.settlement.human_in_the_loop.configured, true)
  const { text } = await harness.call('GET', '/buy')
  assert.doesNotMatch(text, /No card provider/)
})
