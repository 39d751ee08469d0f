import type { Agent } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { inTransaction } from '../platform/db.ts'
import { describeAll } from './describe.ts'
import { listEndpoints } from './store.ts'

/** The agent's endpoints, newest first. */
export const list = async (ctx: Ctx, agent: Agent) =>
  inTransaction(ctx, agent.agentId, async (tx) => ({
    webhooks: await describeAll(tx, agent, await listEndpoints(tx, agent)),
  }))
