import type { Audit, Operator } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Settlers } from '../card/apply.ts'
import { findRefundForUpdate, updateRefundRetried } from './store.ts'
import { readRefundable } from './refundable.ts'
import { findCheckoutForUpdate } from '../store.ts'

/** Retries a failed refund. `sendRefunds` first looks for it at the provider, so nothing is refunded twice. */
export const operatorRefundRetry = async (
  ctx: Ctx,
  parts: { readonly audit: Audit; readonly settlers: Settlers },
  operator: Operator,
  refundId: string,
) =>
  inTransaction(ctx, 'system', async (tx) => {
    const row = await findRefundForUpdate(tx, refundId)
    if (!row) throw new Refusal('not_found')
    if (row.state !== 'failed')
      throw new Refusal('forbidden', {
        message: `Only a failed refund can be retried. This one is ${row.state}.`,
      })
    const checkout = await findCheckoutForUpdate(tx, row.checkoutId)
    if (!checkout || (await readRefundable(tx, parts.settlers, checkout)) < row.amountUsdCents)
      throw new Refusal('forbidden', { message: 'The money of this refund is no longer available.' })
    await updateRefundRetried(tx, row)
    await parts.audit(tx, {
      operatorId: operator.operatorId,
      action: 'refund.retried',
      target: refundId,
      details: { agentId: row.agentId, fault: row.fault ?? '' },
    })
    return { refundId, state: 'wanted' as const }
  })
