import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tx } from '../../platform/db/db.ts'
import {
  accountRefusalDays,
  erasedAccountDays,
  takenAccountsDays,
  takenAccountsMax,
  unusedAccountDays,
  type PayoutAccount,
} from '../rules.ts'

/** A worker, by the pseudonym in Star accounts. */
export type Worker = { readonly mode: Mode; readonly worker: string }

type OwnedAccount = {
  readonly accountNo: bigint
  /** Null once the person is erased. */
  readonly owner: string | null
}

/** Makes the account the worker's where nobody has it. Its row stays locked: a rejection, which may release it, waits. */
export const upsertAccount = async (
  tx: Tx,
  { mode, worker }: Worker,
  account: PayoutAccount,
): Promise<OwnedAccount> => {
  const { rows } = await sql<OwnedAccount>`
    insert into payout_accounts as known (mode, account_hash, worker, account_end)
    values (${mode}, ${account.hash}, ${worker}, ${account.end})
    on conflict (mode, account_hash) do update
      set used_at = case when known.worker = excluded.worker then pohf_now() else known.used_at end
    returning account_no as "accountNo", worker as owner`.execute(tx)
  const [row] = rows
  if (!row) throw new Error(`payout account of worker ${worker} in ${mode} not found after it was inserted`)
  return row
}

/** Locks the account, as `upsertAccount` does, where somebody has it. */
export const findAccountForUpdate = async (
  tx: Tx,
  mode: Mode,
  hash: Buffer,
): Promise<OwnedAccount | undefined> => {
  const row = await tx
    .selectFrom('payout_accounts')
    .select(['account_no', 'worker'])
    .where('mode', '=', mode)
    .where('account_hash', '=', hash)
    .forUpdate()
    .executeTakeFirst()
  return row && { accountNo: row.account_no, owner: row.worker }
}

/** The account of this worker to which nothing was paid yet. */
export const findUnpaidAccount = async (tx: Tx, { mode, worker }: Worker): Promise<Buffer | undefined> => {
  const row = await tx
    .selectFrom('payout_accounts')
    .select('account_hash')
    .where('mode', '=', mode)
    .where('worker', '=', worker)
    .where('paid_at', 'is', null)
    .executeTakeFirst()
  return row?.account_hash
}

/** Records a completed payout; false where the request names another account. */
export const updateAccountPaid = async (tx: Tx, accountNo: bigint, hash: Buffer): Promise<boolean> => {
  const result = await tx
    .updateTable('payout_accounts')
    .set({ paid_at: now(), used_at: now() })
    .where('account_no', '=', accountNo)
    .where('account_hash', '=', hash)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** Locks an account: a request that names it at the same time is before this transaction, or waits. */
export const lockAccount = async (tx: Tx, accountNo: bigint): Promise<void> => {
  await tx
    .selectFrom('payout_accounts')
    .select('account_no')
    .where('account_no', '=', accountNo)
    .forUpdate()
    .execute()
}

/** Deletes a locked account to which nothing was paid and no request goes any more, with the attempts of others. */
export const deleteUnusedAccount = async (tx: Tx, accountNo: bigint): Promise<void> => {
  const { numAffectedRows } = await sql`
    delete from payout_accounts where account_no = ${accountNo} and paid_at is null and not exists (
      select from payout_requests where account_no = ${accountNo} and state <> 'rejected')`.execute(tx)
  if (numAffectedRows === 1n)
    await tx.deleteFrom('payout_account_refusals').where('account_no', '=', accountNo).execute()
}

export const insertAccountRefusal = async (
  tx: Tx,
  { mode, worker }: Worker,
  accountNo: bigint,
): Promise<void> => {
  await tx
    .insertInto('payout_account_refusals')
    .values({ mode, account_no: accountNo, worker })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** The seconds until a person who named too many accounts of others may name one again; undefined where they may now. */
export const findTakenLimitEnd = async (tx: Tx, { mode, worker }: Worker): Promise<number | undefined> => {
  const { rows } = await sql<{ seconds: number }>`
    select greatest(1, ceil(extract(epoch from at + make_interval(days => ${takenAccountsDays}) - pohf_now())))::int
      as seconds
    from payout_account_refusals where worker = ${worker} and mode = ${mode}
      and at > pohf_now() - make_interval(days => ${takenAccountsDays})
    order by at desc offset ${takenAccountsMax - 1} limit 1`.execute(tx)
  return rows[0]?.seconds
}

const accountsMax = 20

/** The accounts of a worker, newest first. */
export const listAccounts = async (tx: Tx, { mode, worker }: Worker) => {
  const rows = await tx
    .selectFrom('payout_accounts')
    .select(['account_end', 'named_at', 'paid_at'])
    .where('mode', '=', mode)
    .where('worker', '=', worker)
    .orderBy('named_at', 'desc')
    .limit(accountsMax)
    .execute()
  return rows.map((row) => ({ end: row.account_end ?? '', namedAt: row.named_at, paidAt: row.paid_at }))
}

/** A completed payout to an account that a bank or payment provider opened: what a payout proves about a person. */
export type PayoutRoot = {
  /** The keyed hash of the account: the same for the same account, whoever is paid. */
  readonly accountHash: Buffer
  readonly paidAt: Date
}
/** The account of the worker's latest completed live payout. */
export const findPayoutRoot = async (tx: Tx, worker: string): Promise<PayoutRoot | undefined> => {
  const row = await tx
    .selectFrom('payout_accounts')
    .select(['account_hash', 'paid_at'])
    .where('worker', '=', worker)
    .where('mode', '=', 'live')
    .where('paid_at', 'is not', null)
    .orderBy('paid_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.paid_at ? { accountHash: row.account_hash, paidAt: row.paid_at } : undefined
}

const countMax = 100
type NamedAccountRow = {
  readonly position: number
  readonly end: string | null
  readonly paidAt: Date | null
  readonly otherWorkers: number
  readonly takenAccounts: number
}
type AccountOfPayout = { readonly accountNo: bigint; readonly mode: Mode; readonly worker: string }
/** What reviewers see of the accounts, in the order of the list; undefined where an account is no longer kept. */
export const listNamedAccounts = async (
  tx: Tx,
  payouts: readonly AccountOfPayout[],
): Promise<(Omit<NamedAccountRow, 'position'> | undefined)[]> => {
  if (payouts.length === 0) return []
  const { rows } = await sql<NamedAccountRow>`
    select requested.position::int as position, account.account_end as "end", account.paid_at as "paidAt",
      (select count(*)::int from (select from payout_account_refusals
        where account_no = requested.account_no limit ${countMax}) others) as "otherWorkers",
      (select count(*)::int from (select from payout_account_refusals
        where worker = requested.worker and mode = requested.mode limit ${countMax}) taken) as "takenAccounts"
    from unnest(${payouts.map(({ accountNo }) => accountNo)}::bigint[], ${payouts.map(({ worker }) => worker)}::text[],
      ${payouts.map(({ mode }) => mode)}::text[]) with ordinality requested (account_no, worker, mode, position)
    cross join lateral (select account_end, paid_at from payout_accounts
      where payout_accounts.account_no = requested.account_no limit 1) account`.execute(tx)
  const byPosition = new Map(rows.map(({ position, ...account }) => [position, account]))
  return payouts.map((_, index) => byPosition.get(index + 1))
}

/**
 * Erasure: removes the worker and keeps the hash for `erasedAccountDays`, so that nobody else can claim the account at once.
 */
export const eraseAccounts = async (tx: Tx, worker: string): Promise<void> => {
  await tx
    .updateTable('payout_accounts')
    .set({ worker: null, account_end: null, erased_at: now() })
    .where('worker', '=', worker)
    .execute()
  await tx.deleteFrom('payout_account_refusals').where('worker', '=', worker).execute()
}

/** How many rows of each kind one run of the job deletes. */
const deletedMax = 1_000

/** Deletes accounts of people who were erased, accounts that were not used for long, and old refusals. */
export const deleteOldAccounts = async (tx: Tx): Promise<void> => {
  await sql`
    delete from payout_accounts where account_no in (
      select account_no from payout_accounts
      where erased_at < pohf_now() - make_interval(days => ${erasedAccountDays})
      order by erased_at limit ${deletedMax})`.execute(tx)
  await sql`
    delete from payout_accounts where account_no in (
      select account_no from payout_accounts
      where erased_at is null and used_at < pohf_now() - make_interval(days => ${unusedAccountDays})
      order by used_at limit ${deletedMax})`.execute(tx)
  await sql`
    delete from payout_account_refusals where ctid in (
      select ctid from payout_account_refusals
      where at < pohf_now() - make_interval(days => ${accountRefusalDays})
      order by at limit ${deletedMax})`.execute(tx)
}
