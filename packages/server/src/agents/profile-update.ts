import type { Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { readProfile } from './profile.ts'
import { updateAgent, type AgentChange } from './store.ts'

export const profileUpdate = async (ctx: Ctx, agent: Agent, change: AgentChange) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    await updateAgent(tx, agent.agentId, change)
    return readProfile(tx, ctx, agent.agentId)
  })
