import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Client } from 'pg'
import { withDatabase } from '../../driver/service.ts'

/** What became of one call. Times are those of `performance.now()`. */
export type CallOutcome = {
  readonly startedAt: number
  readonly endedAt: number
  /** 0 where there was no complete answer. */
  readonly status: number
  /** The code of the refusal, or of the socket's error and whether its connection had been used before. */
  readonly error: string
}
export type Answer = CallOutcome & { readonly json: Readonly<Record<string, string>> }

export type Call = {
  readonly body: object
  readonly key?: string
  readonly idempotencyKey?: string
  readonly timeoutMs?: number
}

const connections = new Agent({ keepAlive: true, maxSockets: 200 })

const jsonOf = (text: string): Record<string, string> => {
  try {
    return JSON.parse(text) as Record<string, string>
  } catch {
    return {}
  }
}

const codeOf = (error: Error): string =>
  'code' in error && typeof error.code === 'string' ? error.code : error.message

/** Posts JSON over connections that are kept open. It never throws: without an answer the status is 0. */
export const postJson = (url: string, call: Call): Promise<Answer> =>
  new Promise((resolve) => {
    const startedAt = performance.now()
    const done = (status: number, error: string, json: Record<string, string> = {}) => {
      clearTimeout(deadline)
      resolve({ startedAt, endedAt: performance.now(), status, error, json })
    }
    const outgoing = request(url, {
      method: 'POST',
      agent: connections,
      headers: {
        'content-type': 'application/json',
        ...(call.key === undefined ? {} : { authorization: `Bearer ${call.key}` }),
        ...(call.idempotencyKey === undefined ? {} : { 'idempotency-key': call.idempotencyKey }),
      },
    })
    const deadline = setTimeout(
      () => outgoing.destroy(Object.assign(new Error('no answer in time'), { code: 'CLIENT_TIMEOUT' })),
      call.timeoutMs ?? 15_000,
    )
    // A server that closes an idle connection cannot know that a request is on its way.
    const where = () => (outgoing.reusedSocket ? ' on a kept connection' : '')
    outgoing.on('error', (error) => done(0, `${codeOf(error)}${where()}`))
    outgoing.on('response', (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('error', (error) => done(0, `${codeOf(error)} in the answer`))
      response.on('end', () => {
        const json = jsonOf(text)
        done(response.complete ? (response.statusCode ?? 0) : 0, json['error'] ?? '', json)
      })
    })
    outgoing.end(JSON.stringify(call.body))
  })

/** Counts what it is sent, by the id of the event. Machines of their own reach it by a proxy on their loopback address. */
export const openReceiver = async (host = '127.0.0.1') => {
  const received = new Map<string, number>()
  const server = createServer((incoming, response) => {
    const id = String(incoming.headers['webhook-id'])
    incoming.resume().on('end', () => {
      received.set(id, (received.get(id) ?? 0) + 1)
      response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  return {
    received,
    port,
    url: `http://127.0.0.1:${port}/`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

export type VerifyAgent = {
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

/** The settings under which every mint spends from the networks of `seedNetworks`, which have more than a run can use. */
export const networkSettings = {
  ROOT_BUDGETS: 'on',
  ROOT_ADDRESS_PER_HOUR: '1000000',
  ROOT_ADDRESS_PER_DAY: '1000000',
  ROOT_NETWORK_PER_HOUR: '1000000',
  ROOT_NETWORK_PER_DAY: '1000000',
}

/** Says that each session was seen from one of so many networks. One network is a row that every mint waits for. */
const seedNetworks = async (database: Client, networks: number): Promise<void> => {
  await database.query(
    `insert into root_sessions (session_id, day, key_day, narrow_tags, wide_tags, factors, sealed)
     select distinct on (c.session_id) c.session_id, roots_day(c.at), roots_day(c.at), array['narrow-' || tag],
       array['wide-' || tag], '{1}'::int[], 'x'
     from session_claims c cross join lateral (select abs(hashtext(c.session_id)) % $1::int as tag) network`,
    [networks],
  )
}

const seedAgent = async (
  baseUrl: string,
  database: Client,
  wanted: Pick<VerifyAgent, 'credits' | 'sessions'>,
): Promise<VerifyAgent> => {
  const registered = await postJson(`${baseUrl}/api/agents/register`, {
    body: { name: 'Battery', contactEmail: `battery@${wanted.credits}.example`, mode: 'live' },
  })
  const { agentId, apiKey: key } = registered.json
  if (agentId === undefined || key === undefined)
    throw new Error(`registration of an agent was refused: ${registered.status} ${registered.error}`)
  await database.query(
    "select ledger_post($1, 'live', 'battery', 'seed', 'ent_' || $1, '{world:battery,credits}', '{credit,credit}', array[-$2::bigint, $2::bigint])",
    [agentId, wanted.credits],
  )
  await database.query(sessionsSql, [agentId, wanted.sessions])
  return { agentId, key, ...wanted }
}

/** Sends the agents' `credential.issued` events to the receiver. */
const subscribeAgents = async (
  baseUrl: string,
  agents: readonly VerifyAgent[],
  url: string,
): Promise<void> => {
  for (const agent of agents) {
    const body = { url, events: ['credential.issued'] }
    const registered = await postJson(`${baseUrl}/api/agents/webhooks`, { body, key: agent.key })
    if (registered.status !== 200)
      throw new Error(`webhook registration of ${url} was refused: ${JSON.stringify(registered)}`)
  }
}

type SeedOptions = {
  readonly baseUrl: string
  readonly databaseUrl: string
  readonly sessions: number
  /** How many networks the sessions come from; default: none. */
  readonly networks?: number
  /** Where their events go; default: nowhere. */
  readonly webhookUrl?: string
}

/**
 * An agent with credits for `sessions` sessions, and one with fewer credits than sessions: no fault may let it have more.
 */
export const seedAgents = async (options: SeedOptions): Promise<VerifyAgent[]> => {
  const { baseUrl, databaseUrl, sessions, networks, webhookUrl } = options
  const agents = await withDatabase(databaseUrl, async (database) => {
    const seeded = [
      await seedAgent(baseUrl, database, { credits: 1_000_000, sessions }),
      await seedAgent(baseUrl, database, { credits: 100, sessions: 400 }),
    ]
    if (networks !== undefined) await seedNetworks(database, networks)
    return seeded
  })
  if (webhookUrl !== undefined) await subscribeAgents(baseUrl, agents, webhookUrl)
  return agents
}
