import type { Tx } from '../platform/db/db.ts'
import { InsufficientBalance, type Claim, type Entry, type Posting } from './rules.ts'
import { findClaim, insertEntry, listLines } from './store.ts'

/**
 * The only way to move value. Posts all lines or none; a reference that was posted before moves nothing and returns the
 * first entry. Throws InsufficientBalance where an account would go below zero.
 */
export const post = async (tx: Tx, entry: Entry): Promise<Posting> => {
  const rows = await insertEntry(tx, tx.ids.make('ent_'), entry)
  const first = rows[0]
  if (!first)
    throw new Error(
      `no row was returned while posting ${entry.kind} ${entry.reference} for agent ${entry.agentId}`,
    )
  if (first.outcome === 'short') throw new InsufficientBalance(first.account, first.balance_after)
  return {
    entryId: first.entry_id ?? '',
    repeated: first.outcome === 'repeat',
    lines: rows.map((row) => ({
      account: row.account,
      unit: row.unit,
      amount: row.amount,
      balanceAfter: row.balance_after,
    })),
  }
}

/** The entry of this reference, or undefined. */
export const findPosting = async (tx: Tx, claim: Claim): Promise<Posting | undefined> => {
  const claimed = await findClaim(tx, claim)
  if (!claimed) return undefined
  return { entryId: claimed.entryId, repeated: true, lines: await listLines(tx, claim.agentId, claimed) }
}
