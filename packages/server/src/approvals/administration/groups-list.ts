import { inTransaction } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { listGroups, type GroupRow } from './store.ts'

export const presentGroup = ({ name, approvers, changed_at }: GroupRow) => ({
  name,
  approvers,
  changedAt: changed_at.toISOString(),
})

export const groupsList = (ctx: Ctx, agent: Agent) =>
  inTransaction(ctx, agent.agentId, async (tx) => ({
    groups: (await listGroups(tx, agent)).map(presentGroup),
  }))
