import { post } from '../ledger/index.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import type { Job } from '../platform/queue/worker.ts'
import type { UnitDeps } from './deps.ts'
import { returnEscrow } from './orders/escrow.ts'
import { changeOrderStatus } from './orders/transitions.ts'
import { findOrderForUpdate, listExpiredUnfunded } from './orders/store.ts'
import { listEarningsDue, updateEarningStatus } from './workers/stars/store.ts'
import { listExpiredClaims, type Assignment } from './workers/store.ts'
import { gradeKnownAnswer } from './units/known-answers.ts'
import { starLines, unitReference, vestingAccountOf } from './units/rules.ts'
import { acceptUnit, releaseUnit, lockUnit, syncOrderStatus, refuseUnit } from './units/transitions.ts'
import { listOverdueUnits, updateUnclaimedCancelled, type UnitKey } from './units/store.ts'

const everyMs = 5_000
const batchMax = 100

/** Runs an action for each item of a batch in its own transaction, so that one failure does not stop the others. */
const runForEach = async <T extends UnitKey>(
  ctx: Ctx,
  list: (tx: Tx) => Promise<readonly T[]>,
  act: (tx: Tx, item: T) => Promise<void>,
): Promise<number> => {
  const batch = await inTransaction(ctx, 'system', list)
  let done = 0
  for (const item of batch) {
    try {
      await inTransaction(ctx, 'system', (tx) => act(tx, item))
      done += 1
    } catch (error) {
      // Not the item: a claim holds the person and the known answer.
      const { orderId, n } = item
      ctx.log.error({ err: error, orderId, n }, 'work deadline job failed; it will be retried')
    }
  }
  return done
}

/** Reopens a unit whose claim has expired. */
const releaseExpiredClaim = async (tx: Tx, unitDeps: UnitDeps, due: Assignment): Promise<void> => {
  const locked = await lockUnit(tx, due)
  if (locked?.holder?.assignmentId !== due.assignmentId || locked.holder.status !== 'claimed') return
  if (locked.holder.isExpired) await releaseUnit(tx, unitDeps, locked, { status: 'ran_out' })
}

/** Auto-accept: accepts a delivered unit that the buyer did not review in time. A known-answer item is graded. */
const autoAcceptUnit = async (tx: Tx, unitDeps: UnitDeps, due: UnitKey): Promise<void> => {
  const locked = await lockUnit(tx, due)
  if (locked?.unit.status !== 'delivered' || !locked.unit.reviewIsOver) return
  if (locked.order.purpose === 'gold') await gradeKnownAnswer(tx, unitDeps, locked)
  else await acceptUnit(tx, unitDeps, locked)
}

/** Refuses a rejected unit that the person did not appeal in time. */
const refuseUnappealedUnit = async (tx: Tx, unitDeps: UnitDeps, due: UnitKey): Promise<void> => {
  const locked = await lockUnit(tx, due)
  if (locked?.unit.status === 'rejected' && locked.unit.appealIsOver) await refuseUnit(tx, unitDeps, locked)
}

/** Cancels all units of an order that nobody claimed in time, with one refund. */
const cancelUnclaimedUnits = async (tx: Tx, unitDeps: UnitDeps, due: UnitKey): Promise<void> => {
  const order = await findOrderForUpdate(tx, due)
  if (!order) return
  const ended = await updateUnclaimedCancelled(tx, due)
  if (ended.firstN === null) return
  await syncOrderStatus(tx, order)
  await returnEscrow(tx, unitDeps, order, {
    usdCents: ended.usdCents,
    reference: `${unitReference(order.orderId, ended.firstN)} untaken`,
    reason: 'nobody took the work in time',
  })
}

const expireUnfundedOrders = (ctx: Ctx): Promise<number> =>
  inTransaction(ctx, 'system', async (tx) => {
    const orders = await listExpiredUnfunded(tx, batchMax)
    for (const order of orders) await changeOrderStatus(tx, order, 'expired')
    return orders.length
  })

/** Moves Stars whose vesting period is over to the account that payouts are taken from. */
const vestStars = (ctx: Ctx, unitDeps: UnitDeps): Promise<number> =>
  inTransaction(ctx, 'system', async (tx) => {
    const earnings = await listEarningsDue(tx, batchMax)
    for (const earning of earnings) {
      await updateEarningStatus(tx, earning, 'vested')
      if (earning.stars === 0n) continue
      const agentId = unitDeps.platformAgentOf(earning.mode)
      await post(tx, {
        agentId,
        mode: earning.mode,
        kind: 'stars_vested',
        reference: unitReference(earning.orderId, earning.n),
        lines: starLines(
          vestingAccountOf(earning.worker),
          unitDeps.starsAccountOf(agentId, earning.worker),
          earning.stars,
        ),
      })
    }
    return earnings.length
  })

/** The deadlines of work. Each action checks its deadline again under locks, so any number of workers may run them. */
export const deadlines = (unitDeps: UnitDeps) => ({
  claims: {
    list: (tx: Tx) => listExpiredClaims(tx, batchMax),
    act: (tx: Tx, due: Assignment) => releaseExpiredClaim(tx, unitDeps, due),
  },
  reviews: {
    list: (tx: Tx) => listOverdueUnits(tx, 'delivered', batchMax),
    act: (tx: Tx, due: UnitKey) => autoAcceptUnit(tx, unitDeps, due),
  },
  appeals: {
    list: (tx: Tx) => listOverdueUnits(tx, 'rejected', batchMax),
    act: (tx: Tx, due: UnitKey) => refuseUnappealedUnit(tx, unitDeps, due),
  },
  unclaimed: {
    list: (tx: Tx) => listOverdueUnits(tx, 'open', batchMax),
    act: (tx: Tx, due: UnitKey) => cancelUnclaimedUnits(tx, unitDeps, due),
  },
})

/** The background jobs of work. */
export const jobs = (ctx: Ctx, unitDeps: UnitDeps): Job[] => {
  const { claims, reviews, appeals, unclaimed } = deadlines(unitDeps)
  return [
    { name: 'work claims', everyMs, run: () => runForEach(ctx, claims.list, claims.act) },
    { name: 'work reviews', everyMs, run: () => runForEach(ctx, reviews.list, reviews.act) },
    { name: 'work appeals', everyMs, run: () => runForEach(ctx, appeals.list, appeals.act) },
    { name: 'work untaken', everyMs: 60_000, run: () => runForEach(ctx, unclaimed.list, unclaimed.act) },
    { name: 'orders unfunded', everyMs: 60_000, run: () => expireUnfundedOrders(ctx) },
    { name: 'stars', everyMs: 60_000, run: () => vestStars(ctx, unitDeps) },
  ]
}
