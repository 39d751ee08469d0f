import { inTransaction } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { lockApprovalsOf } from '../store.ts'
import { administratorOf, logChange } from './administrator.ts'
import { findNewestType, updateTypeRetired } from './store.ts'

/** Retires a type. A later request that names it is a request without a registered type. */
export const typesRetire = async (ctx: Ctx, agent: Agent, type: string) => {
  await inTransaction(ctx, agent.agentId, async (tx) => {
    await lockApprovalsOf(tx, agent)
    const newest = await findNewestType(tx, agent, type)
    if (!newest || newest.retired_at) throw new Refusal('not_found', { message: 'No such action type.' })
    await updateTypeRetired(tx, agent, { ...newest, retired_by: administratorOf(agent) })
  })
  logChange(ctx, agent, { action: 'type.retire', target: type })
  return { type, retired: true as const }
}
