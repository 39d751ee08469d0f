import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { budgetSettings } from '../../test/fixtures/networks.ts'
import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import { makeFindDayKey } from './keys.ts'
import { dayOf } from './rules.ts'

const harness = await startHarness(budgetSettings)
const findToday = (findDayKey: ReturnType<typeof makeFindDayKey>) => async (tx: Tx) => {
  const today = dayOf(await readNow(tx))
  return (await findDayKey(tx, today, today))?.tagKey.toString('hex')
}

test('a key of a transaction that failed is not used again', async () => {
  const find = findToday(makeFindDayKey(harness.ctx.secrets))
  let lost: string | undefined
  const failed = inTransaction(harness.ctx, 'system', async (tx) => {
    lost = await find(tx)
    assert.equal(await find(tx), lost, 'the same within the transaction')
    throw new Error('planned')
  })
  await assert.rejects(failed, /planned/)
  const kept = await inTransaction(harness.ctx, 'system', find)
  assert.notEqual(kept, lost)
  const other = findToday(makeFindDayKey(harness.ctx.secrets))
  assert.equal(await inTransaction(harness.ctx, 'system', other), kept, 'all processes count under one key')
  assert.equal(await inTransaction(harness.ctx, 'system', find), kept)
})

test('ten processes that make the key of a day at once get one key', async () => {
  await harness.advance(86_400_000)
  const keys = await Promise.all(
    Array.from({ length: 10 }, () =>
      inTransaction(harness.ctx, 'system', findToday(makeFindDayKey(harness.ctx.secrets))),
    ),
  )
  assert.equal(new Set(keys).size, 1)
  assert.ok(keys[0])
})
