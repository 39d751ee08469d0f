import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as operators from '../../operators/index.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import {
  insertBuyers,
  insertSettledUnits,
  makeSettledUnits,
} from '../../../test/fixtures/payments/settled-work.ts'

const harness = await startHarness()
const { operatorKey: key } = await operators.create(harness.ctx, 'machine', 'Ada')
const month = '2090-03'

let sent = 0
const request = async (
  hours = 40,
): Promise<{ orderId: string; capacity: Record<string, unknown>; terms: unknown }> => {
  const { status, json, text } = await harness.call('POST', '/api/forwards/order', {
    body: { name: 'Ada', company: 'Engines', email: `a${++sent}@example.com`, hours, month },
  })
  assert.equal(status, 200, text)
  return json
}
const move = (orderId: string, body: object) =>
  harness.callOperator('POST', `/operator/forwards/${orderId}/move`, { key, body })
const list = async (status: string) =>
  (await harness.callOperator('GET', `/operator/forwards?status=${status}`, { key })).json.forwards

test('without settled work there is no capacity, and the answer says so', async () => {
  const { capacity, terms } = await request()
  assert.deepEqual(capacity, { hoursRequested: 40, hoursAvailable: 0, assessment: 'beyond' })
  assert.deepEqual(terms, { transferable: false, resellable: false, cashSettled: false })
})

test('the terms are fixed in the database', async () => {
  for (const column of ['transferable', 'resellable', 'cash_settled'])
    await assert.rejects(
      harness.owner.query(`update forward_orders set ${column} = true`),
      /check constraint/,
    )
  await assert.rejects(harness.owner.query('update forward_orders set hours = 1'), /terms of a forward order/)
})

test('an operator moves a request step by step, and each step is in the audit log', async () => {
  const { orderId } = await request()
  assert.ok((await list('received')).some((order: { orderId: string }) => order.orderId === orderId))
  assert.equal((await move(orderId, { status: 'countersigned' })).status, 409)
  assert.equal((await move(orderId, { status: 'quoted' })).status, 400)
  assert.equal((await move(orderId, { status: 'quoted', quotedUsdCents: 90_000 })).json.quotedUsd, 900)
  assert.equal((await move(orderId, { status: 'quoted', quotedUsdCents: 1 })).status, 409)
  assert.equal((await move(orderId, { status: 'countersigned' })).status, 200)
  assert.equal((await move(orderId, { status: 'invoiced' })).status, 400)
  assert.equal((await move(orderId, { status: 'invoiced', invoiceRef: '2090-1' })).json.invoiceRef, '2090-1')
  assert.equal((await move(orderId, { status: 'closed', note: 'paid' })).json.note, 'paid')
  assert.equal((await move(orderId, { status: 'closed' })).status, 409)
  assert.equal((await move('fwd_none', { status: 'closed' })).status, 404)
  const { json: audit } = await harness.callOperator('GET', '/operator/audit?limit=50', { key })
  const moves = audit.entries.filter(
    ({ action, target }: { action: string; target: string }) =>
      action === 'forward.move' && target === orderId,
  )
  assert.equal(moves.length, 4)
})

test('the database refuses a step that does not exist', async () => {
  const { orderId } = await request()
  await assert.rejects(
    harness.owner.query(
      `update forward_orders set status = 'invoiced', quoted_usd_cents = 1, invoice_ref = 'x' where order_id = $1`,
      [orderId],
    ),
    /cannot go from received to invoiced/,
  )
})

test('the list is paged, and only operators read it', async () => {
  const first = await harness.callOperator('GET', '/operator/forwards?limit=1', { key })
  assert.equal(first.json.forwards.length, 1)
  const second = await harness.callOperator(
    'GET',
    `/operator/forwards?limit=1&cursor=${first.json.nextCursor}`,
    { key },
  )
  assert.notEqual(second.json.forwards[0].orderId, first.json.forwards[0].orderId)
  assert.equal((await harness.callOperator('GET', '/operator/forwards?cursor=x%27', { key })).status, 400)
  assert.equal((await harness.callOperator('GET', '/operator/forwards')).status, 401)
})

test('capacity is a third of the settled hours of three months, less what agreements promise', async () => {
  const buyers = await insertBuyers(harness.owner, 12)
  const now = harness.ctx.clock.now()
  const from = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth()))
  const units = makeSettledUnits({ buyers, workers: 40, unitsPerBuyer: 80, from, usdPerHour: 18 })
  await insertSettledUnits(harness.owner, units)
  const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) + 25 * 3_600_000
  await harness.advance(next - now.getTime())
  await harness.runJobs()
  const hours = units.reduce((sum, { seconds }) => sum + (seconds ?? 0), 0) / 3_600
  const { orderId, capacity } = await request(20)
  const available = Number(capacity['hoursAvailable'])
  assert.ok(Math.abs(available - hours / 3) < 0.02, `${available} of ${hours}`)
  await move(orderId, { status: 'quoted', quotedUsdCents: 100 })
  assert.equal((await request(1)).capacity['hoursAvailable'], available)
  await move(orderId, { status: 'countersigned' })
  assert.equal((await request(1)).capacity['hoursAvailable'], Math.round((available - 20) * 100) / 100)
})
