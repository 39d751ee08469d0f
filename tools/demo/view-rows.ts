// Views in any number for one agent of a development database, with the visits and conversions after them.
import type { Mode } from '@pohf/protocol'
import type { Harness } from '../../packages/server/test/fixtures/harness.ts'
import { makeRandom, type Random } from './random.ts'
import { dayMs, dayStartOf, timeOfDay } from './rhythm.ts'
import { insertSessions, insertVisits, makeSession, type DemoSession } from './rows.ts'

type Connection = Pick<Harness, 'owner'>
export type ViewSeed = {
  readonly agentId: string
  readonly mode: Mode
  readonly rows: number
  readonly days: number
  readonly seed: number
  readonly onProgress: (done: number) => void
  /** Ends the writing after the batch that runs. */
  readonly signal?: AbortSignal
}

/** One statement of each kind writes so many. */
const batchSize = 2_000
/** The last beacon of a view comes 40 seconds after it, and none may lie in the future. */
const visitMs = 120_000

/** A time within the day that ends at this moment, by the hours that are busy. */
export const timeBefore = (random: Random, end: number): number => {
  const at = timeOfDay(random, dayStartOf(end))
  return at < end ? at : at - dayMs
}

/** Whole or not at all: an interrupted command leaves no view without its visits. */
const writeBatch = async (
  { owner }: Connection,
  options: ViewSeed,
  sessions: readonly DemoSession[],
  random: Random,
): Promise<void> => {
  const client = await owner.connect()
  try {
    await client.query('begin')
    await insertSessions({ owner: client }, options, sessions)
    await insertVisits({ owner: client }, options, sessions, random)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  } finally {
    client.release()
  }
}

/** Writes views of the last days, each day with the same share, by the busy hours of a shop. Returns how many it wrote. */
export const seedViews = async (connection: Connection, options: ViewSeed): Promise<number> => {
  const { rows, days, onProgress, signal } = options
  const random = makeRandom(options.seed)
  const now = Date.now() - visitMs
  // A new database has partitions from its first month on.
  for (const table of ['sessions', 'track_events', 'conversions'])
    await connection.owner.query(
      `call pohf_make_partitions('${table}', now() - make_interval(days => ${days + 1}), ${Math.ceil(days / 28) + 2})`,
    )
  let done = 0
  for (let age = days - 1; age >= 0; age--) {
    const ofDay = Math.round((rows * (days - age)) / days) - Math.round((rows * (days - age - 1)) / days)
    for (let left = ofDay; left > 0; left -= batchSize) {
      if (signal?.aborted) return done
      const sessions = Array.from({ length: Math.min(left, batchSize) }, () =>
        makeSession(random, timeBefore(random, now - age * dayMs)),
      )
      await writeBatch(connection, options, sessions, random)
      done += sessions.length
      onProgress(done)
    }
  }
  return done
}
