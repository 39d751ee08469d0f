import { sql } from 'kysely'
import { reportDecisionsMax, type Mode } from '@pohf/protocol'
import type { PageScan } from '../../platform/http/list-page.ts'
import { now, type Tx } from '../../platform/db/db.ts'
import type { Owner } from '../administration/store.ts'
import { membershipsTable, type Membership } from '../decisions/store.ts'
import { decideDaysMax, decisionsPerHourDefault, type ApprovalKey } from '../rules.ts'

export type Settings = {
  readonly perPerson: boolean
  readonly decisionsPerHour: number
  readonly changedAt: Date | null
}
/** Where nobody changed anything. */
const initialSettings: Settings = {
  perPerson: false,
  decisionsPerHour: decisionsPerHourDefault,
  changedAt: null,
}

export const findSettings = async (tx: Tx, { agentId, mode }: Owner): Promise<Settings> => {
  const row = await tx
    .selectFrom('approval_settings')
    .select(['per_person', 'decisions_per_hour', 'changed_at'])
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .executeTakeFirst()
  return row
    ? { perPerson: row.per_person, decisionsPerHour: row.decisions_per_hour, changedAt: row.changed_at }
    : initialSettings
}

type SettingsChange = {
  readonly perPerson: boolean | undefined
  readonly decisionsPerHour: number | undefined
  readonly changedBy: string
}
export const upsertSettings = async (
  tx: Tx,
  { agentId, mode }: Owner,
  { perPerson, decisionsPerHour, changedBy }: SettingsChange,
): Promise<void> => {
  const changed = {
    ...(perPerson === undefined ? {} : { per_person: perPerson }),
    ...(decisionsPerHour === undefined ? {} : { decisions_per_hour: decisionsPerHour }),
    changed_by: changedBy,
  }
  await tx
    .insertInto('approval_settings')
    .values({ agent_id: agentId, mode, ...changed })
    .onConflict((conflict) =>
      conflict.columns(['agent_id', 'mode']).doUpdateSet({ ...changed, changed_at: now() }),
    )
    .execute()
}

export type Period = { readonly from: Date; readonly to: Date }
export type Counts = {
  /** Null for the sum of all. */
  readonly approver: string | null
  readonly decisions: number
  readonly approved: number
  readonly denied: number
  readonly knownBad: number
  readonly caught: number
  /** Approvals whose time was measured, and those of them that were faster than reading. */
  readonly measured: number
  readonly fast: number
  readonly medianSecondsInView: number | null
  readonly medianAttention: number | null
}

/** The sums of decisions. `decisions` has the columns of turns and `is_known_bad`. */
const countColumns = sql`
  count(*)::int as decisions,
  count(*) filter (where decision = 'approve')::int as approved,
  count(*) filter (where decision = 'deny')::int as denied,
  count(*) filter (where is_known_bad)::int as "knownBad",
  count(*) filter (where is_known_bad and decision = 'deny')::int as caught,
  count(*) filter (where decision = 'approve' and in_view_seconds is not null and reading_seconds is not null)::int
    as measured,
  count(*) filter (where decision = 'approve' and in_view_seconds < reading_seconds)::int as fast,
  percentile_cont(0.5) within group (order by in_view_seconds) as "medianSecondsInView",
  percentile_cont(0.5) within group (order by quality) as "medianAttention"`

/** The decisions of a period, summed for all and for each person. An agent's known-bad requests are few and read by an index. */
export const countDecisions = async (
  tx: Tx,
  { agentId, mode }: Owner,
  { from, to }: Period,
): Promise<readonly Counts[]> => {
  const { rows } = await sql<Counts>`
    with known_bad as materialized (
      select approval_id from approvals
      where agent_id = ${agentId} and mode = ${mode} and known_bad is not null
        and created_at >= ${from}::timestamptz - make_interval(days => ${decideDaysMax + 1})
        and created_at < ${to}
    ), decisions as (
      select approver_id, decision, in_view_seconds, reading_seconds, quality,
        approval_id in (select approval_id from known_bad) as is_known_bad
      from approval_turns
      where agent_id = ${agentId} and mode = ${mode} and decision is not null
        and decided_at >= ${from} and decided_at < ${to}
    )
    select approver_id as approver, ${countColumns}
    from decisions group by grouping sets ((), (approver_id))`.execute(tx)
  return rows
}

/** Whether the period has more decisions, or more requests, than a report counts. */
export const exceedsReportLimits = async (
  tx: Tx,
  { agentId, mode }: Owner,
  { from, to }: Period,
): Promise<boolean> => {
  const { rows } = await sql<{ most: number }>`
    select greatest(
      (select count(*) from (
        select 1 from approval_turns
        where agent_id = ${agentId} and mode = ${mode} and decision is not null
          and decided_at >= ${from} and decided_at < ${to}
        limit ${reportDecisionsMax + 1}) as turns),
      (select count(*) from (
        select 1 from approvals
        where agent_id = ${agentId} and mode = ${mode} and created_at >= ${from} and created_at < ${to}
        limit ${reportDecisionsMax + 1}) as requests))::int as most`.execute(tx)
  return (rows[0]?.most ?? 0) > reportDecisionsMax
}

export type RequestCounts = { readonly requests: number; readonly expired: number; readonly consumed: number }
/** The requests of a period, without known-bad ones. After its deadline a request counts as expired, even before the job. */
export const countRequests = async (
  tx: Tx,
  { agentId, mode }: Owner,
  { from, to }: Period,
): Promise<RequestCounts> => {
  const { rows } = await sql<RequestCounts>`
    select count(*)::int as requests,
      count(*) filter (where status = 'expired' or (status = 'pending' and decide_by <= pohf_now())
        or (status = 'approved' and consume_by <= pohf_now()))::int as expired,
      count(*) filter (where status = 'consumed')::int as consumed
    from approvals
    where agent_id = ${agentId} and mode = ${mode} and created_at >= ${from} and created_at < ${to}
      and known_bad is null`.execute(tx)
  return rows[0] ?? { requests: 0, expired: 0, consumed: 0 }
}

export type KnownBadRow = {
  readonly at: Date
  readonly id: string
  readonly type: string
  readonly reason: string
  readonly approvers: readonly string[]
  readonly approved: number
  readonly denied: number
}
const knownBadColumns = sql`a.created_at as at, a.approval_id as id, a.type, a.known_bad as reason, a.approvers,
  (select count(*)::int from approval_turns as t where t.agent_id = a.agent_id and t.mode = a.mode
    and t.approval_id = a.approval_id and t.decision = 'approve') as approved,
  (select count(*)::int from approval_turns as t where t.agent_id = a.agent_id and t.mode = a.mode
    and t.approval_id = a.approval_id and t.decision = 'deny') as denied`

export const findKnownBad = async (tx: Tx, key: ApprovalKey): Promise<KnownBadRow | undefined> => {
  const { rows } = await sql<KnownBadRow>`
    select ${knownBadColumns} from approvals as a
    where a.agent_id = ${key.agentId} and a.mode = ${key.mode} and a.approval_id = ${key.approvalId}
      and a.known_bad is not null`.execute(tx)
  return rows[0]
}

export const listKnownBad = async (tx: Tx, mode: Mode, scan: PageScan): Promise<readonly KnownBadRow[]> => {
  const { agentId, since, until, before, rowsMax } = scan
  const { rows } = await sql<KnownBadRow>`
    select ${knownBadColumns} from approvals as a
    where a.agent_id = ${agentId} and a.mode = ${mode} and a.known_bad is not null and a.created_at >= ${since}
      ${until ? sql`and a.created_at < ${until}` : sql``}
      ${before ? sql`and (a.created_at, a.approval_id) < (${before.at}, ${before.id})` : sql``}
    order by a.created_at desc, a.approval_id desc limit ${rowsMax}`.execute(tx)
  return rows
}

/** Counts the known-bad requests of the last week. */
export const countKnownBad = async (tx: Tx, { agentId, mode }: Owner): Promise<number> => {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from approvals
    where agent_id = ${agentId} and mode = ${mode} and known_bad is not null
      and created_at > pohf_now() - interval '7 days'`.execute(tx)
  return rows[0]?.n ?? 0
}

/** How many of a person's latest decisions at each agent their own figures count. */
const ownDecisionsMax = 2_000
/**
 * The latest decisions of a person, over all agents. A known-bad request is marked as one only when nobody can decide it any
 * more: before, a person who has decided it could tell the others.
 */
const ownDecisions = (memberships: readonly Membership[]) => sql`
  select turn.*, approval.known_bad, approval.type, approval.type_version,
    approval.known_bad is not null and (approval.status in ('denied', 'expired')
      or approval.status = 'approved' and approval.consumable_at <= pohf_now()) as is_known_bad
  from ${membershipsTable(memberships)}
  cross join lateral (
    select latest.* from approval_turns latest
    where latest.agent_id = own.agent_id and latest.mode = own.mode and latest.approver_id = approver.approver_id
      and latest.decision is not null
    order by latest.decided_at desc limit ${ownDecisionsMax}) turn
  join approvals approval on approval.agent_id = own.agent_id and approval.mode = own.mode
    and approval.approval_id = turn.approval_id`

export const countOwnDecisions = async (
  tx: Tx,
  memberships: readonly Membership[],
): Promise<Omit<Counts, 'approver'> | undefined> => {
  const { rows } = await sql<Omit<Counts, 'approver'>>`
    with decisions as (${ownDecisions(memberships)}) select ${countColumns} from decisions`.execute(tx)
  return rows[0]
}

type OwnKnownBad = {
  readonly approvalId: string
  readonly title: string | null
  readonly decision: 'approve' | 'deny'
  readonly reason: string
  readonly decidedAt: Date
}
const ownKnownBadMax = 50
/** The known-bad requests that a person decided and that are over, newest first. */
export const listOwnKnownBad = async (
  tx: Tx,
  memberships: readonly Membership[],
): Promise<readonly OwnKnownBad[]> => {
  const { rows } = await sql<OwnKnownBad>`
    with decisions as (${ownDecisions(memberships)})
    select decisions.approval_id as "approvalId", decisions.decision, decisions.known_bad as reason,
      decisions.decided_at as "decidedAt",
      (select known.title from approval_types known where known.agent_id = decisions.agent_id
        and known.mode = decisions.mode and known.type = decisions.type
        and known.version = decisions.type_version) as title
    from decisions where is_known_bad
    order by decisions.decided_at desc limit ${ownKnownBadMax}`.execute(tx)
  return rows
}
