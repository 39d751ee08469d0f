import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import { claimsOf, openAgain, openRestoreHarness } from '../../../test/fixtures/restore.ts'
import { inSingleStatement, readDatabaseIdentity } from '../../platform/db/db.ts'

const service = await openRestoreHarness()
after(() => service.close())
const { harness, signer, mint, acknowledged } = service
const [first, second] = await service.makeSessions(2)
const readState = async () => {
  const [state] = await signer.states()
  assert.ok(state)
  return state
}

test('a process that stops acknowledges the batches that it committed last', async () => {
  const again = await openAgain(harness)
  const key = service.agent.apiKey
  const minted = await again.call('POST', '/api/agents/verify', { key, body: { sessionId: first } })
  assert.equal(minted.status, 200, minted.text)
  await again.close()
  const { batch, acknowledged: known } = await readState()
  assert.ok(known.includes(batch), `batch ${batch} of ${known.join(', ')}`)
})

test('a committed batch of a process that was killed is acknowledged by the next comparison, once', async () => {
  const [minted] = await mint([second ?? ''])
  assert.ok(minted)
  await acknowledged()
  const database = await inSingleStatement(harness.ctx, readDatabaseIdentity)
  const sign = () => {
    const claims = { ...claimsOf(minted.jwt), jti: `${minted.id.slice(0, -3)}zzz` }
    return signer.sign({ database, batch: [{ claims, act: { key: 'x'.repeat(22), charged: false } }] })
  }
  const committed = await sign()
  const neverStored = await sign()
  await harness.owner.query('insert into mint_batches (signer, batch) values ($1, $2)', [
    committed.signer,
    committed.batch,
  ])
  const again = await openAgain(harness)
  try {
    await pollUntil('it is acknowledged', async () =>
      (await readState()).acknowledged.includes(committed.batch),
    )
  } finally {
    await again.close()
  }
  const { acknowledged: known, unacknowledged } = await readState()
  assert.equal(known.filter((batch) => batch === committed.batch).length, 1)
  assert.deepEqual(unacknowledged, [neverStored.batch])
})

test('a late acknowledgement of an old batch does not lower the batch that the mint asks for', async () => {
  const { acknowledged: known, signer: id, batch } = await readState()
  const newest = Math.max(...known)
  // Never stored, and older than the newest acknowledged one once that is signed.
  await mint(await service.makeSessions(1))
  await acknowledged()
  signer.acknowledge([{ signer: id, batch, discarded: [] }])
  await pollUntil('the late one is journaled', async () => (await readState()).acknowledged[0] === batch)
  const database = await inSingleStatement(harness.ctx, readDatabaseIdentity)
  const signed = await signer.sign({ database, batch: [] })
  assert.ok(newest < batch && signed.acknowledged === batch + 1, `${signed.acknowledged} of ${batch}`)
})
