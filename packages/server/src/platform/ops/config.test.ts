import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { isLoopbackHost } from '../net/loopback.ts'
import { childEnvironment, ConfigFaults, readConfig, readSignerConfig } from './config.ts'
import { settings } from './settings.ts'

const DATABASE_URL = 'postgres://pohf@127.0.0.1:5432/pohf'
const faultsOf = (environment: Record<string, string>): readonly string[] => {
  try {
    readConfig(environment)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigFaults, String(error))
    return error.faults
  }
}
const namesOf = (faults: readonly string[]): string[] => faults.map((fault) => fault.split(' ')[0] ?? '')

const wrong: Record<string, string> = {
  PORT: 'abc',
  HOST: 'no host',
  BASE_URL: 'ftp://example.com',
  OPERATOR_HOST: 'not/a/host',
  OPERATOR_PORT: '70000',
  OPERATOR_BASE_URL: 'http://operators.example',
  CELL: 'AAA',
  LOG_LEVEL: 'loud',
  DATABASE_POOL_SIZE: '1',
  SMTP_URL: 'http://mail.example.com',
  MAIL_FROM: 'x',
  CONTACT: 'x'.repeat(300),
  TRUSTED_PROXIES: '10.0.0.1, proxy.example.com',
  ADDRESS_LIMITS: 'maybe',
  KEY_LIMIT_PER_MINUTE: '0',
  REGISTER_LIMIT_PER_HOUR: '-1',
  STRIPE_API_BASE: 'http://cards.example.com',
  EVM_RPC_URLS: '1=https://node.example.com,base=https://node.example.com',
}

test('every fault of the settings is named at once, each setting by its name', () => {
  const faults = faultsOf(wrong)
  assert.deepEqual(namesOf(faults).toSorted(), ['DATABASE_URL', ...Object.keys(wrong)].toSorted())
  assert.ok(faults.includes('DATABASE_URL is required'))
  assert.throws(() => readConfig(wrong), new RegExp(`has ${faults.length} faults:`))
})

test('a fault never shows the value, which may hold a password', () => {
  for (const name of ['DATABASE_URL', 'SMTP_URL', 'BASE_URL'])
    for (const fault of faultsOf({ DATABASE_URL, [name]: 'mysql://user:hunter2@host/db' })) {
      assert.match(fault, new RegExp(`^${name} `))
      assert.doesNotMatch(fault, /hunter2/)
    }
})

test('the two secrets of the card provider are set together, are validated, and are never printed', () => {
  const secret = 'sk_live_hunter2hunter2'
  const webhook = 'whsec_hunter2hunter2'
  assert.deepEqual(faultsOf({ DATABASE_URL, STRIPE_SECRET_KEY: secret, STRIPE_WEBHOOK_SECRET: webhook }), [])
  for (const half of [{ STRIPE_SECRET_KEY: secret }, { STRIPE_WEBHOOK_SECRET: webhook }])
    assert.match(faultsOf({ DATABASE_URL, ...half }).join(), /must be set together/)
  const faults = faultsOf({
    DATABASE_URL,
    STRIPE_SECRET_KEY: 'pk_live_hunter2hunter2',
    STRIPE_WEBHOOK_SECRET: 'hunter2hunter2',
  })
  assert.deepEqual(namesOf(faults), ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET'])
  assert.doesNotMatch(faults.join(), /hunter2/)
  assert.deepEqual(faultsOf({ DATABASE_URL, STRIPE_API_BASE: 'http://127.0.0.1:9' }), [])
})

test('chains are named by their ids', () => {
  const { EVM_RPC_URLS: urls } = readConfig({
    DATABASE_URL,
    EVM_RPC_URLS: ' 1=https://one.example/key?a=b, 8453=http://127.0.0.1:8545 ',
  })
  assert.deepEqual(
    [...urls],
    [
      [1, 'https://one.example/key?a=b'],
      [8453, 'http://127.0.0.1:8545'],
    ],
  )
})

test('only the database must be named, and every default is safe', () => {
  const config = readConfig({ DATABASE_URL })
  assert.equal(config.HOST, '127.0.0.1')
  assert.equal(config.OPERATOR_HOST, '127.0.0.1')
  assert.equal(config.PORT, 3_000)
  assert.equal(config.OPERATOR_PORT, 3_001)
  assert.equal(config.OPERATOR_BASE_URL, 'http://operators.localhost:3001')
  assert.equal(config.CELL, 'aa')
  assert.deepEqual(config.TRUSTED_PROXIES, [])
  assert.equal(config.SMTP_URL, undefined)
})

test('an empty variable counts as unset, for every setting', () => {
  const names = Object.keys(settings.shape)
  assert.ok(names.length >= 17)
  const plain = readConfig({ DATABASE_URL })
  for (const name of names) {
    if (name === 'DATABASE_URL') assert.deepEqual(faultsOf({ [name]: '' }), ['DATABASE_URL is required'])
    else assert.deepEqual(readConfig({ DATABASE_URL, [name]: '' }), plain, name)
  }
})

test('operators sign in at an address where browsers have passkeys, or nothing starts', () => {
  for (const address of ['https://operators.example', 'http://operators.localhost:9', 'http://localhost:9'])
    assert.deepEqual(faultsOf({ DATABASE_URL, OPERATOR_BASE_URL: address }), [], address)
  for (const address of [
    'http://operators.example',
    'https://192.0.2.1',
    'https://[2001:db8::1]',
    'http://127.0.0.1:3001',
    'ftp://operators.example',
    'operators.example',
  ])
    assert.deepEqual(namesOf(faultsOf({ DATABASE_URL, OPERATOR_BASE_URL: address })), ['OPERATOR_BASE_URL'])
})

test('settings of other programs in the environment change nothing', () => {
  assert.deepEqual(
    readConfig({ DATABASE_URL, loopback: 'no', PGHOST: 'elsewhere' }),
    readConfig({ DATABASE_URL }),
  )
})

const addresses: readonly { environment: Record<string, string>; baseUrl: string; loopback: boolean }[] = [
  { environment: {}, baseUrl: 'http://127.0.0.1:3000', loopback: true },
  { environment: { PORT: '8080' }, baseUrl: 'http://127.0.0.1:8080', loopback: true },
  { environment: { HOST: '::1' }, baseUrl: 'http://[::1]:3000', loopback: true },
  { environment: { HOST: 'localhost' }, baseUrl: 'http://localhost:3000', loopback: true },
  { environment: { HOST: '127.3.2.1' }, baseUrl: 'http://127.3.2.1:3000', loopback: true },
  {
    environment: { HOST: '0.0.0.0', BASE_URL: 'http://localhost:3000' },
    baseUrl: 'http://localhost:3000',
    loopback: false,
  },
  {
    environment: { OPERATOR_HOST: '::', BASE_URL: 'http://localhost:3000' },
    baseUrl: 'http://localhost:3000',
    loopback: false,
  },
  {
    environment: { OPERATOR_BASE_URL: 'https://operators.example' },
    baseUrl: 'http://127.0.0.1:3000',
    loopback: false,
  },
  { environment: { BASE_URL: 'https://pohf.example/' }, baseUrl: 'https://pohf.example', loopback: false },
  { environment: { BASE_URL: 'http://127.8.9.1:1//' }, baseUrl: 'http://127.8.9.1:1', loopback: true },
  { environment: { BASE_URL: 'http://app.localhost' }, baseUrl: 'http://app.localhost', loopback: true },
  {
    environment: { BASE_URL: 'https://127.0.0.1.example' },
    baseUrl: 'https://127.0.0.1.example',
    loopback: false,
  },
  {
    environment: { BASE_URL: 'https://localhost.example' },
    baseUrl: 'https://localhost.example',
    loopback: false,
  },
]
test('the base address comes from HOST and PORT, and address limits are off only where it is loopback', () => {
  for (const { environment, baseUrl, loopback } of addresses) {
    const config = readConfig({ DATABASE_URL, ...environment })
    assert.equal(config.BASE_URL, baseUrl)
    assert.equal(config.loopback, loopback, baseUrl)
    assert.equal(config.addressLimits, !loopback, baseUrl)
    assert.equal(readConfig({ DATABASE_URL, ...environment, ADDRESS_LIMITS: 'on' }).addressLimits, true)
    assert.equal(readConfig({ DATABASE_URL, ...environment, ADDRESS_LIMITS: 'off' }).addressLimits, false)
  }
})

test('a listener that others can reach needs its public address, or nothing starts', () => {
  const publicHosts = [
    '0.0.0.0',
    '::',
    '10.0.0.5',
    '192.168.1.5',
    'api.internal',
    '::ffff:127.0.0.1',
    '2001:db8::1',
  ]
  for (const name of ['HOST', 'OPERATOR_HOST'])
    for (const host of publicHosts) {
      const [fault = '', ...more] = faultsOf({ DATABASE_URL, [name]: host })
      assert.match(fault, new RegExp(`^BASE_URL is required where ${name} is not a loopback address: set it`))
      assert.deepEqual(more, [])
      assert.deepEqual(faultsOf({ DATABASE_URL, [name]: host, BASE_URL: 'https://pohf.example' }), [])
    }
  for (const host of ['127.0.0.1', '127.9.9.9', '::1', 'localhost', 'LOCALHOST', 'app.localhost', '0x7f.1'])
    assert.deepEqual(faultsOf({ DATABASE_URL, HOST: host, OPERATOR_HOST: host }), [], host)
})

test('proxy ranges that together hold a large part of the internet are refused, since anybody could choose an address', () => {
  const quarters = ['0.0.0.0/2', '64.0.0.0/2', '128.0.0.0/2', '192.0.0.0/2']
  const sixteenths = Array.from({ length: 32 }, (_, n) => `${n * 8}.0.0.0/5`)
  for (const ranges of [
    '0.0.0.0/0',
    '::/0',
    '10.0.0.1, 1.2.3.4/0',
    '0.0.0.0/1,128.0.0.0/1',
    '128.0.0.0/1',
    '::/1,8000::/1',
    '2000::/3',
    '2000::/4,3000::/4',
    '::ffff:0.0.0.0/96',
    '::ffff:0.0.0.0/97,::ffff:128.0.0.0/97',
    quarters.join(),
    sixteenths.join(),
    // Counted once where they overlap, and a single address between them changes nothing.
    '16.0.0.0/5, 16.0.0.0/6, 17.1.1.1, 24.0.0.0/5',
  ])
    assert.match(faultsOf({ DATABASE_URL, TRUSTED_PROXIES: ranges }).join(), /name your proxies/, ranges)
  for (const ranges of [
    '10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,100.64.0.0/10,127.0.0.0/8,fc00::/7,fe80::/10,::1',
    '17.0.0.0/8, 2600::/12',
    '16.0.0.0/5, 16.0.0.0/5, 16.0.0.0/6, 17.1.1.1',
    '::/4',
    '173.245.48.0/20,103.21.244.0/22,104.16.0.0/13,2400:cb00::/32,2606:4700::/32',
  ])
    assert.deepEqual(faultsOf({ DATABASE_URL, TRUSTED_PROXIES: ranges }), [], ranges)
})

test('names that only look like loopback are not', () => {
  for (const host of ['127.0.0.1.evil.com', '127.evil.com', 'localhost.evil.com', '10.0.0.1', '[::2]', ''])
    assert.equal(isLoopbackHost(host), false, host)
})

test('a host that cannot stand in an address is a named fault', () => {
  for (const host of ['no host', 'a:b:c', 'a/b', 'user@host', '[::1]', '256.1.1.1'])
    assert.deepEqual(namesOf(faultsOf({ DATABASE_URL, HOST: host })), ['HOST'], host)
})

test('ports that cannot both be listened on are refused before the start', () => {
  assert.deepEqual(namesOf(faultsOf({ DATABASE_URL, PORT: '65535' })), ['OPERATOR_PORT'])
  assert.deepEqual(namesOf(faultsOf({ DATABASE_URL, PORT: '4000', OPERATOR_PORT: '4000' })), [
    'OPERATOR_PORT',
  ])
  assert.deepEqual(faultsOf({ DATABASE_URL, PORT: '65535', OPERATOR_PORT: '65534' }), [])
  assert.equal(readConfig({ DATABASE_URL, PORT: '0' }).OPERATOR_PORT, 0)
})

test('a stop waits for a load balancer unless the service is on loopback, and has time left after that', () => {
  const drainSecondsOf = (environment: Record<string, string>) =>
    readConfig({ DATABASE_URL, ...environment }).DRAIN_SECONDS
  const BASE_URL = 'https://pohf.example'
  assert.equal(drainSecondsOf({}), 0)
  assert.equal(drainSecondsOf({ BASE_URL }), 5)
  assert.equal(drainSecondsOf({ BASE_URL, STOP_SECONDS: '4' }), 2)
  assert.equal(drainSecondsOf({ BASE_URL, DRAIN_SECONDS: '20' }), 20)
  assert.deepEqual(namesOf(faultsOf({ DATABASE_URL, DRAIN_SECONDS: '25' })), ['STOP_SECONDS'])
})

test('trusted proxies are real addresses or ranges', () => {
  const { TRUSTED_PROXIES } = readConfig({
    DATABASE_URL,
    TRUSTED_PROXIES: ' 10.0.0.1 ,fd00::/8,, 10.1.0.0/16',
  })
  assert.deepEqual(TRUSTED_PROXIES, ['10.0.0.1', 'fd00::/8', '10.1.0.0/16'])
  for (const bad of ['300.1.1.1', '10.0.0.0/33', 'fd00::/129', '::g', '10.0.0', '*', 'true', '1.2.3.4/'])
    assert.deepEqual(namesOf(faultsOf({ DATABASE_URL, TRUSTED_PROXIES: bad })), ['TRUSTED_PROXIES'], bad)
})

const secretsFolder = mkdtempSync(join(tmpdir(), 'pohf-secret-'))
after(() => rmSync(secretsFolder, { recursive: true, force: true }))
let secrets = 0
const writeSecret = (text: string): string => {
  const file = join(secretsFolder, `secret-${(secrets += 1)}`)
  writeFileSync(file, text, { mode: 0o600 })
  return file
}

test('a secret comes from the file that NAME_FILE names, without its last line feed', () => {
  for (const end of ['', '\n', '\r\n'])
    assert.equal(
      readConfig({ DATABASE_URL: '', DATABASE_URL_FILE: writeSecret(`${DATABASE_URL}${end}`) }).DATABASE_URL,
      DATABASE_URL,
    )
  // Every secret of the list, and the checks of combinations see the value.
  const card = { STRIPE_SECRET_KEY: 'sk_live_hunter2hunter2', STRIPE_WEBHOOK_SECRET: 'whsec_hunter2hunter2' }
  const files = Object.entries(card).map(([name, value]) => [`${name}_FILE`, writeSecret(value)] as const)
  assert.deepEqual(faultsOf({ DATABASE_URL, ...Object.fromEntries(files) }), [])
  assert.match(
    faultsOf({ DATABASE_URL, ...Object.fromEntries(files.slice(1)) }).join(),
    /must be set together/,
  )
})

test('a secret file that is missing, empty, too large or named beside its value stops the start, unprinted', () => {
  const cases: readonly (readonly [string, Record<string, string>, RegExp])[] = [
    ['missing', { DATABASE_URL_FILE: '/nowhere/hunter2' }, /is not readable \(ENOENT\)$/],
    ['a folder', { DATABASE_URL_FILE: tmpdir() }, /is not readable \(EISDIR\)$/],
    ['empty', { DATABASE_URL_FILE: writeSecret('\n') }, /names an empty file$/],
    ['too large', { DATABASE_URL_FILE: writeSecret('x'.repeat(65_537)) }, /more than 65536 bytes$/],
    ['both', { DATABASE_URL, DATABASE_URL_FILE: writeSecret(DATABASE_URL) }, /exclude each other$/],
    ['no address', { DATABASE_URL_FILE: writeSecret('hunter2') }, /must be a postgres:\/\/ address$/],
  ]
  for (const [name, environment, expected] of cases) {
    const faults = faultsOf(environment)
    assert.equal(faults.length, 1, name)
    assert.match(faults[0] ?? '', expected, name)
    assert.doesNotMatch(faults[0] ?? '', /hunter2/, name)
  }
})

test('a setting that is no secret is not read from a file', () => {
  assert.equal(readConfig({ DATABASE_URL, PORT_FILE: writeSecret('4000') }).PORT, 3_000)
})

test('each process of npm start has a metrics port of its own, and none without the setting', () => {
  assert.deepEqual(childEnvironment(2, { A: 'b' }), { A: 'b' })
  assert.deepEqual(childEnvironment(2, { METRICS_PORT: '' }), { METRICS_PORT: '' })
  assert.deepEqual(childEnvironment(2, { METRICS_PORT: '9464' }), { METRICS_PORT: '9466' })
  assert.deepEqual(childEnvironment(2, { METRICS_PORT: '0' }), { METRICS_PORT: '0' })
  assert.equal(readConfig({ DATABASE_URL }).METRICS_PORT, undefined)
  assert.deepEqual(namesOf(faultsOf({ DATABASE_URL, METRICS_PORT: '65534' })), ['METRICS_PORT'])
})

test('the signer reads the settings of metrics and traces, too', () => {
  const config = readSignerConfig({ METRICS_PORT: '9466', OTEL_TRACES_SAMPLER_ARG: '0.25' })
  assert.equal(config.METRICS_PORT, 9_466)
  assert.equal(config.METRICS_HOST, '127.0.0.1')
  assert.equal(config.OTEL_TRACES_SAMPLER_ARG, 0.25)
  assert.equal(config.OTEL_EXPORTER_OTLP_ENDPOINT, undefined)
})
