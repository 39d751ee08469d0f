import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Client } from 'pg'
import {
  demoDatabase,
  demoFolder,
  newDemoDatabase,
  newDemoFolder,
  readDemo,
  renewDemo,
  seedDemo,
} from '../../dev/demo.ts'

const urlOf = (name: string): string => `${process.env['POHF_TEST_CLUSTER']}${name}`
const query = async (database: string, sql: string) => {
  const client = new Client({ connectionString: urlOf(database) })
  await client.connect()
  try {
    return (await client.query<Record<string, string>>(sql)).rows
  } finally {
    await client.end()
  }
}
const baseUrl = 'http://127.0.0.1:3000'

const prepare = async (t: TestContext) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'pohf-dev-demo-'))
  t.after(() => rmSync(dataDir, { recursive: true }))
  for (const name of [demoDatabase, newDemoDatabase])
    await query('postgres', `drop database if exists ${name} with (force)`)
  return { dataDir, baseUrl, urlOf }
}
/** Makes a demo that is known by its name and was complete hours ago. */
const makeNamed = (name: string, hoursAgo: number) => async (folder: string) => {
  await query(newDemoDatabase, `create table made as select '${name}' as name`)
  const seededAt = new Date(Date.now() - hoursAgo * 3_600_000).toISOString()
  writeFileSync(join(folder, 'demo.json'), JSON.stringify({ seededAt, baseUrl, enrolUrl: name }))
}
/** What is used: the database and the folder belong together. */
const readName = async (dataDir: string): Promise<string> => {
  const [row] = await query(demoDatabase, 'select name from made')
  assert.equal(readDemo(demoFolder(dataDir)).enrolUrl, row?.['name'])
  assert.ok(!existsSync(newDemoFolder(dataDir)))
  return row?.['name'] ?? ''
}
const fail = () => Promise.reject(new Error('the disk is full'))

test('a demo is made once a day', async (t) => {
  const installation = await prepare(t)
  assert.deepEqual(await renewDemo(installation, makeNamed('first', 23)), { isNew: true })
  assert.deepEqual(await renewDemo(installation, fail), { isNew: false })
  assert.equal(await readName(installation.dataDir), 'first')
})

test('new demo data that cannot be made lose nothing: the demo from before is used, and replaced by the next', async (t) => {
  const installation = await prepare(t)
  const { dataDir } = installation
  await assert.rejects(renewDemo(installation, fail), /the disk is full/)
  await renewDemo(installation, makeNamed('old', 30))
  const { isNew, fault } = await renewDemo(installation, async () => {
    await query(newDemoDatabase, "create table made as select 'half' as name")
    throw new Error('the disk is full')
  })
  assert.equal(isNew, false)
  assert.match(
    fault ?? '',
    /^new demo data could not be made, so this is the demo of 20\S+Z: the disk is full$/,
  )
  const elsewhere = { ...installation, baseUrl: 'http://127.0.0.1:4000' }
  await assert.rejects(renewDemo(elsewhere, fail), /the disk is full/)
  const [row] = await query(demoDatabase, 'select name from made')
  assert.deepEqual([row?.['name'], readDemo(demoFolder(dataDir)).enrolUrl], ['old', 'old'])
  assert.deepEqual(await renewDemo(installation, makeNamed('new', 0)), { isNew: true })
  assert.equal(await readName(dataDir), 'new')
})

for (const [when, makeState] of [
  ['before the database has its name', 'select 1'],
  ['after the old database is gone', `drop database ${demoDatabase}`],
  [
    'before the folder has its name',
    `drop database ${demoDatabase}; alter database ${newDemoDatabase} rename to ${demoDatabase}`,
  ],
] as const)
  test(`a replacement that was interrupted ${when} is completed by the next start`, async (t) => {
    const installation = await prepare(t)
    await renewDemo(installation, makeNamed('old', 30))
    const folder = newDemoFolder(installation.dataDir)
    await renewDemo(installation, fail)
    await makeNamed('new', 1)(folder)
    for (const statement of makeState.split('; ')) await query('postgres', statement)
    assert.deepEqual(await renewDemo(installation, fail), { isNew: false })
    assert.equal(await readName(installation.dataDir), 'new')
  })

test('a folder that holds something else is not emptied for demo data', async (t) => {
  const installation = await prepare(t)
  const folder = demoFolder(installation.dataDir)
  mkdirSync(folder)
  writeFileSync(join(folder, 'master.key'), 'secret')
  await assert.rejects(renewDemo(installation, fail), /holds something else than demo data/)
  assert.equal(readFileSync(join(folder, 'master.key'), 'utf8'), 'secret')
})

test('demo data that cannot be made are reported with the cause, and the data of npm run dev stay', async (t) => {
  const { dataDir, ...installation } = await prepare(t)
  const files = { 'dev.env': "export POHF_KEY='svc_test_x'\n", 'dev-agent.json': '{}', 'keys/one.json': '{}' }
  mkdirSync(join(dataDir, 'keys'))
  for (const [name, content] of Object.entries(files)) writeFileSync(join(dataDir, name), content)
  const progress = { describe: () => undefined, beforeLine: () => undefined }
  const make = (folder: string) => {
    const environment = {
      DATA_DIR: folder,
      // The database of npm run dev itself: demo data are never written into it.
      DATABASE_URL: 'postgres://postgres@127.0.0.1:1/pohf_dev',
      STRIPE_API_BASE: 'http://127.0.0.1:1',
    }
    return seedDemo({ ...process.env, ...environment }, folder, progress)
  }
  await assert.rejects(
    renewDemo({ dataDir, ...installation }, make),
    /ended with exit code 1\. The last lines that it wrote:\n\n(?:.*\n)*.*demo data is written into pohf_demo_new/,
  )
  for (const [name, content] of Object.entries(files))
    assert.equal(readFileSync(join(dataDir, name), 'utf8'), content, name)
  assert.ok(!existsSync(join(newDemoFolder(dataDir), 'demo.json')))
})
