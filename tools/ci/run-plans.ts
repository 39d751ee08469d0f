// Runs the tests of the server's modules on databases without statistics that hold 100,000 other agents and months of
// history, reads the plan of every statement, and fails on a scan that grows with them.
import { spawn } from 'node:child_process'
import { globSync, readFileSync, readdirSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { PostgresSource } from '../../packages/server/dev/cluster.ts'
import { permittedScans } from '../../packages/server/test/fixtures/plans/permitted.ts'
import {
  makePlanJudge,
  openPlanCluster,
  type PlanFindings,
} from '../../packages/server/test/fixtures/plans/plans.ts'
import { closingAfter, makeFolder } from '../driver/closing.ts'
import { runProgram, step } from '../driver/program.ts'
import { tableOfRecords } from '../driver/report.ts'
import { sum } from '../driver/rounds.ts'
import { withDatabase } from '../driver/service.ts'

const root = resolve(import.meta.dirname, '../..')
/**
 * Model tests repeat the same statements for minutes; reconciliation reads the whole ledger, many times in its test; the
 * tests of erasure search every row of every table, which takes half an hour here.
 */
const leftOut = ['model.test.ts', 'ledger/reconcile.test.ts', 'erasure.test.ts', 'erasure-waiting.test.ts']
/** The tests that start the server on a database of their own. */
const filesOf = (parts: readonly string[]): readonly string[] =>
  globSync('packages/server/src/**/*.test.ts', { cwd: root })
    .filter(
      (file) =>
        (parts.length === 0 || parts.some((part) => file.includes(part))) &&
        !leftOut.some((name) => file.endsWith(name)),
    )
    .filter((file) => /Harness\(/.test(readFileSync(join(root, file), 'utf8')))
    .toSorted()

const storeFiles = new Set(
  globSync(['packages/server/src/**/store.ts', 'packages/server/src/platform/{db,queue}/*.ts'], {
    cwd: root,
  }).filter((file) => !file.endsWith('.test.ts') && /sql|tx\b/.test(readFileSync(join(root, file), 'utf8'))),
)

type Coverage = {
  readonly result: readonly {
    readonly url: string
    readonly functions: readonly {
      readonly functionName: string
      readonly ranges: readonly { readonly count: number }[]
    }[]
  }[]
}
/** The functions of the stores, and whether they ran, from the coverage that each process of the tests wrote. */
const readCoverage = (folder: string): ReadonlyMap<string, boolean> => {
  const ran = new Map<string, boolean>()
  for (const name of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Coverage
    for (const script of result) {
      if (!script.url.startsWith('file:')) continue
      const file = relative(root, fileURLToPath(script.url))
      if (!storeFiles.has(file)) continue
      for (const { functionName, ranges } of script.functions) {
        if (functionName === '') continue
        const key = `${file} ${functionName}`
        ran.set(key, (ran.get(key) ?? false) || (ranges[0]?.count ?? 0) > 0)
      }
    }
  }
  return ran
}

type Run = PlanFindings & {
  readonly version: string
  readonly functions: ReadonlyMap<string, boolean>
  readonly seconds: number
}

type Size = { readonly agents: number; readonly rows: number }

const run = (source: PostgresSource, size: Size, files: readonly string[]): Promise<Run> =>
  closingAfter(async (defer) => {
    const started = performance.now()
    const cluster = await openPlanCluster(size, source)
    defer(cluster.stop)
    const coverage = makeFolder('coverage', defer)
    const [server] = await withDatabase(
      cluster.url('postgres'),
      async (client) =>
        (
          await client.query<{ version: string }>(
            "select split_part(current_setting('server_version'), ' ', 1) as version",
          )
        ).rows,
    )
    const tests = ['--test', '--test-concurrency=2', '--test-timeout=600000', '--test-reporter=dot', ...files]
    const child = spawn(
      'prlimit',
      // The text of a failed comparison of 20,000 rows took 20 GB; such a test ends at 4 GB.
      [`--data=${4 * 2 ** 30}`, process.execPath, ...tests],
      {
        cwd: root,
        stdio: ['ignore', 'ignore', 'inherit'],
        env: {
          ...process.env,
          POHF_TEST_CLUSTER: cluster.url(''),
          NODE_ENV: 'test',
          NODE_V8_COVERAGE: coverage,
        },
      },
    )
    const { addStatement, findings } = makePlanJudge(cluster.firstColumns)
    while (child.exitCode === null && child.signalCode === null) {
      await setTimeout(2_000)
      await cluster.readStatements(addStatement)
    }
    await cluster.readStatements(addStatement)
    const functions = readCoverage(coverage)
    const seconds = (performance.now() - started) / 1_000
    return { ...findings(), version: server?.version ?? 'unknown', functions, seconds }
  })

const ranOf = ({ functions }: Run): string =>
  `${[...functions.values()].filter(Boolean).length} of ${functions.size}`

await runProgram({
  command: 'battery -- plans',
  title: 'Plans of all statements',
  about:
    "Test files of the server's modules, on databases without statistics (autovacuum is off) with `--agents` other agents, `--rows` rows of others in every other large table, and history in four months or ten days of partitions. The tests are the load: some of them count all rows of a table and fail on such a database, which does not matter here. `auto_explain` reports the plan of every statement, also of those inside SQL functions. A fault is a statement that reads more than 2,500 rows of a table, far more blocks than look-ups of its rows need, or more than four partitions. `--files` takes parts of paths.",
  options: { postgres: '', agents: 100_000, rows: 20_000, files: [] },
  minutes: () => 300,
  run: async ({ postgres, files: parts, ...size }) => {
    const sources: readonly PostgresSource[] =
      postgres === '' ? ['system', 'embedded'] : [postgres === 'embedded' ? 'embedded' : 'system']
    const files = filesOf(parts)
    if (files.length === 0) throw new Error(`no test file contains ${parts.join(' or ')}`)
    const runs: Run[] = []
    for (const source of sources) {
      step(`${files.length} test files on PostgreSQL, ${source}`)
      runs.push(await run(source, size, files))
    }
    const unseen = [...(runs[0]?.functions ?? new Map<string, boolean>())]
      .filter(([name]) => runs.every(({ functions }) => functions.get(name) !== true))
      .map(([name]) => name)
    const shown = runs.map((one) => ({
      PostgreSQL: one.version,
      Statements: one.statements.size,
      Calls: sum([...one.statements.values()]),
      'Functions of stores that ran': ranOf(one),
      'Faults found': one.faults.length,
      Seconds: Math.round(one.seconds),
    }))
    return {
      figures: { files: files.length, runs: shown, unseen: unseen.length },
      tables: [
        tableOfRecords(shown),
        {
          title: 'Scans that are permitted:',
          head: ['Table', 'Reason', 'Seen'],
          rows: permittedScans.map((one) => [
            one.table,
            one.reason,
            runs.some(({ used }) => used.has(one)) ? 'yes' : 'no',
          ]),
        },
        {
          title: 'Functions of stores that these tests did not call:',
          head: ['Function'],
          rows: unseen.map((name) => [`\`${name}\``]),
        },
      ],
      faults: runs.flatMap(({ version, faults }) =>
        faults.map(
          ({ table, fault, nodes, text }) =>
            `PostgreSQL ${version}: ${table} ${fault} (${nodes.join(', ')}): ${text.slice(0, 800)}`,
        ),
      ),
      holds: 'no statement reads rows of other agents or old months',
    }
  },
})
