import { sql, type RawBuilder } from 'kysely'
import { executePrepared, now, permitBitmaps, type Tx } from '../platform/db/db.ts'
import type { Mode } from '@pohf/protocol'
import type { Account, AccountCheck, LedgerTotal, Claim, Drift, Entry, PostedLine, Unit } from './rules.ts'

/** The result of the SQL function `ledger_post`. */
type PostResult = {
  outcome: 'posted' | 'repeat' | 'short'
  entry_id: string | null
  account: string
  unit: Unit
  amount: bigint
  balance_after: bigint
}
export const insertEntry = async (tx: Tx, entryId: string, entry: Entry): Promise<PostResult[]> => {
  const { rows } = await sql<PostResult>`
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
  ledger: Omit<Account, 'account'>,
  accounts: readonly string[],
): Promise<{ account: string; balance: bigint }[]> =>
  tx
    .selectFrom('ledger_accounts')
    .select(['account', 'balance'])
    .where('agent_id', '=', ledger.agentId)
    .where('mode', '=', ledger.mode)
    .where('unit', '=', ledger.unit)
    .where('account', 'in', [...accounts])
    .execute()

export const listBalancesOfAgents = async (
  tx: Tx,
  ledger: Omit<Account, 'account' | 'agentId'>,
  agentIds: readonly string[],
  accounts: readonly string[],
): Promise<{ agent_id: string; account: string; balance: bigint }[]> => {
  const query = sql<{ agent_id: string; account: string; balance: bigint }>`
    select agents.agent_id, names.account, found.balance
    from unnest(${[...agentIds]}::text[]) agents (agent_id) cross join unnest(${[...accounts]}::text[]) names (account)
    cross join lateral (
      select balance from ledger_accounts a where a.agent_id = agents.agent_id and a.mode = ${ledger.mode}
        and a.account = names.account and a.unit = ${ledger.unit}
      limit 1) found`
  return executePrepared(tx, 'ledger_balances', query)
}

export const findClaim = async (tx: Tx, claim: Claim): Promise<{ entryId: string; at: Date } | undefined> => {
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

/** The entries of a kind, of all agents, in the order of their references. */
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
    unit: row.unit,
    amount: row.amount,
    balanceAfter: row.balance_after,
  }))
}

export type AccountKey = {
  readonly agentId: string
  readonly mode: string
  readonly account: string
  readonly unit: string
}
const isAfter = (key: AccountKey | undefined) =>
  key
    ? sql<boolean>`(a.agent_id, a.mode, a.account, a.unit) > (${key.agentId}, ${key.mode}, ${key.account}, ${key.unit})`
    : sql<boolean>`true`
const isUpTo = (key: AccountKey | undefined) =>
  key
    ? sql<boolean>`(a.agent_id, a.mode, a.account, a.unit) <= (${key.agentId}, ${key.mode}, ${key.account}, ${key.unit})`
    : sql<boolean>`true`

/** The last account of a page, or undefined where the page is the last one. */
export const findPageEnd = async (
  tx: Tx,
  after: AccountKey | undefined,
  limit: number,
): Promise<AccountKey | undefined> => {
  const { rows } = await sql<AccountKey>`
    select a.agent_id as "agentId", a.mode, a.account, a.unit from ledger_accounts a where ${isAfter(after)}
    order by a.agent_id, a.mode, a.account, a.unit offset ${limit - 1} limit 1`.execute(tx)
  return rows[0]
}

/** Accounts against their lines, in one query, so that concurrent postings cannot interfere. */
const listChecks = async (
  tx: Tx,
  which: RawBuilder<boolean>,
  since: RawBuilder<unknown>,
): Promise<AccountCheck[]> => {
  const { rows } = await sql<AccountCheck>`
    select a.agent_id as "agentId", a.mode, a.account, a.unit, a.balance, a.line_count as "lineCount",
      coalesce(c.line_number, 0) as "checkedLine", coalesce(c.balance, 0) as "checkedBalance",
      l.lines, l.total, l.chained, coalesce(l.last_at, c.at, 'epoch') as "lastAt"
    from ledger_accounts a
    left join ${since} c on c.agent_id = a.agent_id and c.mode = a.mode and c.account = a.account and c.unit = a.unit
    cross join lateral (
      select count(*)::int as lines, coalesce(sum(amount), 0)::bigint as total, max(at) as last_at,
        coalesce(bool_and(line_number = coalesce(c.line_number, 0) + place
          and balance_after = coalesce(c.balance, 0) + running), true) as chained
      from (
        select line_number, amount, balance_after, at, row_number() over by_number as place,
          sum(amount) over by_number as running
        from ledger_lines l where l.agent_id = a.agent_id and l.mode = a.mode and l.account = a.account
          and l.unit = a.unit and l.line_number > coalesce(c.line_number, 0)
          and l.at >= coalesce(c.at, '-infinity') - interval '1 day'
        window by_number as (order by line_number)
      ) numbered
    ) l
    where ${which}`.execute(tx)
  return rows
}

const checkpoints = sql`ledger_checkpoints`
const noCheckpoints = sql`(select * from ledger_checkpoints where false)`

/** The accounts of a page that have changed since they were checked; with `whole` all, from their first line. */
export const listAccountChecks = (
  tx: Tx,
  range: { readonly after: AccountKey | undefined; readonly upTo: AccountKey | undefined },
  whole: boolean,
): Promise<AccountCheck[]> => {
  const changed = whole
    ? sql<boolean>`true`
    : sql<boolean>`(a.line_count <> coalesce(c.line_number, 0) or a.balance <> coalesce(c.balance, 0))`
  const which = sql<boolean>`${isAfter(range.after)} and ${isUpTo(range.upTo)} and ${changed}`
  return listChecks(tx, which, whole ? noCheckpoints : checkpoints)
}

/** One account against all its lines. */
export const findAccountCheck = async (tx: Tx, key: AccountKey): Promise<AccountCheck | undefined> => {
  const which = sql<boolean>`a.agent_id = ${key.agentId} and a.mode = ${key.mode} and a.account = ${key.account} and a.unit = ${key.unit}`
  return (await listChecks(tx, which, noCheckpoints))[0]
}

export const insertCheckpoint = async (tx: Tx, check: AccountCheck): Promise<void> => {
  await sql`
    insert into ledger_checkpoints (agent_id, mode, account, unit, line_number, balance, at)
    values (${check.agentId}, ${check.mode}, ${check.account}, ${check.unit}, ${check.lineCount}, ${check.balance}, ${check.lastAt})
    on conflict (agent_id, mode, account, unit) do update
      set line_number = excluded.line_number, balance = excluded.balance, at = excluded.at`.execute(tx)
}

/** Totals of these agents, by mode and unit, that are not zero. */
export const listUnbalancedTotals = async (tx: Tx, agentIds: readonly string[]): Promise<LedgerTotal[]> => {
  const { rows } = await sql<LedgerTotal>`
    select agent_id as "agentId", mode, unit, sum(balance)::bigint as sum from ledger_accounts
    where agent_id = any (${[...agentIds]}::text[]) group by agent_id, mode, unit having sum(balance) <> 0`.execute(
    tx,
  )
  return rows
}

/** Opens a drift; true where it was not open before. */
export const insertDrift = async (tx: Tx, drift: Drift): Promise<boolean> => {
  const { rows } = await sql`
    insert into ledger_drift as known (agent_id, mode, finding, subject, detail)
    values (${drift.agentId}, ${drift.mode}, ${drift.finding}, ${drift.subject}, ${drift.detail})
    on conflict (agent_id, mode, finding, subject) do update
      set detail = excluded.detail, found_at = excluded.found_at, cleared_at = null where known.cleared_at is not null
    returning 1`.execute(tx)
  return rows.length === 1
}

const openDriftMax = 1_000
export const listOpenDrift = async (tx: Tx): Promise<(Drift & { readonly foundAt: Date })[]> => {
  const rows = await tx
    .selectFrom('ledger_drift')
    .select(['agent_id', 'mode', 'finding', 'subject', 'detail', 'found_at'])
    .where('cleared_at', 'is', null)
    .orderBy('found_at')
    .limit(openDriftMax)
    .execute()
  return rows.map((row) => ({
    agentId: row.agent_id,
    mode: row.mode,
    finding: row.finding,
    subject: row.subject,
    detail: row.detail,
    foundAt: row.found_at,
  }))
}

export const updateDriftCleared = async (tx: Tx, drift: Drift): Promise<void> => {
  await tx
    .updateTable('ledger_drift')
    .set({ cleared_at: now() })
    .where('agent_id', '=', drift.agentId)
    .where('mode', '=', drift.mode)
    .where('finding', '=', drift.finding)
    .where('subject', '=', drift.subject)
    .execute()
}

/** The time up to which a comparison was made, and the current time. */
export const findComparisonProgress = async (tx: Tx, comparison: string) => {
  const { rows } = await sql<{ now: Date; until: Date | null }>`
    select pohf_now() as now, (select until from ledger_compared where comparison = ${comparison}) as until`.execute(
    tx,
  )
  const row = rows[0]
  if (!row) throw new Error(`no row was returned while reading the progress of comparison ${comparison}`)
  return row
}
export const updateComparisonProgress = async (tx: Tx, comparison: string, until: Date): Promise<void> => {
  await sql`
    insert into ledger_compared (comparison, until) values (${comparison}, ${until})
    on conflict (comparison) do update set until = excluded.until`.execute(tx)
}

type PostedKey = { readonly agentId: string; readonly mode: Mode; readonly reference: string }

type ConsumedWindow = Omit<Account, 'account'> & {
  readonly accounts: readonly string[]
  readonly bucket: 'hour' | 'day'
  readonly since: Date
  readonly until: Date
}

/** The amounts posted to accounts of consumption in each bucket, in UTC. Buckets without an amount are missing. */
export const listConsumption = async (
  tx: Tx,
  window: ConsumedWindow,
): Promise<{ readonly at: Date; readonly amount: bigint }[]> => {
  const { rows } = await sql<{ at: Date; amount: bigint }>`
    select date_trunc(${window.bucket}, hour, 'UTC') as at, sum(amount)::bigint as amount
    from unnest(${[...window.accounts]}::text[]) named (account) cross join lateral (
      select hour, amount from ledger_hours h
      where h.agent_id = ${window.agentId} and h.mode = ${window.mode} and h.account = named.account
        and h.unit = ${window.unit} and h.hour >= ${window.since} and h.hour < ${window.until}) counted
    group by 1 order by 1`.execute(tx)
  return rows
}

/** The entries of a kind within a time span, of all agents; at most `rowsMax`. */
export const listPostedEntries = async (
  tx: Tx,
  kind: string,
  span: { readonly from: Date; readonly to: Date; readonly rowsMax: number },
): Promise<PostedKey[]> => {
  await permitBitmaps(tx)
  const { rows } = await sql<PostedKey>`
    select agent_id as "agentId", mode, reference from ledger_entries
    where kind = ${kind} and at >= ${span.from} and at < ${span.to} limit ${span.rowsMax}`.execute(tx)
  return rows
}

/** Those of the references that were never posted under this kind. */
export const listUnpostedReferences = async (
  tx: Tx,
  kind: string,
  keys: readonly PostedKey[],
): Promise<PostedKey[]> => {
  const { rows } = await sql<PostedKey>`
    select key.agent_id as "agentId", key.mode, key.reference
    from unnest(${keys.map((key) => key.agentId)}::text[], ${keys.map((key) => key.mode)}::text[],
      ${keys.map((key) => key.reference)}::text[]) key (agent_id, mode, reference)
    left join lateral (
      select true as posted from ledger_claims claim where claim.agent_id = key.agent_id and claim.mode = key.mode
        and claim.kind = ${kind} and claim.reference = key.reference
      limit 1) known on true
    where known.posted is null`.execute(tx)
  return rows
}

type EntryLine = {
  readonly account: string
  readonly amount: bigint
  readonly lineNumber: bigint
  readonly balanceAfter: bigint
}
export type PostedEntry = {
  readonly reference: string
  readonly at: Date
  readonly lines: readonly EntryLine[]
}
type EntryPage = Omit<Claim, 'reference'> & { readonly after: string; readonly limit: number }
/** The entries of an agent of one kind with their lines, in the order of their references. */
export const listEntriesOfKind = async (tx: Tx, page: EntryPage): Promise<PostedEntry[]> => {
  const { rows } = await sql<EntryLine & { readonly reference: string; readonly at: Date }>`
    select claim.reference, claim.at, line.account, line.amount, line.line_number as "lineNumber",
      line.balance_after as "balanceAfter"
    from (
      select reference, entry_id, at from ledger_claims
      where agent_id = ${page.agentId} and mode = ${page.mode} and kind = ${page.kind} and reference > ${page.after}
      order by reference limit ${page.limit}
    ) claim
    cross join lateral (
      select account, amount, line_number, balance_after from ledger_lines l
      where l.agent_id = ${page.agentId} and l.entry_id = claim.entry_id and l.at = claim.at
      limit 50
    ) line
    order by claim.reference`.execute(tx)
  const entries = new Map<string, { reference: string; at: Date; lines: EntryLine[] }>()
  for (const { reference, at, ...line } of rows) {
    const entry = entries.get(reference) ?? { reference, at, lines: [] }
    entry.lines.push(line)
    entries.set(reference, entry)
  }
  return [...entries.values()]
}

type LineWindow = Account & {
  /** From this number of a line on, without the last one. */
  readonly from: number
  readonly to: number
  /** When they were posted. */
  readonly since: Date
  readonly until: Date
  readonly limit: number
}
/** The lines of an account by their numbers, with the references of their entries. */
export const listLineReferences = async (
  tx: Tx,
  window: LineWindow,
): Promise<{ readonly lineNumber: bigint; readonly at: Date; readonly reference: string }[]> => {
  const { rows } = await sql<{ lineNumber: bigint; at: Date; reference: string }>`
    select line.line_number as "lineNumber", line.at, entry.reference
    from (
      select line_number, at, entry_id from ledger_lines
      where agent_id = ${window.agentId} and mode = ${window.mode} and account = ${window.account}
        and unit = ${window.unit} and line_number >= ${window.from} and line_number < ${window.to}
        and at >= ${window.since} and at <= ${window.until}
      order by line_number limit ${window.limit}
    ) line
    cross join lateral (
      select reference from ledger_entries e
      where e.agent_id = ${window.agentId} and e.entry_id = line.entry_id and e.at = line.at
      limit 1
    ) entry
    order by line.line_number`.execute(tx)
  return rows
}
