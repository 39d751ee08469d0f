import type { Epoch } from '@pohf/protocol'
import type { Selectable } from 'kysely'
import type { Tx } from '../platform/db/db.ts'
import type { DB } from '../platform/db/schema.ts'
import { unit, usdOf, type Assessment } from './rules.ts'

const columns = [
  'code',
  'epoch',
  'value_usd_cents',
  'status',
  'method',
  'input_hours',
  'input_clusters',
  'input_workers',
  'published_at',
  'jws',
] as const

type EpochRow = Pick<Selectable<DB['vhh_epochs']>, (typeof columns)[number]>

const epochOf = (row: EpochRow): Epoch => ({
  code: row.code,
  epoch: row.epoch,
  value: usdOf(row.value_usd_cents),
  currency: 'USD',
  unit,
  status: row.status,
  method: row.method,
  inputs: { hours: row.input_hours, clusters: row.input_clusters, workers: row.input_workers },
  publishedAt: row.published_at.toISOString(),
  jws: row.jws,
})

/** The newest month of a code, in its last revision. */
export const findLatestEpoch = async (tx: Tx, code: string): Promise<Epoch | undefined> => {
  const row = await tx
    .selectFrom('vhh_epochs')
    .select(columns)
    .where('code', '=', code)
    .orderBy('epoch', 'desc')
    .orderBy('revision', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row && epochOf(row)
}

/** The newest month of every code. */
export const listLatestEpochs = async (tx: Tx): Promise<Epoch[]> => {
  const rows = await tx
    .selectFrom('vhh_epochs')
    .distinctOn('code')
    .select(columns)
    .orderBy('code')
    .orderBy('epoch', 'desc')
    .orderBy('revision', 'desc')
    .limit(100)
    .execute()
  return rows.map(epochOf)
}

const monthsMax = 1_200

/** The months of a code in their last revisions, oldest first; at most the newest hundred years. */
export const listEpochs = async (tx: Tx, code: string): Promise<Epoch[]> => {
  const rows = await tx
    .selectFrom('vhh_epochs')
    .distinctOn('epoch')
    .select(columns)
    .where('code', '=', code)
    .orderBy('epoch', 'desc')
    .orderBy('revision', 'desc')
    .limit(monthsMax)
    .execute()
  return rows.map(epochOf).toReversed()
}

type NewEpoch = Pick<Epoch, 'code' | 'epoch' | 'method' | 'inputs' | 'jws'> & {
  readonly valueUsdCents: bigint | null
  readonly status: 'final' | 'insufficient_data'
  readonly publishedAt: Date
}
/** Stores the first revision of a month; false where another process stored it first. */
export const insertEpoch = async (tx: Tx, epoch: NewEpoch): Promise<boolean> => {
  const result = await tx
    .insertInto('vhh_epochs')
    .values({
      code: epoch.code,
      epoch: epoch.epoch,
      value_usd_cents: epoch.valueUsdCents,
      status: epoch.status,
      method: epoch.method,
      input_hours: epoch.inputs.hours,
      input_clusters: epoch.inputs.clusters,
      input_workers: epoch.inputs.workers,
      published_at: epoch.publishedAt,
      jws: epoch.jws,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

type NewForwardOrder = {
  readonly orderId: string
  readonly name: string
  readonly company: string
  readonly email: string
  readonly hours: number
  readonly month: string
  readonly category: string | null
  readonly notes: string | null
  readonly hoursAvailable: number
  readonly assessment: Assessment
  readonly premiumPct: number
  readonly epoch: string
  readonly totalUsdCents: bigint | null
}
export const insertForwardOrder = async (tx: Tx, order: NewForwardOrder): Promise<void> => {
  await tx
    .insertInto('forward_orders')
    .values({
      order_id: order.orderId,
      name: order.name,
      company: order.company,
      email: order.email,
      hours: order.hours,
      month: order.month,
      category: order.category,
      notes: order.notes,
      hours_available: order.hoursAvailable,
      assessment: order.assessment,
      premium_pct: order.premiumPct,
      epoch: order.epoch,
      total_usd_cents: order.totalUsdCents,
    })
    .execute()
}
