// Runs tests on a real PostgreSQL: one private cluster, one migrated template, a database per test file. Files share processes; of
// a whole run, a few files that failed run a second time alone.
// npm test [-- files or folders…] [-- --long] [-- --test-name-pattern PATTERN]
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { makeClusterFolder } from '../../packages/server/dev/cluster.ts'
import { missingBuilds } from './built-pages.ts'
import { compileCache } from './compile-cache.ts'
import { startTestCluster } from './test-cluster.ts'
import { isLong, listTestFiles, resolveTestFiles } from './test-files.ts'
import { filesToRepeat, groupFilesByProcess, timedFiles, writeEntries } from './test-processes.ts'
import { parseTestResults, type TestResult } from './test-results.ts'

const { values, positionals } = parseArgs({
  options: {
    long: { type: 'boolean', default: false },
    'test-name-pattern': { type: 'string', multiple: true, default: [] },
    'test-only': { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const flags = [
  ...values['test-name-pattern'].map((pattern) => `--test-name-pattern=${pattern}`),
  ...(values['test-only'] ? ['--test-only'] : []),
]
if (values.long && positionals.length > 0)
  throw new Error('--long runs all long tests: name files or give --long')
const all = listTestFiles()
const isWhole = positionals.length === 0
const chosen = isWhole
  ? all.filter((file) => isLong(file) === values.long)
  : resolveTestFiles(positionals, all)
if (chosen.length === 0) throw new Error('no test files found')
const missing = missingBuilds(chosen)
if (missing.length > 0) {
  console.error(`${missing.join(', ')}: not built, or built from older sources. Run npm run build first.`)
  process.exit(1)
}

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
const cluster = await startTestCluster(folder)

const temporary = makeTemporaryFolder()
const resultsFile = join(folder, 'results')

type Run = { readonly code: number; readonly results: readonly TestResult[] }

/** Node's runner over lists of files that share a process: its exit code, and what each file did. */
const run = async (lists: readonly (readonly string[])[], concurrency: 1 | 2 | 3): Promise<Run> => {
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
      '--test-reporter=./tools/ci/test-results.ts',
      `--test-reporter-destination=${resultsFile}`,
      ...flags,
      // A pattern would also match the name of a suite around a file.
      ...(flags.length > 0 ? lists.flat() : writeEntries(folder, lists)),
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
  const [code] = await once(child, 'exit')
  return { code: code ?? 1, results: parseTestResults(readFileSync(resultsFile, 'utf8')) }
}

const slowestShown = 15

const countsOf = (results: readonly TestResult[]) => {
  const counts = results.filter((result) => result.file === undefined)
  const sumOf = (key: 'passed' | 'failed' | 'skipped') => counts.reduce((sum, result) => sum + result[key], 0)
  return { passed: sumOf('passed'), failed: sumOf('failed'), skipped: sumOf('skipped') }
}

/** What the run says at its end: the gate shows the last lines. `again` is the second run of files that failed. */
const printSummary = (runs: readonly Run[], repeated: readonly string[], again: Run | undefined): void => {
  const results = runs.flatMap(({ results: each }) => each)
  const files = results
    .filter((result) => result.file !== undefined)
    .toSorted((a, b) => b.seconds - a.seconds)
  if (isWhole) {
    console.log('\nThe slowest files:')
    for (const { file, seconds } of files.slice(0, slowestShown))
      console.log(`${seconds.toFixed(1).padStart(7)} s  ${file}`)
  }
  const left = readdirSync(temporary).filter((name) => name.startsWith('pohf-'))
  if (left.length > 0) console.warn(`LEFT BEHIND in the temporary folder: ${left.join(', ')}`)
  if (again?.code === 0) console.warn(`UNSTEADY: failed once and passed alone: ${repeated.join(', ')}`)
  const { passed, failed, skipped } = countsOf(results)
  const failedAgain = again ? countsOf(again.results).failed : failed
  console.log(`${passed + failed - failedAgain} passed, ${failedAgain} failed, ${skipped} skipped`)
}

try {
  const untimed = groupFilesByProcess(chosen.filter((file) => !timedFiles.includes(file)))
  const timed = chosen.filter((file) => timedFiles.includes(file)).map((file) => [file])
  const runs: Run[] = []
  // With two at once a fifth of two cores was idle. No test of these files has to answer within seconds.
  if (untimed.length > 0) runs.push(await run(untimed, 3))
  if (timed.length > 0) runs.push(await run(timed, 2))
  const repeated = isWhole ? filesToRepeat(all, runs) : []
  const alone = repeated.map((file) => [file])
  if (alone.length > 0) console.log(`\nonce more, alone: ${repeated.join(', ')}`)
  const again = alone.length > 0 ? await run(alone, 1) : undefined
  process.exitCode = again?.code ?? Math.max(...runs.map(({ code }) => code))
  printSummary(runs, repeated, again)
} finally {
  await cluster.stop()
  for (const made of [folder, temporary]) rmSync(made, { recursive: true, force: true })
}
