import assert from 'node:assert/strict'
import { test } from 'node:test'
import { constraint, set, startMandateOrders } from '../../../test/fixtures/trust/mandate-orders.ts'
import { digestOf, makeMandates, makeWallet, type Spelling } from '../../../test/fixtures/trust/mandates.ts'
import { orderPath } from '../../../test/fixtures/trust/orders.ts'

const { harness, server, wallet, wanted, now, challengeOf, optionsOf, send, order } =
  await startMandateOrders()
const stranger = await makeWallet('https://stranger.example')
const spellings: readonly Spelling[] = ['verifiable-intent', 'ap2']
type Json = Record<string, unknown>

test('the challenge is a quote that our own keys signed, for ten minutes', async () => {
  const challenge = await challengeOf()
  const [header, payload] = challenge.checkout_jwt
    .split('.', 2)
    .map((part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()))
  assert.equal(header.typ, 'checkout+jwt')
  assert.equal(payload.jti, challenge.nonce)
  assert.equal(payload.exp - payload.iat, 600)
  assert.deepEqual(payload.line_items, [{ id: 'wf_photo_label', quantity: 3, unit_price: 50 }])
  assert.deepEqual(payload.total, { amount: 150, currency: 'USD' })
  const { json } = await harness.call('GET', '/.well-known/jwks.json')
  const key = json.keys.find(({ kid }: { kid: string }) => kid === header.kid)
  assert.equal(key.pohf_purpose, 'order')
  for (const body of [{}, { taskType: 'wf_photo_label', quantity: 3, maxPriceUsd: 1 }])
    assert.equal(await challengeOf(body), undefined, 'what cannot be ordered has no quote')
})

for (const spelling of spellings)
  for (const immediate of [false, true])
    test(`mandates order, in the spelling of ${spelling}, ${immediate ? 'immediate' : 'autonomous'}`, async () => {
      const { status, json, text } = await order({ spelling, immediate })
      assert.equal(status, 200, text)
      assert.equal(json.totalUsd, 1.5)
      assert.equal(json.agent.credential, 'verifiable-intent')
      const { rows } = await harness.owner.query('select external_id from trust_agents where agent_id = $1', [
        json.agent.agentId,
      ])
      const signer = immediate ? wallet.user : wallet.agent
      assert.deepEqual(rows, [{ external_id: `vi:${wallet.iss}#${signer.keyid}` }])
      const funded = await harness.call('POST', '/api/agents/order/fund', {
        key: json.orderToken,
        body: { orderId: json.orderId },
      })
      assert.equal(funded.status, 200, funded.text)
    })

test('the limits hold in the spelling of Verifiable Intent too', async () => {
  for (const [more, code] of [
    [{ limitUsdCents: 149 }, 'payment.amount'],
    [{ quantity: 2 }, 'checkout.line_items'],
    [{ changes: set('openHop', 'payment', { sd_hash: digestOf('x') }) }, 'binding'],
    [{ changes: constraint('payment', { type: 'mandate.payment.recurrence' }) }, 'constraint_unknown'],
  ] as const) {
    const answer = await order({ spelling: 'verifiable-intent', ...more })
    assert.equal(answer.json.details?.[0].code, code, answer.text)
  }
  const prefixed = await order({
    spelling: 'verifiable-intent',
    changes: {
      open: (_, mandate) => {
        for (const each of mandate['constraints'] as Json[]) each['type'] = `mandate.${String(each['type'])}`
      },
    },
  })
  assert.equal(prefixed.status, 200, prefixed.text)
})

/** The result of the tool over MCP. */
const commission = async (meta: Json) => {
  const { json, text } = await harness.call('POST', '/mcp', {
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'commission_work', arguments: wanted, _meta: meta },
    },
  })
  assert.ok(json.result, text)
  return json.result
}
test('commission_work takes mandates in the metadata, over the quote of its refusal', async () => {
  const refused = await commission({})
  assert.equal(refused.isError, true)
  const { challenge, error } = refused.structuredContent
  assert.equal(error, 'auth_required')
  const { ap2 } = makeMandates(await optionsOf({ challenge }))
  const { isError, structuredContent } = await commission({ 'pohf/ap2': ap2 })
  assert.equal(isError, false, JSON.stringify(structuredContent))
  assert.equal(structuredContent.agent.credential, 'verifiable-intent')
  assert.ok(structuredContent.orderToken)
  assert.equal((await commission({ 'pohf/ap2': ap2 })).structuredContent.error, 'mandate_used')
})

test('an issuer that is no trust root is refused before anything is fetched', async () => {
  const asked = server.asked.length
  const answer = await order({ wallet: stranger })
  assert.equal(answer.json.error, 'untrusted_agent', answer.text)
  assert.equal(server.asked.length, asked)
})

const quoteFaultOf = async (body: object) => {
  const answer = await order({}, body)
  assert.equal(answer.status, 401, answer.text)
  return answer.json.details[0].code
}
test('mandates are for the order and the price that were quoted, and for no other', async () => {
  assert.equal(await quoteFaultOf({ ...wanted, quantity: 2 }), 'quote_mismatch')
  assert.equal(
    await quoteFaultOf({ ...wanted, taskType: 'wf_text_review', maxPriceUsd: undefined }),
    'quote_mismatch',
  )
  // In test mode an order above its maximum is an offer at the maximum: not what the person agreed to.
  assert.equal(await quoteFaultOf({ ...wanted, maxPriceUsd: 1.49 }), 'quote_mismatch')
  const options = await optionsOf()
  await harness.owner.query("update workflows set price_usd_cents = 51 where workflow_id = 'wf_photo_label'")
  const risen = await send(makeMandates(options).ap2, { ...wanted, maxPriceUsd: undefined })
  assert.equal(risen.json.details[0].code, 'quote_mismatch', risen.text)
  await harness.owner.query("update workflows set price_usd_cents = 50 where workflow_id = 'wf_photo_label'")
})

test('a quote of another deployment or key is refused, and an expired one', async () => {
  const foreign = await optionsOf()
  const [header, payload] = foreign.challenge.checkout_jwt.split('.')
  const forged = {
    ...foreign.challenge,
    checkout_jwt: `${header}.${payload}.${Buffer.alloc(64, 1).toString('base64url')}`,
  }
  const answer = await send(makeMandates({ ...foreign, challenge: forged }).ap2)
  assert.equal(answer.json.details[0].code, 'quote', answer.text)
  const old = await optionsOf()
  await harness.advance(601_000)
  const late = await send(makeMandates({ ...old, now: now() }).ap2)
  assert.equal(late.json.details[0].code, 'quote', late.text)
})

test('mandates of different keys or issuers do not go together', async () => {
  const options = await optionsOf()
  const [one, two] = [makeMandates(options), makeMandates({ ...options, immediate: true })]
  const mixed = await send({ ...one.ap2, payment_mandate: two.ap2.payment_mandate })
  assert.equal(mixed.json.details[0].code, 'pair', mixed.text)
  const apart = makeMandates(options)
  const unpaired = await send({ ...one.ap2, payment_mandate: apart.ap2.payment_mandate })
  assert.equal(unpaired.json.details[0].code, 'payment.reference', unpaired.text)
})

test('chains that are too long, too deep, unfold without end or cannot be read are refused', async () => {
  const { ap2 } = makeMandates(await optionsOf())
  const code = async (checkout: unknown) => {
    const answer = await send({ ...ap2, checkout_mandate: checkout })
    assert.equal(answer.status, 401, answer.text)
    return answer.json.details[0].code
  }
  const [root = ''] = ap2.checkout_mandate.split('~~')
  assert.equal(await code(root), 'hops')
  assert.equal(await code(Array.from({ length: 5 }, () => root).join('~~')), 'hops')
  assert.equal(await code('a~~b~'), 'malformed')
  assert.equal(await code(ap2.checkout_mandate.slice(0, -1)), 'malformed')
  assert.equal(await code(7), 'malformed')
  assert.equal(await code('x'.repeat(24_577)), 'too_long')
  let deep: unknown = 1
  for (let level = 0; level < 20; level++) deep = { deep }
  const nested = await order({ changes: set('open', 'checkout', { deep }) })
  assert.equal(nested.json.details[0].code, 'malformed', nested.text)
})

test('a person with a key is asked for no mandate, and mandates change nothing for them', async () => {
  const { apiKey } = await harness.register('test')
  const body = { ...wanted, ap2: { checkout_mandate: 'x', payment_mandate: 'y' } }
  const answer = await harness.call('POST', orderPath, { key: apiKey, body })
  assert.equal(answer.status, 200, answer.text)
})
