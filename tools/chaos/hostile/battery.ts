import { fork, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { Client } from 'pg'
import { freePort } from '../../../packages/server/dev/cluster.ts'
import { cpuOfServers, startServers } from '../../bench/verify-fixture.ts'
import { makeSeeder, seedSql } from '../../bench/verify-seed.ts'
import type { ClientOrder, ClientReport } from './client.ts'
import { makeHostileRows, type HostileRow } from './rows.ts'
import { closingAfter, open } from '../../driver/closing.ts'
import { step } from '../../driver/program.ts'
import { median, quantile, rounded, sum } from '../../driver/rounds.ts'

export type HostileOptions = {
  readonly seconds: number
  readonly rounds: number
  /** Calls of verify in a second. */
  readonly verifies: number
  /** Names of rows; none: all. */
  readonly only: readonly string[]
  /** Settings of the api, such as a limit that is taken away to see what it does. */
  readonly settings: Readonly<Record<string, string>>
}

const connections = 8
/** The network of the strangers who only want to be served, and that of the paying caller. */
const strangerAddress = '198.51.100.7'
const payerAddress = '192.0.2.7'

type PhaseFigures = {
  /** CPU time of api, signer and PostgreSQL in a second, in milliseconds. */
  readonly cpuMs: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly paid5xx: number
  readonly refusedStrangers: number
  readonly hostile: ClientReport
}
/** One row in one round: the hostile client at the service, then at the bare server at the same rate. */
type RoundFigures = { readonly beside: PhaseFigures; readonly control: PhaseFigures }
export type RowFigures = {
  readonly row: string
  readonly controlP99Ms: number
  readonly besideP99Ms: number
  readonly ratio: number
  readonly paid5xx: number
  readonly refusedStrangers: number
  readonly rounds: readonly RoundFigures[]
}

/** A server that answers 204 to everything: what a client at this rate takes of the machine by itself. */
const startBareServer = async () => {
  const port = await freePort()
  const text = `require('node:http').createServer((q, r) => { q.resume(); r.writeHead(204).end() }).listen(${port}, '127.0.0.1', () => console.log('up'))`
  const child = spawn(process.execPath, ['-e', text], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  return { port, child }
}

const sendOrder = async (client: ChildProcess, order: ClientOrder): Promise<ClientReport> => {
  const reported = once(client, 'message')
  client.send(order)
  const [report] = (await reported) as [ClientReport]
  return report
}

/** A stranger registers from another /24 each time: one of them may register thirty agents in an hour. */
let strangers = 0
const nextStranger = (): string => {
  strangers += 1
  return `203.${strangers >> 8}.${strangers & 255}.7`
}

type CallParts = { readonly body?: string; readonly headers?: Readonly<Record<string, string>> }

const prepare = (settings: HostileOptions['settings']) =>
  open(async (defer) => {
    const servers = await startServers([{ ADDRESS_LIMITS: 'on', TRUSTED_PROXIES: '127.0.0.1', ...settings }])
    defer(servers.close)
    const baseUrl = `http://127.0.0.1:${servers.ports[0]}`
    const database = new Client({ connectionString: servers.databaseUrl })
    await database.connect()
    defer(() => database.end())
    await database.query(`set "pohf.tenant" = 'system'`)
    // With an issuer, an order without a key gets a signed quote: the most that this row can cost.
    await database.query(
      `insert into trust_roots (kind, name, keys_url, mode, require_digest, reason)
      values ('issuer', 'issuer.example', 'https://issuer.example/keys', 'test', true, 'battery')`,
    )
    const call = (method: string, path: string, address: string, init: CallParts = {}) =>
      fetch(`${baseUrl}${path}`, {
        method,
        ...init,
        headers: { 'content-type': 'application/json', 'x-forwarded-for': address, ...init.headers },
      })
    const register = async (address: string, mode: string) => {
      const body = JSON.stringify({ name: 'Agent', contactEmail: `a@${mode}-${address}.example`, mode })
      const response = await call('POST', '/api/agents/register', address, { body })
      return (await response.json()) as { agentId: string; apiKey: string }
    }
    const payer = await register(payerAddress, 'live')
    await database.query(seedSql.balances, [payer.agentId])
    return { servers, baseUrl, call, payer, seed: makeSeeder(database, 'present') }
  })
type Deployment = Awaited<ReturnType<typeof prepare>>

/** Calls verify at a steady rate, whatever the answers take, and the rows of strangers once a second. */
const observe = async (
  { servers, call, payer, seed }: Deployment,
  { seconds, verifies }: HostileOptions,
  signal: Promise<ClientReport>,
): Promise<PhaseFigures> => {
  const prefix = await seed([payer.agentId], seconds * verifies)
  const latencies: number[] = []
  let paid5xx = 0
  let refusedStrangers = 0
  const verify = async (n: number): Promise<void> => {
    const startedAt = performance.now()
    const body = JSON.stringify({ sessionId: `${prefix}${n}` })
    const headers = { authorization: `Bearer ${payer.apiKey}` }
    const response = await call('POST', '/api/agents/verify', payerAddress, { body, headers })
    const text = await response.text()
    latencies.push(performance.now() - startedAt)
    if (response.status >= 500) paid5xx += 1
    else if (response.status !== 200) throw new Error(`verify answered ${response.status}: ${text}`)
  }
  const visit = async (n: number): Promise<void> => {
    const registration = { name: 'Stranger', contactEmail: `s@s${prefix}${n}.example`, mode: 'test' }
    const responses = await Promise.all([
      call('POST', '/api/agents/register', nextStranger(), { body: JSON.stringify(registration) }),
      call('GET', '/api/tasks/next?wallet=0x0000000000000000000000000000000000000002', strangerAddress),
      call('GET', '/api/agent/tasks/wf_test_ok/buy', strangerAddress),
    ])
    for (const response of responses) {
      await response.arrayBuffer()
      if (response.status === 429 || response.status >= 500) refusedStrangers += 1
    }
  }
  const pending: Promise<void>[] = []
  const cpuBefore = cpuOfServers(servers)
  const startedAt = performance.now()
  for (let n = 0; n < seconds * verifies; n++) {
    const wait = startedAt + (n * 1_000) / verifies - performance.now()
    if (wait > 0) await setTimeout(wait)
    pending.push(verify(n))
    if (n % verifies === 0) pending.push(visit(n))
  }
  await Promise.all(pending)
  const cpuAfter = cpuOfServers(servers)
  const cpuOf = (name: keyof typeof cpuAfter) => cpuAfter[name] - cpuBefore[name]
  const cpuMs = (cpuOf('api') + cpuOf('pg') + cpuOf('signer')) / 1_000
  return {
    cpuMs: Math.round((cpuMs * 1_000) / (performance.now() - startedAt)),
    p50Ms: rounded(quantile(latencies, 0.5)),
    p99Ms: rounded(quantile(latencies, 0.99)),
    paid5xx,
    refusedStrangers,
    hostile: await signal,
  }
}

/** Another /48 for each row and round, so that each begins with whatever a new client has. A client holds all its /64. */
let networks = 0
const nextNetwork = (): ((n: number) => string) => {
  networks += 1
  const prefix = `2001:db9:${networks.toString(16)}`
  return (n) => `${prefix}:${n.toString(16)}::9`
}

type Targets = { readonly deployment: Deployment; readonly barePort: number; readonly client: ChildProcess }

/** The hostile client at one port, with another network, while verify is called. */
const runPhase = async (
  { deployment, client }: Targets,
  options: HostileOptions,
  row: HostileRow,
  target: Pick<ClientOrder, 'port' | 'perSecond'>,
): Promise<PhaseFigures> => {
  const addressIn = nextNetwork()
  const requests = Array.from({ length: 200 }, (_, n) => row.makeRequest(addressIn(n), n))
  const order = { ...target, requests, connections, seconds: options.seconds }
  const figures = await observe(deployment, options, sendOrder(client, order))
  await setTimeout(500)
  return figures
}

const runRow = async (targets: Targets, options: HostileOptions, row: HostileRow): Promise<RowFigures> => {
  const port = targets.deployment.servers.ports[0] ?? 0
  const rounds: RoundFigures[] = []
  for (let round = 0; round < options.rounds; round++) {
    const beside = await runPhase(targets, options, row, { port })
    const perSecond = Math.max(1, beside.hostile.perSecond)
    const control = await runPhase(targets, options, row, { port: targets.barePort, perSecond })
    rounds.push({ beside, control })
  }
  const sumOf = (name: 'paid5xx' | 'refusedStrangers') => sum(rounds.map(({ beside }) => beside[name]))
  const controlP99Ms = median(rounds.map(({ control }) => control.p99Ms))
  const besideP99Ms = median(rounds.map(({ beside }) => beside.p99Ms))
  return {
    row: row.name,
    controlP99Ms,
    besideP99Ms,
    ratio: rounded(besideP99Ms / controlP99Ms, 2),
    paid5xx: sumOf('paid5xx'),
    refusedStrangers: sumOf('refusedStrangers'),
    rounds,
  }
}

/** A credential of this deployment. */
const mintCredential = async ({ seed, payer, call }: Deployment): Promise<string> => {
  const prefix = await seed([payer.agentId], 1)
  const minted = await call('POST', '/api/agents/verify', payerAddress, {
    body: JSON.stringify({ sessionId: `${prefix}0` }),
    headers: { authorization: `Bearer ${payer.apiKey}` },
  })
  const { pohf_jwt: credential = '' } = (await minted.json()) as { pohf_jwt?: string }
  return credential
}

export const runHostile = (options: HostileOptions): Promise<readonly RowFigures[]> =>
  closingAfter(async (defer) => {
    const deployment = await prepare(options.settings)
    defer(deployment.close)
    const bare = await startBareServer()
    defer(() => bare.child.kill())
    const client = fork(new URL('client.ts', import.meta.url))
    defer(() => client.kill())
    const targets = { deployment, barePort: bare.port, client }
    const rows = makeHostileRows(await mintCredential(deployment)).filter(
      ({ name }) => options.only.length === 0 || options.only.some((part) => name.includes(part)),
    )
    step('warming up')
    // A process that has just started compiles its code while it answers.
    for (const row of rows.slice(0, 3))
      await runPhase(targets, options, row, { port: bare.port, perSecond: 100 })
    const results: RowFigures[] = []
    for (const row of rows) {
      step(`row ${row.name}`)
      // Some texts are made for their first reader.
      await fetch(`${deployment.baseUrl}${row.makeRequest('', 0).split(' ')[1]}`)
      results.push(await runRow(targets, options, row))
    }
    return results
  })
