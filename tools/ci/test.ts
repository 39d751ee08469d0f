// Runs the tests on a real PostgreSQL: one private cluster, one migrated template, a database per test file.
// A file named on the command line runs in a process of its own; of all files, short ones share processes, and a few that failed
// run a second time alone (0437).
// npm test [-- files…]
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, globSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDatabase, makeClusterFolder, startCluster } from '../../packages/server/dev/cluster.ts'
import { migrate } from '../../packages/server/src/platform/db/migrate.ts'
import { compileCache } from './compile-cache.ts'
import { filesToRepeat, groupFilesByProcess, writeEntries } from './test-processes.ts'

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
  'packages/tag/test/compat.test.ts',
  'packages/tag/test/states.test.ts',
  'packages/web/test/approve-safety.test.ts',
  'packages/web/test/approve.test.ts',
  'packages/web/test/ask-human.test.ts',
  'packages/web/test/website.test.ts',
  'packages/web/test/work-images.test.ts',
  'packages/web/test/work-pointing.test.ts',
  'packages/web/test/work.test.ts',
]
const unknown = timed.filter((file) => !all.includes(file))
if (unknown.length > 0) throw new Error(`tools/ci/test.ts lists what is not there: ${unknown.join(', ')}`)

/** Some systems mount their memory without the right to run programs, and some tests write programs. */
const runsPrograms = (place: string): boolean => {
  const program = join(place, 'program')
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
  const { status } = spawnSync(program)
  rmSync(program)
  return status === 0
}

/**
 * The folder for what tests write, in memory where there is room: a signer waits for the disk at each signature, which was a
 * tenth of the time of some files. Other users may enter it: a test may run PostgreSQL there.
 */
const makeTemporaryFolder = (): string => {
  const inMemory = makeClusterFolder('pohf-tmp-')
  const isUsable = runsPrograms(inMemory)
  if (!isUsable) rmSync(inMemory, { recursive: true })
  const place = isUsable ? inMemory : mkdtempSync(join(tmpdir(), 'pohf-tmp-'))
  chmodSync(place, 0o755)
  return place
}

const folder = makeClusterFolder('pohf-test-')
// The connections of the service have jit off themselves; those of the tests' owner compile statements that run once.
const cluster = await startCluster({ folder, settings: { max_connections: '400', jit: 'off' } })

const temporary = makeTemporaryFolder()
const failedList = join(folder, 'failed-files')

type Result = { readonly code: number; readonly failed: readonly string[] }

/** Node's runner over one group of files; its exit code, and the files of the tests that failed. */
const run = async (group: readonly string[], concurrency: 1 | 2 | 3): Promise<Result> => {
  const child = spawn(
    process.execPath,
    [
      // The young generation begins at its largest: while a process loads the server, it would be collected again and again,
      // which takes 100 ms of CPU.
      '--min-semi-space-size=16',
      '--test',
      `--test-concurrency=${concurrency}`,
      // The time limit ends a test that hangs. It applies to a process as well: on a machine with a load of 15, eight files with
      // a browser took 6 minutes.
      '--test-timeout=1200000',
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      '--test-reporter=./tools/ci/failed-files.ts',
      `--test-reporter-destination=${failedList}`,
      ...flags,
      ...group,
    ],
    {
      stdio: 'inherit',
      env: {
        ...compileCache,
        ...process.env,
        POHF_TEST_CLUSTER: cluster.url(''),
        POHF_TEST_FOLDER: folder,
        TMPDIR: temporary,
        NODE_ENV: 'test',
      },
    },
  )
  const code = await new Promise<number>((resolve) => child.once('exit', (exit) => resolve(exit ?? 1)))
  return { code, failed: readFileSync(failedList, 'utf8').split('\n').filter(Boolean) }
}

try {
  await migrate(await createDatabase(cluster, 'pohf_template'))
  const entriesOf = (lists: readonly (readonly string[])[]): string[] =>
    files.length > 0 ? lists.flat() : writeEntries(folder, lists)
  const untimed = entriesOf(groupFilesByProcess(chosen.filter((file) => !timed.includes(file))))
  const results: Result[] = []
  // With two at once a fifth of two cores was idle. No test of these files has to answer within seconds.
  if (untimed.length > 0) results.push(await run(untimed, 3))
  const chosenTimed = entriesOf(chosen.filter((file) => timed.includes(file)).map((file) => [file]))
  if (chosenTimed.length > 0) results.push(await run(chosenTimed, 2))
  const repeated = files.length > 0 ? [] : filesToRepeat(all, results)
  if (repeated.length > 0) {
    console.log(`\nonce more, alone: ${repeated.join(', ')}`)
    const { code } = await run(repeated, 1)
    if (code === 0) console.warn(`\nUNSTEADY: failed once and passed alone: ${repeated.join(', ')}`)
    process.exitCode = code
  } else process.exitCode = Math.max(...results.map(({ code }) => code))
  const left = readdirSync(temporary).filter((name) => name.startsWith('pohf-'))
  if (left.length > 0) console.warn(`\nLEFT BEHIND in the temporary folder: ${left.join(', ')}`)
} finally {
  await cluster.stop()
  for (const made of [folder, temporary]) rmSync(made, { recursive: true, force: true })
}
