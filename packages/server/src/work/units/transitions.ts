import { post } from '../../ledger/index.ts'
import type { Tx } from '../../platform/db/db.ts'
import { publish } from '../../platform/queue/outbox.ts'
import type { UnitDeps } from '../deps.ts'
import { returnEscrow } from '../orders/escrow.ts'
import { changeOrderStatus } from '../orders/transitions.ts'
import { findOrderForUpdate, type Order } from '../orders/store.ts'
import { insertEarning } from '../workers/stars/store.ts'
import { findHolderForUpdate, updateAssignment, type Assignment } from '../workers/store.ts'
import {
  platformPaymentLines,
  paymentLines,
  starLines,
  unitReference,
  vestingDays,
  vestingAccountOf,
  workAccounts,
  type RejectReason,
} from './rules.ts'
import {
  countUnits,
  findUnitForUpdate,
  updateUnitAccepted,
  updateUnitAppealed,
  updateUnitCancelled,
  updateUnitDecided,
  updateUnitReopened,
  updateUnitRefused,
  updateUnitRejected,
  type Unit,
  type UnitKey,
} from './store.ts'

export type LockedUnit = {
  readonly order: Order
  readonly unit: Unit
  readonly holder: Assignment | undefined
}

/**
 * Locks order, unit and assignment, in this sequence; ledger accounts come last. A claim locks its unit first: where it is
 * the first of its order, it may deadlock with a change of the order, and one of the two is rolled back and retried.
 */
export const lockUnit = async (tx: Tx, key: UnitKey): Promise<LockedUnit | undefined> => {
  const order = await findOrderForUpdate(tx, key)
  const unit = order && (await findUnitForUpdate(tx, key))
  return unit && { order, unit, holder: await findHolderForUpdate(tx, key) }
}

/** Internal error: a claimed, delivered or reviewed unit always has an assignment. */
export const missingAssignment = ({ orderId, n, status }: Unit, operation: string) =>
  new Error(`unit ${unitReference(orderId, n)} is ${status} and has no assignment while ${operation}`)

const unitEventOf = (unit: Unit) => ({
  agentId: unit.agentId,
  mode: unit.mode,
  subject: unit.orderId,
  data: { orderId: unit.orderId, n: unit.n, credentialId: unit.credentialId ?? '' },
})

/** Updates the status of a locked order from the states of its units. */
export const syncOrderStatus = async (tx: Tx, order: Order): Promise<void> => {
  const counts = (await countUnits(tx, order, [order.orderId])).get(order.orderId) ?? []
  const has = (...states: readonly string[]) => counts.some(({ status }) => states.includes(status))
  let { status } = order
  if (status === 'funded' && !has('open') && !has('claimed')) {
    await changeOrderStatus(tx, order, 'expired')
    return
  }
  if (status === 'in_progress' && !has('open', 'claimed')) {
    await changeOrderStatus(tx, order, 'delivered')
    status = 'delivered'
  }
  if (status === 'delivered' && !has('open', 'claimed', 'delivered', 'rejected', 'appealed'))
    await changeOrderStatus(tx, order, 'completed')
}

/** Pays a unit from escrow: Stars for the person, the rest is revenue. Fails where the unit is already paid. */
const payUnit = async (
  tx: Tx,
  unitDeps: UnitDeps,
  { order, unit }: LockedUnit,
  worker: Assignment,
): Promise<void> => {
  const reference = unitReference(order.orderId, unit.n)
  const platform = { agentId: unitDeps.platformAgentOf(order.mode), mode: order.mode }
  const payer = unit.platformPays ? platform : { agentId: order.agentId, mode: order.mode }
  const { rewardStars } = worker
  const lines = unit.platformPays
    ? platformPaymentLines(rewardStars)
    : paymentLines(order.orderId, unit.priceUsdCents, rewardStars)
  const postings = [
    ...(lines.length > 0 ? [{ ...payer, kind: 'unit_payment', reference, lines }] : []),
    ...(rewardStars > 0
      ? [
          {
            ...platform,
            kind: 'unit_stars',
            reference,
            lines: starLines(workAccounts.stars, vestingAccountOf(worker.worker), BigInt(rewardStars)),
          },
        ]
      : []),
  ]
  await insertEarning(tx, { unit, worker: worker.worker, stars: rewardStars, vestingDays })
  for (const posting of postings)
    if ((await post(tx, posting)).repeated)
      throw new Error(
        `unit ${reference} is already paid: ${posting.kind} was posted before assignment ${worker.assignmentId} was accepted`,
      )
}

/** Accepts a unit and pays the person. */
export const acceptUnit = async (tx: Tx, unitDeps: UnitDeps, locked: LockedUnit): Promise<void> => {
  const { order, unit, holder } = locked
  if (!holder) throw missingAssignment(unit, 'accepting it')
  await payUnit(tx, unitDeps, locked, holder)
  const toStock = order.purpose === 'stock' || (unit.platformPays && order.itemCount === 0)
  await updateUnitAccepted(tx, unit, { toStock })
  await updateAssignment(tx, holder.assignmentId, { status: 'accepted' })
  await publish(tx, { ...unitEventOf(unit), type: 'order.unit_accepted' })
  await syncOrderStatus(tx, order)
  if (unit.status === 'appealed')
    await changeCredential(tx, unitDeps, unit, {
      to: 'issued',
      ground: 'unit',
      reason: 'the appeal was accepted',
    })
}

type CredentialChange = Omit<Parameters<UnitDeps['changeCredentialState']>[1], 'credentialId'>
/** Changes the credential of a delivered unit. Last in its transaction: it locks the status list. */
const changeCredential = async (
  tx: Tx,
  { changeCredentialState }: UnitDeps,
  unit: Unit,
  change: CredentialChange,
): Promise<void> => {
  const { credentialId } = unit
  if (credentialId === null)
    throw new Error(
      `unit ${unitReference(unit.orderId, unit.n)} is ${unit.status} and has no credential that can become ${change.to}`,
    )
  await changeCredentialState(tx, { ...change, credentialId })
}

/** The buyer does not keep the credential of a unit whose payment is refunded or charged back. */
export const revokeCredentials = async (
  tx: Tx,
  unitDeps: UnitDeps,
  units: readonly Unit[],
  reason: string,
): Promise<void> => {
  for (const unit of units) await changeCredential(tx, unitDeps, unit, { to: 'revoked', reason })
}

type Rejection = { readonly reason: RejectReason; readonly note: string | undefined }
/** Rejects a unit with a reason: the credential is suspended, and the person may appeal. */
export const rejectUnit = async (
  tx: Tx,
  unitDeps: UnitDeps,
  locked: LockedUnit,
  rejection: Rejection,
): Promise<void> => {
  await recordRejection(tx, locked, rejection)
  await changeCredential(tx, unitDeps, locked.unit, {
    to: 'suspended',
    ground: 'unit',
    reason: 'the unit was rejected',
  })
}

/** Changes the credentials of delivered units whose payment is disputed, or whose dispute is closed. */
export const changeDisputedCredentials = async (
  tx: Tx,
  unitDeps: UnitDeps,
  units: readonly Unit[],
  { to, reason }: Omit<CredentialChange, 'ground'>,
): Promise<void> => {
  for (const unit of units) await changeCredential(tx, unitDeps, unit, { to, ground: 'dispute', reason })
}

/** The rejection without the credential, which a chargeback suspends or revokes. */
export const recordRejection = async (
  tx: Tx,
  { order, unit, holder }: LockedUnit,
  rejection: Rejection,
): Promise<void> => {
  if (!holder) throw missingAssignment(unit, 'rejecting it')
  await updateUnitRejected(tx, unit, rejection)
  await updateAssignment(tx, holder.assignmentId, { status: 'rejected' })
  const { data, ...event } = unitEventOf(unit)
  await publish(tx, { ...event, type: 'order.unit_rejected', data: { ...data, reason: rejection.reason } })
  await syncOrderStatus(tx, order)
}

export const appealUnit = async (tx: Tx, { unit, holder }: LockedUnit, text: string): Promise<void> => {
  if (!holder) throw missingAssignment(unit, 'appealing its rejection')
  await updateUnitAppealed(tx, unit, text)
  await updateAssignment(tx, holder.assignmentId, { status: 'appealed' })
  await publish(tx, { ...unitEventOf(unit), type: 'order.unit_appealed' })
}

/** Refuses a unit for good: the person is not paid, the escrow returns to the payer, and the credential is revoked. */
export const refuseUnit = async (
  tx: Tx,
  unitDeps: UnitDeps,
  { order, unit, holder }: LockedUnit,
): Promise<void> => {
  if (!holder) throw missingAssignment(unit, 'refusing it')
  await updateUnitRefused(tx, unit)
  await updateAssignment(tx, holder.assignmentId, { status: 'refused' })
  if (!unit.platformPays)
    await returnEscrow(tx, unitDeps, order, {
      usdCents: unit.priceUsdCents,
      reference: unitReference(order.orderId, unit.n),
      reason: 'a unit was refused',
    })
  await publish(tx, { ...unitEventOf(unit), type: 'order.unit_refused' })
  await syncOrderStatus(tx, order)
  await revokeCredentials(tx, unitDeps, [unit], 'the unit was refunded')
}

/** Applies the decision of an operator on an appeal. */
export const decideUnit = async (
  tx: Tx,
  unitDeps: UnitDeps,
  locked: LockedUnit,
  ruling: { readonly decision: 'accepted' | 'refused'; readonly reason: string },
): Promise<void> => {
  await updateUnitDecided(tx, locked.unit, ruling)
  if (ruling.decision === 'accepted') await acceptUnit(tx, unitDeps, locked)
  else await refuseUnit(tx, unitDeps, locked)
}

type ClaimRelease = {
  readonly status: 'returned' | 'ran_out' | 'not_verified'
  readonly sessionId?: string
  readonly quality?: number | null
  readonly reasons?: readonly string[]
  /** The person reported it: this is no return that counts. */
  readonly isReport?: boolean
}
/** Ends a claim without delivery. */
export const releaseUnit = async (
  tx: Tx,
  unitDeps: Pick<UnitDeps, 'returnPurchase'>,
  { order, unit, holder }: LockedUnit,
  { isReport = false, ...release }: ClaimRelease,
): Promise<void> => {
  if (!holder) throw missingAssignment(unit, 'releasing it')
  const released = release.status !== 'not_verified' && !isReport
  await updateAssignment(tx, holder.assignmentId, { ...release, released })
  await reopenUnit(tx, unitDeps, { order, unit })
}

/** Opens a claimed unit again, now or later, or cancels it where its order has ended. */
export const reopenUnit = async (
  tx: Tx,
  unitDeps: Pick<UnitDeps, 'returnPurchase'>,
  { order, unit }: Pick<LockedUnit, 'order' | 'unit'>,
  { afterMinutes = 0 }: { readonly afterMinutes?: number } = {},
): Promise<void> => {
  const isOrderEnded = ['cancelled', 'expired', 'refunded'].includes(order.status) || order.purpose === 'gold'
  if (!isOrderEnded) {
    await updateUnitReopened(tx, unit, { afterMinutes, isHeld: order.isHeld })
    return
  }
  await updateUnitCancelled(tx, unit)
  await returnEscrow(tx, unitDeps, order, {
    usdCents: unit.priceUsdCents,
    reference: unitReference(order.orderId, unit.n),
    reason: 'a unit of an order that is over was not done',
  })
  await syncOrderStatus(tx, order)
}
