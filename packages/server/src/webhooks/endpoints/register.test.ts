import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inTransaction } from '../../platform/db/db.ts'
import { startHarness, type Harness } from '../../../test/fixtures/harness.ts'

const local = await startHarness()
const production = await startHarness({ BASE_URL: 'https://pohf.example.org', ADDRESS_LIMITS: 'off' })

const register = (harness: Harness, key: string, body: unknown, headers: Record<string, string> = {}) =>
  harness.call('POST', '/api/agents/webhooks', { key, body, headers })

/** A fresh agent per table: none reaches the limit of endpoints. */
const isAccepted = async (harness: Harness, url: string) => {
  const agent = await harness.register('test')
  return register(harness, agent.apiKey, { url, events: ['*'] })
}

/** No public address, in every spelling that a URL parser takes for one. */
const notPublic = [
  '0/',
  '0.0.0.0/',
  '0x0/',
  '10.0.0.1/',
  '10.255.255.255/',
  '012.0.0.1/',
  '0x0a000001/',
  '167772161/',
  '100.64.0.1/',
  '100.127.255.254/',
  '169.254.169.254/latest/meta-data/',
  '0xa9fea9fe/',
  '2852039166/',
  '169.254.43518/',
  '172.16.0.1/',
  '172.31.255.255/',
  '192.0.0.1/',
  '192.0.2.1/',
  '192.88.99.1/',
  '192.168.0.1/',
  '192.168.257/',
  '0300.0250.0.1/',
  '198.18.0.1/',
  '198.51.100.7/',
  '203.0.113.9/',
  '224.0.0.1/',
  '240.0.0.1/',
  '255.255.255.255/',
  '[::]/',
  '[::ffff:10.0.0.1]/',
  '[::ffff:127.0.0.1]/',
  '[::ffff:7f00:1]/',
  '[0:0:0:0:0:ffff:a9fe:a9fe]/',
  '[::127.0.0.1]/',
  '[64:ff9b::7f00:1]/',
  '[64:ff9b:1::a00:1]/',
  '[100::1]/',
  '[2001::1]/',
  '[2001:db8::1]/',
  '[2002:7f00:1::]/',
  '[3fff::1]/',
  '[5f00::1]/',
  '[fc00::1]/',
  '[fd00:ec2::254]/',
  '[fe80::1]/',
  '[ff02::1]/',
]
const loopbackHosts = [
  'localhost/',
  'LOCALHOST/',
  'localhost./',
  'api.localhost/',
  'api.localhost./',
  '127.0.0.1/',
  '127.0.0.1./',
  '127.1/',
  '127.255.255.254/',
  '2130706433/',
  '0x7f.1/',
  '0x7f000001/',
  '0177.0.0.1/',
  '①②⑦.⓪.⓪.①/',
  '%31%32%37.0.0.1/',
  '[::1]/',
  '[0:0:0:0:0:0:0:1]/',
]
const localNames = [
  'intranet/',
  'intranet./',
  'printer.local/',
  'metadata.google.internal/',
  'nas.home.arpa/',
  'db.localdomain/',
]
const publicHosts = [
  'hooks.example.com/pohf',
  'example.com:8443/a?b=c#d',
  'bücher.example/hook',
  'hooks.example.com./',
  '93.184.215.14/hook',
  '[2606:4700:4700::1111]/hook',
  'example.com:1/',
  'example.com:65535/',
  'no-such-name-anywhere.example/never-resolved',
]

test('in production only public https is accepted, whatever the spelling', async (t) => {
  const bad = [
    ...[...notPublic, ...loopbackHosts, ...localNames].map((rest) => `https://${rest}`),
    'http://hooks.example.com/',
    'HTTP://hooks.example.com/',
    'http://93.184.215.14/',
    'http://localhost/',
    'https://user:pass@hooks.example.com/',
    'https://user@hooks.example.com/',
    'https://:pass@hooks.example.com/',
    'https://hooks.example.com:0/',
    'https://hooks.example.com:65536/',
    'ftp://hooks.example.com/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    '//hooks.example.com/',
    'hooks.example.com',
    '',
    `https://hooks.example.com/${'a'.repeat(2_048)}`,
  ]
  for (const url of bad) {
    const { status, json } = await isAccepted(production, url)
    assert.equal(status, 400, `${url} was accepted`)
    assert.equal(json.error, 'validation_failed', url)
    assert.equal(json.details[0].path, 'body.url', url)
  }
  for (const rest of publicHosts) {
    const { status, text } = await isAccepted(production, `https://${rest}`)
    assert.equal(status, 200, `${rest}: ${text}`)
  }
  t.diagnostic(`${bad.length} refused, ${publicHosts.length} accepted`)
  assert.ok(bad.length >= 80)
})

test('where BASE_URL is loopback, http and loopback receivers are accepted too, private addresses never', async () => {
  const good = ['http', 'https'].flatMap((scheme) =>
    [...loopbackHosts, ...publicHosts, 'localhost:4567/hook'].map((rest) => `${scheme}://${rest}`),
  )
  for (const url of good) {
    const { status, text } = await isAccepted(local, url)
    assert.equal(status, 200, `${url}: ${text}`)
  }
  const bad = [
    ...['http', 'https'].flatMap((scheme) => notPublic.map((rest) => `${scheme}://${rest}`)),
    'http://user:pass@localhost/',
    'http://localhost:0/',
    'ftp://localhost/',
  ]
  for (const url of bad) assert.equal((await isAccepted(local, url)).status, 400, `${url} was accepted`)
})

test('a live key registers a loopback receiver just as a test key does, where base_url is loopback', async () => {
  const live = await local.register('live')
  const { status } = await register(local, live.apiKey, { url: 'http://127.0.0.1:9/', events: ['*'] })
  assert.equal(status, 200)
})

test('each refusal says what is wrong with the URL', async () => {
  for (const [url, message] of [
    ['http://hooks.example.com/', /https/],
    ['https://a:b@hooks.example.com/', /user name or password/],
    ['https://10.0.0.1/', /not public/],
    ['https://localhost/', /public host/],
    ['https://hooks.example.com:0/', /port/],
  ] as const) {
    const { json } = await isAccepted(production, url)
    assert.match(json.details[0].message, message, url)
  }
})

test('event names are * or of the form a.b, and at least one', async () => {
  const { apiKey } = await local.register()
  const url = 'https://hooks.example.com/'
  for (const events of [['*'], ['personhood.wallet_bound'], ['made.up'], ['a.b', 'a.b', '*']])
    assert.equal((await register(local, apiKey, { url, events })).status, 200, JSON.stringify(events))
  for (const events of [[], ['a'], ['a.b.c'], ['A.b'], ['a.*'], [''], [1], 'a.b', null, undefined])
    assert.equal((await register(local, apiKey, { url, events })).status, 400, JSON.stringify(events))
})

/** Everything that the database holds, as text. */
const dumpOf = async (harness: Harness): Promise<string> => {
  const { rows: tables } = await harness.owner.query<{ name: string }>(
    "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'",
  )
  const parts: string[] = []
  for (const { name } of tables) {
    const { rows } = await harness.owner.query<{ row: string }>(`select t::text as row from "${name}" t`)
    parts.push(...rows.map(({ row }) => row))
  }
  return parts.join('\n')
}

test('the signing secret is 32 random bytes, returned once, and in no dump and no log line', async () => {
  const { apiKey } = await local.register()
  const body = { url: 'https://hooks.example.com/dumped', events: ['*'] }
  const first = await register(local, apiKey, body, { 'idempotency-key': 'once' })
  const other = await register(local, apiKey, body)
  const secret: string = first.json.signingSecret
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.equal(Buffer.from(secret.slice(6), 'base64').length, 32)
  assert.notEqual(other.json.signingSecret, secret)
  assert.match(first.json.id, /^whk_aa/)
  assert.deepEqual(Object.keys(first.json).toSorted(), ['id', 'signingSecret'])
  const repeat = await register(local, apiKey, body, { 'idempotency-key': 'once' })
  assert.equal(repeat.text, first.text)

  const dump = await dumpOf(local)
  assert.ok(dump.includes(first.json.id) && dump.includes('https://hooks.example.com/dumped'))
  const bytes = Buffer.from(secret.slice(6), 'base64')
  for (const form of [secret, secret.slice(6), bytes.toString('base64url'), bytes.toString('hex')])
    assert.ok(!dump.includes(form), 'the dump holds the secret')
  local.ctx.log.info({ text: `said by a library: ${secret}` }, 'planted')
  assert.ok(local.lines.some((line) => line.includes('whsec_[secret]')))
  assert.ok(!local.lines.join('').includes(secret.slice(6)))
})

test('an agent has at most 50 enabled endpoints, also with concurrent registrations', async () => {
  const { apiKey } = await local.register()
  const body = { url: 'https://hooks.example.com/', events: ['*'] }
  for (let i = 0; i < 49; i++) assert.equal((await register(local, apiKey, body)).status, 200)
  // With connections still to be opened the calls would come one after the other.
  await Promise.all(Array.from({ length: 20 }, () => local.ctx.db.pool.query('select pg_sleep(0.1)')))
  const answers = await Promise.all(Array.from({ length: 20 }, () => register(local, apiKey, body)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  const refused = answers.filter(({ json }) => json.error === 'forbidden')
  assert.equal(refused.length, 19)
  assert.match(refused[0]?.json.message, /at most 50 enabled/)
  const neighbour = await local.register()
  assert.equal((await register(local, neighbour.apiKey, body)).status, 200)
})

test('an agent has at most 200 endpoints with the disabled ones, and can delete one for a new one', async () => {
  const { apiKey, agentId } = await local.register()
  const body = { url: 'https://hooks.example.com/', events: ['*'] }
  const { json } = await register(local, apiKey, body)
  const path = `/api/agents/webhooks/${json.id}`
  await local.call('PATCH', path, { key: apiKey, body: { enabled: false } })
  await local.owner.query(
    `insert into webhook_endpoints select copy.* from webhook_endpoints e, generate_series(1, 199) n,
       jsonb_populate_record(e, jsonb_build_object('endpoint_id', e.endpoint_id || n)) copy
     where e.agent_id = $1`,
    [agentId],
  )
  const refused = await register(local, apiKey, body)
  assert.deepEqual([refused.status, refused.json.error], [403, 'forbidden'])
  assert.match(refused.json.message, /at most 200 webhook endpoints, disabled ones included/)
  await local.call('DELETE', path, { key: apiKey })
  assert.equal((await register(local, apiKey, body)).status, 200)
})

test('an agent sees no endpoint of another, even with the check in code left out', async () => {
  const one = await local.register()
  const other = await local.register()
  const body = { url: 'https://hooks.example.com/', events: ['*'] }
  await register(local, one.apiKey, body)
  const { json } = await register(local, other.apiKey, body)
  await inTransaction(local.ctx, one.agentId, async (tx) => {
    const visible = await tx.selectFrom('webhook_endpoints').select('endpoint_id').execute()
    assert.equal(visible.length, 1)
    assert.ok(visible.every((row) => row.endpoint_id !== json.id))
  })
})

test('a text that the database cannot hold is still a URL, or refused, never a fault of ours', async () => {
  const { apiKey } = await local.register()
  for (const url of [
    'https://hooks.example.com/\u0000',
    'https://hooks.example.com/\ud800',
    'https://\u0000/',
  ]) {
    const { status } = await register(local, apiKey, { url, events: ['*'] })
    assert.ok(status === 200 || status === 400, `${JSON.stringify(url)}: ${status}`)
  }
})
