import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { applyFact, type Settlers } from '../card/apply.ts'
import { CardProviderError, type CardProvider } from '../card/provider.ts'
import {
  claimDueRefund,
  findRefundForUpdate,
  updateRefundByFact,
  updateRefundFailed,
  updateRefundAttemptFailed,
  type RefundRow,
} from './store.ts'
import type { RefundStateFact } from './rules.ts'

const batchMax = 20

type Parts = { readonly provider: CardProvider; readonly settlers: Settlers }

const logRefundFailure = (ctx: Ctx, { refundId, agentId, checkoutId }: RefundRow, fault: string): void =>
  ctx.log.error(
    { refundId, agentId, checkoutId, fault },
    'card refund failed, money not returned: see pohf refunds list --state failed',
  )

/** The refund of an earlier attempt whose response was lost, else a new one. The provider stores a key for a day only. */
const findOrCreateRefund = async (
  provider: CardProvider,
  refund: RefundRow,
  paymentId: string,
): Promise<RefundStateFact> => {
  const { refundId, providerKey, amountUsdCents } = refund
  const first = refund.attempts === 1 && providerKey === 1
  const earlier = first ? undefined : await provider.findOwnRefund(paymentId, refundId)
  const idempotencyKey = providerKey === 1 ? refundId : `${refundId}.${providerKey}`
  return earlier ?? provider.createRefund({ refundId, paymentId, amountUsdCents, idempotencyKey })
}

const sendRefund = async (ctx: Ctx, provider: CardProvider, refund: RefundRow, paymentId: string) => {
  try {
    const { providerRefundId } = await findOrCreateRefund(provider, refund, paymentId)
    // Stores only that the refund was sent: the provider's event reports what happened to the money.
    await inTransaction(ctx, 'system', async (tx) => {
      const row = await findRefundForUpdate(tx, refund.refundId)
      if (row?.state === 'wanted') await updateRefundByFact(tx, row, { providerRefundId, state: 'pending' })
    })
  } catch (error) {
    if (!(error instanceof CardProviderError)) throw error
    const { refusal } = error
    const result = await inTransaction(ctx, 'system', async (tx) => {
      const row = await findRefundForUpdate(tx, refund.refundId)
      // The event may have arrived before the response.
      if (row?.state !== 'wanted') return 'again'
      if (refusal === undefined)
        return updateRefundAttemptFailed(tx, row, { fault: 'not_reached', newKey: error.isServerError })
      await updateRefundFailed(tx, row, refusal)
      return 'given up'
    })
    if (result === 'given up') logRefundFailure(ctx, refund, refusal ?? 'given_up')
  }
}

const pollRefund = async (ctx: Ctx, { provider, settlers }: Parts, refund: RefundRow): Promise<void> => {
  const fact = await provider.findRefund(refund.providerRefundId ?? '')
  await inTransaction(ctx, 'system', (tx) => applyFact(tx, settlers, fact))
  if (fact.state === 'failed') logRefundFailure(ctx, refund, 'sent_back')
}

/** Sends requested refunds to the provider, and polls those that were sent some time ago. */
export const sendRefunds = async (ctx: Ctx, parts: Parts): Promise<number> => {
  for (let done = 0; done < batchMax; done++) {
    // One at a time: a claim lasts for one attempt, not for a batch of them.
    const due = await inTransaction(ctx, 'system', claimDueRefund)
    if (!due) return done
    const { refund, paymentId } = due
    if (refund.state === 'wanted') await sendRefund(ctx, parts.provider, refund, paymentId)
    else
      await pollRefund(ctx, parts, refund).catch((error: unknown) => {
        if (!(error instanceof CardProviderError)) throw error
      })
  }
  return batchMax
}
