// Runs the tests on a real PostgreSQL: one private cluster, one migrated template, a database per test file.
// npm test [-- files…]
import { spawn } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDatabase, startCluster } from '../../packages/server/dev/cluster.ts'
import { migrate } from '../../packages/server/src/platform/db/migrate.ts'
import { makeStoredFolder, storedFaults, storedTests } from './golden/stored.ts'

const cliArguments = process.argv.slice(2)
const files = cliArguments.filter((argument) => !argument.startsWith('-'))
const flags = cliArguments.filter((argument) => argument.startsWith('-'))
const all = globSync([
  'packages/*/{src,test}/**/*.test.ts',
  'conformance/src/**/*.test.ts',
  'tools/**/*.test.ts',
]).toSorted()
const chosen = files.length > 0 ? files : all
if (chosen.length === 0) throw new Error('no test files found')
const lost = storedTests.filter((file) => !all.includes(file))
if (files.length === 0 && lost.length > 0)
  throw new Error(`tools/ci/golden/stored.ts lists what is not there: ${lost.join(', ')}`)

const folder = mkdtempSync(join(tmpdir(), 'pohf-test-'))
/** Where tests leave the names of what they stored. It is set from outside where the golden file is written. */
const isWriting = process.env['POHF_STORED_NAMES'] !== undefined
const storedFolder = process.env['POHF_STORED_NAMES'] ?? makeStoredFolder()
const cluster = await startCluster({ folder, settings: { max_connections: '400' } })
try {
  await migrate(await createDatabase(cluster, 'pohf_template'))
  const child = spawn(
    process.execPath,
    ['--test', '--test-concurrency=2', '--test-timeout=180000', ...flags, ...chosen],
    {
      stdio: 'inherit',
      env: {
        ...process.env,
        POHF_TEST_CLUSTER: cluster.url(''),
        POHF_STORED_NAMES: storedFolder,
        NODE_ENV: 'test',
      },
    },
  )
  process.exitCode = await new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? 1)))
  const faults = isWriting || process.exitCode !== 0 ? [] : storedFaults(storedFolder, chosen)
  if (faults.length > 0) {
    console.error(
      `Names that were never stored before:\n    ${faults.join('\n    ')}\nA renamed property of a stored document needs its old name in the database. Where it is new, run npm run golden -- --stored and commit the result.`,
    )
    process.exitCode = 1
  }
} finally {
  await cluster.stop()
  if (!isWriting) rmSync(storedFolder, { recursive: true, force: true })
  rmSync(folder, { recursive: true, force: true })
}
