import { inTransaction } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { logChange } from './administrator.ts'
import { deleteGroup } from './store.ts'

/** Removes a group. Approvals that were requested from it keep their approvers. */
export const groupsRemove = async (ctx: Ctx, agent: Agent, name: string) => {
  const removed = await inTransaction(ctx, agent.agentId, (tx) => deleteGroup(tx, agent, name))
  if (!removed) throw new Refusal('not_found', { message: 'No such group.' })
  logChange(ctx, agent, { action: 'group.remove', target: name })
  return { name, removed: true as const }
}
