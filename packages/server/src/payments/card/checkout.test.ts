import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { makePayments } from '../index.ts'
import { checkoutTextOf, formatUsd } from '../rules.ts'

const harness = await startHarness()
const live = await harness.register('live')
const sandbox = await harness.register('test')
const payments = makePayments(harness.ctx, undefined)

const open = (agent: typeof live, reference: string, amountUsdCents = 4_900n) =>
  payments.openCheckout({
    agentId: agent.agentId,
    mode: agent.mode,
    purpose: 'order',
    reference,
    amountUsdCents,
    description: 'Three <b>hours</b>',
  })
const pathOf = (url: string) => new URL(url).pathname
const stateOf = async (checkoutId: string) => {
  const { rows } = await harness.owner.query('select state from checkouts where checkout_id = $1', [
    checkoutId,
  ])
  return rows[0]?.state as string
}

void test('the page of a live checkout says that nothing can be paid and nothing was charged', async () => {
  const { checkoutUrl, checkoutId } = await open(live, 'ord_1')
  assert.equal(checkoutUrl, `${harness.ctx.config.BASE_URL}/checkout/${checkoutId}`)
  const page = await harness.call('GET', pathOf(checkoutUrl))
  assert.equal(page.status, 200)
  assert.match(page.text, /No card provider is configured/)
  assert.match(page.text, /Nothing was charged/)
  assert.match(page.text, /49\.00 USD/)
  assert.match(page.text, /Three &lt;b&gt;hours/)
})

void test('an unknown checkout is a 404, whatever its form', async () => {
  for (const id of ['none', `chk_aa${'0'.repeat(36)}`])
    assert.equal((await harness.call('GET', `/checkout/${id}`)).status, 404)
})

void test('asking again gives the open checkout; another amount closes it and opens a new one', async () => {
  const first = await open(live, 'ord_2')
  assert.deepEqual(await open(live, 'ord_2'), first)
  const dearer = await open(live, 'ord_2', 5_000n)
  assert.notEqual(dearer.checkoutId, first.checkoutId)
  assert.equal(await stateOf(first.checkoutId), 'expired')
})

for (const parallel of [2, 20, 100]) {
  void test(`${parallel} calls at once for one order open one checkout`, async () => {
    const all = await Promise.all(Array.from({ length: parallel }, () => open(live, `ord_race_${parallel}`)))
    assert.equal(new Set(all.map((checkout) => checkout.checkoutId)).size, 1)
  })
}

void test('the database refuses a live checkout that no provider says is paid, and every step that is not in the table', async () => {
  const { checkoutId } = await open(live, 'ord_3')
  const update = (set: string) =>
    harness.owner.query(`update checkouts set ${set} where checkout_id = $1`, [checkoutId])
  await assert.rejects(update("state = 'completed'"), /checkouts_live_paid_by_provider/)
  await assert.rejects(update("state = 'failed', amount_usd_cents = 1"), /changes its state only/)
  await update("state = 'failed'")
  await assert.rejects(update("state = 'created'"), /cannot go from failed to created/)
})

void test('a test purchase is complete at once, and the next one is another checkout', async () => {
  const buy = () =>
    inTransaction(harness.ctx, sandbox.agentId, (tx) =>
      payments.openTestCheckout(tx, {
        agentId: sandbox.agentId,
        mode: 'test',
        purpose: 'credits',
        reference: 'starter',
        amountUsdCents: 4_900n,
        description: 'A pack',
      }),
    )
  const { checkoutUrl, checkoutId } = await buy()
  assert.notEqual((await buy()).checkoutId, checkoutId)
  assert.match((await harness.call('GET', pathOf(checkoutUrl))).text, /This is a test purchase/)
})

void test('after a day a checkout is over: the page says so, the worker closes it, and a new one opens', async () => {
  const old = await open(live, 'ord_5')
  const swept = await open(live, 'ord_6')
  await harness.advance(24 * 3_600_000 + 1_000)
  assert.match((await harness.call('GET', pathOf(old.checkoutUrl))).text, /too old/)
  assert.notEqual((await open(live, 'ord_5')).checkoutId, old.checkoutId)
  await harness.runJobs()
  assert.equal(await stateOf(swept.checkoutId), 'expired')
})

void test('the text of the page fits the state', () => {
  const shown = {
    mode: 'live',
    state: 'created',
    purpose: 'credits',
    isPastExpiry: false,
    payable: true,
    returned: false,
    amountUsdCents: 4_900n,
    reversedUsdCents: 0n,
  } as const
  assert.equal(formatUsd(5n), '0.05 USD')
  assert.match(checkoutTextOf({ ...shown, state: 'failed' }).title, /failed/)
  assert.match(checkoutTextOf({ ...shown, mode: 'test', payable: false }).title, /test checkout/)
  assert.match(checkoutTextOf({ ...shown, payable: false, isPastExpiry: true }).label, /Expired/)
  assert.equal(checkoutTextOf(shown).next, 'pay')
  assert.equal(checkoutTextOf({ ...shown, returned: true }).next, 'wait')
  assert.match(checkoutTextOf({ ...shown, state: 'processing' }).label, /Under way/)
  assert.match(checkoutTextOf({ ...shown, state: 'completed' }).label, /Paid/)
  assert.match(checkoutTextOf({ ...shown, state: 'completed', reversedUsdCents: 100n }).text, /1\.00 USD/)
  assert.match(checkoutTextOf({ ...shown, state: 'completed', reversedUsdCents: 4_900n }).text, /^All of it/)
})
