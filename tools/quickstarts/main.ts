// A stopwatch for the quick starts: a fresh clone, npm ci, npm run dev, and then the blocks of each page as they stand, by the
// documentation alone. The operator's start is measured on docs/operate/install.md and a fresh PostgreSQL.
// npm run quickstarts [-- --report --case NAME …]
import { readFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { missingPostgres, startFreshPostgres } from '../../packages/server/test/docs/fresh-postgres.ts'
import { runPage } from '../../packages/server/test/docs/run-page.ts'
import { tableOf } from '../ci/pages/markdown.ts'
import { today, writeReport } from '../report.ts'
import { cases, commandsOf, pageUntil, withoutInstallation, type Case } from './cases.ts'
import { playWorker } from './play-worker.ts'
import { install, makeClone, startDev, type Clone } from './clone.ts'

const { values } = parseArgs({
  options: { report: { type: 'boolean', default: false }, case: { type: 'string', multiple: true } },
})
const isChosen = (name: string): boolean => values.case === undefined || values.case.includes(name)

type CaseMeasurement = Pick<Case, 'name' | 'result' | 'limitSeconds' | 'limitCommands'> & {
  readonly seconds: number
  readonly commands: number
}
type Installation = { readonly ciSeconds: number; readonly devSeconds: number }

const secondsOf = (times: Awaited<ReturnType<typeof runPage>>['times']): number =>
  (times.at(-1)?.at ?? Number.NaN) - (times[0]?.at ?? Number.NaN)

const measure = async (
  one: Case,
  clone: Clone,
  { ciSeconds, devSeconds }: Installation,
): Promise<CaseMeasurement> => {
  const text = readFileSync(join(clone.folder, one.page), 'utf8')
  const page = pageUntil(withoutInstallation(text), one.lastBlock)
  const { times } = await runPage(page, {
    clone: clone.folder,
    ports: clone.ports,
    environment: clone.environment,
    timeoutMs: 300_000,
  })
  const played = one.isPlayed ? await playWorker(clone.folder) : 0
  const before = one.withInstallation ? ciSeconds + devSeconds : 0
  const commands = commandsOf(page) + (one.withInstallation ? 2 : 0)
  const { name, result, limitSeconds, limitCommands } = one
  return {
    name,
    result: played === undefined ? `${result}: not played, no Chromium` : result,
    seconds: before + secondsOf(times) + (played ?? 0),
    commands,
    ...(limitSeconds === undefined ? {} : { limitSeconds }),
    ...(limitCommands === undefined ? {} : { limitCommands }),
  }
}

/** The installation page from `npm ci` to a service that is ready, on a clone of its own. */
const measureOperator = async (): Promise<CaseMeasurement> => {
  const source = missingPostgres('system') === undefined ? 'system' : 'embedded'
  const missing = missingPostgres(source)
  if (missing !== undefined) throw new Error(missing)
  const clone = await makeClone()
  const postgres = await startFreshPostgres(source)
  try {
    const page = pageUntil(readFileSync(join(clone.folder, 'docs/operate/install.md'), 'utf8'), '/readyz')
    const { PORT: _, OPERATOR_PORT: __, ...environment } = clone.environment
    const { times } = await runPage(page, {
      clone: clone.folder,
      ports: { ...clone.ports, 5432: postgres.port },
      environment: { ...environment, ...postgres.administrator },
      timeoutMs: 600_000,
    })
    const result = 'production start: the service is ready'
    return { name: 'operator', result, seconds: secondsOf(times), commands: commandsOf(page) }
  } finally {
    await postgres.stop()
    clone.remove()
  }
}

const measureCases = async (): Promise<{ installation: Installation; measured: CaseMeasurement[] }> => {
  const clone = await makeClone()
  try {
    const ciSeconds = install(clone)
    const dev = await startDev(clone)
    try {
      const installation = { ciSeconds, devSeconds: dev.seconds }
      const measured: CaseMeasurement[] = []
      for (const one of cases.filter(({ name }) => isChosen(name))) {
        measured.push(await measure(one, clone, installation))
        console.log(`✓ ${one.name}`)
      }
      return { installation, measured }
    } finally {
      await dev.stop()
    }
  } finally {
    clone.remove()
  }
}

const isOver = ({
  seconds,
  limitSeconds = Infinity,
  commands,
  limitCommands = Infinity,
}: CaseMeasurement): boolean => seconds > limitSeconds || commands > limitCommands
const limited = (value: string, max: number | undefined): string =>
  max === undefined ? value : `${value} (at most ${max})`

const { installation, measured } = await measureCases()
if (isChosen('operator')) measured.push(await measureOperator())
const table = tableOf(
  ['Reader', 'Result', 'Commands', 'Seconds'],
  measured.map(({ name, result, commands, limitCommands, seconds, limitSeconds }) => [
    name,
    result,
    limited(String(commands), limitCommands),
    limited(seconds.toFixed(1), limitSeconds),
  ]),
)
console.log(table)
if (values.report)
  writeReport(
    'quickstarts.md',
    `# The quick starts by the stopwatch, ${today()}

Question: how long does a reader need who pastes the blocks of a [quick start](../quickstart/README.md) into a fresh clone?

Command: \`npm run quickstarts -- --report\`. It clones the repository, runs \`npm ci\` with an empty home folder and an empty npm cache
(${installation.ciSeconds.toFixed(1)} s), \`npm run dev\` until it is ready (${installation.devSeconds.toFixed(1)} s), and then the blocks of each page up to its result.
${cpus().length} cores; average load of the last five minutes ${loadavg()[1]?.toFixed(1)}; the processes ran with the priority of the caller.

${table}

The rows of developer, site owner and builder of agents with a tool contain \`npm ci\` and \`npm run dev\`; the operator's row contains \`npm ci\`, \`npm run build\`, the
database and the start, on a clone of its own; the others begin with the service running. A command is what a reader pastes as one line or
one block that continues. The time to read is not in it, nor the installation of Node, PostgreSQL, \`curl\` and \`jq\`. In the row of the
site owner a script plays the visitor. In the row of the worker a program drives a headless browser by keys: it enrols, passes the
attention check and does the unit; a person reads more slowly.
`,
  )
const over = measured.filter(isOver)
for (const { name } of over) console.error(`✗ ${name} is over its limit`)
if (over.length > 0) process.exitCode = 1
