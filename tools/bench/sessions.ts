import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
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

type Played = {
  readonly chunks: number
  readonly toldToWait: number
  readonly refused: number
  readonly failed: number
  readonly finished: number
  readonly probes: number
  readonly bytesUp: number
  readonly bytesDown: number
  readonly p50: number
  readonly p99: number
  readonly max: number
  readonly cpuMs: number
}
const play = async (parameters: readonly string[]): Promise<Played> => {
  const path = fileURLToPath(new URL('sessions-client.ts', import.meta.url))
  const child = spawn(process.execPath, [path, ...parameters], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.on('data', (part: Buffer) => (text += part.toString()))
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
  if (code !== 0) throw new Error(`sessions-client ended with code ${code}`)
  return JSON.parse(text) as Played
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

/** Pages that are open at the same time, each signing and sending as its receipts ask; nobody answers the probes. */
export const sessions = async () => {
  const { values } = parseArgs({
    args: process.argv.slice(2),
    strict: false,
    options: { sessions: { type: 'string', default: '1000' }, seconds: { type: 'string', default: '60' } },
  })
  const [count, seconds] = [Number(values.sessions), Number(values.seconds)]
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
    const figures = {
      sessions: count,
      seconds,
      chunks: played.chunks,
      chunksPerSecond: round(played.chunks / wallSeconds),
      probes: played.probes,
      finished: played.finished,
      toldToWait: played.toldToWait,
      refused: played.refused,
      failed: played.failed,
      chunkMs: { p50: round(played.p50), p99: round(played.p99), max: round(played.max) },
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
    if (!process.argv.includes('--json')) console.log(figures)
    return figures
  } finally {
    await server.stop()
  }
}
