import { post } from '../ledger/index.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import type { Duty } from '../platform/queue/worker.ts'
import type { Books } from './deps.ts'
import { returnMoney } from './orders/escrow.ts'
import { moveOrder } from './orders/transitions.ts'
import { findOrderForUpdate, listUnfundedOver } from './orders/store.ts'
import { listDueClaims, listVestingDue, updateEarning, type Assignment } from './workers/store.ts'
import { starLines, unitReference, vestingOf } from './units/rules.ts'
import { acceptUnit, freeUnit, lockUnit, refreshOrder, refuseUnit } from './units/transitions.ts'
import { listOverdue, updateOverdueCancelled, type UnitKey } from './units/store.ts'

const everyMs = 5_000
const batchMax = 100

/** Does one thing for each of a batch, each in a transaction of its own: one that fails keeps no other waiting. */
const forEach = async <T>(
  ctx: Ctx,
  list: (tx: Tx) => Promise<readonly T[]>,
  act: (tx: Tx, one: T) => Promise<void>,
): Promise<number> => {
  const batch = await inTransaction(ctx, 'system', list)
  let done = 0
  for (const one of batch) {
    try {
      await inTransaction(ctx, 'system', (tx) => act(tx, one))
      done += 1
    } catch (error) {
      ctx.log.error({ err: error, one }, 'a deadline of work could not be kept; it is tried again')
    }
  }
  return done
}

/** A claim that ran out: the unit is free again. */
const freeDue = async (tx: Tx, due: Assignment): Promise<void> => {
  const locked = await lockUnit(tx, due)
  if (locked?.holder?.assignmentId !== due.assignmentId || locked.holder.status !== 'claimed') return
  if (locked.holder.isOver) await freeUnit(tx, locked, { status: 'ran_out' })
}

/** The buyer did not look in time: it counts as accepted. */
const acceptDue = async (tx: Tx, books: Books, due: UnitKey): Promise<void> => {
  const locked = await lockUnit(tx, due)
  if (locked?.unit.status === 'delivered' && locked.unit.reviewIsOver) await acceptUnit(tx, books, locked)
}

/** The person did not appeal in time: the no stands. */
const refuseDue = async (tx: Tx, due: UnitKey): Promise<void> => {
  const locked = await lockUnit(tx, due)
  if (locked?.unit.status === 'rejected' && locked.unit.appealIsOver) await refuseUnit(tx, locked)
}

/** Nobody took them in time: all units of the order that waited so long end together, by one refund. */
const endUntaken = async (tx: Tx, due: UnitKey): Promise<void> => {
  const order = await findOrderForUpdate(tx, due)
  if (!order) return
  const ended = await updateOverdueCancelled(tx, due)
  if (ended.firstN === null) return
  await refreshOrder(tx, order)
  await returnMoney(tx, order, {
    usdCents: ended.usdCents,
    reference: `${unitReference(order.orderId, ended.firstN)} untaken`,
    reason: 'nobody took the work in time',
  })
}

const expireUnfunded = (ctx: Ctx): Promise<number> =>
  inTransaction(ctx, 'system', async (tx) => {
    const orders = await listUnfundedOver(tx, batchMax)
    for (const order of orders) await moveOrder(tx, order, 'expired')
    return orders.length
  })

/** Stars whose time has come are the person's. */
const vest = (ctx: Ctx, books: Books): Promise<number> =>
  inTransaction(ctx, 'system', async (tx) => {
    const earnings = await listVestingDue(tx, batchMax)
    for (const earning of earnings) {
      await updateEarning(tx, earning, 'vested')
      if (earning.stars === 0n) continue
      const agentId = books.houseOf(earning.mode)
      await post(tx, {
        agentId,
        mode: earning.mode,
        kind: 'stars_vested',
        reference: unitReference(earning.orderId, earning.n),
        lines: starLines(
          vestingOf(earning.worker),
          books.starsAccountOf(agentId, earning.worker),
          earning.stars,
        ),
      })
    }
    return earnings.length
  })

/** What is over, and what then happens. Each looks again under its locks, so any number of workers may run them. */
export const deadlines = (books: Books) => ({
  claims: { list: (tx: Tx) => listDueClaims(tx, batchMax), act: freeDue },
  reviews: {
    list: (tx: Tx) => listOverdue(tx, 'delivered', batchMax),
    act: (tx: Tx, due: UnitKey) => acceptDue(tx, books, due),
  },
  appeals: { list: (tx: Tx) => listOverdue(tx, 'rejected', batchMax), act: refuseDue },
  untaken: { list: (tx: Tx) => listOverdue(tx, 'open', batchMax), act: endUntaken },
})

/** All deadlines of work. */
export const duties = (ctx: Ctx, books: Books): Duty[] => {
  const { claims, reviews, appeals, untaken } = deadlines(books)
  return [
    { name: 'work claims', everyMs, run: () => forEach(ctx, claims.list, claims.act) },
    { name: 'work reviews', everyMs, run: () => forEach(ctx, reviews.list, reviews.act) },
    { name: 'work appeals', everyMs, run: () => forEach(ctx, appeals.list, appeals.act) },
    { name: 'work untaken', everyMs: 60_000, run: () => forEach(ctx, untaken.list, untaken.act) },
    { name: 'orders unfunded', everyMs: 60_000, run: () => expireUnfunded(ctx) },
    { name: 'stars', everyMs: 60_000, run: () => vest(ctx, books) },
  ]
}
