import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import { listChargedCredentials, listUnknownCredentials } from '../store.ts'

type Period = { readonly from: Date; readonly to: Date }
type Span = Period & { readonly rowsMax: number }
type Key = { readonly agentId: string; readonly mode: Mode; readonly reference: string }
type Drift = {
  readonly agentId: string
  readonly mode: Mode
  readonly finding: string
  readonly subject: string
  readonly detail: string
}

/** The ledger queries, injected by the wiring. */
export type SpendLedger = {
  readonly listPostedEntries: (tx: Tx, kind: string, span: Span) => Promise<readonly Key[]>
  readonly listUnpostedReferences: (tx: Tx, kind: string, keys: readonly Key[]) => Promise<readonly Key[]>
}

const name = 'credential_debit'
const kind = 'spend'

const driftOf = (key: Key, detail: string): Drift => ({
  agentId: key.agentId,
  mode: key.mode,
  finding: name,
  subject: key.reference,
  detail,
})

const dayMs = 86_400_000
/** A credential has the time at which its claims were drafted, some seconds before it was paid for. */
const dayAround = ({ from, to }: Period): Period => ({
  from: new Date(from.getTime() - dayMs),
  to: new Date(to.getTime() + dayMs),
})
const anyTime: Period = { from: new Date(0), to: new Date(8_000_000_000_000) }

/** Reconciles charged credentials with the ledger entries that paid for them, in both directions. */
export const debitReconciliation = (spends: SpendLedger) => ({
  name,
  find: async (tx: Tx, span: Span): Promise<Drift[] | undefined> => {
    const charged = await listChargedCredentials(tx, span)
    const posted = await spends.listPostedEntries(tx, kind, span)
    if (Math.max(charged.length, posted.length) >= span.rowsMax) return undefined
    const unpaid = await spends.listUnpostedReferences(tx, kind, charged)
    const empty = await listUnknownCredentials(tx, posted, dayAround(span))
    return [
      ...unpaid.map((key) => driftOf(key, 'a credential was minted and nothing was spent for it')),
      ...empty.map((key) => driftOf(key, 'a verification was paid for and there is no credential')),
    ]
  },
  persists: async (tx: Tx, drift: Drift): Promise<boolean> => {
    const key = { agentId: drift.agentId, mode: drift.mode, reference: drift.subject }
    const unpaid = (await spends.listUnpostedReferences(tx, kind, [key])).length > 0
    const unknown = (await listUnknownCredentials(tx, [key], anyTime)).length > 0
    return unpaid !== unknown
  },
})
