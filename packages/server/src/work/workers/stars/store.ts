import { sql, type Selectable } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tx } from '../../../platform/db/db.ts'
import type { DB } from '../../../platform/db/schema.ts'
import type { UnitKey } from '../../units/store.ts'

type NewEarning = {
  readonly unit: UnitKey
  readonly worker: string
  readonly stars: number
  readonly vestingDays: number
}
/** Stores the earning of a unit. The primary key refuses a second one: nothing is paid twice. */
export const insertEarning = async (tx: Tx, earning: NewEarning): Promise<void> => {
  await tx
    .insertInto('worker_earnings')
    .values({
      agent_id: earning.unit.agentId,
      mode: earning.unit.mode,
      order_id: earning.unit.orderId,
      n: earning.unit.n,
      worker: earning.worker,
      stars: BigInt(earning.stars),
      vests_at: sql<Date>`pohf_now() + make_interval(days => ${earning.vestingDays})`,
    })
    .execute()
}
export type Earning = UnitKey & { readonly worker: string; readonly stars: bigint }
const earningColumns = ['agent_id', 'mode', 'order_id', 'n', 'worker', 'stars'] as const
type EarningRow = Pick<Selectable<DB['worker_earnings']>, (typeof earningColumns)[number]>
const earningOf = (row: EarningRow): Earning => ({
  agentId: row.agent_id,
  mode: row.mode,
  orderId: row.order_id,
  n: row.n,
  worker: row.worker,
  stars: row.stars,
})
/** Locks a batch of earnings whose vesting period is over; rows locked by another worker are skipped. */
export const listEarningsDue = async (tx: Tx, limit: number): Promise<Earning[]> => {
  const rows = await tx
    .selectFrom('worker_earnings')
    .select(earningColumns)
    .where('status', '=', 'vesting')
    .where('vests_at', '<=', now())
    .orderBy('vests_at')
    .limit(limit)
    .forUpdate()
    .skipLocked()
    .execute()
  return rows.map(earningOf)
}
export const updateEarningStatus = async (
  tx: Tx,
  unit: UnitKey,
  status: 'vested' | 'taken_back',
): Promise<void> => {
  await tx
    .updateTable('worker_earnings')
    .set({ status })
    .where('agent_id', '=', unit.agentId)
    .where('mode', '=', unit.mode)
    .where('order_id', '=', unit.orderId)
    .where('n', '=', unit.n)
    .execute()
}
/** Locks the earnings of an order with their unit prices, newest first, without those that the operator paid. */
export const listEarnings = async (
  tx: Tx,
  key: Omit<UnitKey, 'n'>,
): Promise<(Earning & { readonly status: string; readonly priceUsdCents: bigint })[]> => {
  const rows = await tx
    .selectFrom('worker_earnings as earned')
    .innerJoin('order_units as unit', (join) =>
      join
        .onRef('unit.agent_id', '=', 'earned.agent_id')
        .onRef('unit.mode', '=', 'earned.mode')
        .onRef('unit.order_id', '=', 'earned.order_id')
        .onRef('unit.n', '=', 'earned.n'),
    )
    .select([
      'earned.agent_id',
      'earned.mode',
      'earned.order_id',
      'earned.n',
      'earned.worker',
      'earned.stars',
    ])
    .select(['earned.status', 'unit.price_usd_cents'])
    .where('earned.agent_id', '=', key.agentId)
    .where('earned.mode', '=', key.mode)
    .where('earned.order_id', '=', key.orderId)
    .where('earned.status', '<>', 'taken_back')
    .where('earned.flagged', '=', false)
    .where('unit.house_pays', '=', false)
    .orderBy('unit.ended_at', 'desc')
    .forUpdate('earned')
    .execute()
  return rows.map((row) => ({ ...earningOf(row), status: row.status, priceUsdCents: row.price_usd_cents }))
}
export const updateEarningFlagged = async (tx: Tx, unit: UnitKey): Promise<void> => {
  await tx
    .updateTable('worker_earnings')
    .set({ flagged: true })
    .where('agent_id', '=', unit.agentId)
    .where('mode', '=', unit.mode)
    .where('order_id', '=', unit.orderId)
    .where('n', '=', unit.n)
    .execute()
}

/** When the next Stars of this account vest. */
export const findNextVesting = async (tx: Tx, worker: string, mode: Mode): Promise<Date | null> => {
  const row = await tx
    .selectFrom('worker_earnings')
    .select('vests_at')
    .where('worker', '=', worker)
    .where('mode', '=', mode)
    .where('status', '=', 'vesting')
    .orderBy('vests_at')
    .limit(1)
    .executeTakeFirst()
  return row?.vests_at ?? null
}
