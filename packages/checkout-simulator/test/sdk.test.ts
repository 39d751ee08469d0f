import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, test } from 'node:test'
import { Stripe } from 'stripe'
import { pollUntil } from '../../server/test/fixtures/polling.ts'
import { startCheckoutSimulator, type SimulatorState } from '../src/client.ts'

/** The provider's own SDK with its own HTTP client: the simulator must behave like the provider. */
const receivedEvents: { body: string; signature: string }[] = []
const webhookReceiver = createServer((request, response) => {
  let body = ''
  request.on('data', (chunk: Buffer) => (body += chunk.toString()))
  request.on('end', () => {
    receivedEvents.push({ body, signature: String(request.headers['stripe-signature']) })
    response.writeHead(200).end()
  })
})
await new Promise<void>((resolve) => webhookReceiver.listen(0, '127.0.0.1', resolve))
after(() => {
  webhookReceiver.closeAllConnections()
  webhookReceiver.close()
})
const address = webhookReceiver.address()
const receiverUrl = `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`
const simulator = await startCheckoutSimulator({ webhookUrl: receiverUrl })
after(() => simulator.stop())
const { hostname, port } = new URL(simulator.url)
const clientWith = (key: string) =>
  new Stripe(key, { host: hostname, port, protocol: 'http', maxNetworkRetries: 0, telemetry: false })
const client = clientWith(simulator.settings.STRIPE_SECRET_KEY)

const sessionParameters = (unitAmount: number) => ({
  mode: 'payment' as const,
  client_reference_id: 'chk_1',
  line_items: [
    {
      quantity: 2,
      price_data: { currency: 'usd', unit_amount: unitAmount, product_data: { name: 'Ä & <b>' } },
    },
  ],
  metadata: { checkout_id: 'chk_1' },
  success_url: 'https://shop.example/done',
})
const refusedWith = (expected: Partial<Stripe.errors.StripeError>) => (error: unknown) => {
  assert.ok(error instanceof Stripe.errors.StripeError)
  for (const [name, value] of Object.entries(expected))
    assert.equal(error[name as keyof typeof error], value, name)
  return true
}

void test('the SDK opens, reads and ends a session', async () => {
  const session = await client.checkout.sessions.create(sessionParameters(1_000))
  assert.equal(session.amount_total, 2_000)
  assert.equal(session.status, 'open')
  assert.equal(session.payment_status, 'unpaid')
  assert.equal(session.metadata?.['checkout_id'], 'chk_1')
  assert.ok(session.url?.startsWith(simulator.url))
  assert.match(session.lastResponse.requestId, /^req_/)
  assert.equal(session.lastResponse.apiVersion, Stripe.API_VERSION)
  const page = await (await fetch(String(session.url))).text()
  assert.ok(page.includes('Pay 20.00 USD') && page.includes('Ä &amp; &lt;b&gt;'))
  assert.equal((await client.checkout.sessions.retrieve(session.id)).id, session.id)
  assert.equal((await client.checkout.sessions.expire(session.id)).status, 'expired')
  await assert.rejects(client.checkout.sessions.expire(session.id), refusedWith({ statusCode: 400 }))
})

void test('errors have the shapes that the SDK knows', async () => {
  await assert.rejects(
    clientWith('sk_test_wrong').checkout.sessions.create(sessionParameters(1_000)),
    refusedWith({ type: 'StripeAuthenticationError', statusCode: 401 }),
  )
  await assert.rejects(
    client.checkout.sessions.create(sessionParameters(10)),
    refusedWith({ type: 'StripeInvalidRequestError', code: 'amount_too_small' }),
  )
  await assert.rejects(
    client.checkout.sessions.create({ ...sessionParameters(1_000), line_items: [] }),
    refusedWith({ code: 'parameter_missing', param: 'line_items' }),
  )
  await assert.rejects(
    client.checkout.sessions.retrieve('cs_none'),
    refusedWith({ statusCode: 404, code: 'resource_missing' }),
  )
  await assert.rejects(client.customers.list(), refusedWith({ statusCode: 404 }))
})

void test('an idempotency key gives the first answer again, and refuses another body', async () => {
  const options = { idempotencyKey: 'key-1' }
  const first = await client.checkout.sessions.create(sessionParameters(1_000), options)
  assert.equal((await client.checkout.sessions.create(sessionParameters(1_000), options)).id, first.id)
  await assert.rejects(
    client.checkout.sessions.create(sessionParameters(2_000), options),
    refusedWith({ type: 'StripeIdempotencyError' }),
  )
  await simulator.control('faults', { kind: 'slow', calls: 1 })
  const together = await Promise.allSettled(
    [1, 2].map(() => client.checkout.sessions.create(sessionParameters(1_000), { idempotencyKey: 'key-2' })),
  )
  assert.deepEqual(together.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
})

void test('a slow refund ends either way, and a failed one can be made again', async () => {
  await simulator.control('delivery', { slowRefunds: true })
  const { id } = await client.checkout.sessions.create(sessionParameters(1_000))
  const { payment } = await simulator.control<{ payment: string }>(`sessions/${id}/pay`)
  const slow = await client.refunds.create({ payment_intent: payment })
  assert.equal(slow.status, 'pending')
  await assert.rejects(
    client.refunds.create({ payment_intent: payment }),
    refusedWith({ code: 'charge_already_refunded' }),
  )
  await simulator.control(`refunds/${slow.id}/end`, { succeeded: true })
  assert.equal((await client.refunds.retrieve(slow.id)).status, 'succeeded')
  await simulator.control(`refunds/${slow.id}/end`, { succeeded: false })
  assert.equal((await client.refunds.retrieve(slow.id)).failure_reason, 'expired_or_canceled_card')
  assert.notEqual((await client.refunds.create({ payment_intent: payment })).id, slow.id)
  await simulator.control('delivery', { slowRefunds: false })
  // The next test counts the events from then on.
  // Eight of this test, and one of the session that expired before.
  await pollUntil('nine events', async () => receivedEvents.length >= 9)
  receivedEvents.length = 0
})

void test('the SDK verifies its events, lists them, and refunds', async () => {
  const { id } = await client.checkout.sessions.create(sessionParameters(1_000))
  const { payment } = await simulator.control<{ payment: string }>(`sessions/${id}/pay`)
  const paid = await client.checkout.sessions.retrieve(id, { expand: ['payment_intent'] })
  assert.ok(typeof paid.payment_intent === 'object' && paid.payment_intent?.status === 'succeeded')
  const refund = await client.refunds.create({
    payment_intent: payment,
    amount: 500,
    metadata: { refund_id: 'rfd_1' },
  })
  assert.equal(refund.status, 'succeeded')
  assert.equal((await client.refunds.retrieve(refund.id)).metadata?.['refund_id'], 'rfd_1')
  const refunds = await client.refunds.list({ payment_intent: payment })
  assert.deepEqual(
    refunds.data.map(({ id: refundId, amount }) => [refundId, amount]),
    [[refund.id, 500]],
  )
  const whole = await client.paymentIntents.retrieve(payment, { expand: ['latest_charge'] })
  assert.ok(typeof whole.latest_charge === 'object' && whole.latest_charge?.amount_refunded === 500)
  await assert.rejects(client.refunds.retrieve('re_none'), refusedWith({ code: 'resource_missing' }))
  await assert.rejects(client.paymentIntents.retrieve('pi_none'), refusedWith({ code: 'resource_missing' }))
  await assert.rejects(
    client.refunds.create({ payment_intent: payment, amount: 1_501 }),
    refusedWith({ statusCode: 400 }),
  )
  await pollUntil('three events', async () => receivedEvents.length >= 3)
  const types = receivedEvents.map(
    ({ body, signature }) =>
      client.webhooks.constructEvent(body, signature, simulator.settings.STRIPE_WEBHOOK_SECRET).type,
  )
  assert.ok(types.includes('checkout.session.completed') && types.includes('charge.refunded'))
  assert.throws(() =>
    client.webhooks.constructEvent(
      receivedEvents[0]?.body ?? '',
      receivedEvents[0]?.signature ?? '',
      'whsec_x',
    ),
  )
  const listed = await client.events.list({ types: ['charge.refunded'], limit: 1 })
  assert.equal(listed.data[0]?.type, 'charge.refunded')
  const all = (await simulator.control<SimulatorState>('state')).events.length
  let walked = 0
  for await (const event of client.events.list({ limit: 1 })) walked += event.id === '' ? 0 : 1
  assert.equal(walked, all, 'page by page')
})
