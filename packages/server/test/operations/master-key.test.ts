import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { freePort } from '../../dev/cluster.ts'
import { inTransaction, type Tx } from '../../src/platform/db/db.ts'
import { MasterKeyMismatch, requireMasterKey } from '../../src/platform/db/versions.ts'
import { loadSecrets } from '../../src/platform/ops/secrets.ts'
import { startHarness } from '../fixtures/harness.ts'
import { pollUntil } from '../fixtures/polling.ts'
import { startMain } from '../fixtures/processes/child-processes.ts'

const harness = await startHarness()
const { ctx } = harness
const folder = mkdtempSync(join(tmpdir(), 'pohf-master-'))
after(() => rmSync(folder, { recursive: true, force: true }))
/** The context of a machine that made a master key of its own. */
const other = { ...ctx, secrets: loadSecrets(join(folder, 'other')) }
const countRows = async (): Promise<number> => {
  const { rows } = await harness.owner.query('select count(*)::int as n from platform_master_key')
  return rows[0].n
}

test('of two first starts at once with different keys one is refused, and the other starts again and again', async () => {
  assert.equal(await countRows(), 0)
  const outcomes = await Promise.allSettled([requireMasterKey(ctx), requireMasterKey(other)])
  assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  assert.equal(await countRows(), 1)
  await harness.owner.query('delete from platform_master_key')
  await Promise.all([requireMasterKey(ctx), requireMasterKey(ctx)])
  await requireMasterKey(ctx)
  assert.equal(await countRows(), 1)
  await assert.rejects(requireMasterKey(other), MasterKeyMismatch)
})

test('the service cannot change or delete the fingerprint, which is not the key', async () => {
  const { rows } = await harness.owner.query('select fingerprint from platform_master_key')
  const purposes = ['pairwise', 'nullifier', 'worker'] as const
  assert.ok(
    purposes.every((purpose) => ctx.secrets.derive(purpose).toString('base64url') !== rows[0].fingerprint),
  )
  const changes = [
    (tx: Tx) =>
      tx
        .updateTable('platform_master_key')
        .set({ fingerprint: 'x'.repeat(43) })
        .execute(),
    (tx: Tx) => tx.deleteFrom('platform_master_key').execute(),
  ]
  for (const change of changes)
    await assert.rejects(inTransaction<unknown>(ctx, 'system', change), { code: '42501' })
})

test('an api and a worker with a new master key end, and say what to do', async () => {
  for (const role of ['api', 'worker']) {
    const port = await freePort()
    const run = startMain([role], {
      DATABASE_URL: ctx.config.DATABASE_URL,
      DATA_DIR: join(folder, role),
      SIGNER_SOCKET: ctx.config.SIGNER_SOCKET,
      PORT: String(port),
      OPERATOR_PORT: String(await freePort()),
    })
    const isDecided = async () =>
      run.child.exitCode !== null || /api listening|worker started/.test(run.out())
    await pollUntil(`the ${role} ends`, isDecided, 120_000).finally(() => run.child.kill('SIGKILL'))
    assert.equal(await run.exited, 1, run.out())
    assert.match(run.errors(), /is not the master key with which this database was written/)
    assert.match(run.errors(), /copy master\.key from a machine that works/)
  }
})
