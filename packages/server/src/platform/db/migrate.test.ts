import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Client } from 'pg'
import { startNode } from '../../../test/fixtures/processes/child-processes.ts'
import { makeDatabase } from '../../../test/fixtures/harness.ts'
import { dumpSchema } from '../../../test/architecture/schema-dump.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import { migrate, readMigrations } from './migrate.ts'

const ours = readMigrations()
const lastNumber = ours.length
const migrated = await makeDatabase()
const reference = await dumpSchema(migrated.url)
await migrated.drop()

const emptyDatabase = async (t: TestContext): Promise<string> => {
  const { url, drop } = await makeDatabase('template1')
  t.after(drop)
  return url
}

const query = async (url: string, text: string): Promise<Record<string, unknown>[]> => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}
const appliedIn = async (url: string) =>
  (await query(url, 'select number from platform_migrations order by 1')).map((row) => row['number'])
const hasTable = async (url: string, name: string) =>
  (await query(url, `select to_regclass('${name}') is not null as found`))[0]?.['found']

/** Our migrations with further ones after them, as files. */
const folderWith = (t: TestContext, further: Record<string, string>): URL => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-migrations-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(new URL('../../../migrations/', import.meta.url), folder, { recursive: true })
  for (const [name, text] of Object.entries(further)) writeFileSync(join(folder, name), text)
  return pathToFileURL(`${folder}/`)
}
const numbered = (offset: number, name: string) =>
  `${String(lastNumber + offset).padStart(4, '0')}_${name}.sql`

test('a new database from template1 is empty, and the dump tells an empty schema from ours', async (t) => {
  const dump = await dumpSchema(await emptyDatabase(t))
  for (const [name, rows] of Object.entries(dump))
    assert.deepEqual(rows, name === 'migrations' ? [{ made: false }] : [], name)
  assert.ok(reference.columns.length > 50 && reference.policies.length > 5 && reference.routines.length > 5)
})

test('a dump counts partitions, so that schemas of two days are equal', async (t) => {
  const { url, drop } = await makeDatabase()
  t.after(drop)
  const [{ first } = {}] = await query(
    url,
    "select min(inhrelid::regclass::text) as first from pg_inherits where inhparent = 'request_log'::regclass",
  )
  await query(url, `drop table ${String(first)}`)
  const partitionsOf = async () => (await dumpSchema(url)).partitions
  assert.notDeepEqual(await partitionsOf(), reference.partitions)
  await query(
    url,
    "create table request_log_of_a_later_day partition of request_log for values from ('2999-01-01') to ('2999-01-02')",
  )
  assert.deepEqual(await dumpSchema(url), reference)
})

test('two migrations at once on an empty database both succeed and make one schema', async (t) => {
  const url = await emptyDatabase(t)
  const runs = await Promise.all([migrate(url), migrate(url)])
  // One did all of it and the other, having waited, found nothing to do.
  assert.deepEqual(
    runs.map((names) => names.length).toSorted((a, b) => a - b),
    [0, lastNumber],
  )
  assert.deepEqual(await dumpSchema(url), reference)
  assert.deepEqual(await migrate(url), [])
  assert.deepEqual(
    await appliedIn(url),
    ours.map((migration) => migration.number),
  )
})

test('eight migrations at once, in as many processes, make one schema', async (t) => {
  const url = await emptyDatabase(t)
  const program = `import { migrate } from ${JSON.stringify(new URL('migrate.ts', import.meta.url).href)}
    await migrate(${JSON.stringify(url)})`
  const runs = Array.from({ length: 8 }, () => startNode(['--input-type=module', '-e', program], {}))
  for (const run of runs) assert.equal(await run.exited, 0, run.errors())
  assert.deepEqual(await dumpSchema(url), reference)
})

test('databases of one cluster migrate at once, though they share the role', async (t) => {
  const urls = await Promise.all([1, 2, 3, 4].map(() => emptyDatabase(t)))
  await Promise.all(urls.map((url) => migrate(url)))
  for (const url of urls) assert.deepEqual(await dumpSchema(url), reference)
})

/** Holds an advisory lock that a migration waits for, until it is released. */
const holdLock = async (url: string) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('select pg_advisory_lock(1)')
  return { release: () => client.end() }
}

test('a process killed in the middle of a migration leaves nothing of it, and the next run completes', async (t) => {
  const url = await emptyDatabase(t)
  const folder = folderWith(t, {
    [numbered(1, 'slow')]:
      'create table slow_a (n int); set local lock_timeout = 0; select pg_advisory_xact_lock(1); create table slow_b (n int);',
    [numbered(2, 'after')]: 'create table after_slow (n int);',
  })
  const program = `import { migrate, readMigrations } from ${JSON.stringify(new URL('migrate.ts', import.meta.url).href)}
    await migrate(${JSON.stringify(url)}, readMigrations(new URL(${JSON.stringify(folder.href)})))`
  const lock = await holdLock(url)
  const run = startNode(['--input-type=module', '-e', program], {})
  await pollUntil('the migration waits for the lock', async () => {
    const rows = await query(
      url,
      "select pid from pg_stat_activity where datname = current_database() and wait_event = 'advisory'",
    )
    return rows.length === 1
  })
  run.child.kill('SIGKILL')
  assert.equal(await run.exited, 'SIGKILL')
  assert.equal(await hasTable(url, 'slow_a'), false)
  assert.deepEqual((await appliedIn(url)).length, lastNumber)

  await lock.release()
  assert.deepEqual(await migrate(url, readMigrations(folder)), [numbered(1, 'slow'), numbered(2, 'after')])
  for (const name of ['slow_a', 'slow_b', 'after_slow']) assert.equal(await hasTable(url, name), true, name)
  assert.equal((await appliedIn(url)).length, lastNumber + 2)
})

test('a migration that fails is undone whole, names itself, and runs once it is mended', async (t) => {
  const url = await emptyDatabase(t)
  const name = numbered(1, 'broken')
  const broken = readMigrations(folderWith(t, { [name]: 'create table half (n int); select 1 / 0;' }))
  await assert.rejects(migrate(url, broken), new RegExp(`migration ${name} failed: division by zero`))
  assert.equal(await hasTable(url, 'half'), false)
  assert.deepEqual((await appliedIn(url)).length, lastNumber)
  const mended = readMigrations(folderWith(t, { [name]: 'create table half (n int);' }))
  assert.deepEqual(await migrate(url, mended), [name])
  assert.equal(await hasTable(url, 'half'), true)
})

test('a migration that was changed after it ran is refused, and nothing else is applied', async (t) => {
  const url = await emptyDatabase(t)
  const first = numbered(1, 'first')
  await migrate(url, readMigrations(folderWith(t, { [first]: 'create table first (n int);' })))
  const changed = folderWith(t, {
    [first]: 'create table first (n bigint);',
    [numbered(2, 'second')]: 'create table second (n int);',
  })
  await assert.rejects(migrate(url, readMigrations(changed)), new RegExp(`${first} was changed after it ran`))
  assert.equal(await hasTable(url, 'second'), false)
})

test('older code runs on a newer schema and leaves the newer objects alone', async (t) => {
  const url = await emptyDatabase(t)
  await migrate(url, readMigrations(folderWith(t, { [numbered(1, 'newer')]: 'create table newer (n int);' })))
  assert.deepEqual(await migrate(url), [])
  assert.equal(await hasTable(url, 'newer'), true)
})

test('a gap, a double number or a strange name among the files is refused', (t) => {
  for (const names of [
    [numbered(2, 'gap')],
    [numbered(1, 'a'), numbered(1, 'b')],
    [numbered(1, 'Upper')],
    ['5_short.sql'],
    [`${numbered(1, 'x').replace('.sql', '')}-dash.sql`],
  ]) {
    const folder = folderWith(t, Object.fromEntries(names.map((name) => [name, 'select 1'])))
    assert.throws(() => readMigrations(folder), /out of order/, names.join())
  }
  assert.equal(readMigrations(folderWith(t, { 'README.md': 'x' })).length, lastNumber)
})
