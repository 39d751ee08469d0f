import { unitStates } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import type { BuyerDeps } from '../deps.ts'
import { listItems, type Order } from './store.ts'
import { rewardWarningsOf, unitUsdOf, usdOf } from '../rules.ts'
import { presentReview } from '../reviews/present.ts'
import { countUnits, type UnitCount, type Unit } from '../units/store.ts'

const returnedStates = new Set(['refused', 'cancelled'])
const sumOf = (counts: readonly UnitCount[], which: (count: UnitCount) => boolean): bigint =>
  counts.filter(which).reduce((sum, count) => sum + count.usdCents - count.platformUsdCents, 0n)

/** How much of the buyer's payment is held, paid and returned, by the states of the units. */
const summarizeEscrow = (order: Order, counts: readonly UnitCount[]) => {
  const paid = sumOf(counts, ({ status }) => status === 'accepted')
  const returned = sumOf(counts, ({ status }) => returnedStates.has(status))
  const held = sumOf(counts, ({ status }) => status !== 'accepted' && !returnedStates.has(status))
  const settled = paid > 0n ? ('released' as const) : ('refunded' as const)
  const status = order.fundedAt === null ? ('unfunded' as const) : held > 0n ? ('held' as const) : settled
  return { status, heldUsd: usdOf(held), paidUsd: usdOf(paid), returnedUsd: usdOf(returned) }
}

/** Orders as their buyer sees them. */
export const presentOrders = async (tx: Tx, { forgingPriceUsd }: BuyerDeps, orders: readonly Order[]) => {
  const [first] = orders
  if (!first) return []
  const counts = await countUnits(
    tx,
    first,
    orders.map(({ orderId }) => orderId),
  )
  return orders.map((order) => {
    const units = counts.get(order.orderId) ?? []
    const countOf = (state: string) => units.find(({ status }) => status === state)?.count ?? 0
    return {
      orderId: order.orderId,
      status: order.status,
      taskType: order.taskType,
      workflowId: order.workflowId,
      custom: order.workflowId === null,
      waitsForOperator: order.waitsForOperator,
      quantity: order.quantity,
      unitPriceUsd: unitUsdOf(order.totalUsdCents, order.quantity),
      totalUsd: usdOf(order.totalUsdCents),
      callbackRef: order.callbackRef,
      createdAt: order.createdAt.toISOString(),
      expiresAt: order.expiresAt.toISOString(),
      fundedAt: order.fundedAt?.toISOString() ?? null,
      units: Object.fromEntries(unitStates.map((state) => [state, countOf(state)])) as Record<
        (typeof unitStates)[number],
        number
      >,
      escrow: summarizeEscrow(order, units),
      review: presentReview(order),
      warnings: rewardWarningsOf(forgingPriceUsd, order.terms?.rewardStars),
    }
  })
}
export const presentOrder = async (tx: Tx, deps: BuyerDeps, order: Order) => {
  const [presented] = await presentOrders(tx, deps, [order])
  if (!presented) throw new Error(`order ${order.orderId}: 1 order given to present, none presented`)
  return presented
}

/** The input of each unit: the buyer's item, or a sample of the workflow. */
export const listUnitInputs = async (
  tx: Tx,
  order: Order,
  units: readonly { readonly n: number; readonly item: number | null }[],
): Promise<readonly unknown[]> => {
  const items = await listItems(
    tx,
    order,
    units.flatMap(({ item }) => (item === null ? [] : [item])),
  )
  const samples = order.terms?.samples ?? []
  return units.map(({ n, item }) => {
    if (item !== null) return items.get(item) ?? null
    return samples.length > 0 ? (samples[(n - 1) % samples.length] ?? null) : null
  })
}

/** Provided by the wiring: the signed credentials of sessions, by session id. */
export type FindCredentialTokens = (
  tx: Tx,
  order: Pick<Order, 'agentId' | 'mode'>,
  sessionIds: readonly string[],
) => Promise<ReadonlyMap<string, string>>

/** Units as their buyer sees them. */
export const presentUnits = async (
  tx: Tx,
  order: Order,
  units: readonly Unit[],
  findTokens: FindCredentialTokens,
) => {
  const inputs = await listUnitInputs(tx, order, units)
  const tokens = await findTokens(
    tx,
    order,
    units.flatMap(({ sessionId }) => sessionId ?? []),
  )
  return units.map((unit, index) => {
    const jwt = unit.sessionId === null ? undefined : tokens.get(unit.sessionId)
    return {
      n: unit.n,
      status: unit.status,
      input: inputs[index],
      answer: unit.answer ?? null,
      credential:
        unit.credentialId === null || jwt === undefined
          ? null
          : { credentialId: unit.credentialId, pohf_jwt: jwt },
      sessionId: unit.sessionId,
      quality: unit.quality,
      deliveredAt: unit.deliveredAt?.toISOString() ?? null,
      reviewUntil: unit.reviewUntil?.toISOString() ?? null,
      appealUntil: unit.appealUntil?.toISOString() ?? null,
      rejection: unit.rejection && { ...unit.rejection, at: unit.rejection.at.toISOString() },
      appeal: unit.appeal && { ...unit.appeal, at: unit.appeal.at.toISOString() },
    }
  })
}
