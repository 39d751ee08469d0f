import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isId } from '@pohf/protocol'
import { startHarness } from '../../test/fixtures/harness.ts'
import { monthOf } from './rules.ts'

const harness = await startHarness({ FORWARD_CAPACITY_HOURS_PER_MONTH: '100', ADDRESS_LIMITS: 'on' })

const monthAhead = (n: number) => {
  const now = harness.ctx.clock.now()
  return monthOf(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + n)))
}
const orderBody = {
  name: 'Ada',
  company: 'Engines',
  email: 'ada@example.com',
  hours: 40,
  month: monthAhead(2),
}
let sent = 0
/** Each order comes from an hour of its own: the limit per address has its own test. */
const order = async (change: object = {}) => {
  if (++sent % 20 === 0) await harness.advance(3_600_000)
  return harness.call('POST', '/api/forwards/order', {
    body: { ...orderBody, email: `ada-${sent}@example.com`, ...change },
  })
}

test('an order is received with an assessment, and without an index value there is no price', async () => {
  const { status, json } = await order({ category: 'labelling', notes: '' })
  assert.equal(status, 200)
  assert.ok(isId('fwd_', json.orderId))
  assert.equal(json.ok, true)
  assert.equal(json.status, 'received')
  assert.deepEqual(json.capacity, { hoursRequested: 40, hoursAvailable: 100, assessment: 'within' })
  assert.deepEqual(json.terms, { transferable: false, resellable: false, cashSettled: false })
  assert.equal(json.indicative.vhhUsd, null)
  assert.equal(json.indicative.totalUsd, null)
  assert.equal(json.indicative.epoch, monthAhead(-1))
  assert.match(json.indicative.note, /no value/)
  const { rows } = await harness.owner.query('select * from forward_orders where order_id = $1', [
    json.orderId,
  ])
  assert.match(rows[0].email, /^ada-\d+@example\.com$/)
  assert.equal(rows[0].hours, 40)
  assert.equal(rows[0].status, 'received')
})

test('capacity is assessed as within, stretch up to twice of it, and beyond', async () => {
  for (const [hours, assessment] of [
    [0.5, 'within'],
    [100, 'within'],
    [100.01, 'stretch'],
    [200, 'stretch'],
    [200.01, 'beyond'],
  ] as const)
    assert.equal((await order({ hours })).json.capacity.assessment, assessment, String(hours))
})

test('an order for a past month is received and assessed as beyond; the running month is not past', async () => {
  for (const month of [monthAhead(-1), '0000-01', '1999-12']) {
    const { status, json } = await order({ hours: 1, month })
    assert.equal(status, 200)
    assert.deepEqual(json.capacity, { hoursRequested: 1, hoursAvailable: 0, assessment: 'beyond' })
  }
  assert.equal((await order({ month: monthAhead(0) })).json.capacity.assessment, 'within')
  assert.equal((await order({ month: '9999-12' })).json.capacity.assessment, 'within')
})

test('fields that are missing or have the wrong form are 400', async () => {
  for (const change of [
    { name: undefined },
    { company: '' },
    { email: 'nobody' },
    { hours: 0 },
    { hours: '40' },
    { month: '2026-13' },
    { month: '2026-1' },
    { month: '2026-01-01' },
    { notes: 'a\u0000b' },
  ]) {
    const { status, json } = await order(change)
    assert.equal(status, 400, JSON.stringify(change))
    assert.equal(json.error, 'validation_failed')
  }
})

test('with an index value the price is value times hours with the premium, to the cent', async () => {
  await harness.owner.query(
    `insert into vhh_epochs select code, epoch, 2, 1999, 'final', method, 120, 12, 40, published_at, 'x', null from vhh_epochs`,
  )
  const { json } = await order({ hours: 33.3, month: monthAhead(1) })
  assert.equal(json.indicative.vhhUsd, 19.99)
  assert.equal(json.indicative.premiumPct, 15)
  assert.equal(json.indicative.totalUsd, 765.52)
  const { rows } = await harness.owner.query(
    'select total_usd_cents::int as cents from forward_orders where order_id = $1',
    [json.orderId],
  )
  assert.equal(rows[0].cents, 76_552)
})

test('one address sends at most 20 orders an hour', async () => {
  await harness.advance(3_600_000)
  const statuses: number[] = []
  for (let n = 0; n < 21; n++) {
    const { status } = await harness.call('POST', '/api/forwards/order', {
      body: { ...orderBody, email: `limit-${n}@example.com` },
    })
    statuses.push(status)
  }
  assert.deepEqual(statuses, [...Array.from({ length: 20 }, () => 200), 429])
})

test('one mail address sends at most five requests a day, from any number of networks', async () => {
  const statuses: number[] = []
  for (let n = 0; n < 6; n++) {
    await harness.advance(3_600_000)
    statuses.push((await order({ email: 'same@example.com' })).status)
  }
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429])
  await harness.advance(25 * 3_600_000)
  assert.equal((await order({ email: 'same@example.com' })).status, 200)
})

test('20 parallel requests of one mail address: five are stored', async () => {
  await harness.advance(3_600_000)
  const answers = await Promise.all(
    Array.from({ length: 20 }, () =>
      harness.call('POST', '/api/forwards/order', { body: { ...orderBody, email: 'parallel@example.com' } }),
    ),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 5)
  assert.equal(answers.filter(({ status }) => status === 429).length, 15)
})

test('500 requests a day are stored in total, then they are refused until the next', async () => {
  await harness.advance(25 * 3_600_000)
  await harness.owner.query(
    `insert into forward_orders (order_id, name, company, email, hours, month, hours_available, assessment, premium_pct, epoch)
     select 'fwd_zz' || n, 'x', 'x', n || '@flood.example', 1, '2090-01', 0, 'beyond', 25, '2026-01' from generate_series(1, 500) n`,
  )
  assert.equal((await order()).status, 429)
  await harness.advance(25 * 3_600_000)
  assert.equal((await order()).status, 200)
})
