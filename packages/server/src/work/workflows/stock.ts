import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import { countStockByTask, existsInStock, claimStockUnit, updateStock, type UnitKey } from '../units/store.ts'

/** A finished unit that was taken from stock: its answer, and the session in which a person did it. */
export type StockUnit = {
  /** Names the unit when it is given back or sold. */
  readonly unitRef: string
  readonly answer: unknown
  readonly session: { readonly agentId: `agt_${string}`; readonly sessionId: string }
}

const unitRefOf = ({ agentId, mode, orderId, n }: UnitKey): string => [agentId, mode, orderId, n].join('/')
const parseUnitRef = (unitRef: string): UnitKey => {
  const [agentId = '', mode, orderId = '', n] = unitRef.split('/')
  return { agentId, mode: mode === 'live' ? 'live' : 'test', orderId, n: Number(n) }
}

/** Takes one verified, unsold unit of a workflow, or says that there is none. It is held until it is sold or given back. */
export const reserveStockUnit = async (
  tx: Tx,
  workflowId: string,
  mode: Mode,
): Promise<StockUnit | undefined> => {
  const unit = await claimStockUnit(tx, workflowId, mode)
  if (!unit) return undefined
  const agentId = unit.agentId as `agt_${string}`
  return { unitRef: unitRefOf(unit), answer: unit.answer, session: { agentId, sessionId: unit.sessionId } }
}

/** The purchase came to nothing: the unit may be sold to somebody else. */
export const releaseStockUnit = async (tx: Tx, unitRef: string): Promise<void> => {
  if (!(await updateStock(tx, parseUnitRef(unitRef), 'shelf'))) throw new Error('stock unit is not reserved')
}

/** The unit is the buyer's, and nobody else's any more. */
export const markStockUnitSold = async (tx: Tx, unitRef: string): Promise<void> => {
  if (!(await updateStock(tx, parseUnitRef(unitRef), 'sold'))) throw new Error('stock unit is not reserved')
}

/** How many units of a workflow could be sold now. */
export const countStock = async (tx: Tx): Promise<ReadonlyMap<string, Readonly<Record<Mode, number>>>> => {
  const stock = new Map<string, Record<Mode, number>>()
  for (const { taskId, mode, count } of await countStockByTask(tx)) {
    const counts = stock.get(taskId) ?? { live: 0, test: 0 }
    counts[mode] = count
    stock.set(taskId, counts)
  }
  return stock
}

/** Whether one could be sold now. A look that promises nothing: only taking one does. */
export const hasStock = (tx: Tx, workflowId: string, mode: Mode): Promise<boolean> =>
  existsInStock(tx, workflowId, mode)
