import { unitStates } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import { listItems, type Order } from './store.ts'
import { unitUsdOf, usdOf } from '../rules.ts'
import { countUnits, type UnitCount, type Unit } from '../units/store.ts'

const endedStates = new Set(['refused', 'cancelled'])
const sumOf = (tallies: readonly UnitCount[], which: (tally: UnitCount) => boolean): bigint =>
  tallies.filter(which).reduce((sum, tally) => sum + tally.usdCents - tally.houseUsdCents, 0n)

/** Where the buyer's money is, by the states of the units. */
const summarizeEscrow = (order: Order, tallies: readonly UnitCount[]) => {
  const paid = sumOf(tallies, ({ status }) => status === 'accepted')
  const returned = sumOf(tallies, ({ status }) => endedStates.has(status))
  const held = sumOf(tallies, ({ status }) => status !== 'accepted' && !endedStates.has(status))
  const settled = paid > 0n ? ('released' as const) : ('refunded' as const)
  const status = order.fundedAt === null ? ('unfunded' as const) : held > 0n ? ('held' as const) : settled
  return { status, heldUsd: usdOf(held), paidUsd: usdOf(paid), returnedUsd: usdOf(returned) }
}

/** Orders as their buyer sees them. */
export const presentOrders = async (tx: Tx, orders: readonly Order[]) => {
  const [first] = orders
  if (!first) return []
  const tallies = await countUnits(
    tx,
    first,
    orders.map(({ orderId }) => orderId),
  )
  return orders.map((order) => {
    const units = tallies.get(order.orderId) ?? []
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
    }
  })
}
export const presentOrder = async (tx: Tx, order: Order) => {
  const [shown] = await presentOrders(tx, [order])
  if (!shown) throw new Error('order could not be presented')
  return shown
}

/** What each unit shows to the person: the buyer's item, or a sample of the workflow. */
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

/** Handed down: the signed credentials of sessions, each in the place of its id. */
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
