import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { inTransaction } from '../src/platform/db.ts'
import { drainOutbox, publish } from '../src/platform/outbox.ts'
import type { Duty } from '../src/platform/worker.ts'
import { settleTaken } from '../src/webhooks/deliver.ts'
import { fanOut } from '../src/webhooks/index.ts'
import { makeTakenBook } from '../src/webhooks/taken.ts'
import type { Harness } from './harness.ts'
import type { Received } from './receiver.ts'

export type Agent = Awaited<ReturnType<Harness['register']>>
export const secondMs = 1_000
export const hourMs = 3_600_000
export const dayMs = 24 * hourMs

/** An agent whose own registration event is done with, so that counts start at nothing. */
export const newAgent = async (harness: Harness, mode: 'live' | 'test' = 'test') => {
  const agent = await harness.register(mode)
  await harness.work()
  return agent
}

export const subscribe = async (
  harness: Harness,
  agent: Agent,
  url: string,
  events: readonly string[] = ['*'],
) => {
  const { json, text } = await harness.call('POST', '/api/agents/webhooks', {
    key: agent.apiKey,
    body: { url, events },
  })
  assert.ok(json.id, text)
  return json as { id: string; signingSecret: string }
}

export const happen = (harness: Harness, agent: Agent, keyId = 'key_x'): Promise<string> =>
  inTransaction(harness.ctx, agent.agentId, (tx) =>
    publish(tx, {
      agentId: agent.agentId,
      mode: agent.mode,
      type: 'key.revoked',
      subject: keyId,
      data: { keyId },
    }),
  )

export const passOn = async (harness: Harness): Promise<void> => {
  while ((await drainOutbox(harness.ctx, 'event', { within: fanOut })) > 0);
}
/** Nobody is written to. */
export const noContact = async (): Promise<string | undefined> => undefined
/** What a worker settles by. */
export const meansOf = (harness: Harness) => ({
  findContact: noContact,
  writeTaken: makeTakenBook((taken) => settleTaken(harness.ctx, taken)).write,
})
export const toRest = async (duty: Duty): Promise<void> => {
  while ((await duty.run()) > 0);
}

export const statesOf = async (harness: Harness, endpointId: string): Promise<string[]> => {
  const { rows } = await harness.owner.query<{ state: string }>(
    'select state from webhook_deliveries where endpoint_id = $1 order by created_at, delivery_id',
    [endpointId],
  )
  return rows.map(({ state }) => state)
}
export const endpointOf = async (harness: Harness, endpointId: string) => {
  const { rows } = await harness.owner.query<{
    state: string
    disabled_reason: string | null
    failing_since: Date | null
  }>('select state, disabled_reason, failing_since from webhook_endpoints where endpoint_id = $1', [
    endpointId,
  ])
  return rows[0]
}
export const attemptsOf = async (harness: Harness, endpointId: string) => {
  const { rows } = await harness.owner.query<{
    attempt: number
    outcome: string
    status: number | null
    fault: string | null
  }>(
    'select attempt, outcome, status, fault from webhook_attempts where endpoint_id = $1 order by at, attempt',
    [endpointId],
  )
  return rows
}

/** The check that a receiver writes from the documentation alone, nothing of ours in it. */
export const isSigned = (secret: string, { headers, body }: Received): boolean => {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const content = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`
  const expected = `v1,${createHmac('sha256', key).update(content).digest('base64')}`
  return headers['webhook-signature'] === expected && headers['x-service-signature'] === expected
}
export const headersFor = ({ headers }: Received): Record<string, string> => ({
  'webhook-id': String(headers['webhook-id']),
  'webhook-timestamp': String(headers['webhook-timestamp']),
  'webhook-signature': String(headers['webhook-signature']),
})
