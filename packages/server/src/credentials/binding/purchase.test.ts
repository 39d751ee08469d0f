import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encode } from '../../../test/fixtures/payments/payer.ts'
import { startPurchaseHarness } from '../../../test/fixtures/payments/purchases.ts'

const fixture = await startPurchaseHarness()

test(
  'a purchase of an agent is a payment, and the secret part of its id is stored nowhere',
  { skip: fixture ? false : 'anvil is not built for this system' },
  async () => {
    if (!fixture) return
    const { harness } = fixture
    const agent = await harness.register('test')
    const other = await harness.register('test')
    const bind = (key: string, body: object) =>
      harness.call('POST', '/api/agents/bind-transaction', { key, body })
    const { v2, purchaseId } = await fixture.requestChallenge()
    const publicId = purchaseId.split('.')[0] ?? ''
    assert.notEqual(publicId, purchaseId)
    assert.equal((await bind(agent.apiKey, { workRef: publicId })).json.error, 'missing_payment_anchor')
    const payer = await fixture.makeFundedPayer()
    const bought = await harness.call('POST', '/api/agent/tasks/wf_test_ok/buy', {
      key: agent.apiKey,
      headers: { 'payment-signature': encode(await fixture.signV2(payer, v2)), 'x-purchase-id': purchaseId },
    })
    assert.equal(bought.status, 200, bought.text)
    for (const workRef of [publicId, purchaseId]) {
      const { status, json, text } = await bind(agent.apiKey, { workRef })
      assert.equal(status, 200, text)
      assert.deepEqual(json.binding, { paymentRef: `x402:${publicId}`, rail: 'x402', assurance: 'test' })
      const claims = Buffer.from(json.pohf_jwt.split('.')[1], 'base64url').toString()
      assert.ok(claims.includes(publicId) && !claims.includes(purchaseId.slice(publicId.length)))
    }
    assert.equal((await bind(other.apiKey, { workRef: publicId })).json.error, 'missing_payment_anchor')
  },
)
