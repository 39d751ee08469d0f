import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpoints, type Endpoint } from '@pohf/protocol'
import { makeRateLimits } from '../../src/platform/http/rate-limits.ts'
import { buildListener } from '../../src/platform/http/http.ts'
import { noCallers } from '../fixtures/no-callers.ts'
import { startHarness } from '../fixtures/harness.ts'
import { requestOverSocket } from '../fixtures/socket-request.ts'

const harness = await startHarness()
const live = await harness.register('live')
await harness.app.api.listen({ host: '127.0.0.1', port: 0 })
const listening = harness.app.api.server.address()
const overSocket = requestOverSocket(listening !== null && typeof listening === 'object' ? listening.port : 0)

const safeHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'cross-origin',
}
test('every answer carries the safe headers and the version, refusals and pages too', async () => {
  const answers = [
    await harness.call('GET', '/api/agents/me', { key: live.apiKey }),
    await harness.call('GET', '/api/agents/me'),
    await harness.call('GET', '/nowhere'),
    await harness.call('GET', '/livez'),
    await harness.call('GET', '/agents/confirm?token=x'),
    await overSocket('GET', '/api/%zz'),
    await overSocket('GET', `/docs/errors/${'x'.repeat(300)}`),
    await harness.callOperator('GET', '/operator/operators'),
  ]
  for (const answer of answers) {
    for (const [name, value] of Object.entries(safeHeaders)) assert.equal(answer.headers[name], value)
    assert.match(
      answer.headers['content-security-policy'] ?? '',
      /^default-src 'none'.*frame-ancestors 'none'/,
    )
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.equal(answer.headers['api-version'], '1.0.0')
    assert.match(answer.headers['x-request-id'] ?? '', /^req_/)
    assert.equal(answer.headers['strict-transport-security'], undefined)
    assert.equal(answer.headers['x-powered-by'], undefined)
    assert.equal(answer.headers['server'], undefined)
  }
})

test('over https the browser is told to stay there', async () => {
  const secure = await startHarness({ BASE_URL: 'https://pohf.example' })
  const { headers } = await secure.call('GET', '/livez')
  assert.match(headers['strict-transport-security'] ?? '', /^max-age=31536000/)
})

test('a browser of another site reads nothing of what a secret key opens', async () => {
  const origin = { origin: 'https://evil.example' }
  for (const answer of [
    await harness.call('GET', '/api/agents/me', { key: live.apiKey, headers: origin }),
    await harness.call('POST', '/api/agents/keys/rotate', { headers: origin }),
    await harness.call('OPTIONS', '/api/agents/keys', {
      headers: {
        ...origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      },
    }),
    await harness.call('OPTIONS', '/api/agents/register', { headers: origin }),
    await harness.callOperator('OPTIONS', '/operator/operators', { headers: origin }),
  ])
    assert.deepEqual(
      Object.keys(answer.headers).filter((name) => name.startsWith('access-control-')),
      [],
    )
})

test('a row that browsers of any site may call answers their preflight and echoes their origin', async () => {
  const row = endpoints.find((endpoint) => endpoint.id === 'agents.register')
  assert.ok(row)
  const rows: Endpoint[] = [{ ...row, cors: 'echo' }]
  const listener = buildListener({
    ctx: harness.ctx,
    rateLimits: makeRateLimits(harness.ctx),
    checkWrite: async () => undefined,
    noteRequest: () => undefined,
    endpoints: rows,
    pages: [],
    routes: [{ id: 'agents.register', handler: async () => assert.fail() }],
    authenticate: noCallers,
  })
  const send = (method: 'OPTIONS' | 'POST') =>
    listener.inject({ method, url: '/api/agents/register', headers: { origin: 'https://shop.example' } })
  const preflight = await send('OPTIONS')
  assert.equal(preflight.statusCode, 204)
  assert.equal(preflight.headers['access-control-allow-methods'], 'POST')
  assert.equal(preflight.headers['access-control-allow-headers'], 'content-type')
  const refused = await send('POST')
  assert.equal(refused.statusCode, 400)
  for (const { headers } of [preflight, refused]) {
    assert.equal(headers['access-control-allow-origin'], 'https://shop.example')
    assert.equal(headers['vary'], 'Origin')
  }
})
