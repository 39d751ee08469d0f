import type { Audit, Operator } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { updateSuspended } from './store.ts'

type Suspension = { readonly agentId: string; readonly suspended: boolean; readonly reason: string }

/** Suspends or reinstates an agent; the reason goes into the audit log. */
export const operatorSuspend = async (ctx: Ctx, audit: Audit, operator: Operator, input: Suspension) =>
  inTransaction(ctx, 'system', async (tx) => {
    if (!(await updateSuspended(tx, input.agentId, input.suspended))) throw new Refusal('not_found')
    await audit(tx, {
      operatorId: operator.operatorId,
      action: input.suspended ? 'agent.suspend' : 'agent.reinstate',
      target: input.agentId,
      details: { reason: input.reason },
    })
    return { agentId: input.agentId, suspended: input.suspended }
  })
