// Runs the tests of the server's modules on databases without statistics that hold 100,000 other agents and months of
// history, reads the plan of every statement, and fails on a scan that grows with them. The tests are the load: some of
// them count all rows of a table and fail on such a database, which does not matter here.
// npm run battery -- plans [--postgres system|embedded --agents N --rows N --files part-of-a-path … --report]
import { spawn } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import type { PostgresSource } from '../../packages/server/dev/cluster.ts'
import { permittedScans } from '../../packages/server/test/fixtures/plans/permitted.ts'
import {
  makePlanJudge,
  openPlanCluster,
  type PlanFindings,
} from '../../packages/server/test/fixtures/plans/plans.ts'
import { today, writeReport } from '../report.ts'
import { tableOf } from './pages/markdown.ts'

const root = resolve(import.meta.dirname, '../..')
const { values } = parseArgs({
  options: {
    postgres: { type: 'string' },
    agents: { type: 'string', default: '100000' },
    rows: { type: 'string', default: '20000' },
    files: { type: 'string', multiple: true, default: [''] },
    report: { type: 'boolean', default: false },
  },
})
const size = { agents: Number(values.agents), rows: Number(values.rows) }
const sources: readonly PostgresSource[] =
  values.postgres === undefined
    ? ['system', 'embedded']
    : [values.postgres === 'embedded' ? 'embedded' : 'system']

/**
 * Model tests repeat the same statements for minutes; reconciliation reads the whole ledger, many times in its test; the
 * tests of erasure search every row of every table, which takes half an hour here.
 */
const leftOut = ['model.test.ts', 'ledger/reconcile.test.ts', 'erasure.test.ts', 'erasure-waiting.test.ts']
/** The tests that start the server on a database of their own. */
const files = globSync('packages/server/src/**/*.test.ts', { cwd: root })
  .filter(
    (file) =>
      values.files.some((part) => file.includes(part)) && !leftOut.some((name) => file.endsWith(name)),
  )
  .filter((file) => /Harness\(/.test(readFileSync(join(root, file), 'utf8')))
  .toSorted()
if (files.length === 0) throw new Error(`no test file contains ${values.files.join(' or ')}`)

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

const run = async (source: PostgresSource): Promise<Run> => {
  const started = performance.now()
  const cluster = await openPlanCluster(size, source)
  const coverage = mkdtempSync(join(tmpdir(), 'pohf-coverage-'))
  try {
    const client = new Client({ connectionString: cluster.url('postgres') })
    await client.connect()
    const { rows } = await client.query<{ version: string }>(
      "select split_part(current_setting('server_version'), ' ', 1) as version",
    )
    await client.end()
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
    return { ...findings(), version: rows[0]?.version ?? 'unknown', functions, seconds }
  } finally {
    await cluster.stop()
    rmSync(coverage, { recursive: true, force: true })
  }
}

const callsOf = ({ statements }: Run): number =>
  [...statements.values()].reduce((sum, count) => sum + count, 0)
const ranOf = ({ functions }: Run): string =>
  `${[...functions.values()].filter(Boolean).length} of ${functions.size}`

const runs: Run[] = []
for (const source of sources) {
  const one = await run(source)
  runs.push(one)
  for (const { table: name, fault, nodes, text } of one.faults)
    console.log(`PostgreSQL ${one.version}: ${name} ${fault} (${nodes.join(', ')}): ${text.slice(0, 800)}`)
}
const table = tableOf(
  ['PostgreSQL', 'Statements', 'Calls', 'Functions of stores that ran', 'Faults', 'Seconds'],
  runs.map((one) => [
    one.version,
    String(one.statements.size),
    callsOf(one).toLocaleString('en'),
    ranOf(one),
    String(one.faults.length),
    one.seconds.toFixed(0),
  ]),
)
console.log(table)
const unseen = [...(runs[0]?.functions ?? new Map<string, boolean>())]
  .filter(([name]) => runs.every(({ functions }) => functions.get(name) !== true))
  .map(([name]) => name)
if (values.report)
  writeReport(
    'plans.md',
    `# Plans of all statements, ${today()}

\`npm run battery -- plans\`: ${files.length} test files of the server's modules, on databases without statistics (autovacuum is off) with
${size.agents.toLocaleString('en')} other agents, ${size.rows.toLocaleString('en')} rows of others in every other large table, and history in four months or ten
days of partitions. \`auto_explain\` reports the plan of every statement, also of those inside SQL functions. A fault is a
statement that reads more than 2,500 rows of a table, far more blocks than look-ups of its rows need, or more than four
partitions. ${cpus().length} cores, Node ${process.version}.

${table}

## Scans that are permitted

${tableOf(
  ['Table', 'Reason', 'Seen'],
  permittedScans.map((one) => [one.table, one.reason, runs.some(({ used }) => used.has(one)) ? 'yes' : 'no']),
)}

## Functions of stores that these tests did not call

${unseen.length === 0 ? 'None.' : unseen.map((name) => `- \`${name}\``).join('\n')}
`,
  )
if (runs.some(({ faults }) => faults.length > 0)) process.exitCode = 1
