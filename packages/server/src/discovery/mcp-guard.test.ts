import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { isOwnHost, wantsEventStream } from './rules.ts'

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const registration = { name: 'Robot', contactEmail: 'robot@example.com', mode: 'test' }
const register = (id: number) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'register_agent', arguments: registration },
})

const local = await startHarness()
const open = await startHarness({ BASE_URL: 'https://pohf.example' })
const limited = await startHarness({ ADDRESS_LIMITS: 'on', REGISTER_LIMIT_PER_HOUR: '4' })

const statusFor = async (harness: typeof local, headers: Record<string, string>) =>
  (await harness.call('POST', '/mcp', { body: list, headers })).status

test('a page of another name cannot reach a server on loopback, by Host or by Origin', async () => {
  for (const host of [
    'evil.example',
    'evil.example:3000',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
  ])
    assert.equal(await statusFor(local, { host }), 403, host)
  for (const origin of ['http://evil.example', 'null', 'https://localhost.evil.example', 'file://'])
    assert.equal(await statusFor(local, { origin }), 403, origin)
  const refused = await local.call('POST', '/mcp', { body: list, headers: { origin: 'http://evil.example' } })
  assert.equal(refused.json.error, 'forbidden')
})

test('all names of loopback are one host, whatever the port', async () => {
  for (const host of ['localhost', 'localhost:1', '127.0.0.1:3000', '127.9.9.9', '[::1]:3000', 'a.localhost'])
    assert.equal(await statusFor(local, { host, origin: `http://${host}` }), 200, host)
  assert.equal(await statusFor(local, { host: '[::1]:3000', origin: 'http://localhost:6274' }), 200)
})

test('a public server takes its own name, and only its own pages', async () => {
  assert.equal(await statusFor(open, { host: 'pohf.example' }), 200)
  assert.equal(await statusFor(open, { host: 'POHF.example:443', origin: 'https://pohf.example' }), 200)
  assert.equal(await statusFor(open, { host: '127.0.0.1:3000' }), 200)
  assert.equal(await statusFor(open, { host: 'evil.example' }), 403)
  assert.equal(await statusFor(open, { host: 'pohf.example', origin: 'http://localhost:3000' }), 403)
  assert.equal(
    await statusFor(open, { host: 'pohf.example', origin: 'https://pohf.example.evil.example' }),
    403,
  )
})

test('the guard reads hosts that are no host as foreign', () => {
  for (const host of ['', 'a b', '[::1', '@', 'localhost@evil.example', 'evil.example#localhost'])
    assert.equal(isOwnHost('http://localhost:3000', { host, origin: undefined }), false, host)
  assert.equal(isOwnHost('http://localhost:3000', { host: undefined, origin: undefined }), true)
})

test('only a caller that takes nothing like JSON gets an event stream', () => {
  for (const accept of ['text/event-stream', 'text/event-stream;q=1, text/html', 'TEXT/EVENT-STREAM'])
    assert.equal(wantsEventStream(accept), true, accept)
  for (const accept of [undefined, '', '*/*', 'text/html', 'application/json, text/event-stream'])
    assert.equal(wantsEventStream(accept), false, accept)
})

test('registering over MCP counts against the same limit as over HTTP, each call of a batch for itself', async () => {
  await limited.register('test')
  await limited.register('test')
  const { json } = await limited.call('POST', '/mcp/identity', {
    body: [register(1), register(2), register(3)],
  })
  const outcomes = json.map(
    (reply: { result: { structuredContent: { error?: string; apiKey?: string } } }) =>
      reply.result.structuredContent.apiKey ? 'registered' : reply.result.structuredContent.error,
  )
  assert.deepEqual(outcomes, ['registered', 'registered', 'rate_limited'])
  const http = await limited.call('POST', '/api/agents/register', { body: registration })
  assert.equal(http.status, 429)
})
