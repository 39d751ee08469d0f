import { setTimeout } from 'node:timers/promises'
import type { ClickHouse } from '../../platform/db/clickhouse.ts'
import { inTransaction } from '../../platform/db/db.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { longLeaseSeconds, withDelivery } from '../spool/deliver.ts'
import { findFirstBatch, findSpoolState, listDeliveredBatches } from '../spool/store.ts'
import { hourTables, type HourTable } from './schema.ts'
import { countBatchRows, isReplicated, listMonthSums, replaceMonth } from './store.ts'

type BatchFault = {
  readonly batch: number
  readonly table: 'beacons' | 'conversions'
  readonly sent: number
  readonly stored: number
}
type MonthFault = {
  readonly table: HourTable
  readonly month: number
  readonly stored: string
  readonly counted: string
}
export type Inspection = {
  readonly ok: boolean
  /** What waits in PostgreSQL. */
  readonly waiting: { readonly entries: number; readonly lagSeconds: number }
  readonly batches: number
  readonly batchFaults: readonly BatchFault[]
  readonly monthFaults: readonly MonthFault[]
}

const pageSize = 500
const faultsMax = 100

const compareBatches = async (ctx: Ctx, clickhouse: ClickHouse, back: number) => {
  const faults: BatchFault[] = []
  let batches = 0
  let after = await inTransaction(ctx, 'system', (tx) => findFirstBatch(tx, back))
  for (;;) {
    const from = after
    const page = await inTransaction(ctx, 'system', (tx) => listDeliveredBatches(tx, from, pageSize))
    const last = page.at(-1)
    if (!last) return { batches, faults }
    batches += page.length
    after = last.number
    for (const table of ['beacons', 'conversions'] as const) {
      const stored = await countBatchRows(clickhouse, table, { after: from, to: last.number })
      for (const { number, [table]: sent } of page) {
        const found = stored.get(number) ?? 0
        if (found !== sent && faults.length < faultsMax)
          faults.push({ batch: number, table, sent, stored: found })
      }
    }
  }
}

/** Months in which figures by the hour are not what the rows say. */
const compareMonths = async (clickhouse: ClickHouse): Promise<MonthFault[]> => {
  const faults: MonthFault[] = []
  for (const table of hourTables) {
    const stored = new Map(
      (await listMonthSums(clickhouse, table, 'stored')).map(({ month, sums }) => [month, sums]),
    )
    const counted = new Map(
      (await listMonthSums(clickhouse, table, 'counted')).map(({ month, sums }) => [month, sums]),
    )
    for (const month of new Set([...stored.keys(), ...counted.keys()])) {
      const [one = 'none', other = 'none'] = [stored.get(month), counted.get(month)]
      if (one !== other) faults.push({ table, month, stored: one, counted: other })
    }
  }
  return faults
}

class DeliveryBusy extends Error {
  constructor(what: string) {
    super(`${what}: another process writes to ClickHouse; try again in a minute`)
  }
}

/** The lease of a worker that was killed runs out within a minute. */
const waitMs = 75_000
const lookEveryMs = 200

/** Waits for the worker to end its batch, and works while no other process writes. */
const whenFree = async <T>(ctx: Ctx, what: string, work: () => Promise<T>): Promise<T> => {
  const deadline = performance.now() + waitMs
  while (performance.now() < deadline) {
    const done = await withDelivery(ctx, longLeaseSeconds, async () => ({ value: await work() }))
    if (done) return done.value
    await setTimeout(lookEveryMs)
  }
  throw new DeliveryBusy(what)
}

/** Compares what was sent with what is stored: rows batch by batch, and figures by the hour with the rows. */
export const compareStored = async (ctx: Ctx, clickhouse: ClickHouse, back: number): Promise<Inspection> => {
  const compare = async () => ({
    ...(await compareBatches(ctx, clickhouse, back)),
    monthFaults: await compareMonths(clickhouse),
  })
  // Between two statements a delivery would change what they compare.
  const found = await whenFree(ctx, 'inspect', compare)
  const { entries, lagSeconds } = await inTransaction(ctx, 'system', findSpoolState)
  return {
    ok: found.faults.length === 0 && found.monthFaults.length === 0,
    waiting: { entries, lagSeconds },
    batches: found.batches,
    batchFaults: found.faults,
    monthFaults: found.monthFaults,
  }
}

class ReplicatedTables extends Error {
  constructor(database: string) {
    super(`the tables of ${database} are replicated: this command cannot exchange months there`)
  }
}

/** Counts months again from the rows: those given, or those that differ. Returns which. */
export const rebuild = async (
  ctx: Ctx,
  clickhouse: ClickHouse,
  months?: readonly number[],
): Promise<{ readonly table: HourTable; readonly month: number }[]> => {
  if (await isReplicated(clickhouse)) throw new ReplicatedTables(clickhouse.database)
  const work = async () => {
    const due = months
      ? hourTables.flatMap((table) => months.map((month) => ({ table, month })))
      : (await compareMonths(clickhouse)).map(({ table, month }) => ({ table, month }))
    for (const { table, month } of due) await replaceMonth(clickhouse, table, month)
    return due
  }
  return whenFree(ctx, 'rebuild', work)
}
