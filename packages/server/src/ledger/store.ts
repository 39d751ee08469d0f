import { sql } from 'kysely'
import type { Tx } from '../platform/db.ts'
import type { Account, Claim, Entry, PostedLine, Unit } from './rules.ts'

type PostRow = {
  outcome: 'posted' | 'repeat' | 'short'
  entry_id: string | null
  account: string
  unit: Unit
  amount: bigint
  balance_after: bigint
}
export const insertEntry = async (tx: Tx, entryId: string, entry: Entry): Promise<PostRow[]> => {
  const { rows } = await sql<PostRow>`
    select outcome, entry_id, account, unit, amount, balance_after from ledger_post(
      ${entry.agentId}, ${entry.mode}, ${entry.kind}, ${entry.reference}, ${entryId},
      ${entry.lines.map((line) => line.account)}::text[],
      ${entry.lines.map((line) => line.unit)}::text[],
      ${entry.lines.map((line) => line.amount.toString())}::bigint[])`.execute(tx)
  return rows
}

export const findBalance = async (tx: Tx, account: Account): Promise<bigint> => {
  const row = await tx
    .selectFrom('ledger_accounts')
    .select('balance')
    .where('agent_id', '=', account.agentId)
    .where('mode', '=', account.mode)
    .where('account', '=', account.account)
    .where('unit', '=', account.unit)
    .executeTakeFirst()
  return row?.balance ?? 0n
}

export const listBalances = async (
  tx: Tx,
  book: Omit<Account, 'account'>,
  accounts: readonly string[],
): Promise<{ account: string; balance: bigint }[]> =>
  tx
    .selectFrom('ledger_accounts')
    .select(['account', 'balance'])
    .where('agent_id', '=', book.agentId)
    .where('mode', '=', book.mode)
    .where('unit', '=', book.unit)
    .where('account', 'in', [...accounts])
    .execute()

export const findClaimed = async (
  tx: Tx,
  claim: Claim,
): Promise<{ entryId: string; at: Date } | undefined> => {
  const row = await tx
    .selectFrom('ledger_claims')
    .select(['entry_id', 'at'])
    .where('agent_id', '=', claim.agentId)
    .where('mode', '=', claim.mode)
    .where('kind', '=', claim.kind)
    .where('reference', '=', claim.reference)
    .executeTakeFirst()
  return row && { entryId: row.entry_id, at: row.at }
}

/** What was posted under a kind, of all agents, in the order of its references. */
export const listReferences = async (
  tx: Tx,
  page: Pick<Claim, 'mode' | 'kind'> & { readonly after: string; readonly limit: number },
): Promise<{ agentId: string; reference: string }[]> => {
  const rows = await tx
    .selectFrom('ledger_claims')
    .select(['agent_id', 'reference'])
    .where('mode', '=', page.mode)
    .where('kind', '=', page.kind)
    .where('reference', '>', page.after)
    .orderBy('reference')
    .limit(page.limit)
    .execute()
  return rows.map((row) => ({ agentId: row.agent_id, reference: row.reference }))
}

/** The lines of one entry. Microseconds are lost in a Date, so the month's partition is found by a range. */
export const listLines = async (tx: Tx, agentId: string, entry: { entryId: string; at: Date }) => {
  const rows = await tx
    .selectFrom('ledger_lines')
    .select(['account', 'unit', 'amount', 'balance_after'])
    .where('agent_id', '=', agentId)
    .where('entry_id', '=', entry.entryId)
    .where('at', '>=', entry.at)
    .where('at', '<', sql<Date>`${entry.at}::timestamptz + interval '1 millisecond'`)
    .execute()
  return rows.map((row): PostedLine => ({
    account: row.account,
    unit: row.unit as Unit,
    amount: row.amount,
    balanceAfter: row.balance_after,
  }))
}
