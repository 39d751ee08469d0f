import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scopes } from '@pohf/protocol'
import * as operators from '../../src/operators/index.ts'
import { inTransaction } from '../../src/platform/db/db.ts'
import { beginIdempotent, releaseIdempotent, storeIdempotent } from '../../src/platform/db/idempotency.ts'
import { assertRefusal } from '../fixtures/refusal.ts'
import { startHarness, type TestResponse } from '../fixtures/harness.ts'

const harness = await startHarness()
const keysPath = '/api/agents/keys'
const oneScope = { scopes: ['webhooks'] }

const call = (path: string, key: string, idempotencyKey: string | undefined, body: unknown = {}) =>
  harness.call('POST', path, {
    key,
    body,
    headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
  })
const countKeys = async (agentId: string): Promise<number> => {
  const { rows } = await harness.owner.query('select count(*)::int as n from api_keys where agent_id = $1', [
    agentId,
  ])
  return rows[0].n
}
const isReplay = (answer: TestResponse) => answer.headers['idempotent-replayed'] === 'true'

test('a repeat gets the same status and body, says so, and acts once', async () => {
  const agent = await harness.register('test')
  const first = await call(keysPath, agent.apiKey, 'repeat-1', oneScope)
  assert.equal(first.status, 200)
  assert.equal(isReplay(first), false)
  for (let i = 0; i < 3; i++) {
    const again = await call(keysPath, agent.apiKey, 'repeat-1', oneScope)
    assert.equal(again.status, 200)
    assert.equal(again.text, first.text)
    assert.equal(again.headers['content-type'], first.headers['content-type'])
    assert.ok(isReplay(again))
  }
  assert.equal(await countKeys(agent.agentId), 2)
})

test('without the header every call acts', async () => {
  const agent = await harness.register('test')
  for (let i = 0; i < 3; i++)
    assert.equal((await call(keysPath, agent.apiKey, undefined, oneScope)).status, 200)
  assert.equal(await countKeys(agent.agentId), 4)
})

test('a quoted key is the same key as a bare one', async () => {
  const agent = await harness.register('test')
  const bare = await call(keysPath, agent.apiKey, 'abc def', oneScope)
  const quoted = await call(keysPath, agent.apiKey, '"abc def"', oneScope)
  assert.equal(quoted.text, bare.text)
  assert.ok(isReplay(quoted))
})

test('another spelling of the path is the same call', async () => {
  const agent = await harness.register('test')
  const first = await call(keysPath, agent.apiKey, 'spelling', oneScope)
  for (const path of [`${keysPath}/`, '/api/agents/%6beys', `${keysPath}?x=1`]) {
    const again = await call(path, agent.apiKey, 'spelling', oneScope)
    assert.equal(again.text, first.text, path)
    assert.ok(isReplay(again), path)
  }
  assert.equal(await countKeys(agent.agentId), 2)
})

test('another body under the same key is 422, and the first answer stays', async () => {
  const agent = await harness.register('test')
  const first = await call(keysPath, agent.apiKey, 'body-1', oneScope)
  const other = await call(keysPath, agent.apiKey, 'body-1', { scopes: ['index'] })
  assertRefusal(other, 422, 'idempotency_key_reused')
  assert.equal((await call(keysPath, agent.apiKey, 'body-1', oneScope)).text, first.text)
  assert.equal(await countKeys(agent.agentId), 2)
})

test('the key belongs to one agent and one path', async () => {
  const one = await harness.register('test')
  const two = await harness.register('test')
  const first = await call(keysPath, one.apiKey, 'shared', oneScope)
  const foreign = await call(keysPath, two.apiKey, 'shared', oneScope)
  assert.equal(foreign.status, 200)
  assert.equal(isReplay(foreign), false)
  assert.notEqual(foreign.json.apiKey, first.json.apiKey)
  const elsewhere = await call('/api/agents/keys/revoke', one.apiKey, 'shared', { keyId: first.json.keyId })
  assert.equal(elsewhere.status, 200)
  assert.equal(isReplay(elsewhere), false)
})

for (const parallel of [2, 20, 100])
  test(`${parallel} calls at once with one key act exactly once`, async (t) => {
    const agent = await harness.register('test')
    const answers = await Promise.all(
      Array.from({ length: parallel }, () => call(keysPath, agent.apiKey, 'parallel', oneScope)),
    )
    assert.equal(await countKeys(agent.agentId), 2)
    const first = answers.filter((answer) => answer.status === 200 && !isReplay(answer))
    assert.equal(first.length, 1)
    const busy = answers.filter((answer) => answer.status === 409)
    for (const answer of busy) {
      assertRefusal(answer, 409, 'idempotency_in_progress')
      assert.ok(Number(answer.headers['retry-after']) >= 1)
    }
    const replays = answers.filter(isReplay)
    for (const answer of replays) assert.equal(answer.text, first[0]?.text)
    assert.equal(1 + busy.length + replays.length, parallel)
    t.diagnostic(`${busy.length} were told to wait, ${replays.length} got the stored answer`)
  })

test('while the first call is under way a repeat is 409; if it died, its key is free after its lease', async () => {
  const agent = await harness.register('test')
  const slot = { agentId: agent.agentId, method: 'POST', path: keysPath, key: 'died' }
  const begun = await beginIdempotent(harness.ctx, slot, {
    body: oneScope,
    secret: agent.apiKey,
    subject: undefined,
  })
  assert.ok('claim' in begun)
  assertRefusal(await call(keysPath, agent.apiKey, 'died', oneScope), 409, 'idempotency_in_progress')
  await harness.advance(50_000)
  assertRefusal(await call(keysPath, agent.apiKey, 'died', oneScope), 409, 'idempotency_in_progress')
  assert.equal(await countKeys(agent.agentId), 1)
  await harness.advance(11_000)
  assert.equal((await call(keysPath, agent.apiKey, 'died', oneScope)).status, 200)
  assert.equal(await countKeys(agent.agentId), 2)
})

test('an act whose answer could not be kept is not done again by a repeat at once', async () => {
  const agent = await harness.register('test')
  await harness.owner.query(
    `create function planted() returns trigger language plpgsql as $$ begin raise exception 'planted'; end $$;
     create trigger planted before update on idempotency_keys for each row execute function planted()`,
  )
  try {
    assertRefusal(await call(keysPath, agent.apiKey, 'kept', oneScope), 500, 'internal_error')
    assert.equal(await countKeys(agent.agentId), 2)
    assertRefusal(await call(keysPath, agent.apiKey, 'kept', oneScope), 409, 'idempotency_in_progress')
  } finally {
    await harness.owner.query('drop function planted cascade')
  }
  assert.equal(await countKeys(agent.agentId), 2)
})

test('the answer is kept a day, then the same key acts again', async () => {
  const agent = await harness.register('test')
  const first = await call(keysPath, agent.apiKey, 'day', oneScope)
  await harness.advance(24 * 3_600_000 - 60_000)
  assert.equal((await call(keysPath, agent.apiKey, 'day', oneScope)).text, first.text)
  await harness.advance(61_000)
  const later = await call(keysPath, agent.apiKey, 'day', oneScope)
  assert.equal(later.status, 200)
  assert.equal(isReplay(later), false)
  assert.notEqual(later.json.keyId, first.json.keyId)
  assert.equal(await countKeys(agent.agentId), 3)
})

test('the worker drops keys that are older than a day, and no others', async () => {
  const agent = await harness.register('test')
  await call(keysPath, agent.apiKey, 'old', oneScope)
  await harness.advance(24 * 3_600_000 + 1_000)
  await call(keysPath, agent.apiKey, 'young', oneScope)
  await harness.runJobs()
  const { rows } = await harness.owner.query('select key from idempotency_keys')
  assert.deepEqual(
    rows.map((row) => row.key),
    ['young'],
  )
})

test('a key that is no key is 400, and nothing happens', async () => {
  const agent = await harness.register('test')
  for (const bad of ['', '""', 'x'.repeat(256), `"${'x'.repeat(256)}"`, 'tab\there', 'ümlaut']) {
    const answer = await call(keysPath, agent.apiKey, bad, oneScope)
    assertRefusal(answer, 400, 'validation_failed')
    assert.equal(answer.json.details[0].path, 'header.Idempotency-Key')
  }
  assert.equal(await countKeys(agent.agentId), 1)
  assert.equal((await call(keysPath, agent.apiKey, 'x'.repeat(255), oneScope)).status, 200)
})

test('an answer that shows a secret rests encrypted, and opens only for the key that asked', async () => {
  const agent = await harness.register('test')
  const second = (await call(keysPath, agent.apiKey, undefined, { scopes: [...scopes] })).json
    .apiKey as string
  const rotated = await call('/api/agents/keys/rotate', agent.apiKey, 'secret', { overlapSeconds: 600 })
  assert.equal(rotated.status, 200)
  const { rows } = await harness.owner.query(
    'select stored::text as text, sealed, body from idempotency_keys stored where agent_id = $1',
    [agent.agentId],
  )
  assert.equal(rows.length, 1)
  assert.equal(rows[0].sealed, true)
  for (const secret of [rotated.json.apiKey as string, agent.apiKey, second]) {
    assert.ok(!rows[0].text.includes(secret))
    assert.ok(!Buffer.from(rows[0].body, 'base64url').toString('latin1').includes(secret.slice(9)))
  }
  assert.equal(
    (await call('/api/agents/keys/rotate', agent.apiKey, 'secret', { overlapSeconds: 600 })).text,
    rotated.text,
  )
  assertRefusal(
    await call('/api/agents/keys/rotate', second, 'secret', { overlapSeconds: 600 }),
    422,
    'idempotency_key_reused',
  )
  assert.equal(await countKeys(agent.agentId), 3)
})

test('an answer without a secret is repeated to any key of the agent', async () => {
  const agent = await harness.register('test')
  const second = (await call(keysPath, agent.apiKey, undefined, { scopes: ['keys'] })).json
  const third = (await call(keysPath, agent.apiKey, undefined, oneScope)).json
  const first = await call('/api/agents/keys/revoke', agent.apiKey, 'plain', { keyId: third.keyId })
  const again = await call('/api/agents/keys/revoke', second.apiKey, 'plain', { keyId: third.keyId })
  assert.equal(again.text, first.text)
  assert.ok(isReplay(again))
})

test('a refusal of the operation is kept like an answer', async () => {
  const agent = await harness.register('test')
  const first = await call('/api/agents/keys/revoke', agent.apiKey, 'refusal', { keyId: 'key_none' })
  assertRefusal(first, 404, 'not_found')
  const again = await call('/api/agents/keys/revoke', agent.apiKey, 'refusal', { keyId: 'key_none' })
  assert.equal(again.status, 404)
  assert.equal(again.text, first.text)
  assert.ok(isReplay(again))
})

test('validation faults, 401, 429 and our own faults are not kept: the mended call goes through', async () => {
  const agent = await harness.register('live', 'idempotency@example.com')
  const stored = async () => {
    const { rows } = await harness.owner.query(
      'select count(*)::int as n from idempotency_keys where agent_id = $1',
      [agent.agentId],
    )
    return rows[0].n
  }
  assertRefusal(await call(keysPath, agent.apiKey, 'mended', { scopes: [] }), 400, 'validation_failed')
  assertRefusal(
    await harness.call('POST', keysPath, {
      key: agent.apiKey,
      raw: '{',
      headers: { 'idempotency-key': 'mended' },
    }),
    400,
    'invalid_json',
  )
  const wrongKey = `${agent.apiKey.slice(0, -1)}${agent.apiKey.endsWith('0') ? '1' : '0'}`
  assertRefusal(await call(keysPath, wrongKey, 'mended', oneScope), 401, 'malformed_api_key')
  await harness.owner.query('alter table api_key_hashes rename to gone')
  try {
    assertRefusal(await call(keysPath, agent.apiKey, 'mended', oneScope), 500, 'internal_error')
  } finally {
    await harness.owner.query('alter table gone rename to api_key_hashes')
  }
  assert.equal(await stored(), 0)
  assert.equal((await call(keysPath, agent.apiKey, 'mended', oneScope)).status, 200)
  assert.equal(await stored(), 1)

  const resend = (key?: string) => call('/api/agents/email/resend', agent.apiKey, key)
  for (let i = 0; i < 4; i++) assert.equal((await resend()).status, 200)
  assertRefusal(await resend('limited'), 429, 'rate_limited')
  assert.equal(await stored(), 1)
  await harness.advance(3_601_000)
  assert.deepEqual((await resend('limited')).json, { sent: true })
})

const register = (key: string) =>
  harness.call('POST', '/api/agents/register', {
    body: { name: 'Test', contactEmail: 'dev@example.com' },
    headers: { 'idempotency-key': key },
  })

test('public calls ignore the header, even a bad one', async () => {
  const first = await register('same')
  const second = await register('same')
  assert.deepEqual([first.status, second.status], [200, 200])
  assert.notEqual(first.json.agentId, second.json.agentId)
  assert.equal(isReplay(second), false)
  assert.equal((await register('x'.repeat(300))).status, 200)
})

test('reading takes no notice of the header', async () => {
  const agent = await harness.register('test')
  const read = (key: string) =>
    harness.call('GET', keysPath, { key: agent.apiKey, headers: { 'idempotency-key': key } })
  const before = await read('read')
  await call(keysPath, agent.apiKey, undefined, oneScope)
  const after = await read('read')
  assert.equal(after.json.keys.length, before.json.keys.length + 1)
  assert.equal((await read('x'.repeat(300))).status, 200)
})

test('a call that outlived its lease stores nothing and undoes what it did, once a repeat has the key', async () => {
  const agent = await harness.register('test')
  const slot = {
    agentId: agent.agentId,
    method: 'POST',
    path: '/api/partner/payout/request',
    key: 'overtaken',
  }
  const body = { userRef: 'user', stars: 5 }
  const slow = await beginIdempotent(harness.ctx, slot, {
    body,
    secret: agent.apiKey,
    subject: undefined,
  })
  assert.ok('claim' in slow)
  await harness.advance(61_000)
  const repeat = await call(slot.path, agent.apiKey, slot.key, body)
  assert.equal(repeat.status, 200)
  await assert.rejects(
    inTransaction(harness.ctx, agent.agentId, (tx) =>
      storeIdempotent(tx, slow.claim, { status: 200, body: '{"requestId":"pay_other"}' }),
    ),
    /still running/,
  )
  await releaseIdempotent(harness.ctx, slow.claim)
  const third = await call(slot.path, agent.apiKey, slot.key, body)
  assert.equal(third.text, repeat.text)
})

test('operators have keys of their own, and a secret in the answer is encrypted', async () => {
  const [ada, bob] = [
    await operators.create(harness.ctx, 'machine', 'Ada'),
    await operators.create(harness.ctx, 'machine', 'Bob'),
  ]
  const create = (key: string) =>
    harness.callOperator('POST', '/operator/operators', {
      key,
      body: { name: 'Eve' },
      headers: { 'idempotency-key': 'new operator' },
    })
  const first = await create(ada.operatorKey)
  assert.equal((await create(ada.operatorKey)).text, first.text)
  const other = await create(bob.operatorKey)
  assert.notEqual(other.json.operatorKey, first.json.operatorKey, 'the same key of another operator')
  const { rows } = await harness.owner.query("select body from idempotency_keys where agent_id = 'system'")
  assert.equal(rows.length, 2)
  for (const { body } of rows) assert.ok(!String(body).includes('svc_op_'))
})
