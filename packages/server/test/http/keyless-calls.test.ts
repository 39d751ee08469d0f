import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readClientAddress } from '../../src/platform/http/client-address.ts'
import { startHarness, type TestRequest } from '../fixtures/harness.ts'

const harness = await startHarness({ ADDRESS_LIMITS: 'on', TRUSTED_PROXIES: '127.0.0.1' })
const flooder = '192.0.2.1'
const agent = await harness.register('test')
// What a flood takes minutes for.
harness.app.costBudget.charge(readClientAddress(flooder), 1_000_000)

const callFrom = (address: string, method: string, path: string, request: TestRequest = {}) =>
  harness.call(method, path, { ...request, headers: { ...request.headers, 'x-forwarded-for': address } })
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
const registration = { name: 'Stranger', contactEmail: 's@stranger.example', mode: 'test' }

for (const [what, method, path, request] of [
  ['a row', 'GET', '/api/workflows/available', {}],
  ['a page', 'GET', '/pricing', {}],
  ['an address that does not exist', 'GET', '/nothing/here', {}],
  ['a preflight', 'OPTIONS', '/api/track/event', {}],
  ['a registration', 'POST', '/api/agents/register', { body: registration }],
  ['a call without the key that its row needs', 'GET', '/api/agents/me', {}],
  ['a malformed key', 'GET', '/api/agents/me', { key: 'x' }],
  ['a key that does not exist', 'GET', '/api/agents/me', { key: `svc_test_${'a'.repeat(32)}` }],
  ['a malformed key in the body', 'POST', '/siteverify', { body: { secret: 'x', response: 'y' } }],
  ['an order without a key', 'POST', '/api/agents/order', { body: {} }],
  ['a constant answer of MCP', 'POST', '/mcp', { body: ping }],
] as const)
  test(`a network that used up its budget is refused ${what}, and told when to come back`, async () => {
    const { status, headers, text } = await callFrom(flooder, method, path, request)
    assert.equal(status, 429, text)
    assert.match(headers['retry-after'] ?? '', /^[1-9]\d*$/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
  })

test('a caller with a key is served on a network that used up its budget', async () => {
  const key = agent.apiKey
  const answers = await Promise.all([
    callFrom(flooder, 'GET', '/api/agents/me', { key }),
    callFrom(flooder, 'GET', '/api/workflows/available', { key }),
    callFrom(flooder, 'POST', '/api/agents/verify', { key, body: { sessionId: 'visit 1' } }),
    callFrom(flooder, 'POST', '/siteverify', { body: { secret: key, response: 'visit 2' } }),
    callFrom(flooder, 'POST', '/mcp', {
      key,
      body: { ...ping, method: 'tools/call', params: { name: 'list_verified_work', arguments: {} } },
    }),
  ])
  assert.deepEqual(
    answers.map(({ status }) => status),
    answers.map(() => 200),
  )
  assert.equal(answers.at(-1)?.json.result.isError, false)
})

const visitStrangers = async () => {
  const answers = await Promise.all([
    callFrom('198.51.100.1', 'POST', '/api/agents/register', { body: registration }),
    callFrom('198.51.100.1', 'GET', '/api/tasks/next'),
    callFrom('198.51.100.1', 'GET', '/api/agent/tasks/wf_test_ok/buy'),
  ])
  return answers.map(({ status }) => status)
}

test('every other network registers, takes tasks and buys', async () => {
  assert.deepEqual(await visitStrangers(), [200, 200, 402])
})

test('health is never refused', async () => {
  assert.equal((await callFrom(flooder, 'GET', '/livez')).status, 200)
})

test('while the event loop lags, a network that spent much gets 503, and all others are served', async () => {
  const { charge, noteLag } = harness.app.costBudget
  charge(readClientAddress('203.0.113.1'), 950)
  for (let n = 0; n < 10; n++) noteLag(1_000)
  const shed = await callFrom('203.0.113.1', 'GET', '/api/workflows/available')
  assert.deepEqual([shed.status, shed.json.error], [503, 'overloaded'])
  assert.match(shed.headers['retry-after'] ?? '', /^[1-9]\d*$/)
  const key = agent.apiKey
  assert.equal((await callFrom('203.0.113.1', 'GET', '/api/agents/me', { key })).status, 200)
  assert.deepEqual(await visitStrangers(), [200, 200, 402])
})
