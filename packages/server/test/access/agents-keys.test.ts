import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isId, scopes } from '@pohf/protocol'
import { isWellFormedKey, makeKey } from '../../src/platform/ops/keys.ts'
import { assertRefusal } from '../fixtures/refusal.ts'
import { startHarness } from '../fixtures/harness.ts'
import { pollUntil } from '../fixtures/polling.ts'
import { moveProcessTime } from '../fixtures/time/process-time.ts'
import { leastStatements } from '../fixtures/plans/statements.ts'

const harness = await startHarness()
type Key = { apiKey: string; keyId: string }
const post = (path: string, key: string, body: unknown = {}) =>
  harness.call('POST', `/api/agents/keys${path}`, { key, body })
const statusOf = async (key: string) => (await harness.call('GET', '/api/agents/keys', { key })).status
const listOf = async (key: string) => (await harness.call('GET', '/api/agents/keys', { key })).json.keys
const keyOf = async (key: string, wanted: readonly string[] = scopes) =>
  (await post('', key, { scopes: wanted })).json as Key
/** How many statements wait for a lock now. */
const countLockWaiters = async () => {
  const { rowCount } = await harness.owner.query(
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  )
  return rowCount ?? 0
}

test('registration gives a key of the mode asked for, live where nothing was said', async () => {
  const base = { name: 'Agent', contactEmail: 'a@example.com' }
  for (const [given, mode] of [
    [{}, 'live'],
    [{ mode: 'live' }, 'live'],
    [{ mode: 'test' }, 'test'],
  ] as const) {
    const { json: made } = await harness.call('POST', '/api/agents/register', { body: { ...base, ...given } })
    assert.deepEqual(Object.keys(made), ['apiKey', 'agentId', 'mode', 'next'])
    assert.equal(made.mode, mode)
    assert.ok(isWellFormedKey([`svc_${mode}_`], made.apiKey), made.apiKey)
    assert.ok(isId('agt_', made.agentId), made.agentId)
    const { json } = await harness.call('GET', '/api/agents/me', { key: made.apiKey })
    assert.equal(json.mode, mode)
    assert.equal(json.agentId, made.agentId)
    assert.equal(json.emailConfirmedAt, null)
  }
})

test('the first key has every scope', async () => {
  const { apiKey } = await harness.register('live')
  const keys = await listOf(apiKey)
  assert.equal(keys.length, 1)
  assert.deepEqual(keys[0].scopes, [...scopes])
})

test('the profile changes by name and origins, each alone, and by nothing else', async () => {
  const { apiKey, agentId } = await harness.register('live')
  const change = (body: unknown) => harness.call('PATCH', '/api/agents/me', { key: apiKey, body })
  const before = (await harness.call('GET', '/api/agents/me', { key: apiKey })).json
  assert.deepEqual((await change({})).json, before)
  assert.deepEqual((await change({ name: 'New' })).json, { ...before, name: 'New' })
  const allowedOrigins = ['https://shop.example', 'http://localhost:5173']
  assert.deepEqual((await change({ allowedOrigins })).json, { ...before, name: 'New', allowedOrigins })
  assert.deepEqual(
    (await change({ mode: 'test', agentId: 'agt_other', contactEmail: 'b@example.com' })).json,
    { ...before, name: 'New', allowedOrigins },
  )
  for (const origin of ['shop.example', 'https://shop.example/', 'https://*.example', 'ftp://x', 'null'])
    assertRefusal(await change({ allowedOrigins: [origin] }), 400, 'validation_failed')
  assert.deepEqual((await change({ allowedOrigins: [] })).json.allowedOrigins, [])
  assert.equal(agentId, before.agentId)
})

test('a rotated key works until its overlap ends, its successor from the start', async (t) => {
  const { apiKey } = await harness.register('live')
  const rotated = (await post('/rotate', apiKey, { overlapSeconds: 600 })).json
  assert.match(rotated.apiKey, /^svc_live_/)
  assert.deepEqual([await statusOf(apiKey), await statusOf(rotated.apiKey)], [200, 200])
  const keys = await listOf(rotated.apiKey)
  assert.equal(keys[0].keyId, rotated.keyId)
  assert.equal(keys[1].keyId, rotated.replacedKeyId)
  assert.equal(keys[1].expiresAt, rotated.validUntil)
  await harness.advance(590_000)
  assert.equal(await statusOf(apiKey), 200)
  await harness.advance(11_000)
  // A process that has just looked a key up believes it for up to two seconds.
  moveProcessTime(t)(2_000)
  assert.equal(await statusOf(apiKey), 401)
  assertRefusal(await post('/rotate', apiKey), 401, 'invalid_api_key')
  assert.equal(await statusOf(rotated.apiKey), 200)
})

test('no request that begins after the end of a key is let in, though the key was just in use', async (t) => {
  // Less than the two seconds for which a process believes a key.
  const leftMs = 1_500
  // On a busy machine a key may end before its last use.
  const apiKey = await pollUntil('a key is used shortly before its end', async () => {
    const { apiKey: rotated } = await harness.register('live')
    const { validUntil } = (await post('/rotate', rotated, { overlapSeconds: 600 })).json
    await harness.advance(Date.parse(validUntil) - harness.ctx.clock.now().getTime() - leftMs)
    return (await statusOf(rotated)) === 200 && rotated
  })
  // What passes while the database's time is moved would end the two seconds, too.
  let at = performance.now()
  t.mock.method(performance, 'now', () => at)
  await harness.advance(leftMs)
  at += leftMs
  assert.equal(await statusOf(apiKey), 401)
})

test('without an overlap the old key ends with the rotation; without a word it lasts an hour', async () => {
  const first = await harness.register('live')
  const rotated = (await post('/rotate', first.apiKey, { overlapSeconds: 0 })).json
  assert.deepEqual([await statusOf(first.apiKey), await statusOf(rotated.apiKey)], [401, 200])
  const second = await harness.register('live')
  const { validUntil } = (await post('/rotate', second.apiKey)).json
  const lasts = Date.parse(validUntil) - harness.ctx.clock.now().getTime()
  assert.ok(Math.abs(lasts - 3_600_000) < 30_000, `${lasts} ms`)
})

test('the successor has the scopes of the key it replaces', async () => {
  const { apiKey } = await harness.register('live')
  const narrow = await keyOf(apiKey, ['keys', 'index'])
  const rotated = (await post('/rotate', narrow.apiKey)).json as Key
  const record = (await listOf(apiKey)).find((key: Key) => key.keyId === rotated.keyId)
  assert.deepEqual(record.scopes, ['keys', 'index'])
})

for (const parallel of [2, 20])
  test(`${parallel} rotations of one key at once make exactly one successor`, async () => {
    const { apiKey } = await harness.register('live')
    const answers = await Promise.all(Array.from({ length: parallel }, () => post('/rotate', apiKey)))
    const made = answers.filter((answer) => answer.status === 200)
    assert.equal(made.length, 1)
    for (const answer of answers) if (answer.status !== 200) assertRefusal(answer, 403, 'forbidden')
    assert.equal((await listOf(apiKey)).length, 2)
    assertRefusal(await post('/rotate', apiKey), 403, 'forbidden')
  })

test('a revoked key is refused from the next request on, though it was in use a moment ago', async () => {
  const { apiKey } = await harness.register('live')
  const second = await keyOf(apiKey)
  for (let i = 0; i < 3; i++) assert.equal(await statusOf(second.apiKey), 200)
  const revoked = await post('/revoke', apiKey, { keyId: second.keyId })
  assert.deepEqual(revoked.json, { keyId: second.keyId, revoked: true })
  assertRefusal(await post('', second.apiKey, { scopes: ['keys'] }), 401, 'invalid_api_key')
  assert.equal(await statusOf(second.apiKey), 401)
  assert.equal(await statusOf(apiKey), 200)
})

test('a look-up that began before a revocation does not keep the key alive after it', async () => {
  const { apiKey } = await harness.register('live')
  const second = await keyOf(apiKey)
  assert.equal(await statusOf(apiKey), 200)
  const lock = await harness.owner.connect()
  try {
    // The revocation has changed the key and waits to publish; the look-up still reads the key as good.
    await lock.query('begin; lock table events in access exclusive mode')
    const revoking = post('/revoke', apiKey, { keyId: second.keyId })
    await pollUntil('the revocation waits', async () => (await countLockWaiters()) === 1)
    const using = statusOf(second.apiKey)
    await pollUntil('the look-up waits', async () => (await countLockWaiters()) === 2)
    await lock.query('rollback')
    assert.equal((await revoking).status, 200)
    await using
  } finally {
    lock.release()
  }
  assert.equal(await statusOf(second.apiKey), 401)
})

test('a key may revoke itself, and what is revoked stays so', async () => {
  const { apiKey } = await harness.register('live')
  const second = await keyOf(apiKey)
  assert.equal((await post('/revoke', second.apiKey, { keyId: second.keyId })).status, 200)
  assert.equal(await statusOf(second.apiKey), 401)
  const at = (await listOf(apiKey))[0].revokedAt
  await harness.advance(1_000)
  assert.equal((await post('/revoke', apiKey, { keyId: second.keyId })).status, 200)
  assert.equal((await listOf(apiKey))[0].revokedAt, at)
})

test('a further key has exactly the scopes asked for, and never one that its maker lacks', async () => {
  const { apiKey } = await harness.register('live')
  const narrow = (await post('', apiKey, { scopes: ['keys', 'index', 'keys'] })).json
  assert.deepEqual(narrow.scopes, ['keys', 'index'])
  assert.equal((await post('', narrow.apiKey, { scopes: ['index'] })).status, 200)
  for (const wider of [['credits'], ['keys', 'credits'], [...scopes]]) {
    const refused = await post('', narrow.apiKey, { scopes: wider })
    assertRefusal(refused, 403, 'forbidden')
    assert.match(refused.json.message, /credits/)
  }
  const blind = await keyOf(apiKey, ['index'])
  for (const answer of [
    await post('', blind.apiKey, { scopes: ['index'] }),
    await post('/rotate', blind.apiKey),
    await harness.call('GET', '/api/agents/me', { key: blind.apiKey }),
  ])
    assertRefusal(answer, 403, 'forbidden')
  for (const none of [[], ['all'], ['keys', 5]])
    assertRefusal(await post('', apiKey, { scopes: none }), 400, 'validation_failed')
})

test('an agent holds at most 20 keys, however many it asks for at once', async () => {
  const { apiKey } = await harness.register('live')
  const answers = await Promise.all(Array.from({ length: 30 }, () => post('', apiKey, { scopes: ['keys'] })))
  const made = answers.filter((answer) => answer.status === 200)
  assert.equal(made.length, 19)
  for (const answer of answers) if (answer.status !== 200) assertRefusal(answer, 403, 'forbidden')
  await post('/revoke', apiKey, { keyId: made[0]?.json.keyId })
  assert.equal((await post('', apiKey, { scopes: ['keys'] })).status, 200)
  assertRefusal(await post('', apiKey, { scopes: ['keys'] }), 403, 'forbidden')
  // A full agent can still rotate, or it could never leave a leaked key.
  assert.equal((await post('/rotate', apiKey, { overlapSeconds: 0 })).status, 200)
})

test('rotation after rotation does not heap up keys that all still work', async () => {
  let { apiKey } = await harness.register('live')
  let refused = false
  for (let i = 0; i < 60 && !refused; i++) {
    const answer = await post('/rotate', apiKey, { overlapSeconds: 86_400 })
    if (answer.status === 200) apiKey = answer.json.apiKey
    else refused = true
  }
  const usable = (await listOf(apiKey)).filter((key: { revokedAt: string | null }) => key.revokedAt === null)
  assert.ok(usable.length <= 40, `${usable.length} keys work`)
})

test('the list shows hints and last use, and never a key', async () => {
  const { apiKey } = await harness.register('live')
  const second = await keyOf(apiKey)
  const record = async () => (await listOf(apiKey)).find((key: Key) => key.keyId === second.keyId)
  assert.equal((await record()).lastUsedAt, null)
  assert.equal((await record()).hint, second.apiKey.slice(-4))
  assert.equal(await statusOf(second.apiKey), 200)
  const used = await record()
  assert.ok(Math.abs(Date.parse(used.lastUsedAt) - harness.ctx.clock.now().getTime()) < 30_000)
  const { text } = await harness.call('GET', '/api/agents/keys', { key: apiKey })
  for (const secret of [apiKey, second.apiKey]) assert.ok(!text.includes(secret.slice(11)))
})

test('a key that is mistyped is refused without a look at the database; an unknown one takes one', async () => {
  const { apiKey } = await harness.register('live')
  const wrong = Array.from({ length: apiKey.length - 9 }, (_, n) => {
    const place = n + 9
    return apiKey.slice(0, place) + (apiKey[place] === '0' ? '1' : '0') + apiKey.slice(place + 1)
  })
  const mistyped = await leastStatements(harness, async () => {
    for (const key of wrong)
      assertRefusal(await harness.call('GET', '/api/agents/me', { key }), 401, 'malformed_api_key')
  })
  assert.equal(mistyped, 0)
  const unknown = await leastStatements(harness, async () =>
    assertRefusal(
      await harness.call('GET', '/api/agents/me', { key: makeKey('svc_live_', 'aa') }),
      401,
      'invalid_api_key',
    ),
  )
  assert.ok(unknown > 0)
})

test('every change of keys is published as an event in its own transaction', async () => {
  const { apiKey, agentId } = await harness.register('live')
  const second = await keyOf(apiKey)
  await post('/rotate', second.apiKey)
  await post('/revoke', apiKey, { keyId: second.keyId })
  await post('/revoke', apiKey, { keyId: 'key_none' })
  const { rows } = await harness.owner.query(
    'select type, data from events where agent_id = $1 order by event_id',
    [agentId],
  )
  assert.deepEqual(rows.map((row) => String(row.type)).toSorted(), [
    'agent.registered',
    'key.revoked',
    'key.rotated',
  ])
  assert.doesNotMatch(JSON.stringify(rows), /svc_/)
})
