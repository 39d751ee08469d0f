import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDatabase, startCluster, type Cluster } from '../../packages/server/dev/cluster.ts'
import { buildApp, buildContext } from '../../packages/server/src/wiring/index.ts'
import { readConfig } from '../../packages/server/src/platform/ops/config.ts'
import { inTransaction } from '../../packages/server/src/platform/db/db.ts'
import { makeLogger } from '../../packages/server/src/platform/ops/log.ts'
import { migrate } from '../../packages/server/src/platform/db/migrate.ts'
import type { AgentId } from '../../packages/server/src/platform/ops/ids.ts'
import { publish } from '../../packages/server/src/platform/queue/outbox.ts'
import { pollUntil } from '../../packages/server/test/fixtures/polling.ts'
import { startRole } from './server-processes.ts'

export type FixtureAgent = { readonly agentId: AgentId; readonly apiKey: string }

/** A PostgreSQL that can be killed with kill -9 and is started again on the same port and data. */
const openKillableCluster = async (folder: string, settings: Readonly<Record<string, string>>) => {
  let cluster: Cluster = await startCluster({ folder, settings })
  return {
    url: cluster.url,
    pid: () => cluster.process.pid ?? 0,
    /** It accepts connections again when the promise is fulfilled. */
    kill: async () => {
      const { port } = cluster
      cluster.process.kill('SIGKILL')
      for (let tries = 0; ; tries++) {
        try {
          // Its children need a moment to notice and to let go of the shared memory.
          cluster = await startCluster({ folder, port, settings })
          return
        } catch (error) {
          if (tries > 100) throw error
          await new Promise((resolve) => setTimeout(resolve, 100))
        }
      }
    },
    stop: () => cluster.stop(),
  }
}

type EventOutcome = 'committed' | 'rolled back' | 'lost'

/** One event about a subject, in a transaction of its own that commits, fails after the event, or loses it. */
const publishEvent = (
  ctx: ReturnType<typeof buildContext>,
  { agentId }: FixtureAgent,
  subject: string,
  outcome: EventOutcome,
): Promise<string> =>
  inTransaction(ctx, agentId, async (tx) => {
    const data = { keyId: subject }
    const id = await publish(tx, { agentId, mode: 'test', type: 'key.revoked', subject, data })
    if (outcome === 'rolled back') throw new RolledBackError(id)
    if (outcome === 'lost') await tx.deleteFrom('outbox').where('agent_id', '=', agentId).execute()
    return id
  })

/** A database of its own with agents and endpoints, for measuring and breaking the worker. */
export const openWebhookFixture = async (settings: Readonly<Record<string, string>> = {}) => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-webhooks-'))
  const cluster = await openKillableCluster(folder, settings)
  const databaseUrl = await createDatabase(cluster, 'pohf')
  await migrate(databaseUrl)
  const environment = {
    DATABASE_URL: databaseUrl,
    DATA_DIR: join(folder, 'secrets'),
    BASE_URL: 'http://127.0.0.1:3000',
    DATABASE_WAIT_SECONDS: '5',
  }
  const log = makeLogger('silent')
  const ctx = buildContext({ config: readConfig(environment), log, name: 'pohf-battery' })
  // Without a signer the api refuses every change: it could not tell a database from the past.
  const signer = startRole('signer', { ...process.env, ...environment })
  const { api } = buildApp(ctx)
  await pollUntil('the api is ready', async () => (await api.inject('/readyz')).statusCode === 200)
  const post = async <T>(url: string, payload: object, key?: string): Promise<T> => {
    const answer = await api.inject({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json', ...(key ? { authorization: `Bearer ${key}` } : {}) },
      payload: JSON.stringify(payload),
    })
    if (answer.statusCode !== 200)
      throw new Error(`POST ${url} answered ${answer.statusCode}: ${answer.body}`)
    return answer.json() as T
  }
  return {
    ctx,
    environment,
    postmaster: cluster.pid,
    killDatabase: cluster.kill,
    register: () =>
      post<FixtureAgent>('/api/agents/register', {
        name: 'Battery',
        contactEmail: 'battery@example.com',
        mode: 'test',
      }),
    subscribe: (agent: FixtureAgent, url: string, events: readonly string[]) =>
      post<{ id: string }>('/api/agents/webhooks', { url, events }, agent.apiKey),
    publishEvent: (agent: FixtureAgent, subject: string, outcome: EventOutcome = 'committed') =>
      publishEvent(ctx, agent, subject, outcome),
    close: async () => {
      await api.close()
      await signer.stop()
      await ctx.db.end()
      await cluster.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
export type WebhookFixture = Awaited<ReturnType<typeof openWebhookFixture>>

/** Rolls a transaction back on purpose; names the event that must not be delivered. */
export class RolledBackError extends Error {
  readonly eventId: string
  constructor(eventId: string) {
    super('rolled back')
    this.eventId = eventId
  }
}

type Arrival = { readonly path: string; readonly eventId: string; readonly at: number; readonly body: string }

/** One listener that plays many receivers, told apart by their paths. */
export const openReceivers = async (
  respond: (path: string, response: ServerResponse) => void,
  onArrival: (arrival: Arrival) => void,
) => {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => undefined)
    request.on('end', () => {
      const path = request.url ?? ''
      const body = Buffer.concat(chunks).toString('utf8')
      onArrival({ path, eventId: String(request.headers['webhook-id']), at: performance.now(), body })
      respond(path, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
