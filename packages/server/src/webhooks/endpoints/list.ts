import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { describeAll } from './describe.ts'
import { listEndpoints } from './store.ts'

/** The agent's endpoints, newest first. */
export const list = async (ctx: Ctx, agent: Agent) =>
  inTransaction(ctx, agent.agentId, async (tx) => ({
    webhooks: await describeAll(tx, agent, await listEndpoints(tx, agent)),
  }))
