// Runs the tests on a real PostgreSQL: one private cluster, one migrated template, a database per test file.
// npm test [-- files…]
import { spawn } from 'node:child_process'
import { globSync, rmSync } from 'node:fs'
import { createDatabase, makeClusterFolder, startCluster } from '../../packages/server/dev/cluster.ts'
import { migrate } from '../../packages/server/src/platform/db/migrate.ts'
import { compileCache } from './compile-cache.ts'

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

/**
 * Tests in which somebody answers within seconds, in a real browser whose clock cannot be moved. They run after the
 * others: they wait most of the time, but beside a file that computes, a slow machine makes a person late.
 */
const timed = [
  'packages/arena/test/journey.test.ts',
  'packages/arena/test/work-journey.test.ts',
  'packages/demo/test/demo.test.ts',
  'packages/server/test/verification/ceremony.test.ts',
  'packages/tag/test/check-consent.test.ts',
  'packages/tag/test/check.test.ts',
  'packages/tag/test/states.test.ts',
  'packages/web/test/work-images.test.ts',
  'packages/web/test/work-pointing.test.ts',
  'packages/web/test/work.test.ts',
]
const unknown = timed.filter((file) => !all.includes(file))
if (unknown.length > 0) throw new Error(`tools/ci/test.ts lists what is not there: ${unknown.join(', ')}`)
const groups = [
  chosen.filter((file) => !timed.includes(file)),
  chosen.filter((file) => timed.includes(file)),
].filter((group) => group.length > 0)

const folder = makeClusterFolder('pohf-test-')
const cluster = await startCluster({ folder, settings: { max_connections: '400' } })

/** Node's runner over one group of files; its exit code. */
const run = (group: readonly string[]): Promise<number> => {
  const child = spawn(
    process.execPath,
    // The time limit ends a test that hangs. Beside two busy loops a model test took more than 180 s.
    ['--test', '--test-concurrency=2', '--test-timeout=600000', ...flags, ...group],
    {
      stdio: 'inherit',
      env: {
        ...compileCache,
        ...process.env,
        POHF_TEST_CLUSTER: cluster.url(''),
        NODE_ENV: 'test',
      },
    },
  )
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)))
}

try {
  await migrate(await createDatabase(cluster, 'pohf_template'))
  const codes: number[] = []
  for (const group of groups) codes.push(await run(group))
  process.exitCode = Math.max(...codes)
} finally {
  await cluster.stop()
  rmSync(folder, { recursive: true, force: true })
}
