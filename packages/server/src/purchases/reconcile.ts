import type { Mode } from '@pohf/protocol'
import { listPostedEntries, listUnpostedReferences, type Comparison } from '../ledger/index.ts'
import { paymentKind } from './rules.ts'
import { listPaidPurchases, listPostingsWithoutPurchase } from './store.ts'

const name = 'purchase_payment'
type Key = { readonly agentId: string; readonly mode: Mode; readonly reference: string }
const driftOf = ({ agentId, mode, reference }: Key, detail: string) => ({
  agentId,
  mode,
  finding: name,
  subject: reference,
  detail,
})

/** Each purchase that the chain shows as paid has a ledger entry, and each such entry has its purchase. */
export const purchaseReconciliation: Comparison = {
  name,
  find: async (tx, span) => {
    const paid = await listPaidPurchases(tx, span)
    const posted = await listPostedEntries(tx, paymentKind, span)
    if (Math.max(paid.length, posted.length) >= span.rowsMax) return undefined
    const unposted = await listUnpostedReferences(tx, paymentKind, paid)
    const unknown = await listPostingsWithoutPurchase(tx, posted)
    return [
      ...unposted.map((key) => driftOf(key, 'a purchase was paid on the chain and is not in the ledger')),
      ...unknown.map((key) => driftOf(key, 'the ledger has a payment that no purchase was paid with')),
    ]
  },
  persists: async (tx, drift) => {
    const key = { agentId: drift.agentId, mode: drift.mode, reference: drift.subject }
    const unposted = (await listUnpostedReferences(tx, paymentKind, [key])).length > 0
    const unknown = (await listPostingsWithoutPurchase(tx, [key])).length > 0
    return unposted !== unknown
  },
}
