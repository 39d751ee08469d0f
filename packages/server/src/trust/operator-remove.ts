import type { TrustRootKind } from '@pohf/protocol'
import { inTransaction } from '../platform/db/db.ts'
import type { Operator } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { TrustDeps } from './operator-add.ts'
import { deleteRoot } from './store.ts'

type Input = { readonly kind: TrustRootKind; readonly name: string; readonly reason: string }

/** Ends the trust in a root. Its agents and their orders stay, but no order or order token of theirs is accepted any more. */
export const operatorRemove = (
  { ctx, audit }: TrustDeps,
  operator: Operator,
  { kind, name, reason }: Input,
) =>
  inTransaction(ctx, 'system', async (tx) => {
    if (!(await deleteRoot(tx, { kind, name })))
      throw new Refusal('not_found', { message: 'There is no such trust root.' })
    await audit(tx, {
      operatorId: operator.operatorId,
      action: 'trust.remove',
      target: `${kind} ${name}`,
      details: { reason },
    })
    return { kind, name }
  })
