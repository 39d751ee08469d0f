import type { Audit, Operator } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import type { KeyPurpose } from './rules.ts'
import { connectOperatorSocket } from './transport/operator-client.ts'
import type { Signer } from './signer-client.ts'

export type KeyOperationDeps = { readonly ctx: Ctx; readonly signer: Signer; readonly audit: Audit }

/**
 * The audit entry is written first, so that no rotation can be missing from the log. The request goes to the operators'
 * socket of the signer. Where the signer has a user of its own, this process cannot open it and answers 503: rotate on
 * the signer's machine then.
 */
export const keysRotate = async (
  { ctx, signer, audit }: KeyOperationDeps,
  operator: Operator,
  purpose: KeyPurpose,
) => {
  await inTransaction(ctx, 'system', (tx) =>
    audit(tx, { operatorId: operator.operatorId, action: 'key.rotate', target: purpose, details: {} }),
  )
  const pendingKid = await connectOperatorSocket(ctx.config.SIGNER_OPERATOR_SOCKET).rotate(purpose)
  await signer.syncManifests()
  return { purpose, pendingKid }
}
