import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { demoFolder, prepareDemoFolder, seedDemo } from '../../dev/demo.ts'
import { readConfig } from '../../src/platform/ops/config.ts'

test('demo data that cannot be made are reported with the cause, and the data of npm run dev stay', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'pohf-dev-demo-'))
  t.after(() => rmSync(dataDir, { recursive: true }))
  const files = { 'dev.env': "export POHF_KEY='svc_test_x'\n", 'dev-agent.json': '{}', 'keys/one.json': '{}' }
  mkdirSync(join(dataDir, 'keys'))
  for (const [name, content] of Object.entries(files)) writeFileSync(join(dataDir, name), content)
  const folder = demoFolder(dataDir)
  // The database of npm run dev itself: demo data are never written into it.
  const environment = {
    DATA_DIR: folder,
    DATABASE_URL: 'postgres://postgres@127.0.0.1:1/pohf_dev',
    STRIPE_API_BASE: 'http://127.0.0.1:1',
  }
  const config = readConfig(environment)
  assert.equal(prepareDemoFolder(config), true)
  const progress = { describe: () => undefined, beforeLine: () => undefined }
  await assert.rejects(
    seedDemo({ ...process.env, ...environment }, folder, progress),
    /ended with exit code 1\. The last lines that it wrote:\n\n(?:.*\n)*.*demo data is written into pohf_demo/,
  )
  for (const [name, content] of Object.entries(files))
    assert.equal(readFileSync(join(dataDir, name), 'utf8'), content, name)
  assert.ok(!existsSync(join(folder, 'demo.json')))
  assert.equal(prepareDemoFolder(config), true, 'the next start makes them')
})
