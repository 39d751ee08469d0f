import type { WebhookEndpoint } from '@pohf/protocol'
import type { Agent } from '../../platform/http/call.ts'
import type { Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { findEndpoint, listHealth, type EndpointRow } from './store.ts'

const noEndpoint = 'You have no webhook endpoint with this id.'
export const unknownEndpoint = () => new Refusal('not_found', { message: noEndpoint })

const describe = (row: EndpointRow, health: Awaited<ReturnType<typeof listHealth>>): WebhookEndpoint => ({
  id: row.endpoint_id,
  url: row.url,
  events: row.events,
  enabled: row.state === 'enabled',
  state: row.state === 'disabled' ? 'disabled' : row.failing_since ? 'failing' : 'healthy',
  createdAt: row.created_at.toISOString(),
  failingSince: row.failing_since?.toISOString() ?? null,
  disabledAt: row.disabled_at?.toISOString() ?? null,
  disabledReason: row.disabled_reason,
  previousSecretUntil: row.previous_until?.toISOString() ?? null,
  recoveringSince: row.recover_since?.toISOString() ?? null,
  waiting: row.waiting,
  health: health
    .filter((hour) => hour.endpoint_id === row.endpoint_id)
    .map((hour) => ({
      hour: hour.hour.toISOString(),
      delivered: hour.delivered,
      failed: hour.failed,
      averageMs: Math.round(Number(hour.duration_ms) / Math.max(hour.delivered + hour.failed, 1)),
    })),
})

/** Endpoints as the API returns them. */
export const describeAll = async (
  tx: Tx,
  agent: Agent,
  rows: readonly EndpointRow[],
): Promise<WebhookEndpoint[]> => {
  const health = await listHealth(
    tx,
    agent.agentId,
    rows.map((row) => row.endpoint_id),
  )
  return rows.map((row) => describe(row, health))
}

export const describeOne = async (tx: Tx, agent: Agent, endpointId: string): Promise<WebhookEndpoint> => {
  const row = await findEndpoint(tx, agent, endpointId)
  const [described] = row ? await describeAll(tx, agent, [row]) : []
  if (!described) throw unknownEndpoint()
  return described
}
