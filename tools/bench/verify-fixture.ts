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
/** How the sessions of a run are spread over networks; `reserved`: as `many`, with the places that scoring holds. */
type NetworkLoad = 'none' | 'many' | 'reserved' | 'one'
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

/** Sessions that were scored and wait to be verified, and what their agents can pay with. */
const seedSql = {
  balances: `insert into ledger_accounts (agent_id, mode, account, unit, balance) values
    ($1, 'live', 'credits', 'credit', 1000000000), ($1, 'live', 'world:purchases', 'credit', -1000000000),
    ($1, 'live', 'free:' || to_char(now() at time zone 'UTC', 'YYYY-MM'), 'credit', 0) on conflict do nothing`,
  claims: `insert into session_claims (agent_id, mode, session_id, at)
    select ($1::text[])[1 + k % cardinality($1)], 'live', $2 || k, date_trunc('second', now()) from generate_series(0, $3::int - 1) k`,
  sessions: `insert into sessions (agent_id, session_id, at, mode, kind, status, ended_at, quality, verified, assurance,
      scoring, components, telemetry, evidence, salt)
    select c.agent_id, c.session_id, c.at, c.mode, 'view', 'scored', c.at, 0.91, true, 'low', 'attention-1',
      '{"focus":0.97,"probe":0.8,"input":0.7,"gaze":null,"device":0.3,"history":0.5}'::jsonb,
      jsonb_build_object('alg', 'sha-256', 'link', repeat('l', 43), 'root', repeat('r', 43), 'n', 9),
      jsonb_build_array(jsonb_build_object('type', 'telemetry', 'alg', 'sha-256', 'hash', repeat('h', 43))), '\\x00'
    from session_claims c where c.session_id like $1 || '%'`,
  networks: `insert into root_sessions (session_id, day, key_day, narrow_tags, wide_tags, factors, sealed)
    select c.session_id, roots_day(c.at), roots_day(c.at), array['narrow-' || n.tag], array['wide-' || n.tag], '{1}', 'x'
    from session_claims c cross join lateral (select abs(hashtext(c.session_id)) % $2::int as tag) n
    where c.session_id like $1 || '%'`,
  reservations: `insert into root_reservations (session_id, spender, expires_at, days, tags, spenders, hours, day_amounts)
    select c.session_id, c.agent_id, c.at + interval '1 hour', array_fill(s.day, array[4]),
      array[s.narrow_tags[1], s.narrow_tags[1], s.wide_tags[1], s.wide_tags[1]],
      array['', c.agent_id, '', c.agent_id], array_fill(roots_hour(c.at), array[4]), '{1,1,1,1}'
    from session_claims c join root_sessions s on s.session_id = c.session_id and s.day = roots_day(c.at)
    where c.session_id like $1 || '%'`,
}

const networkCounts: Readonly<Record<Exclude<NetworkLoad, 'none'>, number>> = {
  many: 10_000,
  reserved: 10_000,
  one: 1,
}

/** Enough for a machine ten times as fast; what is left over costs nothing. */
const sessionsFor = ({ seconds, connections }: RunOptions) =>
  Math.ceil((seconds + warmUpSeconds) * 9_000) + 200 * connections

/** The function that the server calls, once for each transaction, with values as long as the server's. */
const pgbenchScript = (crowd: AgentLoad, stride: number): string => `\\set i :i + 1
\\set k :client_id + ${stride} * :i
\\set a ${crowd === 'many' ? `:k % ${agentCount}` : '0'}
select outcome from credentials_mint(array['agt_pgbench' || :a], array['live'], array['session'], array[:prefix || :k], array[null]::text[],
  array[true], array['crd_aa' || :prefix || :k], array['view'], array[date_trunc('second', now())],
  array[now() + interval '30 days'], array[:jwt], array[:answer]::jsonb[], array[null]::bytea[], array['aa-live-1'], array[1],
  array[:prefix || :k], array['ent_aa' || :prefix || :k], array['evt_aa' || :prefix || :k], array[:event]::jsonb[],
  array['evt_ab' || :prefix || :k], array[null]::jsonb[], '1.0.0');
`

/** A private PostgreSQL, the signer and the api processes: no worker, for pgbench has none either. */
const startServers = async (apis: FixtureOptions['apis']) => {
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

type Servers = Awaited<ReturnType<typeof startServers>>

const registerAgents = async (port: number): Promise<{ agentId: string; apiKey: string }[]> => {
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

/** Makes scored sessions for agents; gives the prefix of their ids. */
const makeSeeder = (client: Client, statistics: FixtureOptions['statistics']) => {
  let batches = 0
  return async (
    owners: readonly string[],
    count: number,
    networks: NetworkLoad = 'none',
  ): Promise<string> => {
    const prefix = `b${batches++}x`
    await client.query(seedSql.claims, [[...owners], prefix, count])
    await client.query(seedSql.sessions, [prefix])
    if (networks !== 'none') await client.query(seedSql.networks, [prefix, networkCounts[networks]])
    if (networks === 'reserved') await client.query(seedSql.reservations, [prefix])
    // The first reader of a new row writes to its page. Without this, verify would be that reader unless the table is analysed.
    await client.query(`select count(*) from session_claims where mode = 'live'`)
    await client.query(`select count(*) from sessions where mode = 'live'`)
    // All tables: with the statistics of some of them, the plans and the figures change from round to round.
    if (statistics === 'present') await client.query('analyze')
    await client.query('checkpoint')
    return prefix
  }
}

const cpuOfServers = ({ cluster, apiPids, signerPid }: Servers) => ({
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

const measureHttp = async (fixture: Fixture, options: RunOptions): Promise<RunFigures> => {
  const { servers, client, keys, agents, seed } = fixture
  const owners = options.crowd === 'many' ? agents : agents.slice(0, 1)
  const prefix = await seed(owners, sessionsFor(options), options.networks)
  const minted = await countCredentials(client)
  let k = -1
  const next = () => {
    k += 1
    const body = `{"sessionId":"${prefix}${k}"}`
    const key = keys[k % owners.length] ?? ''
    return `POST /api/agents/verify HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nauthorization: Bearer ${key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  }
  const { connections, seconds, warmUp = 0 } = options
  const port = servers.ports[options.api ?? 0] ?? 0
  const warmed = warmUp === 0 ? 0 : (await runHttpLoad({ port, connections, seconds: warmUp, next })).answered
  const before = cpuOfServers(servers)
  const startedAt = performance.now()
  const load = await runHttpLoad({ port, connections, seconds, next })
  const figures = figuresOf(servers, before, (performance.now() - startedAt) / 1_000, load.latencies)
  const added = (await countCredentials(client)) - minted - warmed
  if (load.other > 0 || added !== load.answered)
    throw new Error(`${load.other} calls were refused; ${load.answered} answers, ${added} credentials`)
  return figures
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
  const prefix = await seed(owners, sessionsFor(options))
  const logs = join(servers.folder, prefix)
  mkdirSync(logs)
  const script = join(logs, 'script.sql')
  writeFileSync(script, pgbenchScript(options.crowd, options.connections))
  const variables = { i: '-1', prefix, ...sample }
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
  const seed = makeSeeder(client, statistics)
  const fixture: Fixture = { servers, client, keys, agents, pgbenchAgents, seed }
  const sample = await sampleVerify(fixture)
  return {
    measureHttp: (options: RunOptions) => measureHttp(fixture, options),
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
  options: FixtureOptions = { statistics: 'present', others: 0, apis: [{}] },
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
