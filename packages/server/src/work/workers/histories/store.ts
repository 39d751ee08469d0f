import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../../platform/db/db.ts'

/** The latest assignments that are looked at. */
const historyMax = 500

export type Worker = { readonly mode: Mode; readonly worker: string }
type WorkerHistory = {
  readonly personId: string | null
  readonly assignments: number
  readonly earnedStars: bigint
  readonly knownAnswerStars: bigint
  readonly wrongKnownAnswers: number
  readonly rejected: number
  readonly notVerified: number
  readonly returned: number
  readonly sameNetwork: number
  readonly onlyThroughBuyer: number
  readonly firstClaimedAt: Date
  readonly starsDay: number
  readonly starsWeek: number
  readonly buyers: number
  readonly topBuyer: string | null
  readonly topBuyerStars: bigint
}
/** The latest work of each worker, in the order of the list. */
export const listWorkerHistories = async (
  tx: Tx,
  workers: readonly Worker[],
): Promise<(WorkerHistory | undefined)[]> => {
  if (workers.length === 0) return []
  const { rows } = await sql<WorkerHistory & { position: number }>`
    select requested.position::int as position, max(recent.person_id) as "personId", count(*)::int as assignments,
      coalesce(sum(reward_stars) filter (where status = 'accepted'), 0)::bigint as "earnedStars",
      coalesce(sum(reward_stars) filter (where status = 'accepted' and known_item is not null), 0)::bigint
        as "knownAnswerStars",
      count(*) filter (where gold_right = false and status <> 'accepted')::int as "wrongKnownAnswers",
      count(*) filter (where status in ('rejected', 'appealed', 'refused'))::int as rejected,
      count(*) filter (where status = 'not_verified')::int as "notVerified",
      count(*) filter (where released_at is not null)::int as returned,
      count(*) filter (where 'same_network' = any(flags))::int as "sameNetwork",
      count(*) filter (where 'only_through_buyer' = any(flags))::int as "onlyThroughBuyer",
      min(claimed_at) as "firstClaimedAt",
      coalesce(sum(reward_stars) filter (where status = 'accepted' and claimed_at > pohf_now() - interval '1 day'), 0)::int
        as "starsDay",
      coalesce(sum(reward_stars) filter (where status = 'accepted' and claimed_at > pohf_now() - interval '7 days'), 0)::int
        as "starsWeek",
      count(distinct agent_id) filter (where status = 'accepted' and known_item is null)::int as buyers,
      max(top_buyer) as "topBuyer", coalesce(max(top_stars), 0)::bigint as "topBuyerStars"
    from unnest(${workers.map(({ worker }) => worker)}::text[], ${workers.map(({ mode }) => mode)}::text[])
      with ordinality requested (worker, mode, position)
    cross join lateral (
      select latest.*, first_value(agent_id) over by_stars as top_buyer, first_value(buyer_stars) over by_stars as top_stars
      from (
        select few.*, sum(reward_stars) filter (where status = 'accepted' and known_item is null)
          over (partition by agent_id) as buyer_stars
        from (
          select person_id, agent_id, status, reward_stars, known_item, gold_right, released_at, flags, claimed_at
          from assignments
          where assignments.worker = requested.worker and assignments.mode = requested.mode
          order by assignment_id desc limit ${historyMax}) few) latest
      window by_stars as (order by buyer_stars desc nulls last, agent_id)) recent
    group by requested.position`.execute(tx)
  const byPosition = new Map(rows.map(({ position, ...history }) => [position, history]))
  return workers.map((_, index) => byPosition.get(index + 1))
}

/** How many workers other than this one are among the latest accepted units of a buyer, in the order of the list. */
export const listBuyerWorkers = async (
  tx: Tx,
  pairs: readonly (Worker & { readonly buyer: string })[],
): Promise<number[]> => {
  if (pairs.length === 0) return []
  const { rows } = await sql<{ others: number }>`
    select found.others from unnest(${pairs.map(({ buyer }) => buyer)}::text[], ${pairs.map(({ mode }) => mode)}::text[],
      ${pairs.map(({ worker }) => worker)}::text[]) with ordinality given (agent_id, mode, worker, position)
    cross join lateral (
      select count(distinct recent.worker) filter (where recent.worker <> given.worker)::int as others from (
        select a.worker from assignments a
        where a.agent_id = given.agent_id and a.mode = given.mode and a.status = 'accepted'
        order by a.assignment_id desc limit ${historyMax}) recent) found
    order by given.position`.execute(tx)
  return rows.map(({ others }) => others)
}
