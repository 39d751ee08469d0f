import { sql } from 'kysely'
import type { Mode, PayoutState } from '@pohf/protocol'
import { now, type Tx } from '../../platform/db/db.ts'
import type { Rate } from '../rules.ts'

type Partner = { readonly agentId: string; readonly mode: Mode }

/** The rate of a partner; undefined where no operator set one. */
export const findRate = async (tx: Tx, { agentId, mode }: Partner): Promise<Rate | undefined> =>
  tx
    .selectFrom('partner_rates')
    .select(['stars', 'points'])
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .executeTakeFirst()

export const upsertRate = async (
  tx: Tx,
  { agentId, mode }: Partner,
  { stars, points }: Rate,
  operatorId: string,
): Promise<void> => {
  await tx
    .insertInto('partner_rates')
    .values({ agent_id: agentId, mode, stars, points, changed_by: operatorId })
    .onConflict((conflict) =>
      conflict
        .columns(['agent_id', 'mode'])
        .doUpdateSet({ stars, points, changed_by: operatorId, changed_at: now() }),
    )
    .execute()
}

/** A line of a statement. Times are text: the database has microseconds and Date has not. */
export type StatementRow = {
  readonly at: string
  readonly kind: 'conversion' | 'payout'
  readonly reference: string
  readonly userRef: string
  readonly points: number | null
  readonly rateStars: bigint | null
  readonly ratePoints: bigint | null
  readonly stars: bigint
  readonly dropped: string | null
  readonly status: PayoutState | null
  readonly paymentRef: string | null
}
export type StatementScan = Partner & {
  readonly since: Date
  readonly until: Date
  /** The last line of the previous page. */
  readonly after: Pick<StatementRow, 'at' | 'kind' | 'reference'> | undefined
  readonly limit: number
}
/** Conversions and payouts of a window in the order of their times, from a line on. */
export const listStatement = async (tx: Tx, scan: StatementScan): Promise<StatementRow[]> => {
  const { agentId, mode, since, until, after, limit } = scan
  const from = after?.at ?? since.toISOString()
  const isAfter = after !== undefined
  const { rows } = await sql<StatementRow>`
    select to_char(line.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, kind, reference, user_ref as "userRef",
      points, rate_stars as "rateStars", rate_points as "ratePoints", stars, dropped, status, payment_ref as "paymentRef"
    from (
      (select claimed_at as at, 'conversion' as kind, claim as reference, user_ref, points, rate_stars, rate_points, stars,
        dropped, null as status, null as payment_ref
      from partner_conversions
      where agent_id = ${agentId} and mode = ${mode} and claimed_at < ${until}
        and claimed_at >= ${from}::timestamptz and (not ${isAfter} or claimed_at > ${from}::timestamptz
          or (${after?.kind === 'conversion'} and claim > ${after?.reference ?? ''}::text))
      order by claimed_at, claim limit ${limit})
      union all
      (select created_at, 'payout', request_id, user_ref, null, null, null, stars, null, state, payment_ref
      from payout_requests
      where agent_id = ${agentId} and mode = ${mode} and created_at < ${until} and not simulated
        and created_at >= ${from}::timestamptz and (not ${isAfter} or created_at > ${from}::timestamptz
          or ${after?.kind === 'conversion'} or request_id > ${after?.reference ?? ''}::text)
      order by created_at, request_id limit ${limit})
    ) line
    order by line.at, kind, reference limit ${limit}`.execute(tx)
  return rows
}

type User = Partner & { readonly userRef: string }
export type UserActivity = {
  readonly conversionsDay: number
  readonly starsDay: bigint
  readonly conversionsWeek: number
  readonly starsWeek: bigint
  readonly payoutsWeek: number
  readonly partnerPayoutsDay: number
  readonly firstSeenAt: Date | null
}
/** The most rows that are counted for one user or partner. */
const countedMax = 500
/** What users of partners did lately, in the order of the list. */
export const listUserActivity = async (tx: Tx, users: readonly User[]): Promise<UserActivity[]> => {
  if (users.length === 0) return []
  const { rows } = await sql<UserActivity>`
    select converted."conversionsDay", converted."starsDay", converted."conversionsWeek", converted."starsWeek",
      asked."payoutsWeek", partner."partnerPayoutsDay", first."firstSeenAt"
    from unnest(${users.map(({ agentId }) => agentId)}::text[], ${users.map(({ mode }) => mode)}::text[],
      ${users.map(({ userRef }) => userRef)}::text[]) with ordinality given (agent_id, mode, user_ref, position)
    cross join lateral (
      select count(*) filter (where recent.claimed_at > pohf_now() - interval '1 day')::int as "conversionsDay",
        coalesce(sum(recent.stars) filter (where recent.claimed_at > pohf_now() - interval '1 day'), 0)::bigint as "starsDay",
        count(*)::int as "conversionsWeek", coalesce(sum(recent.stars), 0)::bigint as "starsWeek"
      from (select claimed_at, stars from partner_conversions c
        where c.agent_id = given.agent_id and c.mode = given.mode and c.user_ref = given.user_ref
          and c.claimed_at > pohf_now() - interval '7 days' order by claimed_at desc limit ${countedMax}) recent) converted
    cross join lateral (
      select count(*)::int as "payoutsWeek" from (select from payout_requests p
        where p.agent_id = given.agent_id and p.mode = given.mode and p.user_ref = given.user_ref
          and p.created_at > pohf_now() - interval '7 days' limit ${countedMax}) recent) asked
    cross join lateral (
      select count(*)::int as "partnerPayoutsDay" from (select from payout_requests p
        where p.agent_id = given.agent_id and p.mode = given.mode
          and p.created_at > pohf_now() - interval '1 day' limit ${countedMax}) recent) partner
    left join lateral (
      select c.claimed_at as "firstSeenAt" from partner_conversions c
      where c.agent_id = given.agent_id and c.mode = given.mode and c.user_ref = given.user_ref
      order by c.claimed_at limit 1) first on true
    order by given.position`.execute(tx)
  return rows
}
