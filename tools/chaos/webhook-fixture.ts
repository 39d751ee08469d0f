import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inTransaction } from '../../packages/server/src/platform/db/db.ts'
import type { AgentId } from '../../packages/server/src/platform/ops/ids.ts'
import { publish } from '../../packages/server/src/platform/queue/outbox.ts'
import { pollUntil } from '../../packages/server/test/fixtures/polling.ts'
import { openApi } from '../driver/api.ts'
import { open } from '../driver/closing.ts'
import { startRole } from '../driver/service.ts'

export type FixtureAgent = { readonly agentId: AgentId; readonly apiKey: string }

type EventOutcome = 'committed' | 'rolled back' | 'lost'

/** One event about a subject, in a transaction of its own that commits, fails after the event, or loses it. */
const publishEvent = (
  ctx: Awaited<ReturnType<typeof openApi>>['ctx'],
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
export const openWebhookFixture = (settings: Readonly<Record<string, string>> = {}) =>
  open(async (defer) => {
    const { ctx, api, environment, postgres, close } = await openApi('webhooks', settings)
    defer(close)
    // Without a signer the api refuses every change: it could not tell a database from the past.
    const signer = startRole('signer', { ...process.env, ...environment })
    defer(() => signer.stop())
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
      postgres,
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
    }
  })
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
