import type { ClickHouse } from '../../platform/db/clickhouse.ts'
import { inLongTransaction, inTransaction } from '../../platform/db/db.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { isReplicated, listBatchBeacons, listBatchConversions } from '../clickhouse/store.ts'
import { rebuild } from '../clickhouse/inspect.ts'
import { readBody } from '../spool/body.ts'
import { sendBody } from '../spool/deliver.ts'
import { findSpoolState } from '../spool/store.ts'
import {
  countReturnedBatches,
  findCopyStart,
  insertReturnedBeacons,
  insertReturnedConversions,
  readCopyChunk,
  updateCopied,
  updateReturned,
  type CopiedTable,
} from './store.ts'

/** Longer than any transaction that stores a row may take. */
const ripeSeconds = 120
/** Rows that were copied have no number of a batch. */
const noBatch = 0

export type CopyProgress = { readonly kind: CopiedTable; readonly rows: number; readonly to: string }
type Report = (copied: CopyProgress) => void

const backfillTable = async (
  ctx: Ctx,
  clickhouse: ClickHouse,
  kind: CopiedTable,
  report: Report,
): Promise<number> => {
  const span = await inLongTransaction(ctx, 'system', (tx) => findCopyStart(tx, kind, ripeSeconds))
  if (!span) return 0
  let { start } = span
  let rows = 0
  while (start < span.end) {
    const from = start
    const { body, count, to } = await inLongTransaction(ctx, 'system', async (tx) => {
      const chunk = await readCopyChunk(tx, kind, from, span.end)
      return { body: await readBody(tx, noBatch, chunk.entries), count: chunk.entries.length, to: chunk.to }
    })
    await sendBody(clickhouse, `${ctx.config.CELL}-${kind}-${from}`, body)
    await inTransaction(ctx, 'system', (tx) => updateCopied(tx, kind, to))
    rows += count
    if (count > 0) report({ kind, rows, to })
    if (to === from) break
    start = to
  }
  return rows
}

/**
 * Copies what PostgreSQL has to ClickHouse, from where an earlier run ended. A row is in PostgreSQL or went by the spool,
 * never both. Figures that do not agree with the rows in the end are counted again, for example after the engine was changed
 * twice.
 */
export const backfill = async (ctx: Ctx, clickhouse: ClickHouse, report: Report) => {
  const beacons = await backfillTable(ctx, clickhouse, 'beacons', report)
  const conversions = await backfillTable(ctx, clickhouse, 'conversions', report)
  const rebuilt = (await isReplicated(clickhouse)) ? [] : await rebuild(ctx, clickhouse)
  return { beacons, conversions, rebuilt: rebuilt.length }
}

class SpoolNotEmpty extends Error {
  constructor(entries: number) {
    super(`${entries} entries still wait for ClickHouse`)
  }
}

/** Copies what came by the spool back to PostgreSQL, batch by batch, from where an earlier run ended. */
export const copyBack = async (ctx: Ctx, clickhouse: ClickHouse, report: Report) => {
  const { entries } = await inTransaction(ctx, 'system', findSpoolState)
  if (entries > 0) throw new SpoolNotEmpty(entries)
  const { returned, sealed } = await inTransaction(ctx, 'system', countReturnedBatches)
  const total = { beacons: 0, conversions: 0 }
  for (let batch = returned + 1; batch <= sealed; batch += 1) {
    const beacons = await listBatchBeacons(clickhouse, batch)
    const conversions = await listBatchConversions(clickhouse, batch)
    await inLongTransaction(ctx, 'system', async (tx) => {
      if (beacons.length > 0) await insertReturnedBeacons(tx, beacons)
      if (conversions.length > 0) await insertReturnedConversions(tx, conversions)
      await updateReturned(tx, batch)
    })
    total.beacons += beacons.length
    total.conversions += conversions.length
    report({ kind: 'beacons', rows: total.beacons, to: `batch ${batch}` })
  }
  return total
}
