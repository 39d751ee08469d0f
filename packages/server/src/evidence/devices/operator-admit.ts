import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { Audit, Operator } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import type { AppRef } from './attestation.ts'
import { deleteAdmission, insertAdmission } from './store.ts'

export type AdmitDeps = {
  readonly ctx: Ctx
  readonly audit: Audit
  /** Injected by the wiring: whether there is such an agent. */
  readonly isAgent: (tx: Tx, agentId: string) => Promise<boolean>
}
type Input = AppRef & { readonly agentId: string; readonly admitted: boolean; readonly reason: string }

/** Admits an app or relying party of an agent, so that its verdicts raise credentials, or takes it back. */
export const operatorAdmit = (
  { ctx, audit, isAgent }: AdmitDeps,
  operator: Operator,
  { agentId, kind, name, admitted, reason }: Input,
) =>
  inTransaction(ctx, 'system', async (tx) => {
    if (!(await isAgent(tx, agentId))) throw new Refusal('not_found', { message: 'No such agent.' })
    const app = { kind, name }
    if (admitted) await insertAdmission(tx, agentId, app)
    else if (!(await deleteAdmission(tx, agentId, app)))
      throw new Refusal('not_found', { message: 'No such app or relying party of this agent is admitted.' })
    await audit(tx, {
      operatorId: operator.operatorId,
      action: 'app.admit',
      target: agentId,
      details: { kind, name, admitted, reason },
    })
    return { agentId, kind, name, admitted }
  })
