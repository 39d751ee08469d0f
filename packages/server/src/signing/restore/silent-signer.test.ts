import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import { startSecondSigner } from '../../../test/fixtures/processes/second-signer.ts'
import { backUp, claimsOf, openRestoreHarness, restore } from '../../../test/fixtures/restore.ts'
import { inSingleStatement, readDatabaseIdentity } from '../../platform/db/db.ts'
import { makeRestoreGuard } from './guard.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-silent-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const firstSocket = join(folder, 'first.sock')
// The first signer signs everything; the second one stands by.
const service = await openRestoreHarness({
  SIGNER_URL: `unix:${firstSocket},unix:${join(folder, 'second', 'signer.sock')}`,
  SIGNER_SOCKET: firstSocket,
})
const { harness, signer, mint, verify, operate, acknowledged } = service
const second = await startSecondSigner({
  folder: join(folder, 'second'),
  firstOperatorSocket: harness.ctx.config.SIGNER_OPERATOR_SOCKET,
})
after(async () => {
  await second.kill()
  await service.close()
})
await second.admit(signer)
await harness.advance(6_000)

/** The first signer and what the second one witnessed of it. A probe of readiness lets the api compare. */
const witnessed = () =>
  pollUntil('the second signer witnesses the newest acknowledged batch of the first', async () => {
    await harness.call('GET', '/readyz')
    const [first, other] = await signer.states()
    const head = other?.peers.find((peer) => peer.signer === first?.signer)
    return first !== undefined && head?.acknowledged === first.batch ? first.signer : false
  })
const sessions = await service.makeSessions(6)
await mint(sessions.slice(0, 1))
await acknowledged()
await backUp(harness)
const [lost] = await mint(sessions.slice(1, 2))
await acknowledged()
const first = await witnessed()

/** Another process, which knows of one batch more than the second signer. */
const other = makeRestoreGuard({
  ctx: harness.ctx,
  signer: { ...signer, reportHeads: async () => undefined },
  listSeenHeads: async () => [],
  onPending: () => undefined,
})
const claims = { ...claimsOf(lost?.jwt ?? ''), jti: `${lost?.id.slice(0, -3)}zzz` }
const { batch } = await signer.sign({
  database: await inSingleStatement(harness.ctx, readDatabaseIdentity),
  batch: [{ claims, act: { key: 'x'.repeat(22), charged: false } }],
})
await harness.owner.query('insert into mint_batches (signer, batch) values ($1, $2)', [first, batch])
signer.acknowledge([{ signer: first, batch, discarded: [] }])
await acknowledged()
assert.deepEqual(await other.compareAgain(), [])
await restore(harness)
await harness.stopSigner()

test('a database from the past is recognised while the signer that signed its batches is away', async () => {
  const refused = await verify(sessions[2] ?? '')
  assert.deepEqual([refused.status, refused.json.error], [503, 'restore_pending'])
  const { json: plan } = await operate('GET', '/operator/restore/plan')
  assert.deepEqual(
    [plan.pending, plan.silentSigners, plan.findings[0].part, plan.findings[0].signer],
    [true, [first], 'database', first],
  )
})

test('a process that remembers the state of the signer recognises a database from the past', async () => {
  const findings = await other.compareAgain()
  assert.deepEqual(
    findings.map(({ missing }) => missing.includes(batch)),
    [true],
  )
})

test('a restore is not completed without the journal of a signer, unless the operator names it', async () => {
  const refused = await operate('POST', '/operator/restore/apply', {})
  assert.deepEqual([refused.status, refused.json.error], [400, 'validation_failed'])
  assert.match(refused.text, new RegExp(first))
  const { json } = await operate('POST', '/operator/restore/apply', { without: [first] })
  assert.deepEqual([json.applied, json.pending, json.journalLost], [true, false, true])
  // The other process takes the restore as completed, although it remembers a batch that was not given up.
  assert.deepEqual(await other.compareAgain(), [])
  // Which sessions were minted is not known, so none of before is minted again.
  assert.equal((await verify(sessions[1] ?? '')).json.error, 'session_expired')
  await mint(await service.makeSessions(1))
})

test('when that signer answers again, what it signed in the lost span is recorded', async () => {
  await harness.startSigner()
  await pollUntil(
    'the restore is pending again',
    async () => (await operate('GET', '/operator/restore/plan')).json.pending,
  )
  const { json } = await operate('POST', '/operator/restore/apply', {})
  assert.deepEqual([json.applied, json.pending, json.recorded], [true, false, 2])
  const { rows } = await harness.owner.query('select credential_id from forgotten_credentials order by batch')
  assert.deepEqual(
    rows.map((row) => row.credential_id),
    [lost?.id, claims.jti],
  )
})
