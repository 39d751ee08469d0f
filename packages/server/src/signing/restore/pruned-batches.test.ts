import assert from 'node:assert/strict'
import { cpSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { claimsOf, openAgain, openRestoreHarness } from '../../../test/fixtures/restore.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import { inSingleStatement, inTransaction, readDatabaseIdentity } from '../../platform/db/db.ts'
import { deleteOldBatches } from './store.ts'

const service = await openRestoreHarness()
after(() => service.close())
const { harness, signer, operate, acknowledged } = service
const folders = ['journal', 'status'].map((name) => join(harness.ctx.config.KEYS_DIR, name))

/** One batch after the other. */
const mintBatches = async (count: number): Promise<void> => {
  for (const session of await service.makeSessions(count)) await service.mint([session])
  await acknowledged()
}
/** As the hourly job, which keeps 10,000. */
const keepFive = () => inTransaction(harness.ctx, 'system', (tx) => deleteOldBatches(tx, 5))
const isPending = async () => (await operate('GET', '/operator/restore/plan')).json.pending

await mintBatches(4)
await harness.stopSigner()
for (const folder of folders) cpSync(folder, `${folder}.old`, { recursive: true })
await harness.startSigner()
await mintBatches(8)
await keepFive()

test('batches that were deleted as old count as committed: nothing is pending, and minting goes on', async () => {
  const { rows } = await harness.owner.query('select batch::int from mint_batches order by batch')
  assert.equal(rows.length, 5)
  assert.equal(await isPending(), false)
  await mintBatches(1)
})

test('an acknowledgement that arrives after its batch was deleted stops nothing', async () => {
  const [session] = await service.makeSessions(1)
  const [minted] = await service.mint([session ?? ''])
  const database = await inSingleStatement(harness.ctx, readDatabaseIdentity)
  const claims = { ...claimsOf(minted?.jwt ?? ''), jti: 'crd_late' }
  const late = await signer.sign({
    database,
    batch: [{ claims, act: { key: 'x'.repeat(22), charged: false } }],
  })
  await mintBatches(8)
  await keepFive()
  const [state] = await signer.states()
  assert.ok(state?.unacknowledged)
  assert.ok(state.unacknowledged.includes(late.batch))
  signer.acknowledge([{ signer: state.signer, batch: late.batch, discarded: [] }])
  await pollUntil('the late acknowledgement is journaled', async () => {
    const [now] = await signer.states()
    return now !== undefined && now.sequence > state.sequence
  })
  assert.equal(await isPending(), false)
  await mintBatches(1)
})

test('the number of a deleted batch is used, and is not minted with again', async () => {
  const { rows } = await harness.owner.query<{ signer: string; batch: string }>(
    'select signer, batch from mint_batches_pruned',
  )
  const [pruned] = rows
  assert.ok(pruned)
  const none = `'{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',
    '{}', '{}', '{}', '{}', '{}', '2026-11-01', '{}'`
  const mintAs = (batch: number) =>
    harness.owner.query(`select credentials_mint(${none}, '${pruned.signer}', ${batch}, null)`)
  await assert.rejects(mintAs(Number(pruned.batch)), /was used before/)
  await assert.rejects(mintAs(1), /was used before/)
})

test('a journal from before the deleted batches advances, and the restore ends', async () => {
  await harness.stopSigner()
  for (const folder of folders) {
    rmSync(folder, { recursive: true })
    renameSync(`${folder}.old`, folder)
  }
  await harness.startSigner()
  const again = await openAgain(harness)
  try {
    const { json } = await again.operate(service.operatorKey, {})
    assert.deepEqual([json.applied, json.pending], [true, false])
  } finally {
    await again.close()
  }
  assert.equal(await isPending(), false)
  const [session] = await service.makeSessions(1)
  assert.equal((await service.verify(session ?? '')).status, 200)
})
