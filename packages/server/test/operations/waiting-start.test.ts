import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { freePort } from '../../dev/cluster.ts'
import { migrate, readMigrations } from '../../src/platform/db/migrate.ts'
import { makeDatabase } from '../fixtures/harness.ts'
import { pollUntil } from '../fixtures/polling.ts'
import { startMain, type RunningProcess } from '../fixtures/processes/child-processes.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-schema-'))
const { url: databaseUrl, drop } = await makeDatabase('template1')
const port = await freePort()
const environment = {
  DATABASE_URL: databaseUrl,
  DATA_DIR: folder,
  PORT: String(port),
  OPERATOR_PORT: String(await freePort()),
}
/** Processes start slowly on a busy machine. */
const startMs = 120_000
const running: RunningProcess[] = []
const start = (role: string): RunningProcess => {
  const run = startMain([role], environment)
  running.push(run)
  return run
}
after(async () => {
  for (const { child } of running.toReversed()) child.kill('SIGTERM')
  for (const { exited } of running) await exited
  await drop()
  rmSync(folder, { recursive: true, force: true })
})

const get = (path: string): Promise<string> =>
  fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } }).then(
    async (response) => `${response.status} ${await response.text()}`,
    () => '',
  )
const linesOf = (run: RunningProcess, pattern: RegExp) =>
  run
    .out()
    .split('\n')
    .filter((line) => pattern.test(line))
const waits = /schema is not up to date; the start waits for the migrations/
const faults = /"level":(50|60)|background job failed/

test('an api and a worker on a half-migrated schema wait, are not ready, and start when it is whole', async () => {
  const half = readMigrations().slice(0, 20)
  await migrate(databaseUrl, half)
  start('signer')
  const [api, worker] = [start('api'), start('worker')]
  for (const run of [api, worker])
    await pollUntil('it waits', async () => linesOf(run, waits).length > 0, startMs)
  await pollUntil('the api says so', async () => (await get('/readyz')) === '503 starting\n')
  assert.equal(await get('/livez'), '200 alive\n')
  assert.match(await get('/api/events/catalog'), /^503 .*overloaded/)

  await migrate(databaseUrl)
  await pollUntil('the api is ready', async () => (await get('/readyz')) === '200 ready\n', startMs)
  await pollUntil('the worker runs', async () => linesOf(worker, /worker started/).length > 0)
  assert.match(await get('/api/events/catalog'), /^200 /)
  for (const run of [api, worker]) {
    assert.equal(linesOf(run, waits).length, 1, 'it is logged once')
    assert.deepEqual(linesOf(run, faults), [])
  }
})

test('a worker of an older version starts under a newer schema', async () => {
  await migrate(databaseUrl)
  const owner = new Client({ connectionString: databaseUrl })
  await owner.connect()
  await owner.query(
    "insert into platform_migrations (number, name, hash) values (9999, '9999_newer.sql', 'x')",
  )
  await owner.end()
  const worker = start('worker')
  await pollUntil('the worker runs', async () => linesOf(worker, /worker started/).length > 0, startMs)
  assert.deepEqual(linesOf(worker, waits), [])
})
