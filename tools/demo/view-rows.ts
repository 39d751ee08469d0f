// Views in any number for one agent of a development database, with the visits and conversions after them.
import type { Mode } from '@pohf/protocol'
import type { Harness } from '../../packages/server/test/fixtures/harness.ts'
import { makeRandom } from './random.ts'
import { dayMs, dayStartOf, timeOfDay } from './rhythm.ts'
import { insertSessions, insertVisits, makeSession } from './rows.ts'

type Connection = Pick<Harness, 'owner'>
export type ViewSeed = {
  readonly agentId: string
  readonly mode: Mode
  readonly rows: number
  readonly days: number
  readonly seed: number
  readonly onProgress: (done: number) => void
}

/** One statement of each kind writes so many. */
const batchSize = 2_000

/** Writes views of the last days, each day with the same share, by the busy hours of a shop. */
export const seedViews = async (connection: Connection, options: ViewSeed): Promise<void> => {
  const { rows, days, onProgress } = options
  const random = makeRandom(options.seed)
  const now = Date.now()
  // A new database has partitions from its first month on.
  for (const table of ['sessions', 'track_events', 'conversions'])
    await connection.owner.query(
      `call pohf_make_partitions('${table}', now() - make_interval(days => ${days}), ${Math.ceil(days / 28) + 2})`,
    )
  let done = 0
  for (let age = days - 1; age >= 0; age--) {
    const dayStart = dayStartOf(now) - age * dayMs
    const ofDay = Math.round((rows * (days - age)) / days) - Math.round((rows * (days - age - 1)) / days)
    for (let left = ofDay; left > 0; left -= batchSize) {
      const sessions = Array.from({ length: Math.min(left, batchSize) }, () => {
        const at = timeOfDay(random, dayStart)
        // Today is not over: what would lie in the future is of the hour before now.
        return makeSession(random, at < now - 120_000 ? at : now - random.integer(120_000, 3_600_000))
      })
      await insertSessions(connection, options, sessions)
      await insertVisits(connection, options, sessions, random)
      done += sessions.length
      onProgress(done)
    }
  }
}
