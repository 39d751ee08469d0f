import { sql } from 'kysely'
import { qualityBins, type Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'

type Bucket = 'hour' | 'day'
/** Whole buckets of an agent, in UTC. */
export type BucketWindow = {
  readonly agentId: string
  readonly mode: Mode
  readonly bucket: Bucket
  readonly since: Date
  readonly until: Date
}

const ofWindow = ({ agentId, mode, since, until }: BucketWindow) =>
  sql`agent_id = ${agentId} and mode = ${mode} and hour >= ${since} and hour < ${until}`
const bucketOf = ({ bucket }: BucketWindow) => sql`date_trunc(${bucket}, hour, 'UTC')`

type SessionFigures = {
  readonly at: Date
  readonly started: number
  readonly ended: number
  readonly verified: number
  readonly refused: number
  /** Scored sessions by quality. */
  readonly quality: readonly number[]
}

/** The figures of sessions by the bucket in which they started; buckets without a session are missing. */
export const listSessionFigures = async (tx: Tx, window: BucketWindow): Promise<SessionFigures[]> => {
  const bins = Array.from({ length: qualityBins }, (_, bin) => sql`sum(quality[${sql.lit(bin + 1)}])::int`)
  const { rows } = await sql<SessionFigures>`
    select ${bucketOf(window)} as at, sum(started)::int as started, sum(ended)::int as ended,
      sum(verified)::int as verified, sum(refused)::int as refused, array[${sql.join(bins)}] as quality
    from session_hours where ${ofWindow(window)} group by 1 order by 1`.execute(tx)
  return rows
}

type ReasonFigures = { readonly at: Date; readonly reason: string; readonly refused: number }

/** The refused sessions of each bucket by reason. */
export const listRefusedByReason = async (tx: Tx, window: BucketWindow): Promise<ReasonFigures[]> => {
  const { rows } = await sql<ReasonFigures>`
    select ${bucketOf(window)} as at, reason, sum(refused)::int as refused
    from session_reason_hours where ${ofWindow(window)} group by 1, 2 having sum(refused) <> 0 order by 1, 2`.execute(
    tx,
  )
  return rows
}
