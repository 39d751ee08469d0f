import type { Operator } from '../platform/http/call.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { KeyOperationDeps } from './keys-rotate.ts'
import { connectOperatorSocket } from './transport/operator-client.ts'

/** Removes a compromised key from use and from the published set at once, through the operators' socket of the signer. */
export const keysRevoke = async (
  { ctx, signer, audit }: KeyOperationDeps,
  operator: Operator,
  input: { readonly kid: string; readonly reason: string },
) => {
  const { kid, reason } = input
  await inTransaction(ctx, 'system', (tx) =>
    audit(tx, { operatorId: operator.operatorId, action: 'key.revoke', target: kid, details: { reason } }),
  )
  const isRevoked = await connectOperatorSocket(ctx.config.SIGNER_OPERATOR_SOCKET).revoke(kid, reason)
  if (!isRevoked) throw new Refusal('not_found')
  await signer.syncManifests()
  return { kid, revoked: true as const }
}
