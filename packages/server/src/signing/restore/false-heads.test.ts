import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import { startSecondSigner } from '../../../test/fixtures/processes/second-signer.ts'
import { claimsOf, openRestoreHarness } from '../../../test/fixtures/restore.ts'
import { inSingleStatement, readDatabaseIdentity } from '../../platform/db/db.ts'
import type { JournalHead } from '../journal.ts'
import { connectSigner } from '../signer-client.ts'
import { openConnection } from '../transport/signer-connection.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-heads-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const firstSocket = join(folder, 'first.sock')
const service = await openRestoreHarness({
  SIGNER_URL: `unix:${firstSocket},unix:${join(folder, 'second', 'signer.sock')}`,
  SIGNER_SOCKET: firstSocket,
})
const { harness, signer, operate } = service
const second = await startSecondSigner({
  folder: join(folder, 'second'),
  firstOperatorSocket: harness.ctx.config.SIGNER_OPERATOR_SOCKET,
})
const toSecond = openConnection({ path: second.socketPath }, 5_000)
after(async () => {
  toSecond.close()
  await second.kill()
  await service.close()
})
await second.admit(signer)
await harness.advance(6_000)

const readStates = async () => {
  const [first, other] = await signer.states()
  assert.ok(first && other)
  return { first, other }
}
/** What any client of the socket can say. */
const report = async (head: Omit<JournalHead, 'signer'>) => {
  const { first } = await readStates()
  await toSecond.request({ op: 'acknowledge', peers: [{ signer: first.signer, ...head }] })
  const { other } = await readStates()
  assert.deepEqual(other.peers, [{ signer: first.signer, ...head }])
}
const mintOne = async () => {
  await service.mint(await service.makeSessions(1))
  await service.acknowledged()
}
const findings = async () => (await operate('GET', '/operator/restore/plan')).json.findings
/** A journal finding stops minting, and a restore ends it. */
const clear = async () => {
  await pollUntil('the finding', async () =>
    (await findings()).some((one: { part: string }) => one.part === 'journal'),
  )
  const { json } = await operate('POST', '/operator/restore/apply', {})
  assert.deepEqual([json.applied, json.pending], [true, false])
  await pollUntil('minting', async () => {
    const [session] = await service.makeSessions(1)
    return (await service.verify(session ?? '')).status === 200
  })
}
await mintOne()
// So that nothing but what the tests do moves a journal.
await pollUntil('the signers witness each other', async () => {
  await harness.call('GET', '/readyz')
  const { first, other } = await readStates()
  return first.peers.length === 1 && other.peers[0]?.acknowledged === first.batch
})

test('a restore advances a journal past a position at which another record was seen', async () => {
  const { first } = await readStates()
  await report({ sequence: first.sequence + 1, chain: 'c'.repeat(43) })
  // One record more, so that both have the same position.
  await signer.reportHeads(first.signer, [
    { signer: (await readStates()).other.signer, sequence: 99, chain: 'd'.repeat(43) },
  ])
  assert.equal((await readStates()).first.sequence, first.sequence + 1)
  await clear()
})

test('a head far ahead is refused, and one that was moved there in steps is cleared by a restore', async () => {
  const { first } = await readStates()
  const chain = 'c'.repeat(43)
  const heads = [
    { signer: first.signer, sequence: 2 ** 51, chain },
    { signer: first.signer, sequence: first.sequence + 100, chain, acknowledged: 2 ** 51 },
    { signer: 'sgn_00000000000000ff', sequence: 1, chain },
  ]
  await toSecond.request({ op: 'acknowledge', peers: heads })
  const { peers } = (await readStates()).other
  assert.ok(peers.length === 1 && peers.every(({ sequence }) => sequence < first.sequence + 100))
  for (const billions of [1, 2, 3]) await report({ sequence: billions * 1_000_000_000, chain })
  await clear()
  assert.ok((await readStates()).first.sequence > 3_000_000_000)
})

test('an acknowledgement for a signer is not journaled by another one that listens at its address', async (t) => {
  const path = join(folder, 'moved.sock')
  const sockets: Socket[] = []
  let target = firstSocket
  const proxy = createServer((client) => {
    const upstream = connect(target)
    sockets.push(client, upstream)
    client.pipe(upstream).pipe(client)
    for (const each of [client, upstream]) each.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => proxy.listen(path, resolve))
  /** Clients notice the end of their connections in the next round of the event loop. */
  const cutAll = async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    await setTimeout(50)
  }
  const connectTo = (name: string, address: string) =>
    connectSigner({
      ...harness.ctx,
      config: {
        ...harness.ctx.config,
        DATA_DIR: join(folder, name),
        SIGNER_URL: [`unix:${address}`],
      },
    })
  const moved = connectTo('moved', path)
  const standby = connectTo('standby', second.socketPath)
  t.after(async () => {
    for (const client of [moved, standby]) await client.close()
    proxy.close()
    await cutAll()
  })
  const { first, other } = await readStates()
  const [session] = await service.makeSessions(1)
  const [minted] = await service.mint([session ?? ''])
  await service.acknowledged()
  const database = await inSingleStatement(harness.ctx, readDatabaseIdentity)
  const act = { key: 'x'.repeat(22), charged: false }
  const claims = { ...claimsOf(minted?.jwt ?? ''), jti: 'crd_never_stored' }
  for (const client of [moved, standby]) await client.sign({ database, batch: [{ claims, act }] })
  const { batch } = (await readStates()).first
  await standby.advance(other.signer, { batch, position: 0 })
  // The second signer now listens at the address of the first, and has a batch of that number.
  target = second.socketPath
  await cutAll()
  await harness.owner.query('insert into mint_batches (signer, batch) values ($1, $2)', [first.signer, batch])
  moved.acknowledge([{ signer: first.signer, batch, discarded: [] }])
  const signed = await moved.sign({ database, batch: [{ claims, act }] })
  assert.equal(signed.signer, other.signer)
  assert.ok(!(await readStates()).other.acknowledged.includes(batch))
  await assert.rejects(moved.readRecords(first.signer, { from: 0, to: 1 }), /does not answer/)
  target = firstSocket
  await cutAll()
  await pollUntil('the first signer is told', async () => {
    await moved.states()
    return (await readStates()).first.acknowledged.includes(batch)
  })
})
