import assert from 'node:assert/strict'
import { test } from 'node:test'
import { orderStates } from '@pohf/protocol'
import { inTransaction } from '../../platform/db/db.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { findWorkRef } from '../index.ts'
import { usdCentsOf, priceOf } from '../rules.ts'

const harness = await startHarness()
const agents = { live: await harness.register('live'), test: await harness.register('test') }
const stranger = await harness.register('test')
type Mode = keyof typeof agents
const place = (mode: Mode, body: object) =>
  harness.call('POST', '/api/agents/order', { key: agents[mode].apiKey, body })

const countOrders = async () => (await harness.owner.query('select count(*) from orders')).rows[0].count

// wf_photo_label costs 0.50, wf_text_review 1.00; an hour is 30 USD and a custom unit 10 minutes, so 5 USD.
const prices: readonly {
  readonly name: string
  readonly mode: Mode
  readonly body: { taskType: string; quantity: number; maxPriceUsd?: number }
  readonly expect: { total: number; unit: number; custom: boolean; offer: boolean } | 'price_above_max'
}[] = [
  {
    name: 'a workflow without a cap costs its listed price',
    mode: 'live',
    body: { taskType: 'wf_photo_label', quantity: 3 },
    expect: { total: 1.5, unit: 0.5, custom: false, offer: false },
  },
  {
    name: 'a cap at exactly the price is no offer',
    mode: 'live',
    body: { taskType: 'wf_photo_label', quantity: 3, maxPriceUsd: 1.5 },
    expect: { total: 1.5, unit: 0.5, custom: false, offer: false },
  },
  {
    name: 'the cap is for the whole order: live above it is refused',
    mode: 'live',
    body: { taskType: 'wf_photo_label', quantity: 3, maxPriceUsd: 1.49 },
    expect: 'price_above_max',
  },
  {
    name: 'the same with a test key is an offer at the cap',
    mode: 'test',
    body: { taskType: 'wf_photo_label', quantity: 3, maxPriceUsd: 1.49 },
    expect: { total: 1.49, unit: 0.496667, custom: false, offer: true },
  },
  {
    name: 'a category is its cheapest workflow',
    mode: 'live',
    body: { taskType: 'review', quantity: 2 },
    expect: { total: 2, unit: 1, custom: false, offer: false },
  },
  {
    name: 'any other text is a custom order at the reference price',
    mode: 'live',
    body: { taskType: 'Feed my cat, please', quantity: 2 },
    expect: { total: 10, unit: 5, custom: true, offer: true },
  },
  {
    name: 'a custom order above its cap is an offer at the cap, in live too',
    mode: 'live',
    body: { taskType: 'research', quantity: 100, maxPriceUsd: 25 },
    expect: { total: 25, unit: 0.25, custom: true, offer: true },
  },
  {
    name: 'a custom order below its cap stays at the reference price',
    mode: 'test',
    body: { taskType: 'research', quantity: 1, maxPriceUsd: 1_000_000 },
    expect: { total: 5, unit: 5, custom: true, offer: true },
  },
  {
    name: 'fractions of a cent in a cap round down',
    mode: 'test',
    body: { taskType: 'research', quantity: 1, maxPriceUsd: 0.299 },
    expect: { total: 0.29, unit: 0.29, custom: true, offer: true },
  },
  {
    name: 'a cap below one cent buys nothing in live',
    mode: 'live',
    body: { taskType: 'research', quantity: 1, maxPriceUsd: 0.009 },
    expect: 'price_above_max',
  },
  {
    name: 'nor with a test key',
    mode: 'test',
    body: { taskType: 'wf_test_ok', quantity: 1, maxPriceUsd: 0 },
    expect: 'price_above_max',
  },
]
for (const { name, mode, body, expect } of prices) {
  test(`price: ${name}`, async () => {
    const { status, json, text } = await place(mode, body)
    if (expect === 'price_above_max') {
      assert.equal(status, 409, text)
      assert.equal(json.error, expect)
      return
    }
    assert.equal(status, 200, text)
    assert.equal(json.totalUsd, expect.total)
    assert.equal(json.unitPriceUsd, expect.unit)
    assert.equal(json.custom, expect.custom)
    const { rows } = await harness.owner.query(
      'select offer, total_usd_cents from orders where order_id = $1',
      [json.orderId],
    )
    assert.equal(rows[0].offer, expect.offer)
    assert.equal(Number(rows[0].total_usd_cents), Math.round(expect.total * 100))
  })
}

test('the reference price follows its setting', () => {
  const request = { mode: 'live' as const, quantity: 1, unitUsdCents: undefined, capUsdCents: undefined }
  assert.deepEqual(priceOf({ ...request, referenceUsdPerHour: 60 }), { totalUsdCents: 1_000n, offer: true })
  // One cent an hour would be a sixth of a cent: a price is never rounded down to nothing.
  assert.deepEqual(priceOf({ ...request, referenceUsdPerHour: 0.01 }), { totalUsdCents: 1n, offer: true })
})

test('every cent amount up to 100 USD survives the way through a float', () => {
  for (let cents = 0; cents <= 10_000; cents++) assert.equal(usdCentsOf(cents / 100), BigInt(cents))
})

test('an order states its terms, expires after seven days, and publishes one event', async () => {
  const { json } = await place('test', {
    taskType: 'wf_photo_label',
    quantity: 2,
    items: [{ url: 'https://example.com/1.jpg' }, 'https://example.com/2.jpg'],
    instructions: 'In English.',
    callbackRef: 'mine-1',
  })
  assert.equal(json.status, 'created')
  assert.equal(json.taskType, 'wf_photo_label')
  assert.equal(json.quantity, 2)
  assert.deepEqual(json.escrow, { status: 'unfunded' })
  assert.equal(json.fundUrl, `${harness.ctx.config.BASE_URL}/api/agents/order/fund`)
  const days = (Date.parse(json.expiresAt) - Date.now()) / 86_400_000
  assert.ok(days > 6.99 && days < 7.01)
  const { rows } = await harness.owner.query(
    'select items, instructions, callback_ref, workflow_id from orders where order_id = $1',
    [json.orderId],
  )
  assert.deepEqual(rows[0], {
    items: [{ url: 'https://example.com/1.jpg' }, { url: 'https://example.com/2.jpg' }],
    instructions: 'In English.',
    callback_ref: 'mine-1',
    workflow_id: 'wf_photo_label',
  })
  const { rows: events } = await harness.owner.query(
    'select type, mode, data from events where subject = $1',
    [json.orderId],
  )
  assert.deepEqual(events, [
    {
      type: 'order.created',
      mode: 'test',
      data: { orderId: json.orderId, taskType: 'wf_photo_label', quantity: 2, status: 'created' },
    },
  ])
})

test('a refused order leaves nothing behind', async () => {
  const before = await countOrders()
  await place('live', { taskType: 'wf_photo_label', quantity: 10, maxPriceUsd: 1 })
  assert.equal(await countOrders(), before)
})

test('input above its limit is refused', async () => {
  const body = { taskType: 'x', quantity: 1 }
  for (const bad of [
    {},
    { ...body, quantity: 0 },
    { ...body, quantity: 1.5 },
    { ...body, quantity: '1' },
    { ...body, quantity: 10_001 },
    { ...body, taskType: '' },
    { ...body, taskType: 'a'.repeat(201) },
    { ...body, taskType: 'a\u0000b' },
    { ...body, maxPriceUsd: -1 },
    { ...body, maxPriceUsd: 1e12 },
    { ...body, items: Array.from({ length: 1_001 }, () => 1) },
    { ...body, items: ['\ud800'] },
    { ...body, instructions: 'a'.repeat(4_001) },
  ]) {
    const { status, json } = await place('test', bad)
    assert.equal(status, 400, JSON.stringify(bad).slice(0, 80))
    assert.equal(json.error, 'validation_failed')
  }
  assert.equal((await place('test', { ...body, quantity: 10_000 })).status, 200)
})

test('without a key it is 401 auth_required', async () => {
  const { status, json } = await harness.call('POST', '/api/agents/order', {
    body: { taskType: 'x', quantity: 1 },
  })
  assert.equal(status, 401)
  assert.equal(json.error, 'auth_required')
})

const steps: ReadonlySet<string> = new Set([
  'created>funded',
  'created>cancelled',
  'created>expired',
  'funded>in_progress',
  'funded>cancelled',
  'funded>expired',
  'in_progress>delivered',
  'in_progress>cancelled',
  'in_progress>expired',
  'delivered>completed',
  'cancelled>refunded',
  'expired>refunded',
])
/** An order that is put into a state without the trigger that guards transitions. */
const orderIn = async (status: string, taskType = 'wf_photo_label'): Promise<string> => {
  const { json } = await place('test', { taskType, quantity: 1 })
  await harness.owner.query('alter table orders disable trigger transition')
  await harness.owner.query('update orders set status = $1, funded_at = pohf_now() where order_id = $2', [
    status,
    json.orderId,
  ])
  await harness.owner.query('alter table orders enable trigger transition')
  return json.orderId
}
const moveTo = (orderId: string, status: string) =>
  harness.owner.query('update orders set status = $1 where order_id = $2', [status, orderId])

test('the database allows the transitions of an order and refuses every other one', async (t) => {
  let refused = 0
  for (const from of orderStates)
    for (const to of orderStates) {
      if (from === to) continue
      const orderId = await orderIn(from)
      if (steps.has(`${from}>${to}`)) await moveTo(orderId, to)
      else {
        await assert.rejects(moveTo(orderId, to), /cannot go from/, `${from} to ${to}`)
        refused += 1
      }
    }
  t.diagnostic(`${steps.size} steps taken, ${refused} refused`)
  assert.equal(refused, orderStates.length * (orderStates.length - 1) - steps.size)
})

test('the database refuses an order that begins paid, is paid at no time, or changes its terms', async () => {
  const { json } = await place('test', { taskType: 'wf_photo_label', quantity: 1 })
  const { orderId } = json
  await assert.rejects(moveTo(orderId, 'funded'), /check constraint/)
  for (const change of [
    'quantity = 2',
    'total_usd_cents = 1',
    "task_type = 'other'",
    "mode = 'live'",
    'offer = true',
  ])
    await assert.rejects(
      harness.owner.query(`update orders set ${change} where order_id = $1`, [orderId]),
      /terms of an order never change/,
      change,
    )
  await assert.rejects(
    harness.owner.query(
      `insert into orders (agent_id, mode, order_id, status, task_type, workflow_id, offer, quantity, total_usd_cents, expires_at, funded_at)
       values ($1, 'test', 'ord_planted', 'funded', 'x', 'wf_x', false, 1, 1, pohf_now(), pohf_now())`,
      [agents.test.agentId],
    ),
    /begins as created/,
  )
})

test('work on an offer does not start before an operator accepted it', async () => {
  const orderId = await orderIn('funded', 'custom work')
  await assert.rejects(moveTo(orderId, 'in_progress'), /waits for an operator/)
  await harness.owner.query('update orders set accepted_at = pohf_now() where order_id = $1', [orderId])
  await moveTo(orderId, 'in_progress')
})

const findAs = (agent: typeof stranger, ref: string) =>
  inTransaction(harness.ctx, agent.agentId, (tx) =>
    findWorkRef(tx, { agentId: agent.agentId, mode: agent.mode, ref }),
  )

test('a work reference is paid from funding to the end, and unknown to everybody else', async () => {
  for (const status of orderStates) {
    const orderId = await orderIn(status)
    const paid = ['funded', 'in_progress', 'delivered', 'completed'].includes(status)
    assert.deepEqual(await findAs(agents.test, orderId), { humanRef: null, paid, session: undefined }, status)
    assert.equal(await findAs(stranger, orderId), undefined)
  }
  assert.equal(await findAs(agents.test, 'ord_none'), undefined)
})
