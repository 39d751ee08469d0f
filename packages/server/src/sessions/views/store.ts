import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import { firstWholeHour } from '../../platform/db/hours.ts'

export type ViewSummary = {
  readonly views: number
  readonly verified: number
  readonly rejected: number
  readonly avgQuality: number | null
  readonly flags: Record<string, number>
}

const flagsMax = 64

/**
 * The figures of all views since a time: whole hours from the hourly figures, and the part of an hour before them from
 * the sessions. One statement, so that all figures are of the same moment.
 */
export const findViewSummary = async (
  tx: Tx,
  { agentId, mode, since }: { readonly agentId: string; readonly mode: Mode; readonly since: Date },
): Promise<ViewSummary> => {
  const wholeFrom = firstWholeHour(since)
  const { rows } = await sql<ViewSummary>`
    with part as materialized (
      select verified, quality, flags from sessions
      where agent_id = ${agentId} and mode = ${mode} and kind = 'view' and at >= ${since} and at < ${wholeFrom}
    ), flagged as (
      select flag, sum(views)::int as count from (
        select flag, views from view_flag_hours
        where agent_id = ${agentId} and mode = ${mode} and hour >= ${wholeFrom}
        union all select flag, 1 from part, unnest(flags) flag) figures
      group by flag having sum(views) <> 0 order by flag limit ${flagsMax})
    select coalesce(sum(views), 0)::int as views, coalesce(sum(verified), 0)::int as verified,
      coalesce(sum(rejected), 0)::int as rejected,
      (sum(quality) / nullif(sum(scored), 0))::double precision as "avgQuality",
      (select coalesce(json_object_agg(flag, count), '{}') from flagged) as flags
    from (
      select views, verified, rejected, scored, quality from view_hours
      where agent_id = ${agentId} and mode = ${mode} and hour >= ${wholeFrom}
      union all
      select count(*), count(*) filter (where verified), count(*) filter (where not verified), count(quality),
        sum(quality::numeric)
      from part) figures`.execute(tx)
  const [summary] = rows
  if (!summary) throw new Error(`no summary of views for agent ${agentId} since ${since.toISOString()}`)
  return summary
}
