import { sql } from 'kysely'
import { qualityBuckets } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import { splitWindow, inHours, type ViewWindow } from './segments/store.ts'

export type ViewSummary = {
  readonly views: number
  readonly verified: number
  readonly rejected: number
  readonly avgQuality: number | null
  readonly flags: Record<string, number>
}

const flagsMax = 64

/** Sessions of parts of an hour, which are added to the figures of whole hours or taken off them, by `sign`. */
const partRows = (window: ViewWindow) => {
  const { agentId, mode, since, site, workflow } = window
  const parts = splitWindow(window).parts
  const spans = parts.length > 0 ? parts : [{ from: since, to: since, sign: 1 }]
  return sql.join(
    spans.map(
      ({ from, to, sign }) => sql`
      select ${sql.lit(sign)} as sign, at, verified, quality, flags, counted, jkt, ended_at, status from sessions
      where agent_id = ${agentId} and mode = ${mode} and kind = 'view' and at >= ${from} and at < ${to}
        ${site === null ? sql`` : sql`and hostname = ${site}`}
        ${workflow === null ? sql`` : sql`and workflow_id = ${workflow}`}`,
    ),
    sql` union all `,
  )
}

/** Views, verified, rejected, scored and the sum of quality of `part`. */
const partSums = sql`coalesce(sum(sign), 0), coalesce(sum(sign) filter (where verified), 0),
  coalesce(sum(sign) filter (where not verified), 0), coalesce(sum(sign) filter (where quality is not null), 0),
  sum(sign * quality::numeric)`

/** The views of each flag, from whole hours and from the rows of `part`. */
const flagged = (window: ViewWindow) => sql`
  select flag, sum(views)::int as count from (
    select flag, views from view_flag_hours where ${inHours(window, splitWindow(window).whole)}
    union all select flag, sign from part, unnest(flags) flag) figures
  group by flag having sum(views) <> 0 order by flag limit ${flagsMax}`

/**
 * The figures of all views of a window: whole hours from the hourly figures, and the parts of an hour beside them from
 * the sessions. One statement, so that all figures are of the same moment.
 */
export const findViewSummary = async (tx: Tx, window: ViewWindow): Promise<ViewSummary> => {
  const { rows } = await sql<ViewSummary>`
    with part as materialized (${partRows(window)}), flagged as (${flagged(window)})
    select coalesce(sum(views), 0)::int as views, coalesce(sum(verified), 0)::int as verified,
      coalesce(sum(rejected), 0)::int as rejected,
      (sum(quality) / nullif(sum(scored), 0))::double precision as "avgQuality",
      (select coalesce(json_object_agg(flag, count), '{}') from flagged) as flags
    from (
      select views, verified, rejected, scored, quality from view_hours
      where ${inHours(window, splitWindow(window).whole)}
      union all
      select ${partSums} from part) figures`.execute(tx)
  const [summary] = rows
  if (!summary) throw new Error(`no summary of views for agent ${window.agentId}`)
  return summary
}

/** How many views of a window were verified. */
export const countVerifiedViews = async (tx: Tx, window: ViewWindow): Promise<number> => {
  const { rows } = await sql<{ verified: number }>`
    select coalesce(sum(verified), 0)::int as verified from (
      select verified from view_hours where ${inHours(window, splitWindow(window).whole)}
      union all select sum(sign) from (${partRows(window)}) part where verified) figures`.execute(tx)
  return rows[0]?.verified ?? 0
}

export type ViewFigures = ViewSummary & {
  /** Hours with views: the time in seconds, views, verified, rejected, scored, and the sum of their quality. */
  readonly hours: readonly (readonly [number, number, number, number, number, number])[]
  readonly qualities: readonly number[]
  readonly probes: number
  readonly passed: number
  readonly opened: number
  readonly finished: number
  readonly abandoned: number
  readonly durations: readonly number[]
}

const durationBins = 32

/** The sums of an array column of `whole`, plus the rows of `part` in each bin. `partBin` numbers the bins from 0. */
const binSums = (column: string, bins: number, partBin: ReturnType<typeof sql>) => {
  const sums = Array.from(
    { length: bins },
    (_, bin) => sql`coalesce(sum(${sql.ref(column)}[${sql.lit(bin + 1)}]), 0)::int`,
  )
  return sql`(select array(
    select coalesce(summed.n, 0) + coalesce(counted.n, 0)
    from unnest((select array[${sql.join(sums)}] from whole)) with ordinality summed (n, place)
    left join (select ${partBin} + 1 as place, sum(sign)::int as n from part group by 1) counted on counted.place = summed.place
    order by summed.place))`
}

const figureColumns = ['probes', 'passed', 'opened', 'finished', 'abandoned'] as const

/** All figures of the views of a window. One statement, as above. */
export const findViewFigures = async (tx: Tx, window: ViewWindow): Promise<ViewFigures> => {
  const { rows } = await sql<ViewFigures>`
    with part as materialized (${partRows(window)}),
    whole as materialized (select * from view_hours where ${inHours(window, splitWindow(window).whole)}),
    flagged as (${flagged(window)}),
    by_hour as materialized (
      select hour, sum(views)::int as views, sum(verified)::int as verified, sum(rejected)::int as rejected,
        sum(scored)::int as scored, coalesce(sum(quality), 0) as quality
      from (
        select hour, views, verified, rejected, scored, quality from whole
        union all
        select date_trunc('hour', at, 'UTC'), ${partSums} from part group by 1) figures
      group by hour having sum(views) <> 0),
    added as (
      select ${sql.join(figureColumns.map((column) => sql`sum(${sql.ref(column)})::int as ${sql.ref(column)}`))} from (
        select ${sql.join(figureColumns.map((column) => sql.ref(column)))} from whole
        union all
        select coalesce(sum(sign * (counted ->> 'probes')::int), 0), coalesce(sum(sign * (counted ->> 'hits')::int), 0),
          coalesce(sum(sign) filter (where jkt is not null), 0),
          coalesce(sum(sign) filter (where jkt is not null and ended_at is not null), 0),
          coalesce(sum(sign) filter (where jkt is not null and ended_at is null and status = 'expired'), 0)
        from part) figures)
    select (select coalesce(json_agg(json_build_array(extract(epoch from hour)::int, views, verified, rejected, scored,
        quality::float8) order by hour), '[]') from by_hour) as hours,
      (select coalesce(sum(views), 0)::int from by_hour) as views,
      (select coalesce(sum(verified), 0)::int from by_hour) as verified,
      (select coalesce(sum(rejected), 0)::int from by_hour) as rejected,
      (select (sum(quality) / nullif(sum(scored), 0))::float8 from by_hour) as "avgQuality",
      (select coalesce(json_object_agg(flag, count), '{}') from flagged) as flags, added.*,
      ${binSums('qualities', qualityBuckets, sql`quality_bin(quality)`)} as qualities,
      ${binSums('durations', durationBins, sql`case when jkt is not null then check_duration_bin(at, ended_at) end`)} as durations
    from added`.execute(tx)
  const [figures] = rows
  if (!figures) throw new Error(`no figures of views for agent ${window.agentId}`)
  return figures
}
