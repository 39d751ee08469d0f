import { post } from '../../ledger/index.ts'
import type { Tx } from '../../platform/db/db.ts'
import type { PlatformLedger } from '../deps.ts'
import { changeOrderStatus } from '../orders/transitions.ts'
import type { Order } from '../orders/store.ts'
import {
  findHolderForUpdate,
  listEarnings,
  updateAssignment,
  updateEarningStatus,
  updateEarningFlagged,
} from '../workers/store.ts'
import { returnLines, starLines, unitReference, vestingAccountOf, workAccounts } from './rules.ts'
import { syncOrderStatus, rejectUnit } from './transitions.ts'
import {
  listUnitsByState,
  updateOpenCancelled,
  updateUnitCancelled,
  updateUnitPlatformPays,
  type Unit,
} from './store.ts'

const paymentReversedReason = 'payment_taken_back'
const note = "The buyer's payment was taken back. Appeal, and an operator decides whether to pay you."

/** The unit's money is the buyer's again. What is still paid for it, the operator pays. */
const stopUnit = async (tx: Tx, order: Order, unit: Unit): Promise<void> => {
  const holder = await findHolderForUpdate(tx, unit)
  if (!holder) throw new Error('unit of a stopped order has no assignment')
  if (unit.status === 'claimed') {
    await updateAssignment(tx, holder.assignmentId, { status: 'returned', reasons: [paymentReversedReason] })
    await updateUnitCancelled(tx, unit)
    return
  }
  await updateUnitPlatformPays(tx, unit)
  if (unit.status === 'delivered') await rejectUnit(tx, { order, unit, holder }, { reason: 'other', note })
}

/** The buyer's money is gone: nothing more is done for this order, and its escrow is empty. The order is locked. */
export const stopOrderAfterChargeback = async (tx: Tx, order: Order, reference: string): Promise<void> => {
  if (order.fundedAt === null) return
  const openUnits = await listUnitsByState(tx, order, ['claimed', 'delivered', 'rejected', 'appealed'])
  const buyerPaidUnits = openUnits.filter(({ platformPays: housePays }) => !housePays)
  // First, so that a unit which is handed over finds the order where it will be.
  if (order.status === 'funded' || order.status === 'in_progress')
    await changeOrderStatus(tx, order, 'cancelled')
  const { usdCents } = await updateOpenCancelled(tx, order)
  const stopped: Order = order.status === 'delivered' ? order : { ...order, status: 'cancelled' }
  for (const unit of buyerPaidUnits) await stopUnit(tx, stopped, unit)
  const amount = buyerPaidUnits.reduce((sum, unit) => sum + unit.priceUsdCents, usdCents)
  if (amount > 0n)
    await post(tx, {
      agentId: order.agentId,
      mode: order.mode,
      kind: 'order_stop',
      reference,
      lines: returnLines(order.orderId, amount, false),
    })
  await syncOrderStatus(tx, stopped)
}

/**
 * What was paid to people and is now owed to us: Stars that are not theirs yet go back, the newest first, until it is
 * covered. Those that are theirs stay; they are flagged, and an operator looks.
 */
export const clawBackStars = async (
  tx: Tx,
  platformLedger: PlatformLedger,
  order: Order,
  owedUsdCents: bigint,
): Promise<void> => {
  const platform = { agentId: platformLedger.platformAgentOf(order.mode), mode: order.mode }
  let missing = owedUsdCents
  for (const earning of await listEarnings(tx, order)) {
    if (missing <= 0n) return
    missing -= earning.priceUsdCents
    if (earning.status !== 'vesting') {
      await updateEarningFlagged(tx, earning)
      continue
    }
    await updateEarningStatus(tx, earning, 'taken_back')
    if (earning.stars === 0n) continue
    const reference = unitReference(order.orderId, earning.n)
    await post(tx, {
      ...platform,
      kind: 'stars_taken_back',
      reference,
      lines: starLines(vestingAccountOf(earning.worker), workAccounts.stars, earning.stars),
    })
    // What was set aside for them is not needed any more.
    await post(tx, {
      agentId: order.agentId,
      mode: order.mode,
      kind: 'stars_taken_back',
      reference,
      lines: [
        { account: workAccounts.backing, unit: 'usd_cent', amount: -earning.stars },
        { account: workAccounts.revenue, unit: 'usd_cent', amount: earning.stars },
      ],
    })
  }
}
