import type { Client } from 'pg'
import { dayMs, dayStartOf } from './rhythm.ts'

/** The longest that a table by day is kept by default is 30 days. */
const keptDays = 31
/** The service takes this lock to make and drop partitions, and leaves that to others while it is held. */
const maintenanceLock = "hashtextextended('pohf_maintain_partitions', 0)"

/**
 * Five tables have a partition for each day. A year of them took half of the time of the seeding, and nothing of the days
 * before the last month is kept: those days share one partition, which is dropped when the clock is past them. Returns what
 * is to be called after each step of the clock.
 */
export const sharePastPartitions = async (
  client: Client,
  days: number,
): Promise<(now: number) => Promise<void>> => {
  const { rows: tables } = await client.query<{ name: string; byDay: boolean }>(
    'select table_name as name, by_day as "byDay" from platform_partitioned',
  )
  const byDay = tables.filter((table) => table.byDay)
  await client.query(`select pg_advisory_lock(${maintenanceLock})`)
  for (const { name } of byDay) await client.query(`create table ${name}_past partition of ${name} default`)
  for (const { name } of tables.filter((table) => !table.byDay))
    await client.query(
      `call pohf_make_partitions('${name}', now() - make_interval(days => ${days}), ${Math.ceil(days / 28)})`,
    )
  const sharedUntil = dayStartOf(Date.now()) - keptDays * dayMs
  let isShared = true
  return async (now) => {
    if (!isShared) return
    isShared = now < sharedUntil
    // The job that follows the clock makes partitions where it sees a jump.
    if (isShared) await client.query('update platform_clock set seen_at = pohf_now()')
    else {
      await client.query('begin')
      // Requests of this day may be in the shared partition already; then the partition of the day could not be made.
      await client.query(`drop table ${byDay.map(({ name }) => `${name}_past`).join(', ')}`)
      await client.query('select pohf_maintain_partitions()')
      await client.query('commit')
      await client.query(`select pg_advisory_unlock(${maintenanceLock})`)
    }
  }
}
