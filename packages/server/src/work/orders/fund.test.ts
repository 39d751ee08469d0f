import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'

const harness = await startHarness()
const live = await harness.register('live')
const sandbox = await harness.register('test')

const place = async (key: string, body: object = { taskType: 'wf_photo_label', quantity: 4 }) => {
  const { json } = await harness.call('POST', '/api/agents/order', { key, body })
  return String(json.orderId)
}
const fund = (key: string, orderId: unknown) =>
  harness.call('POST', '/api/agents/order/fund', { key, body: { orderId } })
const withoutId = (text: string) => text.replaceAll(/req_[\w-]+/g, '')
const statusOf = async (orderId: string) =>
  (await harness.owner.query('select status from orders where order_id = $1', [orderId])).rows[0].status

for (const [mode, key, after] of [
  ['live', live.apiKey, 'created'],
  ['test', sandbox.apiKey, 'funded'],
] as const)
  test(`${mode}: funding gives a checkout at once; the order is then ${after}`, async () => {
    const orderId = await place(key)
    const { status, json, text } = await fund(key, orderId)
    assert.equal(status, 200)
    assert.equal(json.orderId, orderId)
    assert.equal(json.amountUsd, 2)
    assert.match(json.checkoutUrl, /^http:\/\/127\.0\.0\.1:3000\/checkout\/chk_/)
    assert.ok(Date.parse(json.expiresAt) > Date.now())
    assert.equal(await statusOf(orderId), after)
    assert.equal((await fund(key, orderId)).text, text)
  })

test('a sandbox order is paid into escrow once, and split into units that sum to it', async () => {
  const orderId = await place(sandbox.apiKey, { taskType: 'research', quantity: 7, maxPriceUsd: 0.1 })
  await Promise.all(Array.from({ length: 10 }, () => fund(sandbox.apiKey, orderId)))
  const { rows } = await harness.owner.query(
    'select price_usd_cents::int as price, task_id from order_units where order_id = $1 order by n',
    [orderId],
  )
  assert.deepEqual(
    rows.map(({ price }) => price),
    [2, 2, 2, 1, 1, 1, 1],
  )
  // Nobody finds a custom order before an operator took it on.
  assert.ok(rows.every((row) => row.task_id === null))
  const { rows: held } = await harness.owner.query(
    'select balance::int as balance from ledger_accounts where account = $1',
    [`escrow:${orderId}`],
  )
  assert.deepEqual(held, [{ balance: 10 }])
})

test('a custom order is funded at its offer', async () => {
  const orderId = await place(live.apiKey, { taskType: 'read aloud', quantity: 3, maxPriceUsd: 1 })
  assert.equal((await fund(live.apiKey, orderId)).json.amountUsd, 1)
})

for (const parallel of [2, 20, 100])
  test(`${parallel} calls at once get one and the same checkout`, async () => {
    const orderId = await place(live.apiKey)
    const answers = await Promise.all(Array.from({ length: parallel }, () => fund(live.apiKey, orderId)))
    assert.ok(answers.every(({ status }) => status === 200))
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
  })

test('once the checkout has run out, the next call opens another', async () => {
  const orderId = await place(live.apiKey)
  const first = await fund(live.apiKey, orderId)
  await harness.advance(24 * 3_600_000 + 1_000)
  const second = await fund(live.apiKey, orderId)
  assert.equal(second.status, 200)
  assert.notEqual(second.json.checkoutUrl, first.json.checkoutUrl)
})

test("the response for another agent's order is that for one that does not exist", async () => {
  const orderId = await place(live.apiKey)
  const other = await harness.register('live')
  const foreign = await fund(other.apiKey, orderId)
  const unknown = await fund(other.apiKey, `${orderId.slice(0, -1)}0`)
  const nonsense = await fund(other.apiKey, 'x')
  assert.equal(foreign.status, 404)
  assert.equal(foreign.json.error, 'not_found')
  assert.equal(withoutId(foreign.text), withoutId(unknown.text))
  assert.equal(withoutId(foreign.text), withoutId(nonsense.text))
})

test('a missing orderId is 400', async () => {
  assert.equal((await fund(live.apiKey, undefined)).status, 400)
  assert.equal((await fund(live.apiKey, 'a\u0000')).status, 400)
})

test('an order that is past funding has no checkout', async () => {
  const orderId = await place(live.apiKey)
  await harness.owner.query("update orders set status = 'cancelled' where order_id = $1", [orderId])
  const answer = await fund(live.apiKey, orderId)
  assert.equal(answer.status, 404)
  assert.match(answer.json.message, /cancelled/)
})

test('after seven days an order can no longer be funded', async () => {
  const orderId = await place(live.apiKey)
  await harness.advance(7 * 86_400_000 - 60_000)
  assert.equal((await fund(live.apiKey, orderId)).status, 200)
  await harness.advance(61_000)
  const late = await fund(live.apiKey, orderId)
  assert.equal(late.status, 404)
  assert.match(late.json.message, /expired before it was funded/)
})
