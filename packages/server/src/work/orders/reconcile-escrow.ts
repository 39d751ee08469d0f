import type { Mode } from '@pohf/protocol'
import { balancesOf, type Comparison } from '../../ledger/index.ts'
import type { Tx } from '../../platform/db/db.ts'
import { escrowOf } from '../rules.ts'
import { listChangedOrders, sumHeld, type HeldOrder } from '../units/store.ts'

const name = 'escrow_differs'

type Book = { readonly agentId: string; readonly mode: Mode }
const differences = async (tx: Tx, orders: readonly HeldOrder[]) => {
  const books = Map.groupBy(orders, ({ agentId, mode }) => `${agentId} ${mode}`)
  const found = []
  for (const held of books.values()) {
    const [first] = held
    if (!first) continue
    const book: Book = { agentId: first.agentId, mode: first.mode }
    const balances = await balancesOf(
      tx,
      { ...book, unit: 'usd_cent' },
      held.map(({ orderId }) => escrowOf(orderId)),
    )
    for (const { orderId, usdCents } of held) {
      const balance = balances.get(escrowOf(orderId)) ?? 0n
      if (balance === usdCents) continue
      const detail = `the escrow holds ${balance}, and the units that are not ended need ${usdCents}`
      found.push({ ...book, finding: name, subject: orderId, detail })
    }
  }
  return found
}

/** The escrow of an order is the money of its units that have not ended, to the cent. */
export const escrowComparison: Comparison = {
  name,
  find: async (tx, span) => differences(tx, await listChangedOrders(tx, span)),
  persists: async (tx, drift) => {
    const key = { agentId: drift.agentId, mode: drift.mode, orderId: drift.subject }
    return (await differences(tx, [{ ...key, usdCents: await sumHeld(tx, key) }])).length > 0
  },
}
