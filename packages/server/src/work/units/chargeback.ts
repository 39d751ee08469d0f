import type { ReleaseReason } from '@pohf/protocol'
import { post } from '../../ledger/index.ts'
import type { Tx } from '../../platform/db/db.ts'
import type { UnitDeps } from '../deps.ts'
import { changeOrderStatus } from '../orders/transitions.ts'
import type { Order } from '../orders/store.ts'
import { paymentAccountsOf } from '../rules.ts'
import { listEarnings, updateEarningFlagged, updateEarningStatus } from '../workers/stars/store.ts'
import { findHolderForUpdate, updateAssignment } from '../workers/store.ts'
import { returnLines, starLines, unitReference, vestingAccountOf, workAccounts } from './rules.ts'
import {
  changeDisputedCredentials,
  missingAssignment,
  recordRejection,
  revokeCredentials,
  syncOrderStatus,
} from './transitions.ts'
import {
  listUnitsByState,
  updateOpenCancelled,
  updateUnitCancelled,
  updateUnitPlatformPays,
  type Unit,
} from './store.ts'

const paymentReversedReason: ReleaseReason = 'payment_taken_back'
const note = "The buyer's payment was taken back. Appeal, and an operator decides whether to pay you."

/**
 * Cancels a claimed unit. From its delivery on, the platform would pay a unit, because the buyer's payment is gone. A
 * delivered unit counts as rejected, and an operator decides on the appeal.
 */
const stopUnit = async (tx: Tx, order: Order, unit: Unit): Promise<void> => {
  const holder = await findHolderForUpdate(tx, unit)
  if (!holder) throw missingAssignment(unit, 'stopping its order after a chargeback')
  if (unit.status === 'claimed') {
    await updateAssignment(tx, holder.assignmentId, { status: 'returned', reasons: [paymentReversedReason] })
    await updateUnitCancelled(tx, unit)
    return
  }
  await updateUnitPlatformPays(tx, unit)
  if (unit.status === 'delivered')
    await recordRejection(tx, { order, unit, holder }, { reason: 'other', note })
}

/**
 * Stops a locked order whose payment was charged back: no unit of it starts any more, and its escrow is emptied. Returns
 * the numbers of the delivered units that the buyer no longer pays for.
 */
export const stopOrderAfterChargeback = async (
  tx: Tx,
  order: Order,
  reference: string,
): Promise<readonly number[]> => {
  if (order.fundedAt === null) return []
  // First, so that the units below see the final status of their order.
  if (order.status === 'funded' || order.status === 'in_progress')
    await changeOrderStatus(tx, order, 'cancelled')
  // Before the list: a claim locks only its unit. The update waits for claims that have not committed, and the list
  // below sees them.
  const { usdCents } = await updateOpenCancelled(tx, order)
  const openUnits = await listUnitsByState(tx, order, ['claimed', 'delivered', 'rejected', 'appealed'])
  const buyerPaidUnits = openUnits.filter(({ platformPays }) => !platformPays)
  const stopped: Order = order.status === 'delivered' ? order : { ...order, status: 'cancelled' }
  for (const unit of buyerPaidUnits) await stopUnit(tx, stopped, unit)
  const amount = buyerPaidUnits.reduce((sum, unit) => sum + unit.priceUsdCents, usdCents)
  if (amount > 0n)
    await post(tx, {
      agentId: order.agentId,
      mode: order.mode,
      kind: 'order_stop',
      reference,
      lines: returnLines(order.orderId, amount, paymentAccountsOf(order).unused),
    })
  await syncOrderStatus(tx, stopped)
  return buyerPaidUnits.filter(({ credentialId }) => credentialId !== null).map(({ n }) => n)
}

/**
 * Claws back Stars that still vest, newest first, until they cover what the buyer owes. Vested Stars stay with the
 * person; their earnings are flagged for an operator. Returns the numbers of the units that the buyer no longer pays for.
 */
export const clawBackStars = async (
  tx: Tx,
  unitDeps: UnitDeps,
  order: Order,
  owedUsdCents: bigint,
): Promise<readonly number[]> => {
  const platform = { agentId: unitDeps.platformAgentOf(order.mode), mode: order.mode }
  const unpaid: number[] = []
  let uncoveredUsdCents = owedUsdCents
  for (const earning of await listEarnings(tx, order)) {
    if (uncoveredUsdCents <= 0n) break
    unpaid.push(earning.n)
    uncoveredUsdCents -= earning.priceUsdCents
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
    // The cents that backed these Stars become revenue.
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
  return unpaid
}

const deliveredStatuses = ['accepted', 'rejected', 'appealed', 'refused'] as const

/**
 * Revokes the credentials of these units, and of every unit where the whole payment of the order is gone. While the payment is
 * disputed, they are suspended.
 */
export const withdrawAfterChargeback = async (
  tx: Tx,
  unitDeps: UnitDeps,
  order: Order,
  reversed: {
    readonly numbers: readonly number[]
    readonly isWholePayment: boolean
    readonly isDisputed: boolean
  },
): Promise<void> => {
  const delivered = await listUnitsByState(tx, order, [...deliveredStatuses])
  const unpaid = delivered.filter(({ n }) => reversed.isWholePayment || reversed.numbers.includes(n))
  if (reversed.isDisputed)
    await changeDisputedCredentials(tx, unitDeps, unpaid, {
      to: 'suspended',
      reason: 'the payment is disputed',
    })
  else await revokeCredentials(tx, unitDeps, unpaid, 'the payment was charged back')
}

/** Once every dispute of an order's payment is closed: revokes what they suspended where one was lost, and otherwise reinstates it. */
export const closeDisputes = async (
  tx: Tx,
  unitDeps: UnitDeps,
  order: Order,
  isLost: boolean,
): Promise<void> => {
  const delivered = await listUnitsByState(tx, order, [...deliveredStatuses])
  const change = isLost
    ? ({ to: 'revoked', reason: 'the dispute of the payment was lost' } as const)
    : ({ to: 'issued', reason: 'the dispute of the payment was won' } as const)
  await changeDisputedCredentials(tx, unitDeps, delivered, change)
}
