import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { claimStockUnit } from '../workflows/store.ts'
import { claimUnit } from './queue/store.ts'

const harness = await startHarness()
const buyer = await harness.register('test')
const post = (path: string, body: object) =>
  harness.call('POST', `/api/agents/${path}`, { key: buyer.apiKey, body })
const count = async (where: string): Promise<number> =>
  (await harness.owner.query(`select count(*)::int as n from order_units where ${where}`)).rows[0].n

/** Statistics of a small table: the planner then chooses a nested loop that runs the subquery for each unit. */
const resetTableStatistics = async () => {
  await harness.owner.query('analyze order_units')
  await harness.owner.query("update pg_class set reltuples = 1, relpages = 1 where relname = 'order_units'")
}

test('one claim takes one unit, and one reservation one unit of stock, also in a nested loop plan', async () => {
  const { json } = await post('order', { taskType: 'wf_photo_label', quantity: 30 })
  assert.equal((await post('order/fund', { orderId: json.orderId })).status, 200)
  await resetTableStatistics()
  const claimed = await inTransaction(harness.ctx, 'system', async (tx) => {
    await sql`set local enable_hashjoin = off`.execute(tx)
    await sql`set local enable_mergejoin = off`.execute(tx)
    return claimUnit(tx, { taskId: 'wf_photo_label', mode: 'test', personId: 'nobody' })
  })
  assert.ok(claimed)
  assert.equal(await count("status = 'claimed'"), 1)
  // Puts thirty units into stock without the triggers that guard transitions.
  await harness.owner.query(
    `begin; alter table order_units disable trigger all; alter table order_units no force row level security;
     update order_units set status = 'accepted', stock = 'shelf', ended_at = pohf_now(), session_id = 'ses_' || n,
       credential_id = 'crd_' || n, delivered_at = pohf_now(), review_until = pohf_now();
     alter table order_units enable trigger all; alter table order_units force row level security; commit`,
  )
  await resetTableStatistics()
  const sold = await inTransaction(harness.ctx, 'system', async (tx) => {
    await sql`set local enable_hashjoin = off`.execute(tx)
    await sql`set local enable_mergejoin = off`.execute(tx)
    return claimStockUnit(tx, 'wf_photo_label', 'test')
  })
  assert.ok(sold)
  assert.equal(await count("stock = 'taken'"), 1)
})
