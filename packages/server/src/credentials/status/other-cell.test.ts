import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getListFromStatusListJWT } from '@sd-jwt/jwt-status-list'
import * as operators from '../../operators/index.ts'
import { inTransaction } from '../../platform/db/db.ts'
import type { Refusal } from '../../platform/http/errors.ts'
import { connectSigner } from '../../signing/index.ts'
import { verifySubmittedDocuments } from '../../signing/restore/submitted-documents.ts'
import { startHarness, type Harness } from '../../../test/fixtures/harness.ts'
import { makeChangeCredentialState } from './change-state.ts'
import { elsewhereJob } from './elsewhere.ts'
import { insertClosedList } from '../restore/store.ts'
import { measurePendingRevocations } from './measure.ts'
import { insertList, updateEntry, updateListBuilt } from './store.ts'

// Two cells with one public address. The rows of an agent were copied from one to the other.

const openCell = async (cell: string) => {
  const harness = await startHarness({ CELL: cell })
  const { apiKey: key } = await harness.register('test')
  const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
  return {
    harness,
    signer: connectSigner(harness.ctx),
    mint: async (sessionId: string): Promise<string> => {
      const { json } = await harness.call('POST', '/api/agents/verify', { key, body: { sessionId } })
      return json.credentialId
    },
    change: (credentialId: string, step: string) =>
      harness.callOperator('POST', `/operator/credentials/${credentialId}/${step}`, {
        key: operatorKey,
        body: { reason: 'reported' },
      }),
  }
}
type Cell = Awaited<ReturnType<typeof openCell>>
const [aa, bb] = [await openCell('aa'), await openCell('bb')]

const copyRows = async (from: Harness, to: Harness, table: string, credentialId: string): Promise<void> => {
  const { rows } = await from.owner.query<{ row: string }>(
    `select to_json(t)::text as row from ${table} t where credential_id = $1`,
    [credentialId],
  )
  assert.ok(rows.length > 0)
  for (const { row } of rows)
    await to.owner.query(`insert into ${table} select * from json_populate_record(null::${table}, $1)`, [row])
}
/** A credential of one cell, with its rows in the other too. */
const mintAndCopy = async (from: Cell, to: Cell, sessionId: string) => {
  const credentialId = await from.mint(sessionId)
  await copyRows(from.harness, to.harness, 'credentials', credentialId)
  await copyRows(from.harness, to.harness, 'credential_states', credentialId)
  const { rows } = await from.harness.owner.query<{ list: string; idx: number }>(
    'select status_list as list, status_idx as idx from credentials where credential_id = $1',
    [credentialId],
  )
  return { credentialId, ...(rows[0] ?? assert.fail()) }
}
const publishedBy = async ({ harness }: Cell, list: string): Promise<string> => {
  await harness.advance(25_000)
  await harness.runJobs()
  return (await harness.call('GET', `/status/${list}`)).text
}
const stateIn = async ({ harness }: Cell, credentialId: string): Promise<string> => {
  const text = 'select state from credential_states where credential_id = $1 order by seq desc limit 1'
  return (await harness.owner.query(text, [credentialId])).rows[0]?.state
}
const pendingSeconds = async ({ harness: { ctx } }: Cell): Promise<number> => {
  await measurePendingRevocations(ctx)
  return (await ctx.metrics.revocationPending.get()).values[0]?.value ?? assert.fail()
}

const directions = [
  ['bb', bb, 'aa', aa],
  ['aa', aa, 'bb', bb],
] as const

for (const [name, cell, ownerName, owner] of directions) {
  test(`cell ${name} refuses to change a credential of a list of cell ${ownerName}, and says whose it is`, async () => {
    const { credentialId, list, idx } = await mintAndCopy(owner, cell, `refused in ${name}`)
    for (const step of ['revoke', 'suspend', 'reinstate']) {
      const refused = await cell.change(credentialId, step)
      assert.deepEqual([refused.status, refused.json.error], [404, 'not_found'], refused.text)
      assert.match(
        refused.json.message,
        new RegExp(`${list} belongs to cell ${ownerName}.*Nothing was changed`),
      )
      assert.equal(refused.json.details[0].code, 'other_cell')
    }
    assert.equal(await stateIn(cell, credentialId), 'issued')
    const revoked = await owner.change(credentialId, 'revoke')
    assert.equal(revoked.status, 200, revoked.text)
    assert.equal(getListFromStatusListJWT(await publishedBy(owner, list)).getStatus(idx), 1)
  })

  test(`no statement of cell ${name} writes a list of cell ${ownerName}`, async () => {
    const { harness, signer } = cell
    const list = `${ownerName}-test-77`
    const found = new RegExp(`status list ${list} is of cell ${ownerName}, found in cell ${name}`)
    const inCell = (work: Parameters<typeof inTransaction<unknown>>[2]) =>
      inTransaction(harness.ctx, 'system', work)
    const built = { listId: list, version: 1n, at: new Date(), kid: 'k', etag: 'e', jwt: 'j' }
    await assert.rejects(
      inCell((tx) => updateEntry(tx, { listId: list, idx: 1, value: 1 })),
      found,
    )
    await assert.rejects(
      inCell((tx) => updateListBuilt(tx, built)),
      found,
    )
    await assert.rejects(
      inCell((tx) => insertClosedList(tx, { listId: list, mode: 'test', number: 77, entries: 64 })),
      found,
    )
    await cell.mint(`a list of ${name}`)
    const shape = { entries: 64, blockSize: 64 }
    await assert.rejects(
      inCell((tx) => insertList(tx, ownerName, 'live', shape)),
      /of another cell/,
    )
    await assert.rejects(
      harness.owner.query('insert into status_entries (list_id, idx, value) values ($1, 1, 1)', [list]),
      /status_entries_list_id_fkey/,
    )
    const payload = {
      iss: `${harness.ctx.config.BASE_URL}/test`,
      sub: `${harness.ctx.config.BASE_URL}/status/${list}`,
      iat: 1,
      exp: 2,
      ttl: 60,
      status_list: { bits: 2, lst: 'eJxjAAAAAQAB' },
      pohf_version: 1,
    }
    await assert.rejects(signer.signTyped('statuslist+jwt', payload))
    assert.equal(await signer.findStatusList(list), undefined)
  })

  test(`a refund in cell ${name} revokes at once, and is pending until cell ${ownerName} publishes it`, async () => {
    const { harness } = cell
    const { credentialId, list, idx } = await mintAndCopy(owner, cell, `refunded in ${name}`)
    const revoke = makeChangeCredentialState(harness.ctx)
    assert.equal(await pendingSeconds(cell), 0)
    await inTransaction(harness.ctx, 'system', (tx) =>
      revoke(tx, { credentialId, reason: 'the payment was refunded', to: 'revoked' }),
    )
    assert.equal(await stateIn(cell, credentialId), 'revoked')
    assert.equal((await cell.change(credentialId, 'revoke')).status, 404, 'it is not published yet')
    // The keys of all cells are published together; here each cell has its own.
    const job = elsewhereJob(harness.ctx, { ...cell.signer, publicKeys: owner.signer.publicKeys }, async () =>
      publishedBy(owner, list),
    )
    await harness.advance(120_000)
    assert.equal(await job.run(), 0)
    assert.ok((await pendingSeconds(cell)) > 60, 'the alert for late revocations')
    const told = harness.lines.findLast((line) => line.includes('another cell has to change'))
    assert.ok(told?.includes(credentialId) && told.includes(`"cell":"${ownerName}"`), told)
    const forged = elsewhereJob(harness.ctx, cell.signer, async () => publishedBy(owner, list))
    assert.equal((await owner.change(credentialId, 'revoke')).status, 200)
    assert.equal(getListFromStatusListJWT(await publishedBy(owner, list)).getStatus(idx), 1)
    assert.equal(await forged.run(), 0, 'a list that no key of this deployment signed shows nothing')
    assert.equal(await job.run(), 1)
    assert.equal(await pendingSeconds(cell), 0)
  })
}

test('a restore refuses the published list of another cell', async () => {
  const { list } = await mintAndCopy(aa, bb, 'restored')
  const published = [await publishedBy(aa, list)]
  await assert.rejects(
    verifySubmittedDocuments(bb.harness.ctx, await aa.signer.publicKeys(), { published, credentials: [] }),
    ({ options }: Refusal) =>
      options.details?.[0]?.message === `names the status list ${list} of cell aa, and this is cell bb`,
  )
})

test('a change that is pending in another cell ends with its credential', async () => {
  const { credentialId } = await mintAndCopy(aa, bb, 'expires')
  await inTransaction(bb.harness.ctx, 'system', (tx) =>
    makeChangeCredentialState(bb.harness.ctx)(tx, { credentialId, reason: 'r', to: 'suspended' }),
  )
  await bb.harness.owner.query('update status_elsewhere set expires_at = pohf_now()')
  const unreadable = elsewhereJob(bb.harness.ctx, bb.signer, async () => assert.fail('nothing to read'))
  assert.equal(await unreadable.run(), 0)
  assert.equal(await pendingSeconds(bb), 0)
})
