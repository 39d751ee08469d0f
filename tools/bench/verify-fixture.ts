import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { createDatabase, freePort, startCluster } from '../../packages/server/dev/cluster.ts'
import {
  waitForExit,
  runToEnd,
  waitUntilReady,
} from '../../packages/server/test/fixtures/processes/restarts.ts'
import { fillBackground } from '../../packages/server/test/fixtures/plans/background.ts'
import { cpuOfProcessTree, cpuOfProcess } from '../../packages/server/test/fixtures/processes/cpu.ts'
import { runHttpLoad } from './http-load.ts'
import {
  makeSeeder,
  pgbenchBatchSql,
  pgbenchScript,
  seedSql,
  unlimitedBudgets,
  type NetworkLoad,
} from './verify-seed.ts'

const main = fileURLToPath(new URL('../../packages/server/src/main.ts', import.meta.url))
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

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? NaN

/** Enough for a machine ten times as fast; what is left over costs nothing. */
const sessionsFor = ({ seconds, connections }: RunOptions) =>
  Math.ceil((seconds + warmUpSeconds) * 9_000) + 200 * connections

/** A private PostgreSQL, the signer and the api processes: no worker, for pgbench has none either. */
export const startServers = async (apis: FixtureOptions['apis']) => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-bench-'))
  // Autovacuum would run at any moment and be counted to the side that runs then.
  const settings = {
    shared_buffers: '256MB',
    max_connections: '400',
    max_wal_size: '4GB',
    autovacuum: 'off',
  }
  const cluster = await startCluster({ folder, settings })
  const children: ChildProcess[] = []
  const close = async () => {
    for (const child of children) {
      child.kill('SIGTERM')
      await waitForExit(child)
    }
    await cluster.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const env = {
      ...process.env,
      DATABASE_URL: await createDatabase(cluster, 'pohf'),
      DATA_DIR: join(folder, 'secrets'),
      KEY_LIMIT_PER_MINUTE: '10000000',
      LOG_LEVEL: 'warn',
      NODE_ENV: 'production',
    }
    await runToEnd([main, 'migrate'], env)
    const ports: number[] = []
    const start = async (role: string, settings: Readonly<Record<string, string>>): Promise<void> => {
      const port = await freePort()
      const ofRole = { ...env, PORT: String(port), OPERATOR_PORT: String(await freePort()), ...settings }
      children.push(
        spawn(process.execPath, [main, role], { env: ofRole, stdio: ['ignore', 'ignore', 'inherit'] }),
      )
      if (role === 'api') ports.push(port)
    }
    await start('signer', {})
    for (const settings of apis) await start('api', settings)
    for (const port of ports) await waitUntilReady(`http://127.0.0.1:${port}`)
    const [signerPid = 0, ...apiPids] = children.map((child) => child.pid ?? 0)
    return { folder, cluster, ports, apiPids, signerPid, databaseUrl: env.DATABASE_URL, close }
  } catch (error) {
    await close()
    throw error
  }
}

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

export const cpuOfServers = ({ cluster, apiPids, signerPid }: Servers) => ({
  pg: cpuOfProcessTree(cluster.process.pid ?? 0),
  api: apiPids.map(cpuOfProcess).reduce((sum, one) => sum + one, 0),
  signer: cpuOfProcess(signerPid),
})

const figuresOf = (
  servers: Servers,
  before: ReturnType<typeof cpuOfServers>,
  seconds: number,
  latencies: readonly number[],
): RunFigures => {
  const after = cpuOfServers(servers)
  const count = latencies.length
  const used = (name: keyof typeof before) => (after[name] - before[name]) / count
  return {
    rate: count / seconds,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    pgCpu: used('pg'),
    apiCpu: used('api'),
    signerCpu: used('signer'),
  }
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
  const after = cpuOfServers(servers)
  const added = (await countCredentials(client)) - minted
  if (load.other > 0 || added !== load.answered)
    throw new Error(`${load.other} calls were refused; ${load.answered} answers, ${added} credentials`)
  const used = (name: keyof typeof before) => after[name] - before[name]
  return {
    seconds: took,
    latencies: load.latencies,
    pg: used('pg'),
    api: used('api'),
    signer: used('signer'),
  }
}
type Slice = Awaited<ReturnType<typeof runCalls>>

const figuresOfSlices = (slices: readonly Slice[]): RunFigures => {
  const latencies = slices.flatMap((slice) => slice.latencies)
  const sum = (name: 'seconds' | 'pg' | 'api' | 'signer') =>
    slices.reduce((total, slice) => total + slice[name], 0)
  const count = latencies.length
  return {
    rate: count / sum('seconds'),
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    pgCpu: sum('pg') / count,
    apiCpu: sum('api') / count,
    signerCpu: sum('signer') / count,
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
  const child = spawn(
    'pgbench',
    [
      '-nlMprepared',
      '--host=127.0.0.1',
      `--port=${servers.cluster.port}`,
      '--username=postgres',
      `--client=${options.connections}`,
      '--jobs=2',
      `--time=${options.seconds + warmUpSeconds}`,
      `--file=${script}`,
      ...Object.entries(variables).flatMap(([name, value]) => ['-D', `${name}=${value}`]),
      'pohf',
    ],
    { cwd: logs, stdio: ['ignore', 'ignore', 'inherit'] },
  )
  const ended = new Promise((resolve) => child.once('exit', resolve))
  // A fresh connection plans every statement once; what it costs then is not what a verify costs.
  await setTimeout(warmUpSeconds * 1_000)
  const before = cpuOfServers(servers)
  const from = Date.now() / 1_000
  const status = await ended
  const seconds = Date.now() / 1_000 - from
  if (status !== 0) throw new Error(`pgbench ended with ${String(status)}`)
  return figuresOf(servers, before, seconds, readLatencies(logs, from))
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

const seedFixture = async (servers: Servers, { statistics, others }: FixtureOptions) => {
  const client = new Client({ connectionString: servers.databaseUrl })
  await client.connect()
  await client.query(`set "pohf.tenant" = 'system'`)
  const registered = await registerAgents(servers.ports[0] ?? 0)
  const keys = registered.map(({ apiKey }) => apiKey)
  const agents = registered.map(({ agentId }) => agentId)
  const pgbenchAgents = agents.map((_, n) => `agt_pgbench${n}`)
  for (const agentId of [...agents, ...pgbenchAgents]) await client.query(seedSql.balances, [agentId])
  if (others > 0) await fillBackground(servers.databaseUrl, { agents: others, rows: Math.ceil(others / 20) })
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
    close: async () => {
      await client.end()
      await servers.close()
    },
  }
}

/** The servers with agents and credits, ready to be measured. */
export const openVerifyFixture = async (
  options: FixtureOptions = { statistics: 'present', others: 0, apis: [unlimitedBudgets] },
) => {
  const servers = await startServers(options.apis)
  try {
    return await seedFixture(servers, options)
  } catch (error) {
    await servers.close()
    throw error
  }
}
export type VerifyFixture = Awaited<ReturnType<typeof openVerifyFixture>>
