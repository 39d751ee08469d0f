import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { tableOf } from '../ci/pages/markdown.ts'
import { today, writeReport } from '../report.ts'
import { startServer } from '../../packages/server/test/fixtures/processes/server.ts'

/** Clock ticks a second of /proc; 100 on every Linux that Node runs on. */
const ticksPerSecond = 100

type Process = { readonly parent: number; readonly ticks: number }
const processesOf = (): Map<number, Process> => {
  const found = new Map<number, Process>()
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      // The name in brackets may hold blanks; what follows it does not.
      const rest = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .map(Number)
      const ticks = [11, 12, 13, 14].reduce((sum, field) => sum + (rest[field] ?? 0), 0)
      found.set(Number(name), { parent: rest[1] ?? 0, ticks })
    } catch {
      // It has ended since; whoever waited for it has its time.
    }
  }
  return found
}

/** CPU milliseconds of a process and all below it, those that have ended included. */
const cpuMsOf = (pid: number): number => {
  const processes = processesOf()
  const isBelow = (one: number): boolean => {
    for (let at: number | undefined = one, steps = 0; at !== undefined && steps < 20; steps++) {
      if (at === pid) return true
      at = processes.get(at)?.parent
    }
    return false
  }
  const ticks = [...processes]
    .filter(([one]) => isBelow(one))
    .reduce((sum, [, { ticks: own }]) => sum + own, 0)
  return (ticks * 1_000) / ticksPerSecond
}

type Quantiles = Readonly<Record<'p50' | 'p95' | 'p99' | 'max', number | null>>
type PlayResult = {
  readonly chunks: number
  readonly toldToWait: number
  readonly refused: number
  readonly failed: number
  readonly finished: number
  readonly pending: number
  readonly probes: number
  readonly bytesUp: number
  readonly bytesDown: number
  readonly chunkMs: Quantiles
  readonly chunkDuringFinishesMs: Quantiles
  readonly finishMs: Quantiles
  readonly verdictMs: Quantiles
  readonly cpuMs: number
}
const play = async (parameters: readonly string[]): Promise<PlayResult> => {
  const path = fileURLToPath(new URL('sessions-client.ts', import.meta.url))
  const child = spawn(process.execPath, [path, ...parameters], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.on('data', (part: Buffer) => (text += part.toString()))
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
  if (code !== 0) throw new Error(`sessions-client ended with code ${code}`)
  return JSON.parse(text) as PlayResult
}

const storedBytes = async (
  databaseUrl: string,
): Promise<{ recorded: number; others: number; database: number }> => {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ recorded: string; others: string; database: string }>(`
      select (select sum(pg_total_relation_size(inhrelid)) from pg_inherits where inhparent = 'session_chunks'::regclass) as recorded,
        (select sum(pg_total_relation_size(inhrelid)) from pg_inherits where inhparent = 'sessions'::regclass)
          + pg_total_relation_size('session_keys') + pg_total_relation_size('session_claims') as others,
        pg_database_size(current_database()) as database`)
    const [row] = rows
    return {
      recorded: Number(row?.recorded),
      others: Number(row?.others),
      database: Number(row?.database),
    }
  } finally {
    await client.end()
  }
}

const round = (value: number, digits = 1): number => Number(value.toFixed(digits))
const roundAll = (quantiles: Quantiles): Record<string, number | null> =>
  Object.fromEntries(
    Object.entries(quantiles).map(([name, ms]) => [name, ms === null ? null : Math.round(ms)]),
  )
const msOf = (quantile: number | null): number | null => (quantile === null ? null : Math.round(quantile))

/** Pages that are open at the same time, each signing and sending as its receipts ask; nobody answers the probes. */
const measure = async (count: number, seconds: number) => {
  const server = await startServer()
  try {
    const registered = await fetch(`${server.baseUrl}/api/agents/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Bench', contactEmail: 'bench@example.com', mode: 'live' }),
    })
    const { agentId } = (await registered.json()) as { agentId: string }
    const before = {
      node: cpuMsOf(server.pids.server),
      postgres: cpuMsOf(server.pids.postgres),
      stored: await storedBytes(server.databaseUrl),
    }
    const startedAt = performance.now()
    const played = await play([server.baseUrl, agentId, String(count), String(seconds)])
    const wallSeconds = (performance.now() - startedAt) / 1_000
    const stored = await storedBytes(server.databaseUrl)
    const minutes = (count * seconds) / 60
    const [node, postgres] = [
      cpuMsOf(server.pids.server) - before.node,
      cpuMsOf(server.pids.postgres) - before.postgres,
    ]
    return {
      sessions: count,
      chunkP99Ms: msOf(played.chunkMs.p99),
      finishP99Ms: msOf(played.finishMs.p99),
      verdictP95Ms: msOf(played.verdictMs.p95),
      seconds,
      chunks: played.chunks,
      chunksPerSecond: round(played.chunks / wallSeconds),
      probes: played.probes,
      finished: played.finished,
      pending: played.pending,
      toldToWait: played.toldToWait,
      refused: played.refused,
      failed: played.failed,
      chunkMs: roundAll(played.chunkMs),
      chunkDuringFinishesMs: roundAll(played.chunkDuringFinishesMs),
      finishMs: roundAll(played.finishMs),
      verdictMs: roundAll(played.verdictMs),
      perSessionMinute: {
        cpuMsNode: round(node / minutes),
        cpuMsPostgres: round(postgres / minutes),
        bytesUp: Math.round(played.bytesUp / minutes),
        bytesDown: Math.round(played.bytesDown / minutes),
        bytesRecorded: Math.round((stored.recorded - before.stored.recorded) / minutes),
      },
      bytesKeptForEverPerSession: Math.round((stored.others - before.stored.others) / count),
      coresUsed: {
        node: round(node / wallSeconds / 1_000, 2),
        postgres: round(postgres / wallSeconds / 1_000, 2),
        pages: round(played.cpuMs / wallSeconds / 1_000, 2),
      },
    }
  } finally {
    await server.stop()
  }
}
type SessionsFigures = Awaited<ReturnType<typeof measure>>

const quantilesText = ({ p50, p95, p99, max }: ReturnType<typeof roundAll>): string =>
  [p50, p95, p99, max].join(' / ')

const tableOfRuns = (runs: readonly SessionsFigures[]): string => {
  const rows: readonly (readonly [string, (run: SessionsFigures) => string])[] = [
    ['finished / refused / failed', (run) => [run.finished, run.refused, run.failed].join(' / ')],
    ['told to wait (503), answers `pending`', (run) => `${run.toldToWait}, ${run.pending}`],
    ['chunks, a second', (run) => `${run.chunks.toLocaleString('en')}, ${run.chunksPerSecond}`],
    ['chunk, p50 / p95 / p99 / max ms', (run) => quantilesText(run.chunkMs)],
    ['chunk while sessions end', (run) => quantilesText(run.chunkDuringFinishesMs)],
    ['finish', (run) => quantilesText(run.finishMs)],
    ['verdict', (run) => quantilesText(run.verdictMs)],
    [
      'cores: Node / PostgreSQL / pages',
      ({ coresUsed: { node, postgres, pages } }) => [node, postgres, pages].join(' / '),
    ],
    [
      'minute of a session: CPU ms of Node / PostgreSQL',
      ({ perSessionMinute: { cpuMsNode, cpuMsPostgres } }) => [cpuMsNode, cpuMsPostgres].join(' / '),
    ],
    [
      'minute of a session: bytes sent / received / recorded',
      ({ perSessionMinute: { bytesUp, bytesDown, bytesRecorded } }) =>
        [bytesUp, bytesDown, bytesRecorded].map((bytes) => bytes.toLocaleString('en')).join(' / '),
    ],
  ]
  return tableOf(
    ['', ...runs.map((run) => `${run.sessions.toLocaleString('en')} sessions`)],
    rows.map(([name, read]) => [name, ...runs.map(read)]),
  )
}

const report = (runs: readonly SessionsFigures[], load: number): void => {
  const command = process.argv.slice(2).join(' ')
  writeReport(
    'sessions.md',
    `# Many sessions at once, ${today()}

\`npm run bench -- ${command}\`: a whole server with its own PostgreSQL on ${cpus().length} cores, Node ${process.version}; load average at the start ${load.toFixed(1)}. The
pages are one process on the same cores. They begin within ten seconds, sign and send about 450 bytes of motion a second as their
receipts ask, for ${runs[0]?.seconds} s, and end within ten seconds. Nobody answers the probes, so each page gets three pictures. A time ends with
the answer, after every retry; that of a verdict when it is not \`pending\`.

${tableOfRuns(runs)}

The goals for 1,000 sessions are 500 ms for the slowest hundredth of chunks, 2 s for that of the ends, and a verdict within 1 s for 95 of 100.
`,
  )
}

/** Measures one or several numbers of sessions, such as `--sessions 1000,2000`; the figures of the first come first. */
export const sessions = async () => {
  const { values } = parseArgs({
    args: process.argv.slice(2),
    strict: false,
    options: {
      sessions: { type: 'string', default: '1000' },
      seconds: { type: 'string', default: '60' },
      report: { type: 'boolean', default: false },
    },
  })
  const load = loadavg()[0] ?? NaN
  const runs: SessionsFigures[] = []
  for (const count of String(values.sessions).split(',').map(Number))
    runs.push(await measure(count, Number(values.seconds)))
  if (values.report === true) report(runs, load)
  if (!process.argv.includes('--json')) console.log(tableOfRuns(runs))
  const [first, ...others] = runs
  return { ...first, ...(others.length > 0 ? { others } : {}) }
}
