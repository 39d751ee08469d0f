import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { endpoints } from '@pohf/protocol'
import { makeRateLimits } from '../../src/platform/http/rate-limits.ts'
import { buildListener } from '../../src/platform/http/http.ts'
import { assertRefusal } from '../fixtures/refusal.ts'
import { noCallers } from '../fixtures/no-callers.ts'
import { startHarness, type TestResponse } from '../fixtures/harness.ts'
import { pollUntil } from '../fixtures/polling.ts'
import { requestOverSocket } from '../fixtures/socket-request.ts'

const harness = await startHarness()
const live = await harness.register('live')
const sandbox = await harness.register('test')
await harness.app.api.listen({ host: '127.0.0.1', port: 0 })
const listening = harness.app.api.server.address()
const port = listening !== null && typeof listening === 'object' ? listening.port : 0

const overSocket = requestOverSocket(port)

const post = (path: string, raw: string, headers: Record<string, string> = {}) =>
  harness.call('POST', path, { raw, headers, key: sandbox.apiKey })
const register = (body: unknown) => harness.call('POST', '/api/agents/register', { body })

test('a body that does not fit is 400 and names every field at fault', async () => {
  const answer = await register({ name: '', contactEmail: 'nobody', mode: 'neither' })
  assertRefusal(answer, 400, 'validation_failed')
  assert.deepEqual(
    answer.json.details.map((detail: { path: string }) => detail.path),
    ['body.name', 'body.contactEmail', 'body.mode'],
  )
})

test('however many fields are at fault, at most 50 are named', async () => {
  const allowedOrigins = Array.from({ length: 50 }, (_, n) => `not an origin ${n}`)
  const answer = await harness.call('PATCH', '/api/agents/me', {
    key: sandbox.apiKey,
    body: { name: '', allowedOrigins },
  })
  assertRefusal(answer, 400, 'validation_failed')
  assert.equal(answer.json.details.length, 50)
})

test('a body that is no JSON object is 400, and so is one that reaches for prototypes', async () => {
  for (const raw of [
    '{',
    'undefined',
    '{"a":1,}',
    '\u0000',
    '{"__proto__":{"x":1}}',
    '{"a":{"__proto__":1}}',
  ])
    assertRefusal(await post('/api/agents/keys/rotate', raw), 400, 'invalid_json')
  assertRefusal(
    await post('/api/agents/keys/rotate', '{"constructor":{"prototype":{"x":1}}}'),
    400,
    'invalid_json',
  )
  for (const raw of ['[]', '"text"', '5', 'null', 'true'])
    assertRefusal(await post('/api/agents/keys', raw), 400, 'validation_failed')
})

test('types are never converted: "5" is not 5, 1 is not true, and one text is no list', async () => {
  const wrong: [string, unknown][] = [
    ['/api/agents/keys/rotate', { overlapSeconds: '5' }],
    ['/api/agents/keys/rotate', { overlapSeconds: true }],
    ['/api/agents/keys/rotate', { overlapSeconds: [5] }],
    ['/api/agents/keys/rotate', { overlapSeconds: 5.5 }],
    ['/api/agents/keys/rotate', { overlapSeconds: null }],
    ['/api/agents/keys', { scopes: 'keys' }],
    ['/api/agents/keys', { scopes: { 0: 'keys' } }],
    ['/api/agents/register', { name: 5, contactEmail: 'a@example.com' }],
  ]
  for (const [path, body] of wrong)
    assertRefusal(await harness.call('POST', path, { key: sandbox.apiKey, body }), 400, 'validation_failed')
  const { json } = await harness.call('GET', '/api/agents/keys', { key: sandbox.apiKey })
  assert.equal(json.keys.length, 1)
})

test('text that the database cannot hold is refused, not a fault of ours', async () => {
  for (const name of ['nul\u0000', 'lone \ud800 surrogate', 'x'.repeat(201)])
    assertRefusal(await register({ name, contactEmail: 'a@example.com' }), 400, 'validation_failed')
})

test('an empty body is {}, with and without a content type', async () => {
  const agent = await harness.register('test')
  for (const headers of [{}, { 'content-type': 'application/json' }, { 'content-type': 'text/plain' }]) {
    const empty = await harness.call('POST', '/api/agents/register', { raw: '', headers })
    assertRefusal(empty, 400, 'validation_failed')
    assert.equal(empty.json.details[0].path, 'body.name')
  }
  // Where every field has a default, nothing at all is a whole call.
  const silent = await overSocket('POST', '/api/agents/register')
  assertRefusal(silent, 400, 'validation_failed')
  const rotated = await harness.call('POST', '/api/agents/keys/rotate', { key: agent.apiKey })
  assert.equal(rotated.status, 200)
  const blank = await harness.call('POST', '/api/agents/keys/rotate', {
    key: rotated.json.apiKey,
    raw: ' \r\n ',
  })
  assert.equal(blank.status, 200)
})

test('JSON is read under its own names and under none; anything else is 415', async () => {
  const body = JSON.stringify({ name: 'Test', contactEmail: 'a@example.com' })
  for (const type of ['application/json', 'Application/JSON; charset=utf-8', 'application/problem+json'])
    assert.equal(
      (await harness.call('POST', '/api/agents/register', { raw: body, headers: { 'content-type': type } }))
        .status,
      200,
      type,
    )
  assert.equal((await overSocket('POST', '/api/agents/register', body)).status, 200)
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'json',
  ])
    assertRefusal(
      await harness.call('POST', '/api/agents/register', { raw: body, headers: { 'content-type': type } }),
      415,
      'unsupported_media_type',
    )
})

/** A registration of exactly so many bytes. */
const bodyOf = (bytes: number) => {
  const body = { name: 'Test', contactEmail: 'a@example.com', padding: '' }
  return JSON.stringify({ ...body, padding: 'x'.repeat(bytes - JSON.stringify(body).length) })
}

test('a body of 256 KB is read, one byte more is 413', async () => {
  assert.equal((await post('/api/agents/register', bodyOf(262_144))).status, 200)
  assertRefusal(await post('/api/agents/register', bodyOf(262_145)), 413, 'body_too_large')
})

test('without a key, with garbage or with an unknown one: 401 that says how to authenticate', async () => {
  const missing = await harness.call('GET', '/api/agents/me')
  assertRefusal(missing, 401, 'missing_api_key')
  assert.equal(
    missing.headers['www-authenticate'],
    `Bearer resource_metadata="${harness.ctx.config.BASE_URL}/.well-known/oauth-protected-resource"`,
  )
  for (const authorization of [
    '',
    'Bearer',
    'Bearer ',
    'Basic dXNlcjpwYXNz',
    live.apiKey,
    `Bearer ${live.apiKey} x`,
  ])
    assertRefusal(
      await harness.call('GET', '/api/agents/me', { headers: { authorization } }),
      401,
      'malformed_api_key',
    )
  for (const scheme of ['Bearer', 'bearer', 'BEARER '])
    assert.equal(
      (
        await harness.call('GET', '/api/agents/me', {
          headers: { authorization: `${scheme} ${live.apiKey}` },
        })
      ).status,
      200,
    )
})

test('a stranger learns nothing about bodies: the key is looked at first', async () => {
  for (const raw of ['{', '{"scopes":5}', 'x'.repeat(300_000)])
    assertRefusal(await harness.call('POST', '/api/agents/keys', { raw }), 401, 'missing_api_key')
})

test('a path that does not exist is 404 in our shape, however it is written', async () => {
  for (const path of [
    '/api',
    '/api/agents',
    '/api/agents/me/x',
    '/nowhere',
    '/status/x/y',
    '/api//agents/me',
  ])
    assertRefusal(await overSocket('GET', path), 404, 'not_found')
  for (const path of ['/%', '/api/%zz', '/%ff%fe', '/docs/errors/%E0%A4%A'])
    assertRefusal(await overSocket('GET', path), 404, 'not_found')
  for (const method of ['POST', 'PUT', 'DELETE', 'TRACE', 'PROPFIND'])
    assertRefusal(await overSocket(method, '/nowhere'), 404, 'not_found')
})

test('a path with another method is 405 and names those it takes', async () => {
  for (const [method, path, allow] of [
    ['GET', '/api/agents/register', 'POST'],
    ['DELETE', '/api/agents/keys', 'GET, POST'],
    ['PUT', '/api/agents/me', 'GET, PATCH'],
    ['PROPFIND', '/api/agents/me/', 'GET, PATCH'],
    ['OPTIONS', '/api/agents/keys', 'GET, POST'],
  ] as const) {
    const answer = await overSocket(method, path)
    assertRefusal(answer, 405, 'method_not_allowed')
    assert.equal(answer.headers['allow'], allow)
  }
})

test('a fault of ours is 500 without a word of detail; the log has it under the same id', async () => {
  await harness.owner.query('alter table agents rename to agents_gone')
  let answer: TestResponse
  try {
    answer = await register({ name: 'Test', contactEmail: 'a@example.com' })
  } finally {
    await harness.owner.query('alter table agents_gone rename to agents')
  }
  assertRefusal(answer, 500, 'internal_error')
  assert.equal(answer.json.message, 'An internal error occurred.')
  assert.doesNotMatch(answer.text, /relation|agents"|42P01|\.ts|select|insert/)
  const logged = harness.lines
    .map((line) => JSON.parse(line))
    .filter((line) => line.requestId === answer.json.requestId && line.msg === 'request failed')
  assert.equal(logged.length, 1)
  assert.match(logged[0].err.message, /relation "agents" does not exist/)
  assert.equal(logged[0].endpoint, 'agents.register')
  assert.equal((await register({ name: 'Test', contactEmail: 'a@example.com' })).status, 200)
})

test('an answer that does not fit its own schema is our fault, and nothing of it leaves', async () => {
  const row = endpoints.find((endpoint) => endpoint.id === 'agents.register')
  assert.ok(row)
  const listener = buildListener({
    ctx: harness.ctx,
    rateLimits: makeRateLimits(harness.ctx),
    checkWrite: async () => undefined,
    noteRequest: () => undefined,
    endpoints: [row],
    pages: [],
    routes: [{ id: 'agents.register', handler: async () => ({ apiKey: 'svc_planted', agentId: 5 }) }],
    authenticate: noCallers,
  })
  const response = await listener.inject({
    method: 'POST',
    url: '/api/agents/register',
    payload: { name: 'x', contactEmail: 'a@example.com' },
  })
  const headers = response.headers as Record<string, string>
  assertRefusal({ status: response.statusCode, headers, text: response.body }, 500, 'internal_error')
  assert.doesNotMatch(response.body, /planted/)
})

/** The request id that a refusal carries when the caller gave this one. */
const idOf = async (given: string) => {
  const answer = await harness.call('GET', '/api/agents/me', { headers: { 'x-request-id': given } })
  assertRefusal(answer, 401, 'missing_api_key')
  return answer.headers['x-request-id']
}

test('a well-formed request id of the caller is kept, any other is replaced', async () => {
  for (const good of ['abcdefgh', 'A-_9'.repeat(16), '01234567-89ab-cdef-0123-456789abcdef'])
    assert.equal(await idOf(good), good)
  for (const bad of ['short', 'x'.repeat(65), 'has spaces here', 'semi;colon', '<script>alert(1)', ''])
    assert.match((await idOf(bad)) ?? '', /^req_[A-Za-z0-9_-]{16}$/)
  const ids = await Promise.all(Array.from({ length: 50 }, () => idOf('')))
  assert.equal(new Set(ids).size, 50)
})

test('unknown fields are dropped, never stored, and told to a test key alone', async () => {
  const change = (key: string, body: unknown) => harness.call('PATCH', '/api/agents/me', { key, body })
  const body = { name: 'Renamed', nmae: 'typo', toString: 1, suspended_at: null, 'bad\nname': 1 }
  const told = await change(sandbox.apiKey, body)
  assert.equal(told.status, 200)
  assert.equal(told.headers['x-unknown-fields'], 'nmae, toString, suspended_at')
  assert.equal('nmae' in told.json, false)
  assert.equal((await change(sandbox.apiKey, { name: 'Renamed' })).headers['x-unknown-fields'], undefined)
  const silent = await change(live.apiKey, body)
  assert.equal(silent.status, 200)
  assert.equal(silent.headers['x-unknown-fields'], undefined)
  const { rows } = await harness.owner.query(
    "select count(*)::int as n from agents t where t::text like '%typo%'",
  )
  assert.equal(rows[0].n, 0)
})

test('a number in a query is decimal text within its range, else 400', async () => {
  const { create } = await import('../../src/operators/index.ts')
  const { operatorKey } = await create(harness.ctx, 'machine', 'Ada')
  const audit = (query: string) =>
    harness.callOperator('GET', `/operator/audit?${query}`, { key: operatorKey })
  assert.equal((await audit('limit=1')).json.entries.length, 1)
  for (const query of [
    'limit=0',
    'limit=1001',
    'limit=abc',
    'limit=1e2',
    'limit=-1',
    'limit=',
    'limit=1&limit=2',
    'after=1.5',
  ])
    assertRefusal(await audit(query), 400, 'validation_failed')
})

test('text that is not HTTP ends its connection and nothing more', async () => {
  const socket = connect(port, '127.0.0.1')
  const received = await new Promise<string>((resolve, reject) => {
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    socket.on('error', reject).on('close', () => resolve(text))
    socket.write('GARBAGE\r\n\r\n')
  })
  assert.match(received, /^HTTP\/1\.1 400 /)
  assert.equal((await overSocket('GET', '/livez')).status, 200)
})

test('a request whose second half arrives while the listener closes is answered, and its connection ends', async () => {
  const closing = await startHarness()
  const taken = Promise.withResolvers<Socket>()
  closing.app.api.server.on('connection', (peer: Socket) => taken.resolve(peer))
  const address = await closing.app.api.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect(Number(new URL(address).port), '127.0.0.1')
  const received = new Promise<string>((resolve, reject) => {
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    socket.on('error', reject).on('close', () => resolve(text))
  })
  // Half a request keeps the connection from being closed as idle.
  socket.write('GET /api/agents/me HTTP/1.1\r\nhost: x\r\n')
  const peer = await taken.promise
  await pollUntil('the first half has come', async () => peer.bytesRead > 0)
  const closed = closing.app.stop(0)
  await pollUntil('it takes no more', async () => !closing.app.api.server.listening)
  socket.write('\r\n')
  const [lines = '', text = ''] = (await received).split('\r\n\r\n')
  const [status, ...fields] = lines.split('\r\n')
  assert.match(status ?? '', /^HTTP\/1\.1 401 /)
  const headers = Object.fromEntries(fields.map((line) => line.split(': ') as [string, string]))
  assertRefusal({ status: 401, headers, text }, 401, 'missing_api_key')
  assert.equal(headers['connection'], 'close')
  await closed
})
