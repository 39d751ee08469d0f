import type { Mode } from '@pohf/protocol'
import type { Tx } from '../platform/db/db.ts'
import { findOrder } from './orders/store.ts'
import { isPaid } from './rules.ts'
import { findUnit, listUnits, type Unit } from './units/store.ts'

/** What a reference to work says about the person who did it and about its payment. */
export type WorkRef = {
  readonly humanRef: string | null
  readonly paid: boolean
  /** The session in which it was done, and when it was delivered. */
  readonly session?: { readonly sessionId: string; readonly at: Date } | undefined
}
export type WorkRefKey = { readonly agentId: string; readonly mode: Mode; readonly ref: string }

const unitPattern = /^(ord_[a-z0-9]{1,60})\/([1-9][0-9]{0,4})$/

/** The person who did a unit; null for work that the buyer rejected and does not pay for. */
const humanRefOf = (unit: Unit | undefined): string | null =>
  unit && ['delivered', 'accepted'].includes(unit.status) ? unit.workerRef : null

const sessionOf = (unit: Unit | undefined): WorkRef['session'] =>
  unit?.sessionId && unit.deliveredAt ? { sessionId: unit.sessionId, at: unit.deliveredAt } : undefined

const findUnitRef = async (tx: Tx, { agentId, mode, ref }: WorkRefKey): Promise<WorkRef | undefined> => {
  const [, orderId, n] = unitPattern.exec(ref) ?? []
  if (orderId === undefined || n === undefined) return undefined
  const unit = await findUnit(tx, { agentId, mode, orderId, n: Number(n) })
  return (
    unit && {
      humanRef: humanRefOf(unit),
      paid: unit.status === 'accepted' && !unit.platformPays,
      session: sessionOf(unit),
    }
  )
}

/**
 * The order or unit (`ord_…/n`) behind a reference; undefined where this agent has none. The person is named by the
 * code that this agent alone has; an order names one only where it has a single unit.
 */
export const findWorkRef = async (tx: Tx, key: WorkRefKey): Promise<WorkRef | undefined> => {
  if (key.ref.includes('/')) return findUnitRef(tx, key)
  const order = await findOrder(tx, { agentId: key.agentId, mode: key.mode, orderId: key.ref })
  if (!order) return undefined
  const [only] = order.quantity === 1 ? await listUnits(tx, order, { after: 0, limit: 1 }) : []
  return { humanRef: humanRefOf(only), paid: isPaid(order.status), session: sessionOf(only) }
}
