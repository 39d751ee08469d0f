import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { component } from 'http-message-sig'
import { startHarness, type TestResponse } from '../../test/fixtures/harness.ts'
import { makeKey, startKeyServer } from '../../test/fixtures/trust/key-server.ts'
import {
  contentDigest,
  makeTrustOperator,
  orderBody,
  orderPath,
  sendOrder,
  signOrder,
  type SigningOptions,
} from '../../test/fixtures/trust/orders.ts'

const harness = await startHarness()
const trust = await makeTrustOperator(harness)
const server = await startKeyServer()
const [key, stranger] = [await makeKey.ed25519(), await makeKey.ed25519()]
server.keys = [key.publicJwk]
const agent = server.origin
await trust.mustAdd({ kind: 'directory', name: agent })
const base = harness.ctx.config.BASE_URL

const countOrders = async (): Promise<number> =>
  Number((await harness.owner.query('select count(*) from orders')).rows[0].count)
const assertRefused = (answer: TestResponse, code: string, detail?: string) => {
  assert.equal(answer.json.error, code, answer.text)
  assert.equal(answer.status, 401)
  assert.match(String(answer.headers['www-authenticate']), /^Bearer /)
  if (detail !== undefined) assert.equal(answer.json.details[0].code, detail, answer.text)
}
const now = () => Math.floor(harness.ctx.clock.now().getTime() / 1_000)
/** No second passes between the signing and the verification. */
const stopClock = (t: TestContext): void => {
  const at = harness.ctx.clock.now()
  t.mock.method(harness.ctx.clock, 'now', () => at)
}

test('a signed request orders without a key, and its token funds that order', async () => {
  const { status, json, text: told } = await sendOrder(harness, { key, agent })
  assert.equal(status, 200, told)
  assert.equal(json.totalUsd, 1.5)
  assert.equal(json.agent.credential, 'http-message-signature')
  assert.equal(json.agent.bodyBound, true)
  assert.equal(json.agent.mode, 'test')
  assert.match(json.agent.agentId, /^agt_/)
  const funded = await harness.call('POST', '/api/agents/order/fund', {
    key: json.orderToken,
    body: { orderId: json.orderId },
  })
  assert.equal(funded.status, 200, funded.text)
  assert.ok(funded.json.checkoutUrl)
})

test('one key is one agent, however often and however many at once it orders', async () => {
  const fresh = await makeKey.ed25519()
  server.keys = [key.publicJwk, fresh.publicJwk]
  await harness.advance(61_000)
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => sendOrder(harness, { key: fresh, agent })),
  )
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200], answers[0]?.text)
  assert.equal(new Set(answers.map(({ json }) => json.agent.agentId)).size, 1)
  const { rows } = await harness.owner.query(
    'select external_id, mode from trust_agents where agent_id = $1',
    [answers[0]?.json.agent.agentId],
  )
  assert.deepEqual(rows, [{ external_id: `wba:${agent}#${fresh.keyid}`, mode: 'test' }])
})

const options = (more: Partial<SigningOptions>): SigningOptions => ({ key, agent, ...more })
const month = 30 * 86_400
const refusals: readonly (readonly [name: string, () => Partial<SigningOptions>, detail: string])[] = [
  ['no created', () => ({ parameters: { created: undefined } }), 'parameter_missing'],
  ['no expires', () => ({ parameters: { expires: undefined } }), 'parameter_missing'],
  ['no keyid', () => ({ parameters: { keyid: undefined } }), 'parameter_missing'],
  ['no nonce', () => ({ parameters: { nonce: undefined } }), 'parameter_missing'],
  ['an empty nonce', () => ({ parameters: { nonce: '' } }), 'parameter_missing'],
  ['a nonce of 257 characters', () => ({ parameters: { nonce: 'n'.repeat(257) } }), 'parameter_missing'],
  ['a tag for browsing', () => ({ parameters: { tag: 'agent-browser-auth' } }), 'tag_not_for_orders'],
  ['created 31 seconds ahead', () => ({ parameters: { created: now() + 31 } }), 'created_in_future'],
  [
    'an expiry that has passed',
    () => ({ parameters: { created: now() - 100, expires: now() } }),
    'signature_expired',
  ],
  [
    'a window of 481 seconds',
    () => ({ parameters: { created: now() - 200, expires: now() + 281 } }),
    'lifetime_too_long',
  ],
  [
    'a window of 30 days',
    () => ({ parameters: { created: now(), expires: now() + month } }),
    'lifetime_too_long',
  ],
  [
    'an expiry before created',
    () => ({ parameters: { created: now() + 20, expires: now() + 10 } }),
    'lifetime_too_long',
  ],
  [
    'no path',
    () => ({ components: ['@method', '@authority', component('signature-agent', { key: 'sig1' })] }),
    'component_missing',
  ],
  [
    'no authority',
    () => ({ components: ['@path', component('signature-agent', { key: 'sig1' })] }),
    'component_missing',
  ],
  [
    'a Signature-Agent that is not covered',
    () => ({ components: ['@authority', '@path'] }),
    'signature_agent_not_covered',
  ],
  ['another path', () => ({ target: `${base}/api/agents/order/fund` }), 'signature_wrong'],
  ['another host', () => ({ target: `https://other.example${orderPath}` }), 'signature_wrong'],
  [
    'a digest of another body',
    () => ({ headers: { 'content-digest': contentDigest('{}') } }),
    'digest_mismatch',
  ],
  ['a digest by an unknown hash', () => ({ headers: { 'content-digest': 'md5=:AAAA:' } }), 'digest_mismatch'],
  [
    'an algorithm that does not fit the key',
    () => ({ parameters: { alg: 'ecdsa-p256-sha256' } }),
    'algorithm_mismatch',
  ],
  [
    'an algorithm that is not accepted',
    () => ({ parameters: { alg: 'hmac-sha256' } }),
    'algorithm_not_accepted',
  ],
  [
    'a Signature-Agent of another type',
    () => ({ headers: { 'signature-agent': `sig1="${agent}";type=cimd` } }),
    'signature_agent_type',
  ],
  [
    'a Signature-Agent that is no URL',
    () => ({ headers: { 'signature-agent': 'sig1="agent"' } }),
    'signature_agent_malformed',
  ],
  [
    'a Signature-Agent without an origin',
    () => ({ headers: { 'signature-agent': 'sig1="data:,x"' } }),
    'signature_agent_malformed',
  ],
]
for (const [name, more, detail] of refusals)
  test(`a signature with ${name} is refused as ${detail}`, async (t) => {
    const before = await countOrders()
    stopClock(t)
    assertRefused(await sendOrder(harness, options(more())), 'agent_signature_invalid', detail)
    assert.equal(await countOrders(), before)
  })

test('the same signature at the edge of each rule orders', async (t) => {
  stopClock(t)
  for (const more of [
    { parameters: { created: now() + 30, expires: now() + 300 } },
    { parameters: { created: now() - 100, expires: now() + 380 } },
    { parameters: { tag: 'web-bot-auth' } },
    { parameters: { alg: 'ed25519' } },
    { components: ['@target-uri', component('signature-agent', { key: 'sig1' })] },
    { headers: { 'signature-agent': `sig1="${agent}";type=directory` } },
  ]) {
    const answer = await sendOrder(harness, options(more))
    assert.equal(answer.status, 200, `${JSON.stringify(more)} ${answer.text}`)
  }
})

test('another body under the same signature is refused', async () => {
  const { headers } = await signOrder(harness, options({}))
  const raw = JSON.stringify({ ...orderBody, quantity: 10_000 })
  assertRefused(
    await harness.call('POST', orderPath, { raw, headers }),
    'agent_signature_invalid',
    'digest_mismatch',
  )
})

test('a signature need not cover the body: the answer says so, and a root can require it', async () => {
  const components = ['@authority', '@path', component('signature-agent', { key: 'sig1' })]
  const { json, text: told } = await sendOrder(harness, options({ components }))
  assert.equal(json.agent?.bodyBound, false, told)
  const strict = await startKeyServer()
  strict.keys = [key.publicJwk]
  await trust.mustAdd({ kind: 'directory', name: strict.origin, requireDigest: true })
  const unbound = await sendOrder(harness, { key, agent: strict.origin, components })
  assertRefused(unbound, 'agent_signature_invalid', 'digest_required')
  assert.equal((await sendOrder(harness, { key, agent: strict.origin })).status, 200)
})

test('a nonce works once, also at 50 at once and after the cache of the process', async () => {
  const request = await signOrder(harness, options({}))
  const before = await countOrders()
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => harness.call('POST', orderPath, request)),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  for (const answer of answers.filter(({ status }) => status !== 200))
    assertRefused(answer, 'agent_signature_invalid', 'nonce_used')
  assert.equal(await countOrders(), before + 1)
  await harness.runJobs()
  assertRefused(await harness.call('POST', orderPath, request), 'agent_signature_invalid', 'nonce_used')
  const nonce = 'the same of another key'
  const other = await makeKey.ed25519()
  server.keys = [key.publicJwk, other.publicJwk]
  await harness.advance(61_000)
  assert.equal((await sendOrder(harness, options({ parameters: { nonce } }))).status, 200)
  assert.equal((await sendOrder(harness, { key: other, agent, parameters: { nonce } })).status, 200)
})

test('an order that is refused does not use the nonce', async () => {
  const wrong = { taskType: 'wf_photo_label', quantity: 0 }
  const signed = await signOrder(harness, options({ body: wrong, parameters: { nonce: 'kept' } }))
  assert.equal((await harness.call('POST', orderPath, signed)).json.error, 'validation_failed')
  assert.equal((await sendOrder(harness, options({ parameters: { nonce: 'kept' } }))).status, 200)
})

test('expired nonces are deleted, and no signature that they kept out passes then', async () => {
  const request = await signOrder(harness, options({}))
  assert.equal((await harness.call('POST', orderPath, request)).status, 200)
  await harness.advance(500_000)
  await harness.owner.query('delete from platform_due_times')
  await harness.runJobs()
  const { rows } = await harness.owner.query("select count(*)::int from trust_uses where kind = 'nonce'")
  assert.equal(rows[0].count, 0)
  assertRefused(
    await harness.call('POST', orderPath, request),
    'agent_signature_invalid',
    'signature_expired',
  )
})

test('exactly one signature with a known tag counts, and signatures of others do not', async () => {
  const one = await signOrder(harness, options({}))
  const two = await signOrder(harness, options({}))
  const join = (name: 'signature' | 'signature-input', label: string) =>
    `${one.headers[name]}, ${two.headers[name].replace('sig1=', `${label}=`)}`
  const both = {
    ...one.headers,
    'signature-input': join('signature-input', 'sig2'),
    signature: join('signature', 'sig2'),
  }
  assertRefused(
    await harness.call('POST', orderPath, { raw: one.raw, headers: both }),
    'agent_signature_invalid',
    'signature_count',
  )
  const foreign = {
    ...both,
    'signature-input': both['signature-input'].replace(/tag="[^"]*"$/, 'tag="proxy"'),
  }
  assert.equal((await harness.call('POST', orderPath, { raw: one.raw, headers: foreign })).status, 200)
})

test('fields that cannot be parsed are refused, and a misspelled keyId is named', async () => {
  const { raw, headers } = await signOrder(harness, options({}))
  const send = (more: Record<string, string>) =>
    harness.call('POST', orderPath, { raw, headers: { ...headers, ...more } })
  const input = headers['signature-input']
  const misspelled = await send({ 'signature-input': input.replace('keyid=', 'keyId=') })
  assertRefused(misspelled, 'agent_signature_invalid', 'keyid_misspelled')
  assert.match(misspelled.json.message, /keyid/)
  assertRefused(
    await send({ 'signature-input': `${input}, (` }),
    'agent_signature_invalid',
    'signature_malformed',
  )
  assertRefused(await send({ signature: 'sig1=:AAAA:' }), 'agent_signature_invalid', 'signature_wrong')
  assertRefused(await send({ signature: '' }), 'agent_signature_invalid', 'signature_wrong')
  const twice = input.replace('"@authority"', '"@authority" "@authority"')
  assertRefused(await send({ 'signature-input': twice }), 'agent_signature_invalid', 'component_duplicate')
})

test('a key that the directory does not publish is not trusted, and a private key under its id does not help', async () => {
  assertRefused(await sendOrder(harness, options({ key: stranger })), 'untrusted_agent')
  const forged = { ...stranger, keyid: key.keyid }
  assertRefused(
    await sendOrder(harness, options({ key: forged })),
    'agent_signature_invalid',
    'signature_wrong',
  )
})

test('a key with a lifetime of its own works within it', async () => {
  const [early, late] = [await makeKey.ed25519(), await makeKey.ed25519()]
  server.keys = [
    key.publicJwk,
    { ...early.publicJwk, nbf: now() + 1_000 },
    { ...late.publicJwk, exp: now() + 50 },
  ]
  await harness.advance(61_000)
  for (const each of [early, late])
    assertRefused(await sendOrder(harness, options({ key: each })), 'untrusted_agent')
})

test('a bearer decides alone: a bad key is never replaced by a good signature', async () => {
  const request = await signOrder(harness, options({}))
  for (const [bearer, code] of [
    ['svc_test_nonsense', 'malformed_api_key'],
    ['', 'malformed_api_key'],
  ] as const) {
    const headers = { ...request.headers, authorization: `Bearer ${bearer}` }
    const answer = await harness.call('POST', orderPath, { raw: request.raw, headers })
    assert.equal(answer.status, 401)
    assert.equal(answer.json.error, code)
  }
  const { apiKey } = await harness.register('test')
  const own = await harness.call('POST', orderPath, { ...request, key: apiKey })
  assert.equal(own.status, 200)
  assert.equal(own.json.orderToken, undefined)
  assert.equal(own.json.agent, undefined)
})

test('the Host header does not choose what is verified', async () => {
  const signed = await signOrder(harness, options({ target: `http://evil.example${orderPath}` }))
  const headers = { ...signed.headers, host: 'evil.example' }
  assertRefused(
    await harness.call('POST', orderPath, { raw: signed.raw, headers }),
    'agent_signature_invalid',
    'signature_wrong',
  )
})

test('a request line with a whole address does not choose the host that is verified', async () => {
  const url = new URL(await harness.app.api.listen({ host: '127.0.0.1', port: 0 }))
  const { raw, headers } = await signOrder(harness, options({ target: `http://evil.example${orderPath}` }))
  const lines = [
    `POST http://evil.example${orderPath} HTTP/1.1`,
    'Host: evil.example',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(raw)}`,
    'Connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '',
    raw,
  ]
  const socket = connect(Number(url.port), url.hostname)
  socket.write(lines.join('\r\n'))
  const answer = await text(socket)
  assert.match(answer, /^HTTP\/1\.1 401 /)
  assert.match(answer, /"agent_signature_invalid"/)
})

test('only a trusted agent is told that its body cannot be read', async () => {
  // With an issuer the body is read before the caller is known.
  const keysUrl = 'https://wallet.example/jwks.json'
  await trust.mustAdd({ kind: 'issuer', name: 'https://wallet.example', keysUrl })
  const unknown = await harness.call('POST', orderPath, { raw: '{' })
  assert.equal(unknown.json.error, 'auth_required')
  const raw = '{"taskType":'
  const signed = await signOrder(harness, {
    ...options({}),
    headers: { 'content-digest': contentDigest(raw) },
  })
  const answer = await harness.call('POST', orderPath, { raw, headers: signed.headers })
  assert.equal(answer.json.error, 'invalid_json', answer.text)
})
