import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decode, encode, makePayer, type PaymentOption } from '../../test/fixtures/payments/payer.ts'
import { startHarness, type TestResponse } from '../../test/fixtures/harness.ts'
import { leastStatements } from '../../test/fixtures/plans/statements.ts'

const harness = await startHarness()
const sandbox = await harness.register('test')
const payer = makePayer()
const buyPath = (workflowId: string) => `/api/agent/tasks/${workflowId}/buy`
const seconds = () => Math.floor(harness.ctx.clock.now().getTime() / 1_000)

const ask = async (workflowId = 'wf_test_ok') => {
  const answer = await harness.call('GET', buyPath(workflowId))
  assert.equal(answer.status, 402, answer.text)
  const v1 = answer.json.accepts[0] as PaymentOption
  const v2 = decode(answer.headers['payment-required']).accepts[0] as PaymentOption
  return { answer, v1, v2, purchaseId: String(answer.json.purchase_id) }
}
type Change = Parameters<typeof payer.authorize>[2]
const payV1 = async (entry: PaymentOption, change: Change = {}) => {
  const authorization = payer.authorize(entry, seconds(), change)
  const signature = await payer.sign(entry, authorization)
  return { x402Version: 1, scheme: 'exact', network: entry.network, payload: { signature, authorization } }
}
const payV2 = async (entry: PaymentOption, change: Change = {}) => {
  const authorization = payer.authorize(entry, seconds(), change)
  const signature = await payer.sign(entry, authorization)
  return { x402Version: 2, payload: { signature, authorization }, accepted: entry, extensions: {} }
}
const send = (workflowId: string, headers: Record<string, string>, query = ''): Promise<TestResponse> =>
  harness.call('GET', `${buyPath(workflowId)}${query}`, { headers })

test('the challenge has version 1 in the body and version 2 in the header, for one purchase', async () => {
  const { answer, v1, v2, purchaseId } = await ask()
  assert.deepEqual(Object.keys(answer.json).toSorted(), [
    'accepts',
    'docs',
    'error',
    'message',
    'ok',
    'purchase_id',
    'requestId',
    'retryable',
    'x402Version',
  ])
  assert.equal(answer.json.x402Version, 1)
  assert.equal(answer.json.error, 'payment_required')
  assert.equal(answer.json.ok, false)
  assert.deepEqual(v1, {
    scheme: 'exact',
    network: 'base-sepolia',
    maxAmountRequired: '10000',
    resource: `${harness.ctx.config.BASE_URL}/api/agent/tasks/wf_test_ok/buy`,
    description: 'Test purchase',
    mimeType: 'application/json',
    payTo: '0x000000000000000000000000000000000000dEaD',
    maxTimeoutSeconds: 120,
    asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    extra: { name: 'USDC', version: '2' },
  })
  assert.deepEqual(v2, {
    scheme: 'exact',
    network: 'eip155:84532',
    amount: '10000',
    asset: v1.asset,
    payTo: v1.payTo,
    maxTimeoutSeconds: 120,
    extra: { name: 'USDC', version: '2', assetTransferMethod: 'eip3009', purchaseId },
  })
  const header = decode(answer.headers['payment-required'])
  assert.equal(header.x402Version, 2)
  assert.equal(header.resource.url, `${harness.ctx.config.BASE_URL}/api/agent/tasks/wf_test_ok/buy`)
  assert.equal(answer.headers['x-purchase-id'], purchaseId)
  assert.equal(answer.headers['cache-control'], 'no-store')
  assert.match(answer.headers['vary'] ?? '', /X-PAYMENT, PAYMENT-SIGNATURE/)
  assert.match(answer.headers['access-control-expose-headers'] ?? '', /PAYMENT-REQUIRED.*X-Purchase-Id/)
})

test('a flood of calls without payment reads and writes nothing', async () => {
  await ask()
  const used = await leastStatements(harness, async () => {
    const answers = await Promise.all(
      Array.from({ length: 300 }, () => harness.call('GET', buyPath('wf_test_ok'))),
    )
    assert.ok(answers.every((answer) => answer.status === 402))
    assert.equal(new Set(answers.map((answer) => answer.json.purchase_id)).size, 300)
  })
  assert.equal(used, 0)
})

test('nothing deliverable is 409 out_of_stock and never 404, by both methods and with a payment too', async () => {
  const { v1 } = await ask()
  const payment = encode(await payV1(v1))
  const ids = [
    'wf_test_out_of_stock',
    'wf_photo_label',
    'wf_none',
    'anything',
    '%00',
    '__proto__',
    'a'.repeat(200),
  ]
  for (const id of ids) {
    for (const answer of [
      await harness.call('GET', buyPath(id)),
      await harness.call('POST', buyPath(id), { key: sandbox.apiKey }),
      await send(id, { 'x-payment': payment }),
    ]) {
      assert.equal(answer.status, 409, `${id}: ${answer.text}`)
      assert.equal(answer.json.error, 'out_of_stock')
    }
  }
})

test('an id that is too long for any task is 400 with our own message', async () => {
  for (const length of [201, 300, 5_000]) {
    const answer = await harness.call('GET', buyPath('a'.repeat(length)))
    assert.equal(answer.status, 400)
    assert.equal(answer.json.error, 'validation_failed')
  }
})

test('POST with a key is the same handler, and its challenge is not stored under an Idempotency-Key', async () => {
  const request = { key: sandbox.apiKey, headers: { 'idempotency-key': 'buy-1' } }
  const first = await harness.call('POST', buyPath('wf_test_ok'), request)
  assert.equal(first.status, 402)
  const headers = {
    ...request.headers,
    'x-payment': encode(await payV1(first.json.accepts[0])),
    'x-purchase-id': first.json.purchase_id,
  }
  const second = await harness.call('POST', buyPath('wf_test_ok'), { ...request, headers })
  assert.equal(second.status, 503, second.text)
  assert.equal(second.headers['idempotent-replayed'], undefined)
})

test('a good payment of either version in either header, without a chain, is 503 with Retry-After', async () => {
  const { v1, v2, purchaseId } = await ask()
  const cases: readonly (readonly [string, Record<string, string>, string])[] = [
    ['v1 with the id as header', { 'x-payment': encode(await payV1(v1)), 'x-purchase-id': purchaseId }, ''],
    ['v1 with the id as query', { 'x-payment': encode(await payV1(v1)) }, `?purchase_id=${purchaseId}`],
    ['v1 without an id', { 'x-payment': encode(await payV1(v1)) }, ''],
    ['v1 in the header of v2', { 'payment-signature': encode(await payV1(v1)) }, ''],
    ['v2', { 'payment-signature': encode(await payV2(v2)) }, ''],
    ['v2 in the header of v1', { 'x-payment': encode(await payV2(v2)) }, `?purchase_id=${purchaseId}`],
    ['more than the price', { 'x-payment': encode(await payV1(v1, { value: '10001' })) }, ''],
  ]
  for (const [name, headers, query] of cases) {
    const answer = await send('wf_test_ok', headers, query)
    assert.equal(answer.status, 503, `${name}: ${answer.text}`)
    assert.equal(answer.json.error, 'chain_unreachable')
    assert.ok(Number(answer.headers['retry-after']) > 0)
  }
})

test('test workflows: settle_fail refuses a valid payment, settle_timeout stays pending, and neither needs a chain', async () => {
  for (const [id, status, code] of [
    ['wf_test_settle_fail', 402, 'payment_invalid'],
    ['wf_test_settle_timeout', 202, undefined],
  ] as const) {
    const { v2 } = await ask(id)
    const answer = await send(id, { 'payment-signature': encode(await payV2(v2)) })
    assert.equal(answer.status, status, answer.text)
    assert.equal(answer.json.error, code)
    if (status !== 202) continue
    assert.equal(answer.json.status, 'uncertain')
    assert.ok(Number(answer.headers['retry-after']) > 0)
    const { pathname } = new URL(answer.json.statusUrl)
    const read = await harness.call('GET', pathname)
    assert.equal(read.status, 200, read.text)
    assert.equal(read.json.status, 'uncertain')
    assert.equal((await harness.call('GET', pathname.replace(/.$/, '_'))).status, 404)
  }
})

test('a payment that can be read and is wrong is 402 with the reason, and no challenge', async () => {
  const { v1, v2 } = await ask()
  const good = await payV1(v1)
  const stranger = { ...good.payload.authorization, from: makePayer().account.address }
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [{ ...good, payload: { ...good.payload, authorization: stranger } }, /not by the payer/],
    [await payV1(v1, { value: '9999' }), /too small/],
    [await payV1(v1, { to: payer.account.address }), /another address/],
    [await payV1(v1, { validBefore: String(seconds() - 1) }), /has ended/],
    [await payV1(v1, { validAfter: String(seconds() + 60) }), /not valid yet/],
    [{ ...good, network: 'base' }, /another network/],
    [await payV2({ ...v2, asset: payer.account.address }), /another asset/],
    [
      { ...good, payload: { ...good.payload, signature: `${good.payload.signature}6492` } },
      /contract wallets/,
    ],
  ]
  for (const [payment, reason] of cases) {
    const answer = await send('wf_test_ok', { 'x-payment': encode(payment) })
    assert.equal(answer.status, 402, answer.text)
    assert.equal(answer.json.error, 'payment_invalid')
    assert.match(answer.json.message, reason)
    assert.equal(answer.json.accepts, undefined)
  }
})

test('purchase ids that disagree are 409; a forged, foreign or expired one is 402', async () => {
  const { v1, v2, purchaseId } = await ask()
  const other = await ask()
  const fail = await ask('wf_test_settle_fail')
  const payment = encode(await payV1(v1))
  const conflicts = [
    await send(
      'wf_test_ok',
      { 'x-payment': payment, 'x-purchase-id': purchaseId },
      `?purchase_id=${other.purchaseId}`,
    ),
    await send('wf_test_ok', { 'x-payment': encode(await payV2(v2)), 'x-purchase-id': other.purchaseId }),
  ]
  const posted = { headers: { 'x-payment': payment, 'x-purchase-id': purchaseId } }
  for (const [id, status] of [
    [purchaseId, 503],
    [other.purchaseId, 409],
  ] as const)
    assert.equal(
      (await harness.call('POST', buyPath('wf_test_ok'), { ...posted, body: { purchase_id: id } })).status,
      status,
    )
  for (const answer of conflicts) {
    assert.equal(answer.status, 409, answer.text)
    assert.equal(answer.json.error, 'purchase_conflict')
  }
  const turned = purchaseId.replace(/.$/, (last) => (last === 'A' ? 'Q' : 'A'))
  const later = purchaseId.replace(/\.(\d+)\./, (_, end: string) => `.${Number(end) + 1}.`)
  for (const forged of [turned, later, fail.purchaseId, 'x', `pur_${'a'.repeat(38)}`, '"', 'é'.repeat(500)]) {
    const answer = await send('wf_test_ok', { 'x-payment': payment, 'x-purchase-id': forged })
    assert.equal(answer.status, 402, `${forged}: ${answer.text}`)
    assert.equal(answer.json.error, 'payment_invalid')
  }
})

test('a purchase id is valid for ten minutes', async () => {
  const { v1, purchaseId } = await ask()
  await harness.advance(9 * 60_000)
  const headers = async () => ({ 'x-payment': encode(await payV1(v1)), 'x-purchase-id': purchaseId })
  assert.equal((await send('wf_test_ok', await headers())).status, 503)
  await harness.advance(61_000)
  const late = await send('wf_test_ok', await headers())
  assert.equal(late.status, 402)
  assert.match(late.json.message, /purchase id has expired/)
})

test('both payment headers at once are 400', async () => {
  const { v1, v2 } = await ask()
  const headers = { 'x-payment': encode(await payV1(v1)), 'payment-signature': encode(await payV2(v2)) }
  const answer = await send('wf_test_ok', headers)
  assert.equal(answer.status, 400)
  assert.equal(answer.json.error, 'payment_malformed')
})

/** Headers that are no payment: broken encodings, wrong types, and values out of range. */
const malformedHeaders = (
  good: Awaited<ReturnType<typeof payV1>>,
  two: Awaited<ReturnType<typeof payV2>>,
): readonly string[] => {
  const authorization = good.payload.authorization
  const withAuthorization = (change: object) => ({
    ...good,
    payload: { ...good.payload, authorization: { ...authorization, ...change } },
  })
  return [
    '',
    ' ',
    'x',
    '====',
    'not base64!',
    '{"x402Version":1}',
    'null',
    'bnVsbA==',
    encode([]),
    encode('text'),
    encode(1e308),
    encode({}),
    Buffer.from('{"x402Version":1,').toString('base64'),
    Buffer.from([0xff, 0xfe, 0x00, 0x80]).toString('base64'),
    Buffer.from('['.repeat(6_000)).toString('base64'),
    encode({ ...good, x402Version: 3 }),
    encode({ ...good, x402Version: '1' }),
    encode({ ...good, payload: null }),
    encode({ ...good, payload: [] }),
    encode({ ...good, scheme: 7 }),
    encode({ ...good, network: { toString: 'base' } }),
    encode({ ...good, payload: { ...good.payload, signature: '0x' } }),
    encode({ ...good, payload: { ...good.payload, signature: '0x123' } }),
    encode({ ...good, payload: { ...good.payload, signature: 'gg'.repeat(65) } }),
    encode({ ...good, payload: { ...good.payload, signature: `0x${'6492'.repeat(2_000)}` } }),
    encode(withAuthorization({ from: 'me' })),
    encode(withAuthorization({ from: `${authorization.from}00` })),
    encode(withAuthorization({ to: null })),
    encode(withAuthorization({ value: -1 })),
    encode(withAuthorization({ value: '1.5' })),
    encode(withAuthorization({ value: '9'.repeat(78) })),
    encode(withAuthorization({ value: '1e9' })),
    encode(withAuthorization({ validBefore: 'Infinity' })),
    encode(withAuthorization({ validAfter: {} })),
    encode(withAuthorization({ nonce: '0x00' })),
    encode({ ...two, accepted: undefined }),
    encode({ ...two, accepted: { ...two.accepted, amount: 'many' } }),
    encode({ ...two, accepted: { ...two.accepted, extra: { purchaseId: ['a'] } } }),
    encode({ __proto__: good, constructor: { prototype: good } }),
    'A'.repeat(20_000),
    `${encode(good)}, ${encode(good)}`,
  ]
}

test('a header that cannot be read is 400, whatever it holds, and never 5xx', async (t) => {
  const { v1, v2 } = await ask()
  const malformed = malformedHeaders(await payV1(v1), await payV2(v2))
  for (const name of ['x-payment', 'payment-signature'])
    for (const header of malformed) {
      const answer = await send('wf_test_ok', { [name]: header })
      assert.equal(answer.status, 400, `${header.slice(0, 120)}: ${answer.text}`)
      assert.equal(answer.json.error, 'payment_malformed')
    }
  t.diagnostic(`${malformed.length} headers`)
  assert.ok(malformed.length >= 20)
})

test('signatures of every odd length and content are 402 or 400, never 5xx', async () => {
  const { v1 } = await ask()
  const good = await payV1(v1)
  const { signature } = good.payload
  const magic = '6492'.repeat(16)
  for (const odd of [
    `0x${'ff'.repeat(65)}`,
    `0x${'00'.repeat(65)}`,
    `0x${'00'.repeat(64)}1b`,
    signature.slice(0, 130),
    `${signature}00`,
    `0x${magic}`,
    `${signature}${magic}`,
    `0x${'00'.repeat(96)}${magic}`,
    `${signature.slice(0, -2)}ff`,
    `${signature.slice(0, -2)}02`,
  ]) {
    const payment = { ...good, payload: { ...good.payload, signature: odd } }
    const answer = await send('wf_test_ok', { 'x-payment': encode(payment) })
    assert.ok([400, 402].includes(answer.status), `${odd}: ${answer.status} ${answer.text}`)
  }
})

test('a main network never sells test work', async () => {
  const main = await startHarness({ X402_NETWORK: 'base', X402_PAY_TO: payer.account.address })
  for (const id of ['wf_test_ok', 'wf_test_settle_timeout', 'wf_test_settle_fail']) {
    const answer = await main.call('GET', buyPath(id))
    assert.equal(answer.status, 409)
    assert.equal(answer.json.error, 'out_of_stock')
  }
})

test('a wallet in a browser on another site may send its payment and read the answer', async () => {
  const url = '/api/agent/tasks/wf_test_ok/buy'
  const headers = {
    origin: 'https://wallet.example',
    'access-control-request-method': 'GET',
    // What the stock clients of both versions send.
    'access-control-request-headers':
      'access-control-expose-headers,content-type,payment-signature,x-payment,x-purchase-id',
  }
  const preflight = await harness.app.api.inject({ method: 'OPTIONS', url, headers })
  assert.equal(preflight.statusCode, 204, preflight.body)
  assert.equal(preflight.headers['access-control-allow-origin'], '*')
  assert.equal(preflight.headers['access-control-allow-methods'], 'GET, POST')
  const allowed = String(preflight.headers['access-control-allow-headers']).toLowerCase().split(', ')
  for (const name of headers['access-control-request-headers'].split(','))
    assert.ok(allowed.includes(name), name)
  assert.ok(!allowed.includes('authorization'), 'API keys do not belong in browsers')
  const challenge = await harness.call('GET', url, { headers: { origin: headers.origin } })
  const refused = await harness.call('GET', url, { headers: { origin: headers.origin, 'x-payment': '!' } })
  assert.deepEqual([challenge.status, refused.status], [402, 400])
  for (const answer of [challenge, refused]) {
    assert.equal(answer.headers['access-control-allow-origin'], '*')
    const exposed = answer.headers['access-control-expose-headers'] ?? ''
    for (const name of [
      'PAYMENT-REQUIRED',
      'PAYMENT-RESPONSE',
      'X-PAYMENT-RESPONSE',
      'X-Purchase-Id',
      'Retry-After',
    ])
      assert.ok(exposed.split(', ').includes(name), name)
  }
  const read = { method: 'OPTIONS' as const, url: `/api/agent/purchases/pur_${'a'.repeat(38)}`, headers }
  const status = await harness.app.api.inject(read)
  assert.match(String(status.headers['access-control-allow-headers']), /X-Wallet-Proof/)
})
