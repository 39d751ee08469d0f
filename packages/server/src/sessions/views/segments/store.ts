import { sql, type RawBuilder } from 'kysely'
import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../../platform/db/db.ts'
import { splitAtNearestHours, type Span } from '../../../platform/db/hours.ts'
import { Refusal } from '../../../platform/http/errors.ts'

/** Views of one agent in a span of time, on this site and for this workflow; null is any. */
export type ViewWindow = {
  readonly agentId: string
  readonly mode: Mode
  readonly since: Date
  /** Null: until now. */
  readonly until: Date | null
  readonly site: string | null
  readonly workflow: string | null
}

export type SegmentNames = { readonly site: string; readonly workflow: string }

const isFiltered = ({ site, workflow }: ViewWindow): boolean => site !== null || workflow !== null

const ofWindow = ({ agentId, mode, since, until }: ViewWindow) =>
  sql`agent_id = ${agentId} and mode = ${mode} and day >= pohf_day(${since})
    ${until ? sql`and day <= pohf_day(${new Date(until.getTime() - 1)})` : sql``}`

/** The condition that figures or rows of this day and segment belong to the window; true without a filter. */
export const inSegments = (window: ViewWindow, day: RawBuilder<unknown>): RawBuilder<unknown> =>
  isFiltered(window)
    ? sql`(${day}, segment) in (select day, segment from attention_segments where ${ofWindow(window)} and segment > 0
        ${window.site === null ? sql`` : sql`and site = ${window.site}`}
        ${window.workflow === null ? sql`` : sql`and workflow = ${window.workflow}`})`
    : sql`true`

/** The condition for hourly figures of these whole hours. */
export const inHours = (window: ViewWindow, whole: Span | undefined): RawBuilder<unknown> =>
  whole
    ? sql`agent_id = ${window.agentId} and mode = ${window.mode} and hour >= ${whole.from}
        ${whole.to ? sql`and hour < ${whole.to}` : sql``} and ${inSegments(window, sql`pohf_day(hour)`)}`
    : sql`false`

export const splitWindow = ({ since, until }: ViewWindow) => splitAtNearestHours({ from: since, to: until })

/** Refuses a filter for days with more sites and workflows than are counted apart: its figures would lack some views. */
export const requireExactFilter = async (tx: Tx, window: ViewWindow): Promise<void> => {
  if (!isFiltered(window)) return
  const { rows } = await sql<{ day: string }>`
    select day::text from attention_segments where ${ofWindow(window)} and segment = -1 order by day limit 1`.execute(
    tx,
  )
  const [first] = rows
  if (!first) return
  throw new Refusal('validation_failed', {
    details: [
      {
        path: window.site === null ? 'query.workflow' : 'query.site',
        code: 'not_exact',
        message: `cannot be applied to ${first.day}: on that day views came from more than 32 pairs of site and workflow. Leave the filter out, or choose a period without that day. List your origins with PATCH /api/agents/me, so that other sites open no views`,
      },
    ],
  })
}

type SegmentKey = {
  readonly agentId: string
  readonly mode: Mode
  readonly viewedAt: Date
  readonly segment: number
}

/** What segments stand for, in the order of their keys; undefined for none and for the rest. A name never changes. */
export const findSegmentNames = async (
  tx: Tx,
  keys: readonly SegmentKey[],
): Promise<(SegmentNames | undefined)[]> => {
  const { rows } = await sql<SegmentNames & { n: number }>`
    select wanted.n::int as n, found.site, found.workflow
    from unnest(${keys.map((key) => key.agentId)}::text[], ${keys.map((key) => key.mode)}::text[],
      ${keys.map((key) => key.viewedAt)}::timestamptz[], ${keys.map((key) => key.segment)}::smallint[])
      with ordinality wanted (agent_id, mode, viewed_at, segment, n)
    cross join lateral (
      select known.site, known.workflow from attention_segments known where known.agent_id = wanted.agent_id
        and known.mode = wanted.mode and known.day = pohf_day(wanted.viewed_at) and known.segment = wanted.segment
      limit 1) found`.execute(tx)
  const found = new Map(rows.map(({ n, ...names }) => [n, names]))
  return keys.map((_, index) => found.get(index + 1))
}
