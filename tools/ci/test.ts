// Runs the tests on a real PostgreSQL: one private cluster, one migrated template, a database per test file.
// npm test [-- files…]
import { spawn } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDatabase, startCluster } from '../../packages/server/dev/cluster.ts'
import { migrate } from '../../packages/server/src/platform/db/migrate.ts'

const given = process.argv.slice(2)
const files = given.filter((argument) => !argument.startsWith('-'))
const flags = given.filter((argument) => argument.startsWith('-'))
const all = globSync([
  'packages/*/{src,test}/**/*.test.ts',
  'conformance/src/**/*.test.ts',
  'tools/**/*.test.ts',
]).toSorted()
const chosen = files.length > 0 ? files : all
if (chosen.length === 0) throw new Error('no test files found')

const folder = mkdtempSync(join(tmpdir(), 'pohf-test-'))
const cluster = await startCluster({ folder, settings: { max_connections: '400' } })
try {
  await migrate(await createDatabase(cluster, 'pohf_template'))
  const child = spawn(
    process.execPath,
    ['--test', '--test-concurrency=2', '--test-timeout=180000', ...flags, ...chosen],
    {
      stdio: 'inherit',
      env: { ...process.env, POHF_TEST_CLUSTER: cluster.url(''), NODE_ENV: 'test' },
    },
  )
  process.exitCode = await new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? 1)))
} finally {
  await cluster.stop()
  rmSync(folder, { recursive: true, force: true })
}
