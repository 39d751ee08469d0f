import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Client } from 'pg'
import { freePort, startCluster, type Cluster } from '../../packages/server/dev/cluster.ts'
import { waitForExit, waitUntilReady } from '../../packages/server/test/fixtures/processes/restarts.ts'
import { prepareServer, randomFrom, startRole } from './server-processes.ts'

type Target = 'api' | 'signer' | 'worker' | 'postgres'
/** The api takes longest to start, and no call succeeds without it: one kill of six is for it. */
const targets: readonly Target[] = ['signer', 'postgres', 'worker', 'signer', 'postgres', 'api']

export type KillOptions = {
  readonly seconds: number
  readonly clients: number
  readonly seed: number
  readonly targets?: readonly Target[]
  /** Settings of the cluster, and a statement before the load: to see that a planted fault is found. */
  readonly settings?: Readonly<Record<string, string>>
  readonly plantedFaultSql?: string
}
export type KillFindings = {
  readonly seed: number
  readonly seconds: number
  readonly kills: number
  readonly acknowledged: number
  /** Acknowledged, and not stored as it was. */
  readonly lost: number
  /** Debits more than credentials, and sessions with more than one credential. */
  readonly doubleCharged: number
  /** Debits without their credential. */
  readonly missingCredential: number
  /** Events of credentials that never reached the webhook. */
  readonly undelivered: number
  /** Deliveries of an event that had been delivered. */
  readonly duplicates: number
  /** Calls without an answer, or with a 503: repeated until there was one. */
  readonly unknownOutcomes: number
  readonly faults: readonly string[]
}

/** A cluster that is killed with all it had in memory, and started again on what was on disk. */
const openPostgres = async (folder: string, settings: Readonly<Record<string, string>>) => {
  const port = await freePort()
  const start = () => startCluster({ folder, port, settings })
  let cluster: Cluster = await start()
  const restart = async (): Promise<void> => {
    // The other processes notice the kill of the first one a moment later; until then the memory is in use.
    for (let tries = 0; ; tries++) {
      try {
        cluster = await start()
        return
      } catch (error) {
        if (tries >= 100) throw error
        await setTimeout(100)
      }
    }
  }
  return {
    url: cluster.url,
    kill: async () => {
      const dying = cluster.process
      dying.kill('SIGKILL')
      await waitForExit(dying)
      await restart()
    },
    stop: () => cluster.stop(),
  }
}

/** Counts what it is sent, by the id of the event. */
const openReceiver = async () => {
  const received = new Map<string, number>()
  const server = createServer((request, response) => {
    const id = String(request.headers['webhook-id'])
    request.resume().on('end', () => {
      received.set(id, (received.get(id) ?? 0) + 1)
      response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    received,
    url: `http://127.0.0.1:${port}/`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

const answerMsMax = 240_000
/** Kills wait until calls succeed again, so that they interrupt some; without a success in this time the next kill comes. */
const recoveryMsMax = 8_000
const progressMin = 10

const waitForProgress = async (done: () => number, ms: number): Promise<void> => {
  const [before, deadline] = [done(), performance.now() + ms]
  while (done() < before + progressMin && performance.now() < deadline) await setTimeout(50)
}

type Answer = { readonly status: number; readonly json: Record<string, string> }
/** Undefined where the outcome of the call is unknown. */
const call = async (url: string, body: object, key?: string): Promise<Answer | undefined> => {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key ? { authorization: `Bearer ${key}` } : {}) },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(15_000),
    })
    return { status: response.status, json: (await response.json()) as Record<string, string> }
  } catch {
    return undefined
  }
}

type Agent = {
  readonly agentId: string
  readonly key: string
  readonly credits: number
  readonly sessions: number
}

const sessionsSql = `
  with claimed as (
    insert into session_claims (agent_id, mode, session_id, at)
    select $1, 'live', 's' || k, date_trunc('second', now()) from generate_series(0, $2::int - 1) k returning *)
  insert into sessions (agent_id, session_id, at, mode, kind, status, ended_at, quality, verified, assurance, scoring, components,
    evidence, salt)
  select agent_id, session_id, at, mode, 'view', 'scored', at, 0.9, true, 'low', 'attention-1', '{"focus":1}',
    jsonb_build_array(jsonb_build_object('type', 'telemetry', 'alg', 'sha-256', 'hash', repeat('h', 43))), '\\x00' from claimed`

const seedAgent = async (
  baseUrl: string,
  database: Client,
  wanted: Pick<Agent, 'credits' | 'sessions'>,
): Promise<Agent> => {
  const registered = await call(`${baseUrl}/api/agents/register`, {
    name: 'Battery',
    contactEmail: `battery@${wanted.credits}.example`,
    mode: 'live',
  })
  const { agentId = '', apiKey: key = '' } = registered?.json ?? {}
  await database.query(
    "select ledger_post($1, 'live', 'battery', 'seed', 'ent_' || $1, '{world:battery,credits}', '{credit,credit}', array[-$2::bigint, $2::bigint])",
    [agentId, wanted.credits],
  )
  await database.query(sessionsSql, [agentId, wanted.sessions])
  return { agentId, key, ...wanted }
}

/** Clients that verify one session after another, sometimes twice at once, and repeat until they have an answer. */
const startLoad = (baseUrl: string, agents: readonly Agent[], clients: number, random: () => number) => {
  const acknowledged = new Map<string, string>()
  const faults: string[] = []
  const count = { unknown: 0 }
  const end = new AbortController()
  const next = new Map(agents.map((agent) => [agent, 0]))

  const once = async (agent: Agent, sessionId: string): Promise<boolean> => {
    const answer = await call(`${baseUrl}/api/agents/verify`, { sessionId }, agent.key)
    if (!answer || answer.status === 503) {
      count.unknown += 1
      return false
    }
    const { status, json } = answer
    const name = `${agent.agentId} ${sessionId}`
    if (status === 200) {
      const jwt = json['pohf_jwt'] ?? ''
      if ((acknowledged.get(name) ?? jwt) !== jwt) faults.push(`${name} was answered with two credentials`)
      acknowledged.set(name, jwt)
    } else if (status !== 402 || agent.credits > 1_000)
      faults.push(`${name} was answered ${status} ${json['error'] ?? ''}`)
    return true
  }
  const untilAnswered = async (agent: Agent, sessionId: string): Promise<void> => {
    // The load ends, a call that has begun does not: what became of it must be known.
    const deadline = performance.now() + answerMsMax
    while (performance.now() < deadline && !(await once(agent, sessionId))) await setTimeout(200)
  }
  const client = async () => {
    while (!end.signal.aborted) {
      const agent = agents[Math.floor(random() * agents.length)]
      const n = agent ? (next.get(agent) ?? 0) : 0
      if (!agent || n >= agent.sessions) continue
      next.set(agent, n + 1)
      const twice = random() < 0.2
      await Promise.all([
        untilAnswered(agent, `s${n}`),
        ...(twice ? [untilAnswered(agent, `s${n}`)] : []),
        setTimeout(5),
      ])
    }
  }
  const all = Promise.all(Array.from({ length: clients }, client))
  return {
    acknowledged,
    faults,
    count,
    stop: async () => {
      end.abort()
      await all
    },
  }
}

const auditSql = {
  stored: `select k.agent_id || ' ' || k.reference as name, c.jwt from credential_claims k
    join credentials c on c.agent_id = k.agent_id and c.credential_id = k.credential_id and c.at = k.at`,
  credentials: 'select count(*)::int as n from credentials',
  debits: "select count(*)::int as n from ledger_claims where kind = 'spend'",
  missing: `select count(*)::int as n from ledger_claims l where l.kind = 'spend' and not exists
    (select from credentials c where c.agent_id = l.agent_id and c.credential_id = l.reference)`,
  twice: `select count(*)::int as n from (select from events where type = 'credential.issued'
    group by agent_id, data ->> 'sessionId' having count(*) > 1) doubled`,
  uneven: `select count(*)::int as n from ledger_accounts a where a.balance <> (select coalesce(sum(amount), 0) from ledger_lines l
    where (l.agent_id, l.mode, l.account, l.unit) = (a.agent_id, a.mode, a.account, a.unit)) or not ledger_may_hold(a.account, a.balance)`,
  spent: `select coalesce(sum(balance), 0)::int as n from ledger_accounts where account = 'consumed:credit'`,
  events: "select event_id from events where type = 'credential.issued'",
}

const audit = async (database: Client, acknowledged: ReadonlyMap<string, string>) => {
  const numberOf = async (text: string) => (await database.query<{ n: number }>(text)).rows[0]?.n ?? NaN
  const { rows } = await database.query<{ name: string; jwt: string }>(auditSql.stored)
  const stored = new Map(rows.map((row) => [row.name, row.jwt]))
  const [credentials, debits] = [await numberOf(auditSql.credentials), await numberOf(auditSql.debits)]
  const faults: string[] = []
  if (credentials !== debits) faults.push(`${credentials} credentials and ${debits} debits`)
  if ((await numberOf(auditSql.spent)) !== debits) faults.push('the credits that are gone are not the debits')
  if ((await numberOf(auditSql.uneven)) > 0) faults.push('a balance is not the sum of its lines')
  return {
    faults,
    credentials,
    lost: [...acknowledged].filter(([name, jwt]) => stored.get(name) !== jwt).length,
    doubleCharged: Math.max(0, debits - credentials) + (await numberOf(auditSql.twice)),
    missingCredential: await numberOf(auditSql.missing),
    events: (await database.query<{ event_id: string }>(auditSql.events)).rows.map((row) => row.event_id),
  }
}

/** Waits until every event has come, as long as some still do. */
const waitForDeliveries = async (
  events: readonly string[],
  received: ReadonlyMap<string, number>,
  patienceMs: number,
): Promise<number> => {
  const missing = () => events.filter((id) => !received.has(id)).length
  let [left, since] = [missing(), performance.now()]
  while (left > 0 && performance.now() - since < patienceMs) {
    await setTimeout(250)
    const now = missing()
    if (now < left) [left, since] = [now, performance.now()]
  }
  return left
}

const withDatabase = async <T>(url: string, work: (client: Client) => Promise<T>): Promise<T> => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`set "pohf.tenant" = 'system'`)
    return await work(client)
  } finally {
    await client.end()
  }
}

const seedAgents = (
  baseUrl: string,
  databaseUrl: string,
  { seconds, plantedFaultSql }: KillOptions,
): Promise<Agent[]> =>
  withDatabase(databaseUrl, async (client) => {
    if (plantedFaultSql !== undefined) await client.query(plantedFaultSql)
    return [
      await seedAgent(baseUrl, client, { credits: 1_000_000, sessions: 200 * seconds }),
      // Fewer credits than sessions: kills must not let it have more.
      await seedAgent(baseUrl, client, { credits: 100, sessions: 400 }),
    ]
  })

const subscribeAgents = async (baseUrl: string, agents: readonly Agent[], url: string): Promise<void> => {
  for (const agent of agents) {
    const body = { url, events: ['credential.issued'] }
    const registered = await call(`${baseUrl}/api/agents/webhooks`, body, agent.key)
    if (registered?.status !== 200)
      throw new Error(`webhook registration of ${url} was refused: ${JSON.stringify(registered)}`)
  }
}

type Kill = (target: Target) => void

/** Kills one target after another for the time of the run, while the load goes on. */
const killInTurn = async (
  options: KillOptions,
  random: () => number,
  acknowledgedCount: () => number,
  kill: Kill,
): Promise<{ kills: number; seconds: number }> => {
  const startedAt = performance.now()
  const chosen = options.targets ?? targets
  const killsMin = Math.floor(options.seconds / 4)
  const elapsed = () => (performance.now() - startedAt) / 1_000
  let kills = 0
  // A machine that is busy with other things gets more time, not fewer kills; but not without end.
  while (elapsed() < options.seconds || (kills < killsMin && elapsed() < 4 * options.seconds)) {
    await waitForProgress(acknowledgedCount, recoveryMsMax)
    await setTimeout(200 + random() * 1_500)
    kill(chosen[kills % chosen.length] ?? 'api')
    kills += 1
  }
  return { kills, seconds: Math.round(elapsed()) }
}

/** Kills processes at random moments under load, then compares what was answered, stored, paid and delivered. */
export const runProcessKills = async (options: KillOptions): Promise<KillFindings> => {
  const random = randomFrom(options.seed)
  const folder = mkdtempSync(join(tmpdir(), 'pohf-kills-'))
  const postgres = await openPostgres(folder, { max_connections: '60', ...options.settings })
  const receiver = await openReceiver()
  const { baseUrl, databaseUrl, env } = await prepareServer(postgres, folder)
  const processes = {
    signer: startRole('signer', env),
    api: startRole('api', env),
    worker: startRole('worker', env),
  }
  let restarting = Promise.resolve()
  const kill = (target: Target): void => {
    if (target !== 'postgres') processes[target].kill()
    else restarting = restarting.then(() => postgres.kill())
  }
  try {
    await waitUntilReady(baseUrl)
    const agents = await seedAgents(baseUrl, databaseUrl, options)
    await subscribeAgents(baseUrl, agents, receiver.url)
    const load = startLoad(baseUrl, agents, options.clients, random)
    const { kills, seconds } = await killInTurn(options, random, () => load.acknowledged.size, kill)
    await restarting
    await waitUntilReady(baseUrl)
    await load.stop()
    const { events, credentials, faults, ...counts } = await withDatabase(databaseUrl, (client) =>
      audit(client, load.acknowledged),
    )
    // A worker that was killed leaves leases of a minute behind. Where something was lost, there is no need to wait.
    const undelivered = await waitForDeliveries(events, receiver.received, counts.lost > 0 ? 0 : 90_000)
    const deliveries = [...receiver.received.values()].reduce((sum, times) => sum + times, 0)
    const acknowledged = load.acknowledged.size
    if (acknowledged !== credentials)
      faults.push(`${acknowledged} acknowledged and ${credentials} credentials`)
    return {
      seed: options.seed,
      seconds,
      kills,
      acknowledged,
      ...counts,
      undelivered,
      duplicates: deliveries - receiver.received.size,
      unknownOutcomes: load.count.unknown,
      faults: [...load.faults, ...faults],
    }
  } finally {
    for (const each of Object.values(processes)) await each.stop()
    receiver.close()
    await postgres.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Whether nothing was lost, charged twice or forgotten. */
export const hasNoFaults = (findings: KillFindings): boolean =>
  findings.lost + findings.doubleCharged + findings.missingCredential + findings.undelivered === 0 &&
  findings.faults.length === 0
