import { sql } from 'kysely'
import { attentionPagesMax } from '@pohf/protocol'
import { inSingleStatement, inTransaction, type Tenant, type Tx } from '../../../platform/db/db.ts'
import { splitByDays, type Part } from '../../../platform/db/hours.ts'
import {
  countVerifiedViews,
  findViewFigures,
  findViewSummary,
  splitWindow,
  inHours,
  inSegments,
  requireExactFilter,
  type ViewWindow,
} from '../../../sessions/index.ts'
import { tokenDays } from '../../rules.ts'
import { recordBeacons } from '../../store.ts'
import { pageNames, type AttentionStore, type PageFigures } from '../port.ts'

const dayMs = 86_400_000

/**
 * Rows of parts of an hour, which are added or taken off by `sign`. A beacon or a conversion is not older than its view,
 * and at most a day later than the token of the view is valid: the conditions on `at` let PostgreSQL skip the other
 * partitions.
 */
const partRows = (
  window: ViewWindow,
  parts: readonly Part[],
  select: (part: ReturnType<typeof sql>, sign: ReturnType<typeof sql>) => ReturnType<typeof sql>,
) => {
  const spans: readonly Part[] =
    parts.length > 0 ? parts : [{ from: window.since, to: window.since, sign: 1 }]
  return sql.join(
    spans.map(({ from, to, sign }) =>
      select(
        sql`agent_id = ${window.agentId} and mode = ${window.mode} and viewed_at >= ${from} and viewed_at < ${to}
        and at >= ${from} and at < ${new Date(to.getTime() + (tokenDays + 1) * dayMs)}
        and ${inSegments(window, sql`pohf_day(viewed_at)`)}`,
        sql.lit(sign),
      ),
    ),
    sql` union all `,
  )
}

/**
 * How many views of the window sent a beacon, and how many an engagement. Never below 0: rows of the oldest month may remain
 * after their figures were deleted, and subtracting them would give a negative number.
 */
const findBeaconCounts = async (tx: Tx, window: ViewWindow) => {
  const { whole, parts } = splitWindow(window)
  const ofParts = partRows(
    window,
    parts,
    (part, sign) => sql`
      select ${sign} * count(*) filter (where seq = 1), ${sign} * count(*) filter (where first_engagement)
      from track_events where ${part} and (seq = 1 or first_engagement)`,
  )
  const { rows } = await sql<{ landed: number; engaged: number }>`
    select greatest(sum(landed), 0)::int as landed, greatest(sum(engaged), 0)::int as engaged from (
      select landed, engaged from beacon_hours where ${inHours(window, whole)} union all ${ofParts}) figures`.execute(
    tx,
  )
  return rows[0] ?? { landed: 0, engaged: 0 }
}

const currenciesMax = 200

/**
 * How many conversions the views of the window had, how many views had one, and their value by currency, added up in
 * decimals; XXX is ISO 4217 for none named.
 */
const findConversions = async (tx: Tx, window: ViewWindow) => {
  const { whole, parts } = splitWindow(window)
  const ofParts = partRows(
    window,
    parts,
    (part, sign) => sql`
      select coalesce(currency, 'XXX'), ${sign}, ${sign} * first_of_view::int, ${sign} * (value is not null)::int,
        ${sign} * coalesce(value, 0)::numeric
      from conversions where ${part}`,
  )
  const { rows } = await sql<
    Record<'conversions' | 'converted' | 'valued' | 'total', number> & { code: string }
  >`
    select code, sum(conversions)::int as conversions, sum(converted)::int as converted, sum(valued)::int as valued,
      sum(total)::double precision as total
    from (
      select currency as code, conversions, converted, valued, total from conversion_hours
      where ${inHours(window, whole)} union all ${ofParts}) figures
    group by code order by sum(valued) desc, code`.execute(tx)
  const sumOf = (name: 'conversions' | 'converted') => rows.reduce((sum, row) => sum + row[name], 0)
  return {
    conversions: sumOf('conversions'),
    converted: sumOf('converted'),
    values: rows.filter(({ valued }) => valued > 0).slice(0, currenciesMax),
  }
}

/** The pages on which most views began: whole days, whole hours beside them, and rows for the rest. */
const listLandingPages = async (tx: Tx, window: ViewWindow): Promise<PageFigures[]> => {
  const { agentId, mode } = window
  const { days, hours, parts } = splitByDays({ from: window.since, to: window.until })
  const ofDays = days
    ? sql`select day, page, landed, engaged from landing_days where agent_id = ${agentId} and mode = ${mode}
        and day >= pohf_day(${days.from}) ${days.to ? sql`and day < pohf_day(${days.to})` : sql``}
        and ${inSegments(window, sql`day`)} union all`
    : sql``
  const ofHours = hours.map(
    (span) => sql`
      select pohf_day(hour), page, landed, engaged from landing_hours where ${inHours(window, span)} union all`,
  )
  const ofParts = partRows(
    window,
    parts,
    (part, sign) => sql`
      select pohf_day(viewed_at), page, ${sign} * (seq = 1)::int, ${sign} * first_engagement::int from track_events
      where ${part} and (seq = 1 or first_engagement)`,
  )
  const { rows } = await sql<PageFigures>`
    select path, sum(landed)::int as landed, sum(engaged)::int as engaged from (
      select daily.landed, daily.engaged,
        case daily.page when 0 then ${pageNames.none} when -1 then ${pageNames.other} else named.path end as path
      from (
        select day, page, sum(landed) as landed, sum(engaged) as engaged from (
          ${ofDays} ${sql.join(ofHours, sql` `)} ${ofParts}) figures (day, page, landed, engaged)
        group by day, page) daily
      left join attention_pages named on named.agent_id = ${agentId} and named.mode = ${mode} and named.day = daily.day
        and named.page = daily.page) pages
    group by path having sum(landed) > 0 or sum(engaged) > 0
    order by sum(landed) desc, path collate "C" limit ${attentionPagesMax}`.execute(tx)
  return rows
}

/** The figures of the views themselves, which every engine takes from here: sessions are in PostgreSQL. */
export const readViewFigures = async (tx: Tx, window: ViewWindow) => {
  await requireExactFilter(tx, window)
  const { views, verified, rejected, avgQuality, flags, hours, ...figures } = await findViewFigures(
    tx,
    window,
  )
  return {
    ...figures,
    summary: { views, verified, rejected, avgQuality, flags },
    hours: hours.map(([seconds, views, verified, rejected, scored, quality]) => ({
      hour: new Date(seconds * 1_000),
      views,
      verified,
      rejected,
      scored,
      quality,
    })),
  }
}

/** Verified views, for every engine. */
export const readVerifiedViews = async (tx: Tx, window: ViewWindow): Promise<number> => {
  await requireExactFilter(tx, window)
  return countVerifiedViews(tx, window)
}

/** Raw rows in PostgreSQL; triggers of the tables write the figures by hour and by day. */
export const makePostgresStore = (): AttentionStore => ({
  name: 'postgresql',
  recordBeacons: (ctx, batch) =>
    inSingleStatement(ctx, (tx) =>
      recordBeacons(tx, batch, {
        spooled: false,
        columnsOf: ({ type, clientAt, props }) => ({ type, client_at: clientAt, props }),
      }),
    ),
  recordConversion: async (tx, { view, eventId, isFirstOfView, name, value, currency }) => {
    await tx
      .insertInto('conversions')
      .values({
        agent_id: view.agentId,
        event_id: eventId,
        mode: view.mode,
        session_id: view.sessionId,
        viewed_at: view.viewedAt,
        segment: view.segment,
        first_of_view: isFirstOfView,
        name,
        value,
        currency,
      })
      .execute()
  },
  summary: async (tx, window) => {
    await requireExactFilter(tx, window)
    return findViewSummary(tx, window)
  },
  funnel: (ctx, window) =>
    inTransaction(ctx, window.agentId as Tenant, async (tx) => ({
      views: await readVerifiedViews(tx, window),
      ...(await findBeaconCounts(tx, window)),
      ...(await findConversions(tx, window)),
      countedUntil: null,
    })),
  attention: (ctx, window) =>
    inTransaction(ctx, window.agentId as Tenant, async (tx) => ({
      ...(await readViewFigures(tx, window)),
      pages: await listLandingPages(tx, window),
      countedUntil: null,
    })),
})
