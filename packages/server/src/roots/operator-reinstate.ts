import { inTransaction } from '../platform/db/db.ts'
import type { Operator } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { SuspendDeps } from './operator-suspend.ts'
import type { ShownRootKind } from './rules.ts'
import { deleteSuspension } from './store.ts'

type Input = { readonly kind: ShownRootKind; readonly name: string; readonly reason: string }

/** Lifts the suspension of a root. Credentials that were suspended with it stay so. */
export const operatorReinstate = (
  { ctx, audit }: Pick<SuspendDeps, 'ctx' | 'audit'>,
  operator: Operator,
  { kind, name, reason }: Input,
) =>
  inTransaction(ctx, 'system', async (tx) => {
    if (!(await deleteSuspension(tx, { kind, name })))
      throw new Refusal('not_found', { message: 'No such root is suspended.' })
    await audit(tx, {
      operatorId: operator.operatorId,
      action: 'root.reinstate',
      target: `${kind} ${name}`,
      details: { reason },
    })
    return { kind, name }
  })
