import assert from 'node:assert/strict'
import { cpSync, renameSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ledgerFaults } from '../../../test/fixtures/payments/ledger.ts'
import {
  backUp,
  claimsOf,
  openAgain,
  openRestoreHarness,
  restore,
  stateIn,
} from '../../../test/fixtures/restore.ts'
import { inSingleStatement, readDatabaseIdentity } from '../../platform/db/db.ts'
import { connectSigner } from '../signer-client.ts'

const service = await openRestoreHarness()
after(() => service.close())
const { harness, mint, verify, operate, revoke, listOf, publish, acknowledged, balance } = service
const sessions = await service.makeSessions(60)

/** 20 credentials, a backup, 30 more, and a revocation of each kind that is published. */
const playLoss = async () => {
  const before = await mint(sessions.slice(0, 20))
  await acknowledged()
  await backUp(harness)
  const lost = await mint(sessions.slice(20, 50))
  const [revokedBefore, kept] = before
  const [revokedLost, forgotten] = lost
  assert.ok(revokedBefore && kept && revokedLost && forgotten)
  for (const { id } of [revokedBefore, revokedLost]) assert.equal((await revoke(id)).status, 200)
  await publish()
  await acknowledged()
  const version = Number(claimsOf(await listOf(kept)).pohf_version)
  return { before, lost, revokedBefore, kept, revokedLost, forgotten, version, balance: await balance() }
}
const past = await playLoss()
await restore(harness)

test('a database from the past mints and changes nothing, and reading goes on', async () => {
  const { kept, revokedBefore } = past
  const refused = await verify(sessions[50] ?? '')
  assert.deepEqual([refused.status, refused.json.error], [503, 'restore_pending'])
  assert.equal(refused.headers['retry-after'], '30')
  assert.equal((await revoke(kept.id)).json.error, 'restore_pending')
  assert.match((await harness.call('GET', '/readyz')).text, /the restore check failed/)
  assert.equal((await harness.call('GET', '/.well-known/jwks.json')).status, 200)
  // The stored list is older than the published one, which the signer has.
  assert.equal(stateIn(await listOf(kept), revokedBefore.idx), 1)
})

test('after a restore every published revocation holds, and no list goes back', async () => {
  const { json: plan } = await operate('GET', '/operator/restore/plan')
  assert.equal(plan.pending, true)
  assert.deepEqual([plan.signers[0].acknowledged, plan.signers[0].creditsTotal], [30, 30])
  const { json: report } = await operate('POST', '/operator/restore/apply', {})
  assert.deepEqual([report.applied, report.pending, report.recorded, report.charged], [true, false, 30, 30])
  // At once: the stored list is older than the published one, and nobody waits for the next.
  const served = await listOf(past.kept)
  assert.equal(claimsOf(served).pohf_version, past.version)
  assert.deepEqual([stateIn(served, past.revokedBefore.idx), stateIn(served, past.revokedLost.idx)], [1, 1])
  await publish()
  const list = await listOf(past.kept)
  assert.deepEqual(
    [past.revokedBefore, past.revokedLost, past.kept].map(({ idx }) => stateIn(list, idx)),
    [1, 1, 0],
  )
  assert.ok(claimsOf(list).pohf_version > past.version)
  // A second time there is nothing to do.
  const { json: again } = await operate('POST', '/operator/restore/apply', {})
  assert.deepEqual(again, { applied: false, pending: false })
})

test('an act of the lost span is paid for once and not minted again, and its credential can be revoked', async () => {
  const { forgotten } = past
  assert.equal(await balance(), past.balance)
  const again = await verify(forgotten.sessionId)
  assert.deepEqual([again.status, again.json.error], [409, 'credential_lost'])
  assert.equal(await balance(), past.balance)
  assert.equal((await revoke(forgotten.id)).status, 200)
  await publish()
  assert.equal(stateIn(await listOf(forgotten), forgotten.idx), 1)
})

test('no index of an earlier status list is assigned after a restore, and the ledger balances', async () => {
  const minted = await mint(sessions.slice(50))
  const used = new Set([...past.before, ...past.lost].map(({ uri }) => uri))
  assert.deepEqual(
    minted.filter(({ uri }) => used.has(uri)),
    [],
  )
  assert.deepEqual(await ledgerFaults(harness), [])
  const check = await operate('GET', '/operator/ledger/check?whole=1')
  assert.equal(check.json.ok, true, JSON.stringify(check.json))
})

test('a signed credential whose batch was never acknowledged is revoked, and its act is free', async () => {
  const service = await openRestoreHarness()
  const { harness, mint, operate, listOf, publish, acknowledged, signer } = service
  try {
    const sessions = await service.makeSessions(4)
    const [first] = await mint(sessions.slice(0, 1))
    await acknowledged()
    await backUp(harness)
    const [lost] = await mint(sessions.slice(1, 2))
    await acknowledged()
    assert.ok(first && lost)
    // Signed by an api that ended before it stored the credential.
    const claims = { ...claimsOf(lost.jwt), jti: `${lost.id.slice(0, -3)}zzz` }
    const idx = lost.idx === 0 ? 1 : lost.idx - 1
    claims.status = { status_list: { uri: lost.uri, idx } }
    const act = { key: 'x'.repeat(22), charged: true }
    const database = await inSingleStatement(harness.ctx, readDatabaseIdentity)
    await signer.sign({ database, batch: [{ claims, act }] })
    await restore(harness)
    const { json } = await operate('POST', '/operator/restore/apply', {})
    assert.deepEqual([json.recorded, json.charged, json.revoked], [2, 1, 1])
    await publish()
    const list = await listOf(lost)
    assert.deepEqual([stateIn(list, idx), stateIn(list, lost.idx)], [1, 0])
    await mint(sessions.slice(2))
  } finally {
    await service.close()
  }
})

test('a photo of the lost span counts once, also after the restore', async () => {
  const service = await openRestoreHarness()
  const { harness, mint, operate, acknowledged } = service
  try {
    const { apiKey } = await harness.register('test')
    const submit = (photoHash: string) =>
      harness.call('POST', '/api/kinetic/submit', {
        key: apiKey,
        body: { memberId: 'm-1', source: 'geo_photo', photoHash },
      })
    const [before] = await service.makeSessions(1)
    await mint([before ?? ''])
    await acknowledged()
    await backUp(harness)
    const { json } = await submit('p-1')
    const body = { sessionId: json.sessionId }
    assert.equal((await harness.call('POST', '/api/agents/verify', { key: apiKey, body })).status, 200)
    await acknowledged()
    await restore(harness)
    assert.equal((await operate('POST', '/operator/restore/apply', {})).json.applied, true)
    assert.equal((await submit('p-1')).json.error, 'photo_hash_used')
    assert.equal((await submit('p-2')).status, 200)
  } finally {
    await service.close()
  }
})

test('a mint that began before the restore was noticed is refused by its own statement', async () => {
  const service = await openRestoreHarness()
  const { harness, mint, acknowledged } = service
  try {
    await mint(await service.makeSessions(1))
    await acknowledged()
    // The database loses the batch under open connections, so only the mint can see it.
    await harness.owner.query('delete from mint_batches')
    const [session] = await service.makeSessions(1)
    const refused = await service.verify(session ?? '')
    assert.deepEqual([refused.status, refused.json.error], [503, 'restore_pending'])
    const { rows } = await harness.owner.query('select count(*)::int as n from credentials')
    assert.equal(rows[0].n, 1)
  } finally {
    await service.close()
  }
})

/** Copies of status lists elsewhere, by path. */
const startMirror = async () => {
  const copies = new Map<string, string>()
  const server = createServer((request, response) => {
    const copy = copies.get(request.url ?? '')
    response.writeHead(copy === undefined ? 404 : 200).end(copy)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, copies, close: () => server.close() }
}

test('a journal that was taken back together with the database is noticed by a published list', async () => {
  const mirror = await startMirror()
  const service = await openRestoreHarness({ STATUS_WITNESS_URL: mirror.url })
  const { harness, mint, verify, revoke, listOf, publish, acknowledged } = service
  const keys = harness.ctx.config.KEYS_DIR
  const rewound = ['journal', 'status'].map((name) => join(keys, name))
  try {
    const sessions = await service.makeSessions(8)
    const [first] = await mint(sessions.slice(0, 1))
    await acknowledged()
    await backUp(harness)
    await harness.stopSigner()
    for (const folder of rewound) cpSync(folder, `${folder}.old`, { recursive: true })
    await harness.startSigner()
    const [lost] = await mint(sessions.slice(1, 2))
    assert.ok(first && lost)
    assert.equal((await revoke(first.id)).status, 200)
    await publish()
    const published = await listOf(first)
    mirror.copies.set(new URL(first.uri).pathname, published)
    await restore(harness)
    await harness.stopSigner()
    for (const folder of rewound) {
      rmSync(folder, { recursive: true })
      renameSync(`${folder}.old`, folder)
    }
    await harness.startSigner()
    const again = await openAgain(harness)
    try {
      const refused = await again.call('POST', '/api/agents/verify', {
        key: service.agent.apiKey,
        body: { sessionId: sessions[2] },
      })
      assert.deepEqual([refused.status, refused.json.error], [503, 'restore_pending'])
      const applied = await again.operate(service.operatorKey, {
        published: [published],
        credentials: [lost.jwt],
      })
      assert.deepEqual(
        [applied.status, applied.json.journalLost, applied.json.pending, applied.json.recorded],
        [200, true, false, 1],
      )
    } finally {
      await again.close()
    }
    // The revocation holds, the lost credential can be revoked, and its session is not minted again.
    await publish()
    assert.deepEqual([stateIn(await listOf(first), first.idx), stateIn(await listOf(lost), lost.idx)], [1, 0])
    assert.equal((await revoke(lost.id)).status, 200)
    assert.equal((await verify(lost.sessionId)).json.error, 'session_expired')
    const after = await mint(await service.makeSessions(3))
    assert.ok(after.every(({ uri, idx }) => uri !== lost.uri || idx !== lost.idx))
  } finally {
    await service.close()
    mirror.close()
  }
})

test('the signer signs no status list with a version below the last, nor other states under the same version', async () => {
  const service = await openRestoreHarness()
  const { harness, mint, revoke, publish, signer } = service
  try {
    const [minted] = await mint(await service.makeSessions(1))
    assert.ok(minted)
    const first = claimsOf(await service.listOf(minted))
    await revoke(minted.id)
    await publish()
    const second = claimsOf(await service.listOf(minted))
    assert.ok(second.pohf_version > first.pohf_version)
    const { pohf_journal: head, ...payload } = first
    assert.match(head.signer, /^sgn_/)
    await assert.rejects(signer.signTyped('statuslist+jwt', payload), /is from the past/)
    await assert.rejects(
      signer.signTyped('statuslist+jwt', { ...payload, pohf_version: second.pohf_version }),
      /was signed with other states/,
    )
    await harness.stopSigner()
    await harness.startSigner()
    const restarted = connectSigner(harness.ctx)
    await assert.rejects(restarted.signTyped('statuslist+jwt', payload), /is from the past/)
    await restarted.close()
  } finally {
    await service.close()
  }
})
