import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { inTransaction } from '../../src/platform/db/db.ts'
import { startHarness } from '../fixtures/harness.ts'

const harness = await startHarness()
const one = await harness.register('live')
const other = await harness.register('live')
const otherKeys = (await harness.call('GET', '/api/agents/keys', { key: other.apiKey })).json.keys as {
  keyId: string
}[]
const otherKeyId = otherKeys[0]?.keyId ?? ''

const withoutId = (text: string) => text.replaceAll(/req_[\w-]+/g, '')

test("another tenant's key id answers exactly like one that does not exist", async () => {
  assert.notEqual(otherKeyId, '')
  const foreign = await harness.call('POST', '/api/agents/keys/revoke', {
    key: one.apiKey,
    body: { keyId: otherKeyId },
  })
  const unknown = await harness.call('POST', '/api/agents/keys/revoke', {
    key: one.apiKey,
    body: { keyId: `${otherKeyId.slice(0, -1)}0` },
  })
  assert.equal(foreign.status, 404)
  assert.equal(withoutId(foreign.text), withoutId(unknown.text))
})

test('with the check in code left out, the database still shows and changes no foreign row', async () => {
  await inTransaction(harness.ctx, one.agentId, async (tx) => {
    const seen = await tx.selectFrom('api_keys').select('agent_id').execute()
    assert.ok(seen.length >= 1 && seen.every((row) => row.agent_id === one.agentId))
    const changed = await tx
      .updateTable('api_keys')
      .set({ revoked_at: new Date() })
      .where('key_id', '=', otherKeyId)
      .executeTakeFirst()
    assert.equal(changed.numUpdatedRows, 0n)
  })
  await assert.rejects(
    inTransaction(harness.ctx, one.agentId, (tx) =>
      tx
        .insertInto('api_keys')
        .values({ agent_id: other.agentId, key_id: 'key_planted', hint: 'x', scopes: ['keys'] })
        .execute(),
    ),
    /row-level security/,
  )
})

test('a transaction without a tenant sees nothing', async () => {
  const client = await harness.ctx.db.pool.connect()
  try {
    const { rows } = await client.query('select agent_id from agents')
    assert.deepEqual(rows, [])
    const { rows: role } = await client.query('select current_user as name')
    assert.equal(role[0].name, 'pohf_app')
  } finally {
    client.release()
  }
})

test('the tenant ends with its transaction', async () => {
  await inTransaction(harness.ctx, 'system', async (tx) => sql`select 1`.execute(tx))
  const { rows } = await harness.ctx.db.pool.query('select pohf_tenant() as tenant')
  assert.equal(rows[0].tenant, '')
})

test('a tenant that is not an agent id is refused before it reaches SQL', async () => {
  await assert.rejects(
    inTransaction(harness.ctx, "agt_x'; drop table agents; --", async () => 1),
    /not a tenant/,
  )
})
