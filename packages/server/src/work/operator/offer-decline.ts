import type { Mode } from '@pohf/protocol'
import type { Operator } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { requireOffer, presentCurrentOrder } from './offer-accept.ts'
import type { OperatorDeps } from './produce.ts'
import { cancelOpenUnits } from '../orders/cancel-open.ts'
import { updateOrderDeclined } from '../orders/store.ts'

type Input = {
  readonly agentId: string
  readonly orderId: string
  readonly mode: Mode
  readonly reason: string
}

/** Declines an offer and refunds what was paid for it. */
export const operatorOfferDecline = (
  { ctx, audit, unitDeps }: OperatorDeps,
  operator: Operator,
  input: Input,
) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { agentId, mode, orderId, reason } = input
    const key = { agentId, mode, orderId }
    const order = await requireOffer(tx, key)
    await updateOrderDeclined(tx, key, reason)
    await cancelOpenUnits(tx, unitDeps, order, 'the offer was declined')
    await audit(tx, {
      operatorId: operator.operatorId,
      action: 'offer.decline',
      target: orderId,
      details: { agentId, mode, reason },
    })
    return presentCurrentOrder(tx, key)
  })
