import type { Epoch } from '@pohf/protocol'
import type { InputsDocument } from '@pohf/verify/vhh'
import { sql, type Selectable } from 'kysely'
import type { Tx } from '../platform/db/db.ts'
import type { DB } from '../platform/db/schema.ts'
import { presentEpoch, usdOf, type StoredEpoch } from './rules.ts'

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
  'details',
  'jws',
] as const

type EpochRow = Pick<Selectable<DB['vhh_epochs']>, (typeof columns)[number]>

const epochOf = (row: EpochRow): Epoch => ({
  ...presentEpoch({
    code: row.code,
    epoch: row.epoch,
    valueUsdCents: row.value_usd_cents,
    status: row.status,
    method: row.method,
    inputs: { hours: row.input_hours, clusters: row.input_clusters, workers: row.input_workers },
    publishedAt: row.published_at,
    details: row.details,
  }),
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

const monthsMax = 1_200

/** The months of a code in their last revisions, oldest first; at most the newest hundred years. */
export const listEpochs = async (tx: Tx, code: string, limit = monthsMax): Promise<Epoch[]> => {
  const rows = await tx
    .selectFrom('vhh_epochs')
    .distinctOn('epoch')
    .select(columns)
    .where('code', '=', code)
    .orderBy('epoch', 'desc')
    .orderBy('revision', 'desc')
    .limit(limit)
    .execute()
  return rows.map(epochOf).toReversed()
}

export type NewEpoch = StoredEpoch & { readonly jws: string }
/** Stores a revision of a month; false where another process stored it first. */
export const insertEpoch = async (tx: Tx, epoch: NewEpoch): Promise<boolean> => {
  const result = await tx
    .insertInto('vhh_epochs')
    .values({
      code: epoch.code,
      epoch: epoch.epoch,
      revision: epoch.details?.revision ?? 1,
      value_usd_cents: epoch.valueUsdCents,
      status: epoch.status,
      method: epoch.method,
      input_hours: epoch.inputs.hours,
      input_clusters: epoch.inputs.clusters,
      input_workers: epoch.inputs.workers,
      published_at: epoch.publishedAt,
      details: epoch.details && JSON.stringify(epoch.details),
      jws: epoch.jws,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

export const insertInputs = async (tx: Tx, revision: number, document: InputsDocument): Promise<void> => {
  const { code, epoch } = document
  await tx
    .insertInto('vhh_inputs')
    .values({ code, epoch, revision, document: JSON.stringify(document) })
    .execute()
}

/** The newest revision of a month with its inputs; the inputs of older methods were not stored. */
export const findEpochWithInputs = async (
  tx: Tx,
  code: string,
  month: string,
): Promise<{ readonly epoch: Epoch; readonly document: unknown } | undefined> => {
  const row = await tx
    .selectFrom('vhh_epochs')
    .select([...columns, 'revision'])
    .where('code', '=', code)
    .where('epoch', '=', month)
    .orderBy('revision', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (!row) return undefined
  const inputs = await tx
    .selectFrom('vhh_inputs')
    .select('document')
    .where('code', '=', code)
    .where('epoch', '=', month)
    .where('revision', '=', row.revision)
    .executeTakeFirst()
  return { epoch: epochOf(row), document: inputs?.document }
}

/** The newest value of a code before a month, not older than `since`. */
export const findLastFinal = async (
  tx: Tx,
  code: string,
  { before, since }: { readonly before: string; readonly since: string },
): Promise<{ readonly value: number; readonly epoch: string } | undefined> => {
  // A value that was restated away is not carried: only the newest revision of each month counts.
  const { rows } = await sql<{ epoch: string; cents: bigint }>`
    select epoch, value_usd_cents as cents from (
      select distinct on (epoch) epoch, value_usd_cents, status from vhh_epochs
      where code = ${code} and epoch < ${before} and epoch >= ${since}
      order by epoch desc, revision desc) newest
    where status = 'final' order by epoch desc limit 1`.execute(tx)
  const [row] = rows
  const value = usdOf(row?.cents ?? null)
  return row && value !== null ? { value, epoch: row.epoch } : undefined
}

/** The hours of the inputs of the newest months, in their last revisions. */
export const listRecentHours = async (tx: Tx, code: string, months: number): Promise<number[]> => {
  const rows = await tx
    .selectFrom('vhh_epochs')
    .distinctOn('epoch')
    .select(['epoch', 'input_hours'])
    .where('code', '=', code)
    .orderBy('epoch', 'desc')
    .orderBy('revision', 'desc')
    .limit(months)
    .execute()
  return rows.map(({ input_hours: hours }) => hours)
}

/** At most this many series are published. */
const codesMax = 100
/** The codes that have an epoch, found one after the other by the index, however many months each has. */
const codes = sql`
  with recursive codes (code) as (
    (select code from vhh_epochs order by code limit 1)
    union all
    select (select next.code from vhh_epochs next where next.code > codes.code order by next.code limit 1)
    from codes where codes.code is not null)`

export const listCodes = async (tx: Tx): Promise<string[]> => {
  const { rows } = await sql<{ code: string }>`
    ${codes} select code from codes where code is not null limit ${codesMax}`.execute(tx)
  return rows.map(({ code }) => code)
}

/** The newest month of every code. */
export const listLatestEpochs = async (tx: Tx): Promise<Epoch[]> => {
  const { rows } = await sql<EpochRow>`
    ${codes}
    select latest.* from (select code from codes where code is not null limit ${codesMax}) known
    cross join lateral (
      select ${sql.join(columns.map((column) => sql.ref(column)))} from vhh_epochs
      where vhh_epochs.code = known.code order by epoch desc, revision desc limit 1) latest
    order by latest.code`.execute(tx)
  return rows.map(epochOf)
}

type RunningMonth = {
  readonly code: string
  readonly month: string
  readonly valueUsdCents: bigint | null
  readonly status: 'running' | 'insufficient_data'
  readonly inputs: NewEpoch['inputs']
  readonly asOf: Date
}
export const upsertRunning = async (tx: Tx, running: RunningMonth): Promise<void> => {
  const values = {
    month: running.month,
    value_usd_cents: running.valueUsdCents,
    status: running.status,
    input_hours: running.inputs.hours,
    input_clusters: running.inputs.clusters,
    input_workers: running.inputs.workers,
    as_of: running.asOf,
  }
  await tx
    .insertInto('vhh_running')
    .values({ code: running.code, ...values })
    .onConflict((conflict) => conflict.column('code').doUpdateSet(values))
    .execute()
}
export const findRunningMonth = async (tx: Tx, code: string): Promise<RunningMonth | undefined> => {
  const row = await tx
    .selectFrom('vhh_running')
    .select(['code', 'month', 'value_usd_cents', 'status', 'as_of'])
    .select(['input_hours', 'input_clusters', 'input_workers'])
    .where('code', '=', code)
    .executeTakeFirst()
  return (
    row && {
      code: row.code,
      month: row.month,
      valueUsdCents: row.value_usd_cents,
      status: row.status,
      inputs: { hours: row.input_hours, clusters: row.input_clusters, workers: row.input_workers },
      asOf: row.as_of,
    }
  )
}
