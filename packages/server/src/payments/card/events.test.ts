import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { makeCardSteps } from '../../../test/fixtures/payments/card-steps.ts'
import { startCardHarness } from '../../../test/fixtures/payments/card.ts'
import { orderSettler } from '../../../test/fixtures/payments/refunds.ts'
import { cardSettler as creditsSettler } from '../../credits/index.ts'
import * as operators from '../../operators/index.ts'
import { jobs, makeCardProvider } from '../index.ts'

const card = await startCardHarness()
const { harness, simulator } = card
const { advanceClock, withHeldEvents } = makeCardSteps(card)
const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
const readCheck = async () =>
  (await harness.callOperator('GET', '/operator/credits/check', { key: operatorKey })).json as {
    ok: boolean
    checkouts: number
    postings: number
    faults: unknown[]
    unmatched: { eventId: string }[]
  }

test('an event counts once: five times, late, after its refund, and once with a wrong signature', async () => {
  const agent = await card.liveAgent()
  const { sessionId, checkoutId } = await card.openCheckout(agent)
  const ids = await withHeldEvents(async () => {
    const payment = await card.pay(sessionId)
    await simulator.control(`payments/${payment}/refund`, { amount: 2_450 })
    return card.heldEvents(['checkout.session.completed', 'charge.refunded'])
  })
  const [completed = '', refunded = ''] = ids
  assert.deepEqual(await card.deliver([completed], { signed: 'wrong' }), [400])
  assert.equal((await card.balance(agent)).balance, 0, 'a wrong signature posts nothing')
  assert.deepEqual(await card.deliver([refunded, refunded]), [200, 200])
  assert.equal((await card.balance(agent)).balance, 0, 'a refund of what is not posted yet takes nothing')
  assert.deepEqual(await card.deliver(Array.from({ length: 5 }, () => completed)), Array(5).fill(200))
  assert.deepEqual(await card.deliver([refunded, completed, refunded]), [200, 200, 200])
  assert.equal((await card.balance(agent)).balance, 50)
  assert.deepEqual(await card.checkoutOf(checkoutId), { state: 'completed', taken: 2_450, revision: 1 })
  assert.deepEqual(
    (await card.eventsOf(agent.agentId)).map(({ type }) => type),
    ['credits.purchased', 'credits.reversed'],
  )
})

for (const parallel of [2, 20, 100])
  test(`${parallel} concurrent events of one payment, of three types, count once each`, async () => {
    const agent = await card.liveAgent()
    const { sessionId, checkoutId } = await card.openCheckout(agent)
    const ids = await withHeldEvents(async () => {
      const payment = await card.pay(sessionId)
      await simulator.control(`payments/${payment}/refund`, { amount: 490 })
      await simulator.control(`payments/${payment}/dispute`, { amount: 980 })
      return card.heldEvents(['charge.dispute.created', 'charge.refunded', 'checkout.session.completed'])
    })
    const repeated = Array.from({ length: parallel }, (_, index) => ids[index % 3] ?? '')
    // With two events one of the types is missing: it follows.
    const statuses = await card.deliver([...repeated, ...ids], { together: true })
    assert.ok(
      statuses.every((status) => status === 200),
      String(statuses),
    )
    assert.equal((await card.balance(agent)).balance, 70)
    assert.equal((await card.checkoutOf(checkoutId)).taken, 1_470)
    assert.equal(
      (await card.eventsOf(agent.agentId)).filter(({ type }) => type === 'credits.purchased').length,
      1,
    )
  })

test('a slow payment posts nothing until it has arrived, and nothing where it fails', async () => {
  for (const succeeded of [true, false]) {
    const agent = await card.liveAgent()
    const { sessionId, checkoutId } = await card.openCheckout(agent)
    await simulator.control(`sessions/${sessionId}/pay-slowly`)
    await card.waitForState(checkoutId, 'processing')
    assert.equal((await card.balance(agent)).balance, 0)
    assert.match((await harness.call('GET', `/checkout/${checkoutId}`)).text, /Under way/)
    await simulator.control(`sessions/${sessionId}/settle`, { succeeded })
    await card.waitForState(checkoutId, succeeded ? 'completed' : 'failed')
    assert.equal((await card.balance(agent)).balance, succeeded ? 100 : 0)
  }
})

test('a failure that arrives before the completion stays a failure; a success stays a success', async () => {
  for (const succeeded of [true, false]) {
    const agent = await card.liveAgent()
    const { sessionId, checkoutId } = await card.openCheckout(agent)
    const ids = await withHeldEvents(async () => {
      await simulator.control(`sessions/${sessionId}/pay-slowly`)
      await simulator.control(`sessions/${sessionId}/settle`, { succeeded })
      return card.heldEvents([
        `checkout.session.async_payment_${succeeded ? 'succeeded' : 'failed'}`,
        'checkout.session.completed',
      ])
    })
    assert.deepEqual(await card.deliver(ids), [200, 200])
    assert.equal((await card.checkoutOf(checkoutId)).state, succeeded ? 'completed' : 'failed')
    assert.equal((await card.balance(agent)).balance, succeeded ? 100 : 0)
  }
})

/** An event of the simulator that was held, as its API lists it. */
const listedEvent = async (eventId: string): Promise<string> => {
  const listed = await fetch(`${simulator.url}/v1/events?limit=100`, {
    headers: { authorization: `Bearer ${simulator.settings.STRIPE_SECRET_KEY}` },
  })
  const { data } = (await listed.json()) as { data: { id: string }[] }
  return JSON.stringify(data.find((event) => event.id === eventId))
}
const secret = simulator.settings.STRIPE_WEBHOOK_SECRET
const sign = (text: string, at: number, by = secret) =>
  createHmac('sha256', by).update(`${at}.${text}`).digest('hex')
const postWebhook = (raw: string, signature: string | undefined) =>
  harness.call('POST', '/api/payments/card/webhook', {
    raw,
    headers: signature === undefined ? {} : { 'stripe-signature': signature },
  })
const wrongSignatures = (
  body: string,
  now: number,
): Record<string, readonly [string, string | undefined]> => {
  const right = sign(body, now)
  const flipped = `${right.slice(0, -1)}${right.endsWith('0') ? '1' : '0'}`
  return {
    'no header': [body, undefined],
    'an empty header': [body, ''],
    'no scheme': [body, right],
    'another scheme': [body, `t=${now},v0=${right}`],
    'no time': [body, `v1=${right}`],
    'another time': [body, `t=${now + 1},v1=${right}`],
    'six minutes old': [body, `t=${now - 360},v1=${sign(body, now - 360)}`],
    'another secret': [body, `t=${now},v1=${sign(body, now, `${secret}x`)}`],
    'one digit': [body, `t=${now},v1=${flipped}`],
    'upper case': [body, `t=${now},v1=${right.toUpperCase()}`],
    cut: [body, `t=${now},v1=${right.slice(0, 62)}`],
    'one byte of the body': [body.replace('4900', '4901'), `t=${now},v1=${right}`],
    'a space more': [`${body} `, `t=${now},v1=${right}`],
    'the same JSON, written differently': [JSON.stringify(JSON.parse(body), null, 1), `t=${now},v1=${right}`],
    'an empty body': ['', `t=${now},v1=${sign('', now)}`],
    'no JSON': ['hello', `t=${now},v1=${sign('hello', now)}`],
  }
}
/** Signed, but ignored: another type, another mode, another payment, an invalid amount, another currency. */
const ignoredChanges = [
  { type: 'invoice.paid' },
  { livemode: true },
  { data: { object: { id: 'cs_x', payment_status: 'paid' } } },
  {
    type: 'charge.refunded',
    data: { object: { payment_intent: 'pi_x', amount_refunded: -1, currency: 'usd' } },
  },
  {
    type: 'charge.refunded',
    data: { object: { payment_intent: 'pi_x', amount_refunded: 5, currency: 'eur' } },
  },
]

test('only a valid and fresh signature over the exact bytes is accepted', async () => {
  const agent = await card.liveAgent()
  const { sessionId } = await card.openCheckout(agent)
  const [eventId = ''] = await withHeldEvents(async () => {
    await card.pay(sessionId)
    return card.heldEvents(['checkout.session.completed'])
  })
  const body = await listedEvent(eventId)
  const now = Math.floor(Date.now() / 1_000)
  for (const [name, [raw, signature]] of Object.entries(wrongSignatures(body, now))) {
    const { status, json } = await postWebhook(raw, signature)
    assert.equal(status, 400, name)
    assert.equal(json.error, 'card_signature_invalid', name)
  }
  assert.equal((await card.balance(agent)).balance, 0)
  for (const change of ignoredChanges) {
    const other = JSON.stringify({ ...JSON.parse(body), id: 'evt_other', ...change })
    const { status } = await postWebhook(other, `t=${now},v1=${sign(other, now)}`)
    assert.equal(status, 200, JSON.stringify(change))
    await harness.owner.query("delete from card_events where event_id = 'evt_other'")
  }
  assert.equal((await card.balance(agent)).balance, 0)
  assert.equal((await postWebhook(body, `t=${now},v1=${sign(body, now)}`)).status, 200)
  assert.equal((await card.balance(agent)).balance, 100)
  const log = harness.lines.join('')
  assert.ok(!log.includes(secret) && !log.includes(simulator.settings.STRIPE_SECRET_KEY))
})

test('a paid session that matches no checkout posts nothing and is reported to operators', async () => {
  const agent = await card.liveAgent()
  const { sessionId, checkoutId } = await card.openCheckout(agent)
  await harness.owner.query('alter table checkouts disable trigger state_change')
  await harness.owner.query('update checkouts set amount_usd_cents = 5000 where checkout_id = $1', [
    checkoutId,
  ])
  await harness.owner.query('alter table checkouts enable trigger state_change')
  const ids = await withHeldEvents(async () => {
    await card.pay(sessionId)
    return card.heldEvents(['checkout.session.completed'])
  })
  assert.deepEqual(await card.deliver(ids), [200])
  assert.equal((await card.balance(agent)).balance, 0)
  const report = await readCheck()
  assert.equal(report.ok, false)
  assert.ok(report.unmatched.some(({ eventId }) => eventId === ids[0]))
  await harness.owner.query("update card_events set outcome = 'ignored' where outcome = 'unmatched'")
})

test('lost events are found in the provider’s list of events', async () => {
  const refunded = await card.liveAgent()
  const { sessionId, checkoutId } = await card.openCheckout(refunded)
  const payment = await card.pay(sessionId)
  await card.waitForState(checkoutId, 'completed')
  await withHeldEvents(async () => {
    await simulator.control(`payments/${payment}/refund`)
    assert.equal((await card.balance(refunded)).balance, 100)
    await harness.runJobs()
    assert.equal((await card.balance(refunded)).balance, 0)
  })
})

test('a lost event is applied also where a newer one arrived by webhook', async () => {
  const agent = await card.liveAgent()
  const { sessionId, checkoutId } = await card.openCheckout(agent)
  const payment = await card.pay(sessionId)
  await card.waitForState(checkoutId, 'completed')
  await withHeldEvents(() => simulator.control(`payments/${payment}/refund`, { amount: 2_450 }))
  await advanceClock(2 * 3_600_000)
  const newer = await card.openCheckout(agent)
  await card.pay(newer.sessionId)
  await card.waitForState(newer.checkoutId, 'completed')
  await harness.runJobs()
  assert.equal((await card.checkoutOf(checkoutId)).taken, 2_450)
})

/** A paid checkout, and a refund of half of it whose event is lost. */
const refundUnseen = async () => {
  const { sessionId, checkoutId } = await card.openCheckout(await card.liveAgent())
  const payment = await card.pay(sessionId)
  await card.waitForState(checkoutId, 'completed')
  await withHeldEvents(() => simulator.control(`payments/${payment}/refund`, { amount: 2_450 }))
  return { payment, taken: async () => (await card.checkoutOf(checkoutId)).taken }
}

test('a missed event that cannot be applied is retried, and does not keep the others from being applied', async () => {
  const settlers = { order: orderSettler, credits: creditsSettler }
  const missedEvents = jobs(harness.ctx, { provider: makeCardProvider(harness.ctx), settlers }).find(
    ({ name }) => name === 'apply missed card events',
  )
  assert.ok(missedEvents)
  const [failing, other] = [await refundUnseen(), await refundUnseen()]
  await harness.owner.query(
    `create function refuse_event() returns trigger language plpgsql as $$ begin
       if new.subject = '${failing.payment}' then raise exception 'refused'; end if; return new; end $$;
     create trigger refuse_event before insert on card_events for each row execute function refuse_event()`,
  )
  await missedEvents.run()
  assert.deepEqual([await failing.taken(), await other.taken()], [0, 2_450])
  assert.ok(harness.lines.some((line) => line.includes('missed card event was not applied')))
  // More than the hour before its last run that each run reads again.
  await advanceClock(2 * 3_600_000)
  await missedEvents.run()
  await harness.owner.query('drop trigger refuse_event on card_events')
  await missedEvents.run()
  assert.equal(await failing.taken(), 2_450)
})

test('afterwards money and credits agree', async () => {
  const { ok, faults, unmatched } = await readCheck()
  assert.deepEqual({ ok, faults, unmatched }, { ok: true, faults: [], unmatched: [] })
})
