import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { inflateSync } from 'node:zlib'
import { claimsOf, openRestoreHarness, stateIn } from '../../../test/fixtures/restore.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { makeApplyPublished } from './lists.ts'

const service = await openRestoreHarness()
after(() => service.close())
const { harness, mint, operate, publish, listOf, revoke } = service

test('an older copy of a list revokes, and reinstates no credential that was suspended since', async () => {
  const [suspended, revoked] = await mint(await service.makeSessions(2))
  assert.ok(suspended && revoked)
  const before = claimsOf(await listOf(suspended))
  const states = inflateSync(Buffer.from(before.status_list.lst, 'base64url'))
  // The copy has a revocation that the database lacks.
  states[revoked.idx >> 2] = (states[revoked.idx >> 2] ?? 0) | (1 << ((revoked.idx & 3) * 2))
  const { status } = await operate('POST', `/operator/credentials/${suspended.id}/suspend`, {
    reason: 'reported',
  })
  assert.equal(status, 200)
  const copy = {
    list: new URL(suspended.uri).pathname.slice('/status/'.length),
    version: before.pohf_version,
    states,
    jwt: await listOf(suspended),
  }
  const changed = await inTransaction(harness.ctx, 'system', (tx) =>
    makeApplyPublished(harness.ctx)(tx, copy),
  )
  assert.equal(changed, 1)
  await publish()
  const list = await listOf(suspended)
  assert.deepEqual([stateIn(list, suspended.idx), stateIn(list, revoked.idx)], [2, 1])
  assert.equal((await revoke(suspended.id)).status, 200)
})
