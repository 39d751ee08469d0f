import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { unknownEndpoint } from './describe.ts'
import { findEndpointLocked, updateEndpointDeleted } from './store.ts'

/** Deletes an endpoint: nothing more is sent to it, and its URL and secrets are deleted at once. */
export const remove = async (ctx: Ctx, agent: Agent, endpointId: string) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    if (!(await findEndpointLocked(tx, agent, endpointId))) throw unknownEndpoint()
    await updateEndpointDeleted(tx, { agentId: agent.agentId, endpointId })
    return { id: endpointId, deleted: true as const }
  })
