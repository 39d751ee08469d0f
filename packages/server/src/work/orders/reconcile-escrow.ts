import type { Mode } from '@pohf/protocol'
import { balancesOf, type Comparison } from '../../ledger/index.ts'
import type { Tx } from '../../platform/db/db.ts'
import { escrowAccountOf } from '../rules.ts'
import { listChangedOrders, sumEscrow, type OrderEscrow } from './store.ts'

const name = 'escrow_differs'

type LedgerKey = { readonly agentId: string; readonly mode: Mode }
const findDifferences = async (tx: Tx, orders: readonly OrderEscrow[]) => {
  const ordersByLedger = Map.groupBy(orders, ({ agentId, mode }) => `${agentId} ${mode}`)
  const found = []
  for (const escrows of ordersByLedger.values()) {
    const [first] = escrows
    if (!first) continue
    const ledgerKey: LedgerKey = { agentId: first.agentId, mode: first.mode }
    const balances = await balancesOf(
      tx,
      { ...ledgerKey, unit: 'usd_cent' },
      escrows.map(({ orderId }) => escrowAccountOf(orderId)),
    )
    for (const { orderId, usdCents } of escrows) {
      const balance = balances.get(escrowAccountOf(orderId)) ?? 0n
      if (balance === usdCents) continue
      const detail = `the escrow holds ${balance}, and the units that are not ended need ${usdCents}`
      found.push({ ...ledgerKey, finding: name, subject: orderId, detail })
    }
  }
  return found
}

/** The escrow of an order equals the price of its units that have not ended, to the cent. */
export const escrowReconciliation: Comparison = {
  name,
  find: async (tx, span) => {
    const changed = await listChangedOrders(tx, span)
    return changed.length >= span.rowsMax ? undefined : findDifferences(tx, changed)
  },
  persists: async (tx, drift) => {
    const key = { agentId: drift.agentId, mode: drift.mode, orderId: drift.subject }
    return (await findDifferences(tx, [{ ...key, usdCents: await sumEscrow(tx, key) }])).length > 0
  },
}
