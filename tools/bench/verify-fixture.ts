import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Client } from 'pg'
import { freePort } from '../../packages/server/dev/cluster.ts'
import { fillBackground } from '../../packages/server/test/fixtures/plans/background.ts'
import { cpuOfProcessTree, cpuOfProcess } from '../../packages/server/test/fixtures/processes/cpu.ts'
import { makeFolder, open } from '../driver/closing.ts'
import { starting, step } from '../driver/program.ts'
import { quantile, rounded, sum } from '../driver/rounds.ts'
import { openPostgres, prepareServer, startRole, waitUntilReady, type Role } from '../driver/service.ts'
import { runHttpLoad } from './http-load.ts'
import {
  makeSeeder,
  pgbenchBatchSql,
  pgbenchScript,
  seedSql,
  unlimitedBudgets,
  type NetworkLoad,
} from './verify-seed.ts'

export const agentCount = 100
const warmUpSeconds = 2

/** One run of one side. Rates in verifies per second, CPU in microseconds for each, latencies in milliseconds. */
export type RunFigures = {
  readonly rate: number
  readonly p50: number
  readonly p99: number
  readonly pgCpu: number
  readonly apiCpu: number
  readonly signerCpu: number
}
/** What a table shows of a run. */
export const runColumns = 'Verifies/s,p50 ms,p99 ms,PostgreSQL CPU µs,api CPU µs,signer CPU µs'.split(',')
export const runCells = ({ rate, p50, p99, pgCpu, apiCpu, signerCpu }: RunFigures): number[] =>
  [rate, p50, p99, pgCpu, apiCpu, signerCpu].map((value) => rounded(value))

export const cpuOf = ({ pgCpu, apiCpu, signerCpu }: RunFigures): number => pgCpu + apiCpu + signerCpu

type AgentLoad = 'many' | 'hot'
export type FixtureOptions = {
  /** `absent`: no table was ever analysed, as after a restore. */
  readonly statistics: 'absent' | 'present'
  /** Further agents with keys, accounts and history, which nobody calls. */
  readonly others: number
  /** Settings of each api process; a run names one by its position. */
  readonly apis: readonly Readonly<Record<string, string>>[]
}
type RunOptions = {
  readonly crowd: AgentLoad
  readonly connections: number
  readonly seconds: number
  readonly api?: number
  readonly networks?: NetworkLoad
  /** Seconds of load before the measurement: connections plan their statements again after each analyze. */
  readonly warmUp?: number
}

/** Enough for a machine ten times as fast; what is left over costs nothing. */
const sessionsFor = ({ seconds, connections }: RunOptions) =>
  Math.ceil((seconds + warmUpSeconds) * 9_000) + 200 * connections

/** A private PostgreSQL, the signer and the api processes: no worker, for pgbench has none either. */
export const startServers = (apis: FixtureOptions['apis']) =>
  open(async (defer) => {
    starting('PostgreSQL, a signer and the api')
    const folder = makeFolder('bench', defer)
    // Autovacuum would run at any moment and be counted to the side that runs then.
    const settings = {
      shared_buffers: '256MB',
      max_connections: '400',
      max_wal_size: '4GB',
      autovacuum: 'off',
    }
    const postgres = await openPostgres({ folder, settings })
    defer(postgres.stop)
    const { databaseUrl, env } = await prepareServer(postgres, folder, {
      LOG_LEVEL: 'warn',
      NODE_ENV: 'production',
    })
    const start = (role: Role, settings: Readonly<Record<string, string>>) => {
      const running = startRole(role, { ...env, ...settings }, true)
      defer(() => running.stop())
      return running
    }
    const signer = start('signer', {})
    const ports: number[] = []
    const apiPids: number[] = []
    for (const each of apis) {
      const port = await freePort()
      const own = { PORT: String(port), OPERATOR_PORT: String(await freePort()) }
      apiPids.push(start('api', { ...own, ...each }).pid())
      ports.push(port)
    }
    for (const port of ports) await waitUntilReady(`http://127.0.0.1:${port}`)
    step('the service is ready')
    return { folder, postgres, ports, apiPids, signerPid: signer.pid(), databaseUrl }
  })

export type Servers = Awaited<ReturnType<typeof startServers>>

export const registerAgents = async (port: number): Promise<{ agentId: string; apiKey: string }[]> => {
  const agents: { agentId: string; apiKey: string }[] = []
  for (let n = 0; n < agentCount; n++) {
    const response = await fetch(`http://127.0.0.1:${port}/api/agents/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Bench', contactEmail: `b${n}@bench-${n}.example`, mode: 'live' }),
    })
    agents.push((await response.json()) as { agentId: string; apiKey: string })
  }
  return agents
}

export const cpuOfServers = ({ postgres, apiPids, signerPid }: Servers) => ({
  pg: cpuOfProcessTree(postgres.pid()),
  api: apiPids.map(cpuOfProcess).reduce((sum, one) => sum + one, 0),
  signer: cpuOfProcess(signerPid),
})

const usedSince = (servers: Servers, before: ReturnType<typeof cpuOfServers>) => {
  const after = cpuOfServers(servers)
  return { pg: after.pg - before.pg, api: after.api - before.api, signer: after.signer - before.signer }
}

const countOf = async (client: Client, text: string): Promise<number> =>
  Number((await client.query<{ n: string }>(text)).rows[0]?.n)
const countCredentials = (client: Client) => countOf(client, 'select count(*) as n from credentials')

type Fixture = {
  readonly servers: Servers
  readonly client: Client
  readonly keys: readonly string[]
  readonly agents: readonly string[]
  readonly pgbenchAgents: readonly string[]
  readonly seed: ReturnType<typeof makeSeeder>
}

/** Calls for sessions of its own, ready to be sent. */
const prepareCalls = async ({ servers, keys, agents, seed }: Fixture, options: RunOptions) => {
  const owners = options.crowd === 'many' ? agents : agents.slice(0, 1)
  const prefix = await seed(owners, sessionsFor(options), options.networks)
  let k = -1
  const next = () => {
    k += 1
    const body = `{"sessionId":"${prefix}${k}"}`
    const key = keys[k % owners.length] ?? ''
    return `POST /api/agents/verify HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nauthorization: Bearer ${key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  }
  const port = servers.ports[options.api ?? 0] ?? 0
  return { port, connections: options.connections, next }
}

/** Sends calls for so long. Every one of them must be answered with a credential. */
const runCalls = async (
  { servers, client }: Fixture,
  calls: Awaited<ReturnType<typeof prepareCalls>>,
  seconds: number,
) => {
  const minted = await countCredentials(client)
  const before = cpuOfServers(servers)
  const startedAt = performance.now()
  const load = await runHttpLoad({ ...calls, seconds })
  const took = (performance.now() - startedAt) / 1_000
  const used = usedSince(servers, before)
  const added = (await countCredentials(client)) - minted
  if (load.other > 0 || added !== load.answered)
    throw new Error(`${load.other} calls were refused; ${load.answered} answers, ${added} credentials`)
  return { seconds: took, latencies: load.latencies, ...used }
}
type Slice = Awaited<ReturnType<typeof runCalls>>

const figuresOfSlices = (slices: readonly Slice[]): RunFigures => {
  const latencies = slices.flatMap((slice) => slice.latencies)
  const total = (name: 'seconds' | 'pg' | 'api' | 'signer') => sum(slices.map((slice) => slice[name]))
  const count = latencies.length
  return {
    rate: count / total('seconds'),
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    pgCpu: total('pg') / count,
    apiCpu: total('api') / count,
    signerCpu: total('signer') / count,
  }
}

const measureHttp = async (fixture: Fixture, options: RunOptions): Promise<RunFigures> => {
  const calls = await prepareCalls(fixture, options)
  if (options.warmUp) await runCalls(fixture, calls, options.warmUp)
  return figuresOfSlices([await runCalls(fixture, calls, options.seconds)])
}

/**
 * Two runs in slices of a second, in turns: A B, B A, and so on. The speed of a shared machine changes within seconds, and
 * so both get the same share of it.
 */
const measurePair = async (
  fixture: Fixture,
  pair: readonly [RunOptions, RunOptions],
): Promise<readonly [RunFigures, RunFigures]> => {
  const [a, b] = [await prepareCalls(fixture, pair[0]), await prepareCalls(fixture, pair[1])]
  for (const calls of [a, b]) await runCalls(fixture, calls, pair[0].warmUp ?? 0)
  const slices: readonly [Slice[], Slice[]] = [[], []]
  const runSlice = async (side: 0 | 1) => slices[side].push(await runCalls(fixture, side === 0 ? a : b, 1))
  for (let n = 0; n < pair[0].seconds; n++) {
    const first = n % 2 === 0 ? 0 : 1
    await runSlice(first)
    await runSlice(first === 0 ? 1 : 0)
  }
  return [figuresOfSlices(slices[0]), figuresOfSlices(slices[1])]
}

/** One verify over HTTP: pgbench stores values of the same length. */
const sampleVerify = async ({ servers, client, keys, agents, seed }: Fixture) => {
  const prefix = await seed(agents.slice(0, 1), 1)
  const response = await fetch(`http://127.0.0.1:${servers.ports[0]}/api/agents/verify`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${keys[0]}` },
    body: JSON.stringify({ sessionId: `${prefix}0` }),
  })
  const { pohf_jwt: jwt, vt: _, ...answer } = (await response.json()) as { pohf_jwt: string; vt: string }
  const { rows } = await client.query<{ data: object }>(
    "select data from events where type = 'credential.issued' limit 1",
  )
  return { jwt, answer: JSON.stringify(answer), event: JSON.stringify(rows[0]?.data) }
}
type VerifySample = Awaited<ReturnType<typeof sampleVerify>>

/** Latencies in milliseconds from the logs of pgbench, from a time on in seconds. */
const readLatencies = (logs: string, from: number): number[] =>
  readdirSync(logs)
    .filter((name) => name.startsWith('pgbench_log'))
    .flatMap((name) => readFileSync(join(logs, name), 'utf8').trim().split('\n'))
    .map((line) => line.split(' ').map(Number))
    .filter(([, , , , second = 0, micros = 0]) => second + micros / 1e6 >= from)
    .map(([, , micros = 0]) => micros / 1_000)

/** Runs pgbench to its end on the database of the servers. Its logs are written in `cwd`. */
export const runPgbench = async (
  { postgres, folder }: Servers,
  parameters: readonly string[],
  cwd = folder,
) => {
  const where = ['--host=127.0.0.1', `--port=${postgres.port}`, '--username=postgres']
  const child = spawn('pgbench', ['-nMprepared', ...where, ...parameters, 'pohf'], {
    cwd,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const status = await new Promise((resolve) => child.once('error', resolve).once('exit', resolve))
  if (status !== 0) throw new Error(`pgbench ended with ${String(status)}`)
}

/** Why a bench that compares with pgbench cannot run here. */
export const missingPgbench = (): string | undefined =>
  spawnSync('pgbench', ['--version']).status === 0
    ? undefined
    : 'pgbench is needed: apt-get install postgresql-contrib, or the client package of your system'

const measurePgbench = async (
  { servers, pgbenchAgents, seed }: Fixture,
  sample: VerifySample,
  options: RunOptions,
): Promise<RunFigures> => {
  const owners = options.crowd === 'many' ? pgbenchAgents : pgbenchAgents.slice(0, 1)
  const prefix = await seed(owners, sessionsFor(options), 'reserved')
  const logs = join(servers.folder, prefix)
  mkdirSync(logs)
  const script = join(logs, 'script.sql')
  writeFileSync(script, pgbenchScript(owners.length, options.connections))
  // Numbers of batches that no other run has.
  const firstBatch = 2 + Number(/\d+/.exec(prefix)?.[0]) * 1_000_000_000
  const variables = { i: '-1', prefix, first_batch: String(firstBatch), ...sample }
  const ended = runPgbench(
    servers,
    [
      '-l',
      '--jobs=2',
      `--client=${options.connections}`,
      `--time=${options.seconds + warmUpSeconds}`,
      `--file=${script}`,
      ...Object.entries(variables).flatMap(([name, value]) => ['-D', `${name}=${value}`]),
    ],
    logs,
  )
  // A fresh connection plans every statement once; what it costs then is not what a verify costs.
  await setTimeout(warmUpSeconds * 1_000)
  const before = cpuOfServers(servers)
  const from = Date.now() / 1_000
  await ended
  const seconds = Date.now() / 1_000 - from
  const used = usedSince(servers, before)
  return figuresOfSlices([{ seconds, latencies: readLatencies(logs, from), ...used }])
}

/** What a verify leaves on disk in the tables that it writes, with their indexes, in bytes; dead rows count. */
const bytesPerVerify = async (client: Client): Promise<number> => {
  const bytes = await countOf(
    client,
    `select sum(pg_total_relation_size(c.oid))::bigint as n from pg_class c
      where c.relkind = 'r' and c.relname ~ '^(credential|ledger_|events|outbox)'`,
  )
  return bytes / (await countCredentials(client))
}

/** The servers with agents and credits, ready to be measured. */
export const openVerifyFixture = (
  { statistics, others, apis }: FixtureOptions = {
    statistics: 'present',
    others: 0,
    apis: [unlimitedBudgets],
  },
) =>
  open(async (defer) => {
    const servers = await startServers(apis)
    defer(servers.close)
    step('making agents')
    const client = new Client({ connectionString: servers.databaseUrl })
    await client.connect()
    defer(() => client.end())
    await client.query(`set "pohf.tenant" = 'system'`)
    const registered = await registerAgents(servers.ports[0] ?? 0)
    const keys = registered.map(({ apiKey }) => apiKey)
    const agents = registered.map(({ agentId }) => agentId)
    const pgbenchAgents = agents.map((_, n) => `agt_pgbench${n}`)
    for (const agentId of [...agents, ...pgbenchAgents]) await client.query(seedSql.balances, [agentId])
    if (others > 0)
      await fillBackground(servers.databaseUrl, { agents: others, rows: Math.ceil(others / 20) })
    await client.query(pgbenchBatchSql)
    const seed = makeSeeder(client, statistics)
    const fixture: Fixture = { servers, client, keys, agents, pgbenchAgents, seed }
    const sample = await sampleVerify(fixture)
    return {
      servers,
      agents,
      client,
      measureHttp: (options: RunOptions) => measureHttp(fixture, options),
      measurePair: (pair: readonly [RunOptions, RunOptions]) => measurePair(fixture, pair),
      measurePgbench: (options: RunOptions) => measurePgbench(fixture, sample, options),
      bytesPerVerify: () => bytesPerVerify(client),
    }
  })
export type VerifyFixture = Awaited<ReturnType<typeof openVerifyFixture>>
