import { sql } from 'kysely'
import type { Ctx } from '../ops/context.ts'
import type { Job } from '../queue/worker.ts'
import { inLongTransaction, type Tx } from './db.ts'

/** Follows jumps of the database's clock, so that what was due before a jump is done within seconds after it. */
export const clockJob = (ctx: Ctx): Job => ({
  name: 'clock',
  everyMs: 1_000,
  run: async () => {
    const seconds = await inLongTransaction(ctx, 'system', async (tx) => {
      const { rows } = await sql<{ seconds: number | null }>`
        select extract(epoch from pohf_follow_clock())::float8 as seconds`.execute(tx)
      return rows[0]?.seconds
    })
    if (seconds) ctx.log.warn({ seconds }, 'database clock was set back; due times were moved back with it')
    return 0
  },
})

/** How much later than the jump the worker may have recorded it. */
const recordedLateSeconds = 30

/**
 * The time from which a reader that has read up to `at` continues. If the clock was set back since, that time is in the
 * future and new events come before it: the reader continues from the jump and sees some events a second time.
 */
export const resumeTimeOf = async (tx: Tx, at: string): Promise<string> => {
  const { rows } = await sql<{ at: string }>`
    select to_char((set_back_at - make_interval(secs => ${recordedLateSeconds})) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
    from platform_clock where ${at}::timestamptz > pohf_now() and set_back_at < pohf_now()`.execute(tx)
  return rows[0]?.at ?? at
}

/** A worker that runs records the time every 5 seconds. A transaction may delay the record for the rest of this minute. */
const workerAwayAfterSeconds = 60

/** The heartbeat of the workers: when one last ran, and whether that is recent. */
export const readWorkerSeen = async (tx: Tx): Promise<{ readonly seenAt: Date; readonly ok: boolean }> => {
  const { rows } = await sql<{ seen_at: Date; ok: boolean }>`
    select seen_at, seen_at between pohf_now() - make_interval(secs => ${workerAwayAfterSeconds})
      and pohf_now() + make_interval(secs => ${workerAwayAfterSeconds}) as ok
    from platform_clock`.execute(tx)
  const [row] = rows
  if (!row) throw new Error(`platform_clock has ${rows.length} rows while reading when a worker ran`)
  return { seenAt: row.seen_at, ok: row.ok }
}
