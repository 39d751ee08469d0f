import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { test } from 'node:test'
import { openHarness, startHarness } from '../../test/fixtures/harness.ts'
import {
  directoryPath,
  directoryType,
  makeKey,
  startKeyServer,
} from '../../test/fixtures/trust/key-server.ts'
import {
  makeTrustOperator,
  orderBody,
  orderPath,
  sendOrder,
  signOrder,
} from '../../test/fixtures/trust/orders.ts'

const harness = await startHarness()
const trust = await makeTrustOperator(harness)
const key = await makeKey.ed25519()

test('without a trust root no signature orders, and no key is asked for', async () => {
  const server = await startKeyServer()
  server.keys = [key.publicJwk]
  const answer = await sendOrder(harness, { key, agent: server.origin })
  assert.equal(answer.status, 401)
  assert.equal(answer.json.error, 'untrusted_agent')
  const plain = await harness.call('POST', orderPath, { body: orderBody })
  assert.equal(plain.json.error, 'auth_required')
  assert.deepEqual(plain.json.accepts, ['bearer'])
  assert.equal(plain.json.challenge, undefined)
  assert.equal(plain.headers['accept-signature'], undefined)
  assert.deepEqual(server.asked, [])
})

test('an agent of an origin that is not in the list is refused before anything is fetched', async () => {
  const [trusted, other] = [await startKeyServer(), await startKeyServer()]
  other.keys = [key.publicJwk]
  await trust.mustAdd({ kind: 'directory', name: trusted.origin })
  for (const agent of [
    other.origin,
    'http://127.0.0.1:1',
    trusted.origin.replace('127.0.0.1', '127.1.1.1'),
  ]) {
    const answer = await sendOrder(harness, { key, agent })
    assert.equal(answer.json.error, 'untrusted_agent', answer.text)
  }
  assert.deepEqual([trusted.asked, other.asked], [[], []])
})

type Respond = (response: ServerResponse) => void
const faults: readonly (readonly [string, Respond])[] = [
  [
    'answers 404',
    (response) =>
      response
        .writeHead(404, { 'content-type': directoryType })
        .end(JSON.stringify({ keys: [key.publicJwk] })),
  ],
  ['redirects', (response) => response.writeHead(302, { location: '/elsewhere' }).end()],
  [
    'has the wrong media type',
    (response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ keys: [key.publicJwk] })),
  ],
  [
    'is longer than 64 KB',
    (response) =>
      response
        .writeHead(200, { 'content-type': directoryType })
        .end(JSON.stringify({ keys: [key.publicJwk], more: 'x'.repeat(66_000) })),
  ],
  ['is no JSON', (response) => response.writeHead(200, { 'content-type': directoryType }).end('<html>')],
  [
    'has 101 keys',
    (response) =>
      response
        .writeHead(200, { 'content-type': directoryType })
        .end(JSON.stringify({ keys: Array.from({ length: 101 }, () => key.publicJwk) })),
  ],
  ['ends the connection', (response) => response.destroy()],
]
for (const [name, respond] of faults)
  test(`a key directory that ${name} is not used, and is asked once a minute`, async () => {
    const server = await startKeyServer()
    server.keys = [key.publicJwk]
    server.respond = respond
    await trust.mustAdd({ kind: 'directory', name: server.origin })
    for (let attempt = 0; attempt < 3; attempt++) {
      const answer = await sendOrder(harness, { key, agent: server.origin })
      assert.equal(answer.status, 503, answer.text)
      assert.equal(answer.json.error, 'agent_keys_unreachable')
      assert.equal(answer.json.retryable, true)
    }
    assert.deepEqual(server.asked, [directoryPath])
    server.respond = undefined
    await harness.advance(61_000)
    assert.equal((await sendOrder(harness, { key, agent: server.origin })).status, 200)
    assert.equal(server.asked.length, 2)
  })

test('keys are kept for an hour, and an unknown key asks again at most once a minute', async () => {
  const server = await startKeyServer()
  const added = await makeKey.ed25519()
  server.keys = [key.publicJwk]
  await trust.mustAdd({ kind: 'directory', name: server.origin })
  const order = (by: typeof key) => sendOrder(harness, { key: by, agent: server.origin })
  await Promise.all(Array.from({ length: 10 }, () => order(key)))
  assert.equal(server.asked.length, 1, 'requests at once share one fetch')
  server.keys = [key.publicJwk, added.publicJwk]
  for (let attempt = 0; attempt < 5; attempt++)
    assert.equal((await order(added)).json.error, 'untrusted_agent')
  assert.equal(server.asked.length, 1)
  await harness.advance(61_000)
  assert.equal((await order(added)).status, 200)
  assert.equal(server.asked.length, 2)
  server.keys = [added.publicJwk]
  assert.equal((await order(key)).status, 200, 'a key that was taken away works until the hour is over')
  await harness.advance(3_600_000)
  assert.equal((await order(key)).json.error, 'untrusted_agent')
})

test('keys that are too weak or of another kind are not used', async () => {
  const server = await startKeyServer()
  const weak = await makeKey.rsa(1_024)
  const secret = { kty: 'oct', k: 'AAAA', kid: 'secret' }
  server.keys = [weak.publicJwk, secret, { ...key.publicJwk, use: 'enc' }]
  await trust.mustAdd({ kind: 'directory', name: server.origin })
  for (const keyid of [weak.keyid, key.keyid, 'secret']) {
    const answer = await sendOrder(harness, { key: { ...key, keyid }, agent: server.origin })
    assert.equal(answer.json.error, 'untrusted_agent', answer.text)
  }
})

test('the root fixes the mode, and a root of another mode is another agent', async () => {
  const server = await startKeyServer()
  server.keys = [key.publicJwk]
  const order = () =>
    sendOrder(harness, { key, agent: server.origin, body: { ...orderBody, mode: 'live', test: true } })
  await trust.mustAdd({ kind: 'directory', name: server.origin, mode: 'live' })
  const live = await order()
  assert.equal(live.json.agent.mode, 'live', live.text)
  await trust.remove('directory', server.origin)
  await trust.mustAdd({ kind: 'directory', name: server.origin, mode: 'test' })
  const test = await order()
  assert.equal(test.json.agent.mode, 'test')
  assert.notEqual(test.json.agent.agentId, live.json.agent.agentId)
  const { rows } = await harness.owner.query('select mode from orders where order_id = any($1) order by 1', [
    [live.json.orderId, test.json.orderId],
  ])
  assert.deepEqual(rows, [{ mode: 'live' }, { mode: 'test' }])
})

test('removing a root ends its orders and its order tokens at once, and suspending an agent ends that agent', async () => {
  const server = await startKeyServer()
  server.keys = [key.publicJwk]
  await trust.mustAdd({ kind: 'directory', name: server.origin })
  const order = () => sendOrder(harness, { key, agent: server.origin })
  const { json } = await order()
  const fund = () =>
    harness.call('POST', '/api/agents/order/fund', { key: json.orderToken, body: { orderId: json.orderId } })
  const suspend = (suspended: boolean) =>
    harness.callOperator('POST', `/operator/agents/${json.agent.agentId}/suspend`, {
      key: trust.key,
      body: { suspended, reason: 'test' },
    })
  assert.equal((await suspend(true)).status, 200)
  assert.equal((await order()).json.error, 'untrusted_agent')
  assert.equal((await fund()).status, 401)
  await suspend(false)
  assert.equal((await order()).status, 200)
  assert.equal((await trust.remove('directory', server.origin)).status, 200)
  assert.equal((await order()).json.error, 'untrusted_agent')
  const refused = await fund()
  assert.equal(refused.status, 401)
  assert.equal(refused.json.error, 'invalid_api_key')
})

test('an order token funds its own order, in its 24 hours, and does nothing else', async () => {
  const server = await startKeyServer()
  server.keys = [key.publicJwk]
  await trust.mustAdd({ kind: 'directory', name: server.origin })
  const [one, two] = [
    await sendOrder(harness, { key, agent: server.origin }),
    await sendOrder(harness, { key, agent: server.origin }),
  ]
  const token: string = one.json.orderToken
  const fund = (orderId: string, bearer = token) =>
    harness.call('POST', '/api/agents/order/fund', { key: bearer, body: { orderId } })
  const other = await fund(two.json.orderId)
  assert.equal(other.status, 404, 'another order of the same agent is unknown')
  for (const [method, path] of [
    ['GET', '/api/agents/orders'],
    ['GET', `/api/agents/orders/${one.json.orderId}`],
    ['POST', `/api/agents/orders/${one.json.orderId}/cancel`],
    ['GET', '/api/agents/me'],
    ['POST', '/api/agents/order'],
    ['POST', '/api/agents/keys'],
  ] as const) {
    const answer = await harness.call(method, path, {
      key: token,
      ...(method === 'POST' ? { body: orderBody } : {}),
    })
    assert.equal(answer.status, 401, `${path} ${answer.text}`)
    assert.equal(answer.json.error, 'malformed_api_key', path)
  }
  const [head, claims = '', signature] = token.split('.')
  const header = JSON.parse(Buffer.from(head ?? '', 'base64url').toString())
  assert.equal(header.typ, 'order+jwt')
  assert.equal(header.alg, 'ES256')
  const payload = JSON.parse(Buffer.from(claims, 'base64url').toString())
  assert.equal(payload.exp - payload.iat, 86_400)
  const forged = Buffer.from(JSON.stringify({ ...payload, order: two.json.orderId })).toString('base64url')
  assert.equal((await fund(two.json.orderId, `${head}.${forged}.${signature}`)).status, 401)
  const none = Buffer.from(JSON.stringify({ alg: 'none', typ: 'order+jwt' })).toString('base64url')
  assert.equal((await fund(one.json.orderId, `${none}.${claims}.`)).status, 401)
  await harness.advance(86_390_000)
  assert.equal((await fund(one.json.orderId)).status, 200)
  await harness.advance(20_000)
  assert.equal((await fund(one.json.orderId)).json.error, 'invalid_api_key')
})

test('operators add, list and remove roots, and each act is in the audit log', async () => {
  const issuer = {
    kind: 'issuer',
    name: 'https://wallet.example',
    keysUrl: 'https://wallet.example/jwks.json',
  }
  assert.equal((await trust.add(issuer)).status, 200)
  const again = await trust.add(issuer)
  assert.equal(again.status, 400)
  assert.equal(again.json.details[0].code, 'exists')
  const listed = await harness.callOperator('GET', '/operator/trust', { key: trust.key })
  const found = listed.json.roots.find(({ name }: { name: string }) => name === issuer.name)
  assert.equal(found.keysUrl, issuer.keysUrl)
  assert.equal((await trust.remove('issuer', issuer.name)).status, 200)
  assert.equal((await trust.remove('issuer', issuer.name)).status, 404)
  const { rows } = await harness.owner.query(
    "select action, operator_id from operator_audit where target = 'issuer https://wallet.example' order by seq",
  )
  assert.deepEqual(rows, [
    { action: 'trust.add', operator_id: trust.operatorId },
    { action: 'trust.remove', operator_id: trust.operatorId },
  ])
  for (const key of [undefined, (await harness.register('live')).apiKey]) {
    const answer = await harness.callOperator('POST', '/operator/trust', {
      ...(key === undefined ? {} : { key }),
      body: { ...issuer, mode: 'live', reason: 'test' },
    })
    assert.equal(answer.status, 401)
  }
})

test('a root must be an origin, a name or an issuer with an address of https', async () => {
  for (const [root, code] of [
    [{ kind: 'directory', name: 'agent.example' }, 'origin'],
    [{ kind: 'directory', name: 'https://agent.example/' }, 'origin'],
    [{ kind: 'directory', name: 'https://agent.example/path' }, 'origin'],
    [{ kind: 'directory', name: 'http://agent.example' }, 'origin'],
    [{ kind: 'directory', name: 'https://user@agent.example' }, 'origin'],
    [{ kind: 'jwks', name: 'Visa', keysUrl: 'https://visa.example/keys' }, 'name'],
    [{ kind: 'jwks', name: 'visa#x', keysUrl: 'https://visa.example/keys' }, 'name'],
    [{ kind: 'jwks', name: 'visa' }, 'required'],
    [{ kind: 'jwks', name: 'visa', keysUrl: 'http://visa.example/keys' }, 'url'],
    [{ kind: 'issuer', name: 'https://wallet.example', keysUrl: 'file:///etc/passwd' }, 'url'],
  ] as const) {
    const answer = await trust.add(root)
    assert.equal(answer.status, 400, JSON.stringify(root))
    assert.equal(answer.json.details[0].code, code, answer.text)
  }
})

test('in a public deployment no key set is read from this machine, whatever its name resolves to', async () => {
  let connections = 0
  const listener = createServer((socket) => {
    connections += 1
    socket.destroy()
  })
  await new Promise<void>((resolve) => {
    listener.listen(0, '127.0.0.1', resolve)
  })
  const { port } = listener.address() as AddressInfo
  const open = await openHarness({
    BASE_URL: 'https://pohf.example',
    OPERATOR_BASE_URL: 'https://ops.pohf.example',
  })
  try {
    const operator = await makeTrustOperator(open)
    assert.equal((await operator.add({ kind: 'directory', name: `http://127.0.0.1:${port}` })).status, 400)
    await operator.mustAdd({ kind: 'directory', name: `https://localhost:${port}` })
    const answer = await sendOrder(open, { key, agent: `https://localhost:${port}` })
    assert.equal(answer.json.error, 'agent_keys_unreachable', answer.text)
    assert.equal(connections, 0)
  } finally {
    listener.close()
    await open.close()
  }
})

test('orders without a key are limited by network, and verified ones by root', async () => {
  const limited = await openHarness({ ADDRESS_LIMITS: 'on' })
  try {
    const operator = await makeTrustOperator(limited)
    const server = await startKeyServer()
    server.keys = [key.publicJwk]
    await operator.mustAdd({ kind: 'directory', name: server.origin })
    const signed = await signOrder(limited, {
      key,
      agent: server.origin,
      parameters: { tag: 'agent-browser-auth' },
    })
    const statuses = new Set<number>()
    for (let attempt = 0; attempt < 60; attempt++)
      statuses.add((await limited.call('POST', orderPath, signed)).status)
    assert.deepEqual([...statuses], [401])
    const last = await limited.call('POST', orderPath, signed)
    assert.equal(last.status, 429)
    assert.ok(last.headers['retry-after'])
  } finally {
    await limited.close()
  }
})

test('a network gets 20 quotes a minute, and then the 401 without one', async () => {
  const limited = await openHarness({ ADDRESS_LIMITS: 'on' })
  try {
    const operator = await makeTrustOperator(limited)
    const keysUrl = 'https://wallet.example/jwks.json'
    await operator.mustAdd({ kind: 'issuer', name: 'https://wallet.example', keysUrl })
    const quoted: boolean[] = []
    for (let attempt = 0; attempt < 22; attempt++) {
      const { json } = await limited.call('POST', orderPath, { body: orderBody })
      assert.equal(json.error, 'auth_required')
      quoted.push(json.challenge !== undefined)
    }
    assert.equal(quoted.filter(Boolean).length, 20)
    assert.deepEqual(quoted.slice(20), [false, false])
  } finally {
    await limited.close()
  }
})
