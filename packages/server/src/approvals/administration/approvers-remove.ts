import { inTransaction } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { administratorOf, logChange } from './administrator.ts'
import { updateApproverRemoved } from './store.ts'

/** Removes an approver at once, also from what waits: each decision reads whether its approver was removed. */
export const approversRemove = async (ctx: Ctx, agent: Agent, approver: string) => {
  await inTransaction(ctx, agent.agentId, async (tx) => {
    const removed = await updateApproverRemoved(tx, agent, { approver, removedBy: administratorOf(agent) })
    if (!removed) throw new Refusal('not_found', { message: 'No such approver.' })
  })
  logChange(ctx, agent, { action: 'approver.remove', target: approver })
  return { approver, removed: true as const }
}
