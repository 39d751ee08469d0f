import assert from 'node:assert/strict'
import { test } from 'node:test'
import { component } from 'http-message-sig'
import { startHarness } from '../fixtures/harness.ts'
import { assertRefusal } from '../fixtures/refusal.ts'
import { makeKey, startKeyServer } from '../fixtures/trust/key-server.ts'
import {
  contentDigest,
  makeTrustOperator,
  orderBody,
  orderPath,
  sendOrder,
  signOrder,
} from '../fixtures/trust/orders.ts'

const harness = await startHarness()
const trust = await makeTrustOperator(harness)
const key = await makeKey.ed25519()
const startRoot = async (requireDigest: boolean) => {
  const server = await startKeyServer()
  server.keys = [key.publicJwk]
  await trust.mustAdd({ kind: 'directory', name: server.origin, requireDigest })
  return server.origin
}

test('a signature over one member of Content-Digest does not bind the body, which somebody else may then change', async () => {
  for (const requireDigest of [false, true]) {
    const agent = await startRoot(requireDigest)
    const { headers } = await signOrder(harness, {
      key,
      agent,
      components: [
        '@authority',
        '@path',
        component('content-digest', { key: 'note' }),
        component('signature-agent', { key: 'sig1' }),
      ],
      headers: { 'content-digest': `note="mine", ${contentDigest(JSON.stringify(orderBody))}` },
    })
    const raw = JSON.stringify({ ...orderBody, quantity: 500 })
    const changed = await harness.call('POST', orderPath, {
      raw,
      headers: { ...headers, 'content-digest': `note="mine", ${contentDigest(raw)}` },
    })
    if (requireDigest) assertRefusal(changed, 401, 'agent_signature_invalid')
    else assert.equal(changed.json.agent?.bodyBound, false, changed.text)
  }
})

test('somebody who replays a signed order with its idempotency key does not get the order token', async () => {
  const agent = await startRoot(false)
  const { raw, headers } = await signOrder(harness, { key, agent })
  const send = () =>
    harness.call('POST', orderPath, { raw, headers: { ...headers, 'idempotency-key': 'order' } })
  assert.ok((await send()).json.orderToken)
  const replayed = await send()
  assertRefusal(replayed, 401, 'agent_signature_invalid')
  assert.equal(replayed.json.orderToken, undefined)
})

test('the bearer of one order gets no stored answer about another order of the same agent', async () => {
  const agent = await startRoot(false)
  const [own, other] = [await sendOrder(harness, { key, agent }), await sendOrder(harness, { key, agent })]
  const fund = (orderToken: string, orderId: string) =>
    harness.call('POST', '/api/agents/order/fund', {
      key: orderToken,
      body: { orderId },
      headers: { 'idempotency-key': 'fund' },
    })
  const funded = await fund(other.json.orderToken, other.json.orderId)
  assert.equal(funded.status, 200, funded.text)
  const repeated = await fund(other.json.orderToken, other.json.orderId)
  assert.equal(repeated.headers['idempotent-replayed'], 'true', 'its own bearer gets it')
  assertRefusal(await fund(own.json.orderToken, other.json.orderId), 404, 'not_found')
})
