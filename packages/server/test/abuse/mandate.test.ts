import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefusal } from '../fixtures/refusal.ts'
import { constraint, startMandateOrders } from '../fixtures/trust/mandate-orders.ts'
import { digestOf, disclose, referTo } from '../fixtures/trust/mandates.ts'

const { order, countOrders } = await startMandateOrders()

/** A claim of an object that its signer let the presenter disclose or not. */
const hiddenClaim = (name: string, value: unknown) =>
  digestOf(Buffer.from(JSON.stringify(['salt', name, value])).toString('base64url'))

test('an agent that withholds a limit of its mandate orders nothing', async () => {
  const before = await countOrders()
  const budget = { type: 'payment.budget', currency: 'USD', max: 1 }
  const recurrence = { type: 'payment.agent_recurrence', frequency: 'DAILY' }
  for (const limit of [
    referTo(disclose(budget)),
    { ...recurrence, _sd: [hiddenClaim('end_date', '2020-01-01')] },
  ]) {
    const refused = await order({ changes: constraint('payment', limit) })
    assertRefusal(refused, 401, 'mandate_invalid')
    assert.equal(refused.json.details[0].path, 'body.ap2.payment_mandate')
  }
  assert.equal(await countOrders(), before)
})

test('a mandate for more uses than the database counts orders, and is no error of the service', async () => {
  const recurrence = { type: 'payment.agent_recurrence', frequency: 'ON_DEMAND' }
  const uses = { ...recurrence, max_occurrences: Number.MAX_SAFE_INTEGER }
  const { status, text } = await order({ changes: constraint('payment', uses) })
  assert.equal(status, 200, text)
})
