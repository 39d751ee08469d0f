import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { decodeProtectedHeader } from 'jose'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import { startSecondSigner } from '../../../test/fixtures/processes/second-signer.ts'
import { backUp, claimsOf, openRestoreHarness, restore } from '../../../test/fixtures/restore.ts'
import { inSingleStatement, readDatabaseIdentity } from '../../platform/db/db.ts'
import { connectSigner } from '../signer-client.ts'
import { actKeyOf } from './mint-signer.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-late-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const firstSocket = join(folder, 'first.sock')
// The journal of the second signer is read first, so that its copy of a credential is met before the other.
const service = await openRestoreHarness({
  SIGNER_URL: `unix:${join(folder, 'second', 'signer.sock')},unix:${firstSocket}`,
  SIGNER_SOCKET: firstSocket,
})
const { harness, signer, mint, verify, operate } = service
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

/** A client of the second signer alone. */
const { config } = harness.ctx
const secondAlone = connectSigner({
  ...harness.ctx,
  config: { ...config, SIGNER_URL: config.SIGNER_URL.slice(0, 1) },
})
after(() => secondAlone.close())

test('a credential in two journals is recorded once, as issued, whichever journal is read first', async () => {
  const [early = '', sessionId = ''] = await service.makeSessions(2)
  await mint([early])
  await backUp(harness)
  await second.kill()
  const [lost] = await mint([sessionId])
  await second.start()
  assert.ok(lost && !(await second.kids()).includes(decodeProtectedHeader(lost.jwt).kid ?? ''))
  // What a signer does that hung: it gets the request, and signs it when nobody waits for the answer any more.
  const { agentId } = service.agent
  const key = actKeyOf(harness.ctx, { agentId, mode: 'live', act: 'session', reference: sessionId })
  const late = await secondAlone.sign({
    database: await inSingleStatement(harness.ctx, readDatabaseIdentity),
    batch: [{ claims: claimsOf(lost.jwt), act: { key, charged: true } }],
  })
  const [secondState, first] = await pollUntil('the batch of the first signer is acknowledged', async () => {
    const states = await signer.states()
    return states[1]?.acknowledged.includes(states[1].batch) ? states : false
  })
  assert.ok(secondState && first && !secondState.acknowledged.includes(late.batch))
  const balance = await service.balance()

  await restore(harness)
  const { json } = await operate('POST', '/operator/restore/apply', {})
  assert.deepEqual([json.applied, json.pending, json.recorded], [true, false, 1])
  const { rows } = await harness.owner.query('select credential_id, signer, state from forgotten_credentials')
  assert.deepEqual(rows, [{ credential_id: lost.id, signer: first.signer, state: 'issued' }])
  assert.equal(await service.balance(), balance, 'charged once')
  assert.equal((await verify(sessionId)).status, 409, 'and not minted again')
})
