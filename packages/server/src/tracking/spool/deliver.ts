import { openClickHouse, type ClickHouse } from '../../platform/db/clickhouse.ts'
import { inTransaction } from '../../platform/db/db.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import type { Job } from '../../platform/queue/worker.ts'
import { deleteRows } from '../clickhouse/store.ts'
import { readBody, type Body } from './body.ts'
import {
  claimDelivery,
  findDueErasure,
  findSpoolState,
  listSealedEntries,
  openBatch,
  releaseDelivery,
  settleBatch,
  updateErasureDone,
} from './store.ts'

/** Longer than an insert may take, so that two processes send the same batch only after a crash. */
const leaseSeconds = 60
/** The lease of a recount or an erasure. If the process is killed, deliveries wait until this lease ends. */
export const longLeaseSeconds = 900
const everyMs = 1_000
/** A batch of so many entries is followed by the next at once; smaller ones leave once a second, which makes larger parts. */
const fullEntries = 5_000

/** Sends rows. What ClickHouse stored of an earlier attempt with the token is not stored again. */
export const sendBody = async (clickhouse: ClickHouse, token: string, body: Body): Promise<void> => {
  for (const [table, lines] of Object.entries(body)) await clickhouse.insertLines(table, lines, token)
}

/** Runs while no other process writes to ClickHouse; undefined where one does. */
export const withDelivery = async <T>(
  ctx: Ctx,
  seconds: number,
  work: () => Promise<T>,
): Promise<T | undefined> => {
  const lease = await inTransaction(ctx, 'system', (tx) => claimDelivery(tx, seconds))
  if (!lease) return undefined
  try {
    return await work()
  } finally {
    await inTransaction(ctx, 'system', (tx) => releaseDelivery(tx, lease))
  }
}

/**
 * Sends one sealed batch and returns how many entries it had. A batch is sent until ClickHouse acknowledges it, and only
 * then the next one is sealed: an end at any point leaves a batch that is sent again under the same token. The cell is in
 * the token, because several may share a ClickHouse.
 */
export const deliverBatch = async (ctx: Ctx, clickhouse: ClickHouse): Promise<number> => {
  const delivered = await withDelivery(ctx, leaseSeconds, async () => {
    const batch = await inTransaction(ctx, 'system', openBatch)
    if (!batch) return 0
    const body = await inTransaction(ctx, 'system', async (tx) =>
      readBody(tx, batch.number, await listSealedEntries(tx, batch.spoolNos)),
    )
    await sendBody(clickhouse, `${ctx.config.CELL}-${batch.number}`, body)
    await inTransaction(ctx, 'system', (tx) => settleBatch(tx, batch))
    return batch.spoolNos.length
  })
  return delivered ?? 0
}

/** Carries out one erasure whose rows have all been delivered. */
export const eraseDue = async (ctx: Ctx, clickhouse: ClickHouse): Promise<number> => {
  const erasure = await inTransaction(ctx, 'system', findDueErasure)
  if (!erasure) return 0
  const erased = await withDelivery(ctx, longLeaseSeconds, async () => {
    await deleteRows(clickhouse, erasure)
    await inTransaction(ctx, 'system', (tx) => updateErasureDone(tx, erasure))
    return 1
  })
  return erased ?? 0
}

/** Without CLICKHOUSE_URL there are none. */
export const deliveryJobs = (ctx: Ctx): Job[] => {
  const { CLICKHOUSE_URL: url } = ctx.config
  if (url === undefined) return []
  const clickhouse = openClickHouse(url)
  return [
    {
      name: 'attention delivery',
      everyMs,
      run: async () => ((await deliverBatch(ctx, clickhouse)) >= fullEntries ? 1 : 0),
    },
    {
      name: 'attention erasures',
      everyMs: 60_000,
      run: () => eraseDue(ctx, clickhouse),
      finish: () => clickhouse.close(),
    },
  ]
}

/** Sets the metrics of the delivery. Without CLICKHOUSE_URL they show what was left behind. */
export const measureDelivery = async (ctx: Ctx): Promise<void> => {
  const { lagSeconds, entries } = await inTransaction(ctx, 'system', findSpoolState)
  ctx.metrics.attentionLag.set(lagSeconds)
  ctx.metrics.attentionSpool.set(entries)
}
