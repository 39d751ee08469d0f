import { join } from 'node:path'
import { z } from 'zod'
import { readFileIfThere, replaceFile } from './folder/atomic-file.ts'

/**
 * Where a database stands: the identifier of its cluster, and the timeline that it writes. A promotion starts a new
 * timeline, so of two primaries the one that was left behind has the lower one.
 */
const databasePosition = z.strictObject({
  /** `system_identifier`, in decimal. */
  system: z.string().regex(/^\d{1,20}$/),
  timeline: z.int().min(1).max(0xff_ff_ff_ff),
})
export type DatabasePosition = z.output<typeof databasePosition>

/** The database that asks is not the one that this signer signs for. Nothing is signed. */
export class WrongDatabase extends Error {}

/** Remembers the highest timeline, in `database.json` of the key folder, and refuses what is behind it. */
export const openTimelines = (folder: string) => {
  const path = join(folder, 'database.json')
  const text = readFileIfThere(path)
  let known =
    text === undefined ? undefined : (databasePosition.nullable().parse(JSON.parse(text)) ?? undefined)
  /** Throws `WrongDatabase` where nothing is signed for this database. Changes nothing. */
  const compare = (value: unknown): DatabasePosition => {
    const asked = databasePosition.parse(value)
    if (known && asked.system !== known.system)
      throw new WrongDatabase(
        `this signer signs for database cluster ${known.system}, and the request comes from cluster ${asked.system}. After a move to a new cluster run: pohf keys database accept`,
      )
    if (known && asked.timeline < known.timeline)
      throw new WrongDatabase(
        `the request comes from a database on timeline ${asked.timeline}, but timeline ${known.timeline} was seen: that database is a former primary`,
      )
    return asked
  }
  return {
    current: () => known,
    compare,
    /** The same, and returns after the position is on disk. */
    check: (value: unknown): void => {
      const asked = compare(value)
      if (asked.timeline === known?.timeline) return
      replaceFile(path, JSON.stringify(asked))
      known = asked
    },
    /** An operator moved the deployment to another cluster: the next request names it. */
    forget: (): void => {
      replaceFile(path, 'null')
      known = undefined
    },
  }
}
