import assert from 'node:assert/strict'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { freePort } from '../../server/dev/cluster.ts'
import { makeDatabase } from '../../server/test/fixtures/harness.ts'
import { startMailbox } from '../../server/test/fixtures/mailbox.ts'
import { pollUntil } from '../../server/test/fixtures/polling.ts'
import { startMain, startNode } from '../../server/test/fixtures/processes/child-processes.ts'
import { makeSignerAuthority } from '../../server/test/fixtures/signer-tls.ts'
import { examine } from '../src/server/doctor/doctor.ts'
import type { Machine } from '../src/server/doctor/finding.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-doctor-'))
const database = await makeDatabase()
const mailbox = await startMailbox()
const ports = { api: await freePort(), operator: await freePort() }
const healthy: Readonly<Record<string, string>> = {
  DATABASE_URL: database.url,
  DATA_DIR: join(folder, 'data'),
  PORT: String(ports.api),
  OPERATOR_PORT: String(ports.operator),
  SMTP_URL: `smtp://127.0.0.1:${mailbox.smtpPort}`,
  STRIPE_SECRET_KEY: 'sk_test_0123456789',
  STRIPE_WEBHOOK_SECRET: 'whsec_0123456789',
  LOG_LEVEL: 'error',
}
// The server trusts the proxies of this file; the doctor reads what it says, not its own settings.
const server = startMain([], { ...healthy, TRUSTED_PROXIES: '127.0.0.1' })
after(async () => {
  server.child.kill('SIGTERM')
  await server.exited
  await mailbox.stop()
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})
await pollUntil(
  'the server is ready',
  async () => (await fetch(`http://127.0.0.1:${ports.api}/readyz`).catch(() => undefined))?.ok,
  60_000,
)

const machine: Machine = { now: Date.now, freeBytes: () => 100 * 2 ** 30 }
const plant = async (change: Readonly<Record<string, string>>, planted: Partial<Machine> = {}) =>
  examine({ ...healthy, ...change }, { ...machine, ...planted })
const copyOfData = (name: string): string => {
  const copy = join(folder, name)
  // Sockets cannot be copied, and the signer listens at its own.
  cpSync(healthy['DATA_DIR'] ?? '', copy, { recursive: true, filter: (path) => !path.endsWith('.sock') })
  return copy
}
const sockets = {
  SIGNER_SOCKET: join(folder, 'data', 'signer.sock'),
  SIGNER_OPERATOR_SOCKET: join(folder, 'data', 'keys', 'operator.sock'),
}

test('a healthy installation passes, in the process and on the command line', async () => {
  const findings = await examine(healthy)
  assert.deepEqual(
    findings.filter(({ level }) => level === 'problem'),
    [],
  )
  const checks = new Set(findings.map(({ check }) => check))
  const expected =
    'settings address limits card database durability roles schema clock master-key server port signer mail disk key-folder'
  for (const name of expected.split(' ')) assert.ok(checks.has(name), name)
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
  const passed = startNode([main, 'doctor'], healthy)
  assert.equal(await passed.exited, 0, passed.out())
  assert.match(passed.out(), /✓ schema .*\n[^]*\nProblems: 0\. Warnings: \d\.\n$/)
  const failed = startNode([main, 'doctor', '--json'], { ...healthy, SMTP_URL: 'smtp://127.0.0.1:9' })
  assert.equal(await failed.exited, 1)
  const report = JSON.parse(failed.out())
  assert.deepEqual([report.ok, report.problems], [false, 1])
})

type Planted = {
  readonly name: string
  readonly find: () => ReturnType<typeof examine>
  /** The check, then what it says and the fix. */
  readonly expected: readonly [check: string, note: RegExp, fix: RegExp]
}

const publicly = { BASE_URL: 'https://pohf.invalid', TRUSTED_PROXIES: '10.0.0.1' }
const asLogin = async (sql: string): Promise<void> => {
  const client = new Client({ connectionString: database.url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
const listenElsewhere = async () => {
  const other = createServer((_request, response) => response.end('somebody else'))
  after(() => other.close())
  const port = await freePort()
  await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve))
  return String(port)
}
const authority = await makeSignerAuthority(folder, 'authority')
const soon = (days: number) => new Date(Date.now() + days * 86_400_000)

const settingFaults: readonly Planted[] = [
  {
    name: 'a ClickHouse that does not answer',
    find: () => plant({ CLICKHOUSE_URL: 'http://127.0.0.1:9/pohf' }),
    expected: ['clickhouse', /ClickHouse does not answer/, /correct CLICKHOUSE_URL/],
  },
  {
    name: 'a setting that is not valid',
    find: () => plant({ PORT: 'abc' }),
    expected: ['settings', /^PORT /, /settings\.md/],
  },
  {
    name: 'a public address without https',
    find: () => plant({ BASE_URL: 'http://pohf.invalid' }),
    expected: ['address', /plain http/, /https/],
  },
  {
    name: 'a proxy in front of a loopback address: webhooks to this machine are allowed',
    find: () => plant({ TRUSTED_PROXIES: '10.0.0.1' }),
    expected: ['address', /webhooks may go to this machine/, /Set BASE_URL/],
  },
  {
    name: 'no trusted proxy on a public address',
    find: () => plant({ BASE_URL: 'https://pohf.invalid' }),
    expected: ['address', /count as one address/, /TRUSTED_PROXIES/],
  },
  {
    name: 'limits off on a public address',
    find: () => plant({ ...publicly, ADDRESS_LIMITS: 'off' }),
    expected: ['limits', /ADDRESS_LIMITS is off/, /Unset ADDRESS_LIMITS/],
  },
  {
    name: 'a test key of the card provider on a public address',
    find: () => plant(publicly),
    expected: ['card', /test key/, /live key/],
  },
  {
    name: 'a chain without a gas account',
    find: () => plant({ X402_CHAIN_RPC: 'http://127.0.0.1:9', X402_PAY_TO: `0x${'1'.repeat(40)}` }),
    expected: ['settlement', /no gas account/, /X402_GAS_KEYS_FILE/],
  },
  {
    name: 'a file that is missing',
    find: () => plant({ CALIBRATIONS_FILE: join(folder, 'none.json') }),
    expected: ['files', /CALIBRATIONS_FILE.*ENOENT/, /Set CALIBRATIONS_FILE/],
  },
]

const databaseFaults: readonly Planted[] = [
  {
    name: 'a database that does not answer',
    find: () => plant({ DATABASE_URL: 'postgres://pohf@127.0.0.1:9/pohf' }),
    expected: ['database', /does not answer: .*ECONNREFUSED/, /Start PostgreSQL, or correct DATABASE_URL/],
  },
  {
    name: 'a login role without the roles of the service',
    find: async () => {
      await asLogin('create role doctor_stranger login')
      const url = new URL(database.url)
      url.username = 'doctor_stranger'
      const findings = await plant({ DATABASE_URL: url.href })
      await asLogin('drop role doctor_stranger')
      return findings
    },
    expected: ['roles', /doctor_stranger is no member of pohf_app/, /Run grant pohf_app to doctor_stranger;/],
  },
  {
    name: 'a migration that is missing',
    find: async () => {
      await asLogin('create table held as select * from platform_migrations order by 1 desc limit 1')
      const [{ column } = { column: '' }] = await firstColumn()
      await asLogin(`delete from platform_migrations where ${column} in (select ${column} from held)`)
      const findings = await plant({})
      await asLogin('insert into platform_migrations select * from held; drop table held')
      return findings
    },
    expected: ['schema', /of \d+ migrations applied/, /pohf migrate/],
  },
  {
    name: 'a clock that is a minute ahead',
    find: () => plant({}, { now: () => Date.now() + 60_000 }),
    // The time of the database is compared with the middle of the question, which a busy machine may move.
    expected: ['clock', /(59|60)\.\d s \w+ of the database/, /NTP/],
  },
  {
    name: 'a master key that is missing',
    find: () => plant({ DATA_DIR: join(folder, 'empty'), ...sockets }),
    expected: ['master-key', /master\.key is missing/, /Restore master\.key/],
  },
  {
    name: 'the master key of another database',
    find: () => {
      const dataDir = copyOfData('other-master')
      writeFileSync(join(dataDir, 'master.key'), `${Buffer.alloc(32, 7).toString('base64url')}\n`)
      return plant({ DATA_DIR: dataDir, ...sockets })
    },
    expected: ['master-key', /is not the master key/, /copy master\.key/],
  },
  {
    name: 'a master key that others can read',
    find: () => {
      const dataDir = copyOfData('open-master')
      chmodSync(join(dataDir, 'master.key'), 0o644)
      return plant({ DATA_DIR: dataDir, ...sockets })
    },
    expected: ['master-key', /other users can read/, /chmod 600/],
  },
]
const firstColumn = async (): Promise<{ column: string }[]> => {
  const client = new Client({ connectionString: database.url })
  await client.connect()
  const { rows } = await client.query<{ column: string }>(
    `select column_name as "column" from information_schema.columns
     where table_name = 'platform_migrations' order by ordinal_position limit 1`,
  )
  await client.end()
  return rows
}

const listen = async (listener: RequestListener) => {
  const other = createServer(listener)
  after(() => other.close())
  const port = await freePort()
  await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve))
  return { BASE_URL: `http://127.0.0.1:${port}` }
}
/** A proxy in front of the server, which sends this for each client. */
const startProxy = (forwardedFor: string | undefined) =>
  listen((incoming, outgoing) => {
    const headers = {
      'pohf-doctor': String(incoming.headers['pohf-doctor']),
      ...(forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }),
    }
    void fetch(`http://127.0.0.1:${ports.api}${incoming.url ?? ''}`, { headers }).then(async (answer) =>
      outgoing.writeHead(answer.status).end(await answer.text()),
    )
  })
/** A server whose settings lack its proxy. */
const startServer = (report: Readonly<Record<string, unknown>>) =>
  listen((_incoming, outgoing) => outgoing.end(JSON.stringify(report)))

const proxyFindingsOf = async (forwardedFor: string | undefined) =>
  (await plant(await startProxy(forwardedFor))).filter(({ check }) => check === 'proxy')

test('doctor shows what a trusted proxy sends, and which address the service reads', async () => {
  const [portCut] = await proxyFindingsOf('6.6.6.6, 198.51.100.7:5678')
  assert.equal(portCut?.level, 'ok')
  assert.match(
    portCut.note,
    /^127\.0\.0\.1 sends X-Forwarded-For: "6\.6\.6\.6, 198\.51\.100\.7:5678"; .* 198\.51\.100\.7$/,
  )
  const [none] = await proxyFindingsOf(undefined)
  assert.match(none?.note ?? '', /arrive from 127\.0\.0\.1/)
})

const machineFaults: readonly Planted[] = [
  {
    name: 'a proxy that sends no address',
    find: async () => plant(await startProxy('unknown')),
    expected: [
      'proxy',
      /127\.0\.0\.1 sends X-Forwarded-For: "unknown", which has no address/,
      /Let the proxy set/,
    ],
  },
  {
    name: 'a proxy that is not trusted',
    find: async () =>
      plant(await startServer({ peer: '10.0.0.3', forwardedFor: '198.51.100.7', address: '10.0.0.3' })),
    expected: [
      'proxy',
      /"198\.51\.100\.7" and is not trusted: all of its clients count as 10\.0\.0\.3/,
      /Set TRUSTED_PROXIES/,
    ],
  },
  {
    name: 'a server that is not running',
    find: async () => plant({ PORT: String(await freePort()) }),
    expected: ['server', /does not respond/, /npm start/],
  },
  {
    name: 'a port that another program uses',
    find: async () => plant({ PORT: await listenElsewhere() }),
    expected: ['port', /PORT: another program listens/, /Stop it .* or set PORT/],
  },
  {
    name: 'a signer that is away',
    find: () => plant({ SIGNER_SOCKET: join(folder, 'nobody.sock') }),
    expected: ['signer', /nobody\.sock does not answer/, /Start the signer/],
  },
  {
    name: 'the key folder of another deployment',
    find: () => {
      const keysDir = join(copyOfData('other-keys'), 'keys')
      writeFileSync(join(keysDir, 'manifests', 'admission'), `${'A'.repeat(43)}\n`)
      return plant({ KEYS_DIR: keysDir, ...sockets })
    },
    expected: ['key-folder', /belongs to another deployment/, /set KEYS_DIR/],
  },
  {
    name: 'a key folder that is empty',
    find: () => {
      mkdirSync(join(folder, 'no-keys'), { recursive: true })
      return plant({ KEYS_DIR: join(folder, 'no-keys'), ...sockets })
    },
    expected: ['key-folder', /holds no keys/, /restore it from its backup/],
  },
  {
    name: 'a key folder that is gone, with its signer',
    find: () => plant({ KEYS_DIR: join(folder, 'gone'), SIGNER_SOCKET: join(folder, 'nobody.sock') }),
    expected: ['key-folder', /holds no keys/, /restore it from its backup/],
  },
  {
    name: 'a mail server that is away',
    find: () => plant({ SMTP_URL: 'smtp://127.0.0.1:9' }),
    expected: ['mail', /ECONNREFUSED/, /correct SMTP_URL/],
  },
  {
    name: 'no mail server on a public address',
    find: () => plant({ ...publicly, SMTP_URL: '' }),
    expected: ['mail', /wait in the outbox/, /Set SMTP_URL/],
  },
  {
    name: 'a disk that is almost full',
    find: () => plant({}, { freeBytes: () => 100 * 2 ** 20 }),
    expected: ['disk', /0\.1 GiB are free/, /at least 1\.0 GiB/],
  },
  {
    name: 'a certificate of the signer that expires in a week',
    find: async () => plant(await authority.issue('api.example', soon(7))),
    expected: ['certificate', /SIGNER_TLS_CERT .* expires on/, /Renew it/],
  },
  {
    name: 'a public certificate that expires in a week',
    find: async () => {
      const files = await authority.issue('localhost', soon(7))
      const tls = createTlsServer({
        cert: readFileSync(files.SIGNER_TLS_CERT),
        key: readFileSync(files.SIGNER_TLS_KEY),
      })
      after(() => tls.close())
      const port = await freePort()
      await new Promise<void>((resolve) => tls.listen(port, 'localhost', resolve))
      return plant({ BASE_URL: `https://localhost:${port}` })
    },
    expected: ['certificate', /the certificate of https:\/\/localhost:\d+ expires on/, /Renew it/],
  },
  {
    name: 'a chain whose node is away',
    find: () => plant({ EVM_RPC_URLS: '8453=http://127.0.0.1:9' }),
    expected: ['chain', /chain 8453 .* does not answer/, /correct its address/],
  },
]

for (const { name, find, expected } of [...settingFaults, ...databaseFaults, ...machineFaults])
  test(`doctor finds ${name}, and names the fix`, async () => {
    const [check, note, fix] = expected
    const problems = (await find()).filter(({ level }) => level === 'problem')
    const found = problems.filter((finding) => finding.check === check)
    assert.ok(
      found.some((finding) => note.test(finding.note) && fix.test(finding.fix ?? '')),
      JSON.stringify(problems, null, 2),
    )
  })

test('a signer that keeps its folder to itself is no problem', async () => {
  const findings = await plant({ KEYS_DIR: join(folder, 'elsewhere'), ...sockets })
  assert.deepEqual(
    findings.filter(({ check, level }) => check === 'key-folder' || level === 'problem'),
    [],
  )
})

test('every problem and warning has a fix', async () => {
  const faults = await Promise.all([plant(publicly), plant({ DATA_DIR: join(folder, 'empty') })])
  for (const { level, fix, check } of faults.flat())
    if (level !== 'ok') assert.ok(fix !== null && fix.length > 10, check)
})
