import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { startCluster } from '../../dev/cluster.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { assertRefusal } from '../fixtures/refusal.ts'
import { startHarness } from '../fixtures/harness.ts'

// A cluster of its own, for it is stopped and started again.
const folder = mkdtempSync(join(tmpdir(), 'pohf-gone-'))
const settings = { shared_buffers: '16MB', max_connections: '40' }
let cluster = await startCluster({ folder, settings })
after(async () => {
  await cluster.stop()
  rmSync(folder, { recursive: true, force: true })
})

const asSuperuser = async (text: string): Promise<void> => {
  const client = new Client({ connectionString: cluster.url('postgres') })
  await client.connect()
  await client.query(text)
  await client.end()
}
await asSuperuser('create role shop login createrole')
await asSuperuser('create database shop owner shop')
const databaseUrl = cluster.url('shop').replace('postgres@', 'shop@')
await migrate(databaseUrl)
const harness = await startHarness({ DATABASE_URL: databaseUrl, DATABASE_POOL_SIZE: '5' })
const agent = await harness.register('test')

test('a role that owns the database and may make roles is enough: no superuser is needed', async () => {
  assert.equal((await harness.call('GET', '/api/agents/me', { key: agent.apiKey })).status, 200)
  const { rows } = await harness.ctx.db.pool.query(
    'select session_user::text as session, current_user::text as now, rolsuper from pg_roles where rolname = session_user',
  )
  assert.deepEqual(rows, [{ session: 'shop', now: 'pohf_app', rolsuper: false }])
})

test('such an owner is bound by row-level security itself, and minting works all the same', async () => {
  const minted = await Promise.all(
    ['one', 'two', 'one'].map((sessionId) =>
      harness.call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId } }),
    ),
  )
  assert.deepEqual(
    minted.map((answer) => answer.status),
    [200, 200, 200],
  )
  const { json } = await harness.call('GET', '/api/agents/credits/balance', { key: agent.apiKey })
  assert.equal(json.lifetimeConsumed, 2)
})

test('without its database the service answers 503 in our shape, says when to come again, and stays alive', async () => {
  await cluster.stop()
  const body = { name: 'Test', contactEmail: 'a@example.com' }
  const answers = [
    await harness.call('POST', '/api/agents/register', { body }),
    await harness.call('GET', '/api/agents/keys', { key: agent.apiKey }),
    await harness.call('POST', '/api/agents/keys', {
      key: agent.apiKey,
      body: { scopes: ['keys'] },
      headers: { 'idempotency-key': 'gone' },
    }),
    ...(await Promise.all(
      Array.from({ length: 20 }, () => harness.call('POST', '/api/agents/register', { body })),
    )),
  ]
  for (const answer of answers) {
    assertRefusal(answer, 503, 'overloaded')
    assert.equal(answer.json.retryable, true)
    assert.ok(Number(answer.headers['retry-after']) >= 1)
    assert.doesNotMatch(answer.text, new RegExp(`ECONNREFUSED|postgres|shop|:${cluster.port}`))
  }
  // Callers are not told the cause; the log is.
  const refused = harness.lines.filter((line) => line.includes('request refused'))
  assert.equal(refused.length, answers.length)
  for (const line of refused) assert.match(line, /"code":"overloaded"/)
  assert.match(refused.join(''), /ECONNREFUSED/)
  for (let call = 0; call < 3; call++) assert.equal((await harness.call('GET', '/readyz')).status, 503)
  const logged = harness.lines.filter((line) => line.includes('readiness check failed'))
  assert.equal(logged.length, 1, 'it is logged when it begins to fail, not at every call')
  assert.match(logged.join(''), /"check":"database".*ECONNREFUSED/)
  assert.equal((await harness.call('GET', '/livez')).status, 200)
  // What needs no database is still refused for what it is.
  assertRefusal(await harness.call('POST', '/api/agents/register', { body: {} }), 400, 'validation_failed')
  assertRefusal(await harness.call('GET', '/api/agents/keys'), 401, 'missing_api_key')
})

test('once the database is back the same process works on, and nothing was lost', async () => {
  cluster = await startCluster({ folder, settings, port: cluster.port })
  assert.equal((await harness.call('GET', '/readyz')).status, 200)
  const mine = await harness.call('GET', '/api/agents/me', { key: agent.apiKey })
  assert.equal(mine.status, 200)
  assert.equal(mine.json.agentId, agent.agentId)
  assert.match((await harness.register('test')).apiKey, /^svc_test_/)
})
