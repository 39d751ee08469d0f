import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefusal } from '../fixtures/refusal.ts'
import { startHarness, type Harness } from '../fixtures/harness.ts'

/** A registration as it arrives over a socket from `peer`. */
const registerFrom = async (harness: Harness, peer: string, forwardedFor?: string) => {
  const response = await harness.app.api.inject({
    method: 'POST',
    url: '/api/agents/register',
    remoteAddress: peer,
    headers: forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor },
    payload: { name: 'Test', contactEmail: 'dev@example.com' },
  })
  return {
    status: response.statusCode,
    headers: response.headers as Record<string, string>,
    text: response.body,
    json: response.json<Record<string, unknown>>(),
  }
}
const statusesOf = async (harness: Harness, calls: readonly (readonly [string, string?])[]) => {
  const statuses: number[] = []
  for (const [peer, forwardedFor] of calls)
    statuses.push((await registerFrom(harness, peer, forwardedFor)).status)
  return statuses
}
const limited = { ADDRESS_LIMITS: 'on', REGISTER_LIMIT_PER_HOUR: '3' }

const harness = await startHarness({ ...limited, KEY_LIMIT_PER_MINUTE: '5' })
const proxied = await startHarness({ ...limited, TRUSTED_PROXIES: '10.9.0.0/16, fd00::1' })
const open = await startHarness({ REGISTER_LIMIT_PER_HOUR: '3' })

test('an address registers its quota in an hour, then gets our 429 until Retry-After is over', async () => {
  const first = await registerFrom(harness, '192.0.2.1')
  assert.deepEqual(await statusesOf(harness, [['192.0.2.1'], ['192.0.2.1']]), [200, 200])
  const last = await registerFrom(harness, '192.0.2.1')
  assert.equal(first.status, 200)
  assert.equal(first.headers['ratelimit-policy'], '"register";q=3;w=3600')
  assert.match(first.headers['ratelimit'] ?? '', /^"register";r=2;t=\d+$/)
  assert.equal(first.headers['x-ratelimit-limit'], '3')
  assert.equal(first.headers['x-ratelimit-remaining'], '2')
  assert.equal(first.headers['retry-after'], undefined)

  assertRefusal(last, 429, 'rate_limited')
  assert.equal(last.json['retryable'], true)
  assert.match(last.headers['ratelimit'] ?? '', /^"register";r=0;t=\d+$/)
  const wait = Number(last.headers['retry-after'])
  assert.ok(wait > 3_500 && wait <= 3_600, `waits ${wait}`)

  assert.equal((await registerFrom(harness, '192.0.2.2')).status, 200)
  await harness.advance(wait * 1_000)
  assert.equal((await registerFrom(harness, '192.0.2.1')).status, 200)
})

test('a refused registration leaves nothing behind', async () => {
  const count = async () => (await harness.owner.query('select count(*)::int as n from agents')).rows[0].n
  while ((await registerFrom(harness, '192.0.2.3')).status === 200);
  const before = await count()
  assert.equal((await registerFrom(harness, '192.0.2.3')).status, 429)
  assert.equal(await count(), before)
})

test('one IPv6 /64 counts as one address, and an IPv4 client the same on a dual-stack socket', async () => {
  assert.deepEqual(
    await statusesOf(harness, [
      ['2001:db8:7:7::1'],
      ['2001:db8:7:7::2'],
      ['2001:db8:7:7:ffff::3'],
      ['2001:db8:7:7::4'],
      ['2001:db8:7:8::1'],
    ]),
    [200, 200, 200, 429, 200],
  )
  assert.deepEqual(
    await statusesOf(harness, [
      ['::ffff:192.0.2.40'],
      ['192.0.2.40'],
      ['::ffff:192.0.2.40'],
      ['192.0.2.40'],
      ['::ffff:192.0.2.41'],
    ]),
    [200, 200, 200, 429, 200],
  )
})

test('a key has its own quota a minute, counted for the agent and not for the address', async () => {
  const agent = (await registerFrom(harness, '192.0.2.60')).json as { apiKey: string; agentId: string }
  const other = (await registerFrom(harness, '192.0.2.61')).json as { apiKey: string }
  const me = (key: string) => harness.call('GET', '/api/agents/me', { key })
  const further = await harness.call('POST', '/api/agents/keys', {
    key: agent.apiKey,
    body: { scopes: ['keys'] },
  })
  assert.equal(further.headers['ratelimit-policy'], '"key";q=5;w=60')
  for (let i = 0; i < 4; i++) assert.equal((await me(i % 2 ? agent.apiKey : further.json.apiKey)).status, 200)
  for (const key of [agent.apiKey, further.json.apiKey]) {
    const refused = await me(key)
    assertRefusal(refused, 429, 'rate_limited')
    assert.ok(Number(refused.headers['retry-after']) <= 60)
  }
  assert.equal((await me(other.apiKey)).status, 200)
  await harness.advance(60_000)
  assert.equal((await me(agent.apiKey)).status, 200)
})

test('an agent with a rate of its own is held to that one', async () => {
  const agent = (await registerFrom(harness, '192.0.2.70')).json as { apiKey: string; agentId: string }
  await harness.owner.query('update agents set rate_per_minute = 2 where agent_id = $1', [agent.agentId])
  const statuses: number[] = []
  for (let i = 0; i < 3; i++)
    statuses.push((await harness.call('GET', '/api/agents/me', { key: agent.apiKey })).status)
  assert.deepEqual(statuses, [200, 200, 429])
})

test('nobody chooses an address by X-Forwarded-For where no proxy is trusted', async () => {
  assert.deepEqual(
    await statusesOf(harness, [
      ['192.0.80.80', '198.51.100.1'],
      ['192.0.80.80', '198.51.100.2'],
      ['192.0.80.80', '198.51.100.3'],
      ['192.0.80.80', '198.51.100.4'],
    ]),
    [200, 200, 200, 429],
  )
})

const fourClients = (peer: string) => [1, 2, 3, 4].map((client) => [peer, `198.51.100.${client}`] as const)

test('X-Forwarded-For is believed from a trusted proxy only', async () => {
  assert.deepEqual(await statusesOf(proxied, fourClients('10.9.1.2')), [200, 200, 200, 200])
  assert.deepEqual(await statusesOf(proxied, fourClients('fd00::1')), [200, 200, 200, 200])
  assert.deepEqual(await statusesOf(proxied, fourClients('10.8.1.2')), [200, 200, 200, 429])
})

test('through a trusted proxy a client still cannot choose its address by a header of its own', async () => {
  const spoofed = [1, 2, 3, 4].map((n) => ['10.9.1.2', `203.0.113.${n}, 198.51.100.77`] as const)
  assert.deepEqual(await statusesOf(proxied, spoofed), [200, 200, 200, 429])
  // A second trusted hop is passed over, to the same client.
  assert.deepEqual(await statusesOf(proxied, [['10.9.1.2', '198.51.100.77, 10.9.1.3']]), [429])
})

test('where base_url is loopback, addresses are not limited unless a setting says so', async () => {
  const statuses = await statusesOf(
    open,
    [1, 2, 3, 4, 5].map(() => ['127.0.0.1'] as const),
  )
  assert.deepEqual(statuses, [200, 200, 200, 200, 200])
})

test('the port of a client is no address: a proxy that sends it gives nobody further networks', async () => {
  const ports = [8001, 8002, 8003, 8004].map((port) => ['10.9.1.2', `198.51.90.90:${port}`] as const)
  assert.deepEqual(await statusesOf(proxied, ports), [200, 200, 200, 429])
  const brackets = [1, 2, 3, 4].map((port) => ['10.9.1.2', `[2001:db8:90::1]:${port}`] as const)
  assert.deepEqual(await statusesOf(proxied, brackets), [200, 200, 200, 429])
  assert.deepEqual(await statusesOf(proxied, [['10.9.1.2', '198.51.90.90']]), [429])
})

test('what a proxy sends and is no address counts as one client, and the log names the proxy once a minute', async () => {
  const texts = [
    'garbage',
    'unknown',
    '_hidden',
    '"1.2.3.4"',
    'x\u0000y'.repeat(100),
    '1.2.3.4:',
    '5.5.5.5, garbage',
  ]
  const warnings = () =>
    proxied.lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => /sent no address in X-Forwarded-For/.test(String(msg)))
  assert.equal(warnings().length, 0)
  const statuses = await statusesOf(
    proxied,
    texts.map((text) => ['10.9.7.7', text] as const),
  )
  assert.deepEqual(statuses, [200, 200, 200, 429, 429, 429, 429])
  assert.deepEqual(
    warnings().map(({ proxy, sent }) => [proxy, sent]),
    [['10.9.7.7', 'garbage']],
  )
  await proxied.advance(60_000)
  await registerFrom(proxied, 'fd00::1', `1.1.1.1, ${'z'.repeat(500)}`)
  const [, second] = warnings()
  assert.equal(second?.['proxy'], 'fd00::1')
  assert.equal(second['sent'], `${'z'.repeat(60)}…`)
  // Nobody but a trusted proxy can cause the warning.
  await proxied.advance(60_000)
  await registerFrom(proxied, '192.0.2.99', 'garbage')
  assert.equal(warnings().length, 2)
})

test('empty entries do not count, several headers are one list, and hops may have ports', async () => {
  const same = [
    '198.51.95.95,,',
    ' , 198.51.95.95 ,',
    '203.0.113.9, 198.51.95.95, 10.9.1.3:443',
    '[::ffff:198.51.95.95]:1',
  ]
  assert.deepEqual(
    await statusesOf(
      proxied,
      same.map((text) => ['10.9.1.2', text] as const),
    ),
    [200, 200, 200, 429],
  )
  // Without an entry the client is the proxy itself, such as a check of its health.
  assert.deepEqual(
    await statusesOf(proxied, [['10.9.1.9', ','], ['10.9.1.9', ''], ['10.9.1.9']]),
    [200, 200, 200],
  )
  assert.deepEqual(await statusesOf(proxied, [['10.9.1.9', ' ']]), [429])
})

const hops = (client: string) => `${client}, ${'10.9.1.3, '.repeat(40)}10.9.1.3`

test('the 6to4 address of a trusted proxy is not trusted, and no list of hops is read without end', async () => {
  const tunnelled = [1, 2, 3, 4].map((n) => ['2002:a09:102::1', `198.51.101.${n}`] as const)
  assert.deepEqual(await statusesOf(proxied, tunnelled), [200, 200, 200, 429])
  await proxied.advance(3_600_000)
  const statuses = await statusesOf(
    proxied,
    [1, 2, 3, 4].map((n) => ['10.9.1.2', hops(`198.51.102.${n}`)] as const),
  )
  assert.deepEqual(statuses, [200, 200, 200, 429])
})

/** How many of 20 registrations are accepted, each from the address of its number. */
const countAccepted = async (makeAddress: (n: number) => string) => {
  const statuses = await statusesOf(
    harness,
    Array.from({ length: 20 }, (_, n) => [makeAddress(n)] as const),
  )
  return statuses.filter((status) => status === 200).length
}

test('registrations from many /64 of one /48, or addresses of one /24, have four times the quota of one', async () => {
  assert.equal(await countAccepted((n) => `2001:db8:48:${n.toString(16)}::1`), 12)
  assert.equal(await countAccepted((n) => `198.18.24.${n}`), 12)
  assert.equal(await countAccepted((n) => `198.19.${n}.1`), 20)
})
