import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { cpuOfChildren, cpuOfProcess } from '../../packages/server/test/fixtures/processes/cpu.ts'
import { startServer } from '../../packages/server/test/fixtures/processes/server.ts'
import { closingAfter } from '../driver/closing.ts'
import { programOf, starting, step } from '../driver/program.ts'
import type { Table } from '../driver/report.ts'
import { rounded } from '../driver/rounds.ts'
import { withDatabase } from '../driver/service.ts'

/** CPU milliseconds of a process and all below it, those that have ended included. */
const cpuMsOf = (pid: number): number => (cpuOfProcess(pid) + cpuOfChildren(pid, [])) / 1_000

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

const storedBytes = (databaseUrl: string): Promise<{ recorded: number; others: number }> =>
  withDatabase(databaseUrl, async (client) => {
    const { rows } = await client.query<{ recorded: string; others: string }>(`
      select (select sum(pg_total_relation_size(inhrelid)) from pg_inherits where inhparent = 'session_chunks'::regclass) as recorded,
        (select sum(pg_total_relation_size(inhrelid)) from pg_inherits where inhparent = 'sessions'::regclass)
          + pg_total_relation_size('session_keys') + pg_total_relation_size('session_claims') as others`)
    return { recorded: Number(rows[0]?.recorded), others: Number(rows[0]?.others) }
  })

const roundAll = (quantiles: Quantiles): Record<string, number | null> =>
  Object.fromEntries(
    Object.entries(quantiles).map(([name, ms]) => [name, ms === null ? null : Math.round(ms)]),
  )
const msOf = (quantile: number | null): number | null => (quantile === null ? null : Math.round(quantile))

/** Pages that are open at the same time, each signing and sending as its receipts ask; nobody answers the probes. */
const measure = (count: number, seconds: number) =>
  closingAfter(async (defer) => {
    starting('a server')
    const server = await startServer()
    defer(server.stop)
    step(`${count} sessions`)
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
      chunksPerSecond: rounded(played.chunks / wallSeconds),
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
        cpuMsNode: rounded(node / minutes),
        cpuMsPostgres: rounded(postgres / minutes),
        bytesUp: Math.round(played.bytesUp / minutes),
        bytesDown: Math.round(played.bytesDown / minutes),
        bytesRecorded: Math.round((stored.recorded - before.stored.recorded) / minutes),
      },
      bytesKeptForEverPerSession: Math.round((stored.others - before.stored.others) / count),
      coresUsed: {
        node: rounded(node / wallSeconds / 1_000, 2),
        postgres: rounded(postgres / wallSeconds / 1_000, 2),
        pages: rounded(played.cpuMs / wallSeconds / 1_000, 2),
      },
    }
  })
type SessionsFigures = Awaited<ReturnType<typeof measure>>

const quantilesText = ({ p50, p95, p99, max }: ReturnType<typeof roundAll>): string =>
  [p50, p95, p99, max].join(' / ')

const tableOfRuns = (runs: readonly SessionsFigures[]): Table => {
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
  return {
    head: ['', ...runs.map((run) => `${run.sessions.toLocaleString('en')} sessions`)],
    rows: rows.map(([name, read]) => [name, ...runs.map(read)]),
  }
}

/** Measures one or several numbers of sessions, such as `--sessions 1000,2000`; the figures of the first come first. */
export const sessions = programOf({
  command: 'bench -- sessions',
  title: 'Many sessions at once',
  about:
    'A whole server with its own PostgreSQL. The pages are one process on the same cores. They begin within ten seconds, sign and send about 450 bytes of motion a second as their receipts ask, for `--seconds`, and end within ten seconds. Nobody answers the probes, so each page gets three pictures. A time ends with the answer, after every retry; that of a verdict when it is not `pending`. The goals for 1,000 sessions are 500 ms for the slowest hundredth of chunks, 2 s for that of the ends, and a verdict within 1 s for 95 of 100.',
  options: { sessions: ['1000'], seconds: 60 },
  smoke: { sessions: ['5'], seconds: 5 },
  minutes: ({ sessions, seconds }) => 5 + sessions.length * (10 + seconds / 30),
  run: async ({ sessions: counts, seconds }) => {
    const runs: SessionsFigures[] = []
    for (const count of counts) {
      runs.push(await measure(Number(count), seconds))
    }
    const [first, ...others] = runs
    return {
      figures: { ...first, ...(others.length > 0 ? { others } : {}) },
      tables: [tableOfRuns(runs)],
      holds: 'measured',
    }
  },
})
