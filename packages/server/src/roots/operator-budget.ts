import { inTransaction, type Tx } from '../platform/db/db.ts'
import type { Audit, Operator } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { updateSite } from './store.ts'

export type BudgetDeps = {
  readonly ctx: Ctx
  readonly audit: Audit
  /** Injected by the wiring: whether there is such an agent. */
  readonly isAgent: (tx: Tx, agentId: string) => Promise<boolean>
}
type Input = { readonly agentId: string; readonly factor: number | null; readonly reason: string }

/** Gives a site a budget of its own in every network, so many times the usual one, or takes it back. */
export const operatorBudget = (
  { ctx, audit, isAgent }: BudgetDeps,
  operator: Operator,
  { agentId, factor, reason }: Input,
) =>
  inTransaction(ctx, 'system', async (tx) => {
    if (!(await isAgent(tx, agentId))) throw new Refusal('not_found', { message: 'No such agent.' })
    await updateSite(tx, agentId, factor)
    await audit(tx, {
      operatorId: operator.operatorId,
      action: 'root.budget',
      target: agentId,
      details: { factor, reason },
    })
    return { agentId, factor }
  })
