import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import type { AgentId } from '../../platform/ops/ids.ts'
import type { UnitKey } from '../units/store.ts'
import { listUnitWork } from '../settled/store.ts'
import { claimStockUnit, countStockByTask, existsInStock, findStockState, updateStock } from './store.ts'

/** A finished unit that is reserved for a purchase: its answer, and the session in which a person did it. */
export type StockUnit = {
  /** Identifies the unit when it is released or sold. */
  readonly unitRef: string
  readonly answer: unknown
  readonly session: { readonly agentId: AgentId; readonly sessionId: string }
}

const unitRefOf = ({ agentId, mode, orderId, n }: UnitKey): string => [agentId, mode, orderId, n].join('/')
const parseUnitRef = (unitRef: string): UnitKey => {
  const [agentId = '', mode, orderId = '', n] = unitRef.split('/')
  return { agentId, mode: mode === 'live' ? 'live' : 'test', orderId, n: Number(n) }
}

/** Reserves one verified, unsold unit of a workflow until it is sold or released; undefined where there is none. */
export const reserveStockUnit = async (
  tx: Tx,
  workflowId: string,
  mode: Mode,
): Promise<StockUnit | undefined> => {
  const unit = await claimStockUnit(tx, workflowId, mode)
  if (!unit) return undefined
  const agentId = unit.agentId as AgentId
  return { unitRef: unitRefOf(unit), answer: unit.answer, session: { agentId, sessionId: unit.sessionId } }
}

const notReserved = async (tx: Tx, key: UnitKey, operation: string): Promise<Error> =>
  new Error(`unit ${unitRefOf(key)} is ${await findStockState(tx, key)}, not reserved, while ${operation} it`)

/** Returns a reserved unit to stock after a purchase that was not paid. */
export const releaseStockUnit = async (tx: Tx, unitRef: string): Promise<void> => {
  const key = parseUnitRef(unitRef)
  if (!(await updateStock(tx, key, 'shelf'))) throw await notReserved(tx, key, 'releasing')
}

/** Marks a reserved unit as sold for good. */
export const markStockUnitSold = async (tx: Tx, unitRef: string): Promise<void> => {
  const key = parseUnitRef(unitRef)
  if (!(await updateStock(tx, key, 'sold'))) throw await notReserved(tx, key, 'selling')
}

/** How many units of each workflow are in stock. */
export const countStock = async (tx: Tx): Promise<ReadonlyMap<string, Readonly<Record<Mode, number>>>> => {
  const stock = new Map<string, Record<Mode, number>>()
  for (const { taskId, mode, count } of await countStockByTask(tx)) {
    const counts = stock.get(taskId) ?? { live: 0, test: 0 }
    counts[mode] = count
    stock.set(taskId, counts)
  }
  return stock
}

/** Whether a unit is in stock. Only a reservation guarantees one. */
export const hasStock = (tx: Tx, workflowId: string, mode: Mode): Promise<boolean> =>
  existsInStock(tx, workflowId, mode)

/** The worker, the time and the category of units that were sold, by their references. */
export const listSoldWork = async (tx: Tx, unitRefs: readonly string[]) => {
  const work = await listUnitWork(tx, unitRefs.map(parseUnitRef))
  return new Map(unitRefs.map((unitRef, index) => [unitRef, work[index]]))
}
