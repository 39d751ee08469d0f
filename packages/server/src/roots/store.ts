import type { SealedColumn } from '../platform/db/sealed.ts'
import { sql } from 'kysely'
import { executePrepared, type Tx } from '../platform/db/db.ts'
import type { Counter, NetworkTags, ShownRoot, ShownRootKind } from './rules.ts'

type StoredKey = {
  /** Null where the key was destroyed. */
  readonly sealed: string | null
  /** Whether it is stored whatever becomes of this transaction. */
  readonly isCommitted: boolean
}

/** The key of a day; undefined where the day has none yet. */
export const findKey = async (tx: Tx, day: string): Promise<StoredKey | undefined> => {
  const { rows } = await sql<StoredKey>`
    select sealed, coalesce(xmin <> pg_current_xact_id_if_assigned()::xid, true) as "isCommitted"
    from root_keys where day = ${day}::date`.execute(tx)
  return rows[0]
}

/** Stores the key of a day that has none. */
export const insertKey = async (tx: Tx, day: string, sealed: string): Promise<void> => {
  await sql`
    insert into root_keys (day, sealed) values (${day}::date, ${sealed}) on conflict (day) do nothing`.execute(
    tx,
  )
}

/** Destroys the keys of days that ended 24 hours ago; returns how many. */
export const destroyKeys = async (tx: Tx): Promise<number> => {
  const { numAffectedRows } = await sql`
    update root_keys set sealed = null, destroyed_at = pohf_now()
    where day in (
      select day from root_keys where day < roots_day(pohf_now()) - 1 and sealed is not null
      order by day limit 100)`.execute(tx)
  return Number(numAffectedRows ?? 0)
}

/** Drops the partitions of days whose keys were destroyed. */
export const dropOldDays = async (tx: Tx): Promise<void> => {
  await sql`select pohf_drop_days('root_counters', 1), pohf_drop_days('root_network_credentials', 1)`.execute(
    tx,
  )
}

/** The networks of a session: the tags of `keyDay`, and the addresses, sealed under its key. */
export type SessionNetworks = {
  readonly keyDay: string
  readonly tags: readonly NetworkTags[]
  readonly sealed: string
}

type NetworkRow = {
  readonly key_day: string
  readonly narrow_tags: readonly string[]
  readonly wide_tags: readonly string[]
  readonly factors: readonly number[]
  readonly sealed: string
}
const networksOf = (row: NetworkRow): SessionNetworks => ({
  keyDay: row.key_day,
  tags: row.narrow_tags.map((narrow, index) => ({
    narrow,
    wide: row.wide_tags[index] ?? '',
    factor: row.factors[index] ?? 0,
  })),
  sealed: row.sealed,
})

type SessionDay = { readonly sessionId: string; readonly day: string }
const columnsOf = ({ tags }: SessionNetworks) => ({
  narrow: tags.map(({ narrow }) => narrow),
  wide: tags.map(({ wide }) => wide),
  factors: tags.map(({ factor }) => factor),
})

/** Stores where a session was seen first; false where that is known. */
export const insertSessionNetworks = async (
  tx: Tx,
  { sessionId, day }: SessionDay,
  networks: SessionNetworks,
): Promise<boolean> => {
  const { narrow, wide, factors } = columnsOf(networks)
  const { numAffectedRows } = await sql`
    insert into root_sessions (session_id, day, key_day, narrow_tags, wide_tags, factors, sealed)
    values (${sessionId}, ${day}::date, ${networks.keyDay}::date, ${narrow}::text[], ${wide}::text[], ${factors}::int[],
      ${networks.sealed})
    on conflict (session_id, day) do nothing`.execute(tx)
  return numAffectedRows === 1n
}

export const lockSessionNetworks = async (
  tx: Tx,
  { sessionId, day }: SessionDay,
): Promise<SessionNetworks | undefined> => {
  const { rows } = await sql<NetworkRow>`
    select key_day::text as key_day, narrow_tags, wide_tags, factors, sealed from root_sessions
    where session_id = ${sessionId} and day = ${day}::date for update`.execute(tx)
  return rows[0] && networksOf(rows[0])
}

export const updateSessionNetworks = async (
  tx: Tx,
  { sessionId, day }: SessionDay,
  networks: SessionNetworks,
): Promise<void> => {
  const { narrow, wide, factors } = columnsOf(networks)
  await sql`
    update root_sessions set narrow_tags = ${narrow}::text[], wide_tags = ${wide}::text[], factors = ${factors}::int[],
      sealed = ${networks.sealed}
    where session_id = ${sessionId} and day = ${day}::date`.execute(tx)
}

/** Copies the networks of a session that began on `from.day` or the day before. */
export const copySessionNetworks = async (tx: Tx, from: SessionDay, to: SessionDay): Promise<void> => {
  await sql`
    insert into root_sessions (session_id, day, key_day, narrow_tags, wide_tags, factors, sealed)
    select ${to.sessionId}, ${to.day}::date, key_day, narrow_tags, wide_tags, factors, sealed from root_sessions
    where session_id = ${from.sessionId} and day between ${from.day}::date - 1 and ${from.day}::date limit 1
    on conflict (session_id, day) do nothing`.execute(tx)
}

export const moveReservation = async (tx: Tx, from: string, to: string): Promise<void> => {
  await sql`update root_reservations set session_id = ${to} where session_id = ${from}`.execute(tx)
}

type Lookup = { readonly agentId: string; readonly sessionId: string | null; readonly day: string }
export type LookupResult = {
  readonly networks: SessionNetworks | undefined
  /** The factor of an agent with a budget of its own. */
  readonly siteFactor: number | undefined
}

/** The networks of sessions that began on `day` or the day before, and the budgets of their agents, in the order of the lookups. */
export const listSessionNetworks = async (tx: Tx, lookups: readonly Lookup[]): Promise<LookupResult[]> => {
  const query = sql<Partial<NetworkRow> & { n: number; factor: number | null }>`
    select requested.n::int as n, site.factor, seen.key_day::text as key_day, seen.narrow_tags, seen.wide_tags,
      seen.factors, seen.sealed
    from unnest(${lookups.map(({ agentId }) => agentId)}::text[], ${lookups.map(({ sessionId }) => sessionId)}::text[],
      ${lookups.map(({ day }) => day)}::date[]) with ordinality requested (agent_id, session_id, day, n)
    left join lateral (
      select s.key_day, s.narrow_tags, s.wide_tags, s.factors, s.sealed from root_sessions s
      where s.session_id = requested.session_id and s.day >= requested.day - 1 and s.day <= requested.day
      limit 1) seen on true
    left join lateral (
      select r.factor from root_sites r where r.agent_id = requested.agent_id limit 1) site on true`
  const rows = new Map((await executePrepared(tx, 'root_sessions_list', query)).map((row) => [row.n, row]))
  return lookups.map((_, index) => {
    const row = rows.get(index + 1)
    const { key_day, narrow_tags, wide_tags, factors, sealed } = row ?? {}
    return {
      networks:
        key_day && narrow_tags && wide_tags && factors && sealed
          ? networksOf({ key_day, narrow_tags, wide_tags, factors, sealed })
          : undefined,
      siteFactor: row?.factor ?? undefined,
    }
  })
}

type NewReservation = {
  readonly sessionId: string
  /** The reference of the stronger root; empty for the network alone. */
  readonly root: string
  readonly agentId: string
  readonly from: Date
  readonly until: Date
  readonly days: readonly { readonly day: string; readonly counters: readonly Counter[] }[]
}
/** Until when the places are held, or when the budget that is used up opens. */
type ReservationResult = { readonly heldUntil: Date | null; readonly opensAt: Date | null }

/** Reserves places for a session in every hour and day until then, unless it holds them already. */
export const insertReservation = async (tx: Tx, wanted: NewReservation): Promise<ReservationResult> => {
  const { rows } = await sql<ReservationResult>`
    select held_until as "heldUntil", opens_at as "opensAt" from roots_reserve(${wanted.sessionId}, ${wanted.root},
      ${wanted.agentId}, ${wanted.from}, ${wanted.until}, ${wanted.days.map(({ day }) => day)}::date[],
      ${wanted.days.map(({ counters }) => JSON.stringify(counters))}::jsonb[])`.execute(tx)
  const [result] = rows
  if (!result) throw new Error(`roots_reserve returned no row for session ${wanted.sessionId}`)
  return result
}

/** Whether a session holds places now. */
export const hasReservation = async (tx: Tx, sessionId: string): Promise<boolean> => {
  const { rows } = await sql`
    select from root_reservations where session_id = ${sessionId} and expires_at > pohf_now() limit 1`.execute(
    tx,
  )
  return rows.length > 0
}

/** Claims a place of the UTC day of this time; false where none is left. */
export const claimPlace = async (
  tx: Tx,
  at: Date,
  { tag, places }: { readonly tag: string; readonly places: number },
): Promise<boolean> => {
  const { rows } = await sql<{ taken: boolean }>`
    select roots_take_place(${at}, ${tag}, ${places}) as taken`.execute(tx)
  return rows[0]?.taken ?? false
}

/** Adds credentials whose roots a restored database does not know, by clock hour since 1970. */
export const insertLosses = async (
  tx: Tx,
  losses: readonly { readonly hour: number; readonly credentials: number }[],
): Promise<void> => {
  await sql`
    insert into root_losses as loss (hour, credentials)
    select * from unnest(${losses.map(({ hour }) => hour)}::int[], ${losses.map(({ credentials }) => credentials)}::int[])
    on conflict (hour) do update set credentials = least(loss.credentials::bigint + excluded.credentials, ${lossMax})`.execute(
    tx,
  )
}
/** Above every limit: so many credentials of an hour count as lost where their number is not known. */
export const lossMax = 1_000_000_000

/** Ends reservations that are over, a batch at a time; returns how many. */
export const deleteExpiredReservations = async (tx: Tx): Promise<number> => {
  const { rows } = await sql<{ released: number }>`select roots_release() as released`.execute(tx)
  return rows[0]?.released ?? 0
}

/** Sets the budget of a site; a factor of null gives it the usual one. */
export const updateSite = async (tx: Tx, agentId: string, factor: number | null): Promise<void> => {
  if (factor === null) await sql`delete from root_sites where agent_id = ${agentId}`.execute(tx)
  else
    await sql`
      insert into root_sites (agent_id, factor) values (${agentId}, ${factor})
      on conflict (agent_id) do update set factor = excluded.factor, changed_at = pohf_now()`.execute(tx)
}

export const findSiteFactor = async (tx: Tx, agentId: string): Promise<number | null> => {
  const { rows } = await sql<{ factor: number }>`
    select factor from root_sites where agent_id = ${agentId} limit 1`.execute(tx)
  return rows[0]?.factor ?? null
}

/** Sites with a budget of their own, in the order of their ids, after `after`. */
export const listSites = async (tx: Tx, page: { readonly after: string; readonly limit: number }) =>
  tx
    .selectFrom('root_sites')
    .select(['agent_id', 'factor', 'changed_at'])
    .where('agent_id', '>', page.after)
    .orderBy('agent_id')
    .limit(page.limit)
    .execute()

type NamedRoot = { readonly kind: ShownRootKind; readonly name: string }

type Suspension = NamedRoot & { readonly from: Date | null; readonly reason: string }
/** Suspends a root; a second time changes the date and the reason. */
export const insertSuspension = async (tx: Tx, { kind, name, from, reason }: Suspension): Promise<void> => {
  await sql`
    insert into root_suspensions (kind, name, from_at, reason) values (${kind}, ${name}, ${from}, ${reason})
    on conflict (kind, name) do update set from_at = excluded.from_at, reason = excluded.reason`.execute(tx)
}

/** Whether one of these roots is suspended since before it was checked. */
export const hasSuspension = async (tx: Tx, roots: readonly ShownRoot[]): Promise<boolean> => {
  if (roots.length === 0) return false
  const { rows } = await sql`
    select from unnest(${roots.map(({ kind }) => kind)}::text[], ${roots.map(({ name }) => name)}::text[],
      ${roots.map(({ at }) => at)}::timestamptz[]) shown (kind, name, at)
    cross join lateral (
      select from root_suspensions suspended where suspended.kind = shown.kind and suspended.name = shown.name
        and coalesce(suspended.from_at, '-infinity') <= shown.at limit 1) found limit 1`.execute(tx)
  return rows.length > 0
}

type DatedRoot = { readonly kind: string; readonly name: string }
/**
 * From when what these roots show does not count, by kind and name; null where it never counted. Roots that are not suspended
 * are left out.
 */
export const listSuspendedFrom = async (
  tx: Tx,
  roots: readonly DatedRoot[],
): Promise<(DatedRoot & { readonly from: Date | null })[]> => {
  if (roots.length === 0) return []
  const { rows } = await sql<DatedRoot & { from: Date | null }>`
    select suspended.kind, suspended.name, suspended.from_at as "from"
    from unnest(${roots.map(({ kind }) => kind)}::text[], ${roots.map(({ name }) => name)}::text[]) root (kind, name)
    cross join lateral (
      select s.kind, s.name, s.from_at from root_suspensions s where s.kind = root.kind and s.name = root.name limit 1
    ) suspended`.execute(tx)
  return rows
}

/** Suspended roots by kind and name, after the root that `after` names. */
export const listSuspensions = async (
  tx: Tx,
  page: { readonly after: { readonly kind: string; readonly name: string }; readonly limit: number },
) =>
  tx
    .selectFrom('root_suspensions')
    .select(['kind', 'name', 'suspended_at', 'from_at', 'reason'])
    .where(sql<boolean>`(kind, name) > (${page.after.kind}, ${page.after.name})`)
    .orderBy('kind')
    .orderBy('name')
    .limit(page.limit)
    .execute()

export const deleteSuspension = async (tx: Tx, { kind, name }: NamedRoot): Promise<boolean> => {
  const { numAffectedRows } = await sql`
    delete from root_suspensions where kind = ${kind} and name = ${name}`.execute(tx)
  return numAffectedRows === 1n
}

/** Credentials that rest on a stronger root since a time, in the order of their ids, after `after`. */
export const listRootCredentials = async (
  tx: Tx,
  { kind, name }: NamedRoot,
  page: { readonly from: Date | null; readonly after: string; readonly limit: number },
): Promise<string[]> => {
  const { rows } = await sql<{ credential_id: string }>`
    select credential_id from root_credentials where kind = ${kind} and name = ${name}
      and at >= coalesce(${page.from}::timestamptz, '-infinity') and credential_id > ${page.after} order by credential_id limit ${page.limit}`.execute(
    tx,
  )
  return rows.map((row) => row.credential_id)
}

/** The same for a network on one day; without a narrow tag, all of the wide network. */
export const listNetworkCredentials = async (
  tx: Tx,
  network: { readonly day: string; readonly wide: string; readonly narrow: string | undefined },
  page: { readonly after: string; readonly limit: number },
): Promise<string[]> => {
  const narrow = network.narrow === undefined ? sql`true` : sql`narrow_tag = ${network.narrow}`
  const { rows } = await sql<{ credential_id: string }>`
    select distinct credential_id from root_network_credentials
    where day = ${network.day}::date and wide_tag = ${network.wide} and ${narrow} and credential_id > ${page.after}
    order by credential_id limit ${page.limit}`.execute(tx)
  return rows.map((row) => row.credential_id)
}

export const sealedColumns: readonly SealedColumn[] = [
  { purpose: 'root-keys', table: 'root_keys', column: 'sealed', key: [['day', 'date']] },
]
