import { balanceOf, post } from '../../ledger/index.ts'
import type { Settler } from '../../payments/index.ts'
import type { UnitDeps } from '../deps.ts'
import { cardAccounts, transferLines } from '../rules.ts'
import {
  clawBackStars,
  closeDisputes,
  stopOrderAfterChargeback,
  withdrawAfterChargeback,
} from '../units/chargeback.ts'
import { isPaidByCard, markOrderRefunded, orderKeyOf, reversePayment } from './escrow.ts'
import { applyOrderPayment } from './fund.ts'
import { findOrderForUpdate } from './store.ts'

/**
 * Applies card payments to orders: a payment funds the order once. A chargeback stops it: open units are cancelled, an
 * operator decides about claimed and delivered ones, Stars that still vest are clawed back, and the credentials of
 * units that nobody pays for any more are revoked, or suspended until the dispute is closed.
 */
export const makeCardSettler = (unitDeps: UnitDeps): Settler => ({
  applyPayment: applyOrderPayment,
  applyReversal: async (tx, checkout, change) => {
    const key = orderKeyOf(checkout)
    const delta = change.afterUsdCents - change.beforeUsdCents
    if (delta <= 0n) {
      // A won dispute returns money to an order that may have ended: an operator decides about it.
      await post(tx, {
        agentId: key.agentId,
        mode: key.mode,
        kind: 'order_reversal',
        reference: change.reference,
        lines: transferLines(cardAccounts.world, cardAccounts.unused, -delta),
      })
      return
    }
    const order = await findOrderForUpdate(tx, key)
    const stopsOrder = order !== undefined && isPaidByCard(order) && delta > change.ownRefundsUsdCents
    const stopped = stopsOrder ? await stopOrderAfterChargeback(tx, order, change.reference) : []
    const owedUsdCents = await reversePayment(tx, checkout, change, order)
    const clawedBack = stopsOrder ? await clawBackStars(tx, unitDeps, order, owedUsdCents) : []
    await markOrderRefunded(tx, checkout, change)
    if (stopsOrder)
      await withdrawAfterChargeback(tx, unitDeps, order, {
        numbers: [...stopped, ...clawedBack],
        isWholePayment: change.afterUsdCents >= checkout.amountUsdCents,
        isDisputed: change.isDisputed,
      })
  },
  applyDisputes: async (tx, checkout, { openUsdCents, lostUsdCents }) => {
    if (openUsdCents > 0n) return
    const order = await findOrderForUpdate(tx, orderKeyOf(checkout))
    if (order && isPaidByCard(order)) await closeDisputes(tx, unitDeps, order, lostUsdCents > 0n)
  },
  findRefundable: (tx, { agentId, mode }) =>
    balanceOf(tx, { agentId, mode, unit: 'usd_cent', account: cardAccounts.unused }),
})
