import type { Audit, Operator, StoreResult } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Settlers } from '../card/apply.ts'
import { requestRefund } from './request-refund.ts'
import { readRefundable } from './refundable.ts'
import { findCheckoutForUpdate } from '../store.ts'

type Input = {
  readonly checkoutId: string
  readonly amountUsdCents?: number | undefined
  readonly reason: string
}
/** An operator refunds a card payment: all of the refundable amount, or a part. */
export const operatorRefund = async (
  ctx: Ctx,
  parts: { readonly audit: Audit; readonly settlers: Settlers; readonly storeResult: StoreResult },
  operator: Operator,
  input: Input,
) =>
  inTransaction(ctx, 'system', async (tx) => {
    const row = await findCheckoutForUpdate(tx, input.checkoutId)
    if (!row || row.state !== 'completed') throw new Refusal('not_found')
    const refundable = await readRefundable(tx, parts.settlers, row)
    const amountUsdCents = input.amountUsdCents === undefined ? refundable : BigInt(input.amountUsdCents)
    if (refundable === 0n || amountUsdCents > refundable)
      throw new Refusal('forbidden', {
        message: `${Number(refundable) / 100} USD of this checkout can be refunded now. The rest is in use, already being refunded, or spent.`,
      })
    const made = await requestRefund(
      tx,
      {
        agentId: row.agentId,
        mode: row.mode,
        checkoutId: row.checkoutId,
        amountUsdCents,
        reference: `operator ${tx.ids.make('rfd_')}`,
        reason: input.reason,
      },
      parts.settlers[row.purpose],
    )
    await parts.audit(tx, {
      operatorId: operator.operatorId,
      action: 'refund.wanted',
      target: made.refundId,
      details: {
        agentId: row.agentId,
        checkoutId: row.checkoutId,
        amountUsdCents: amountUsdCents.toString(),
        reason: input.reason,
      },
    })
    return parts.storeResult(tx, { ...made, amountUsd: Number(amountUsdCents) / 100 })
  })
