import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isId } from '@pohf/protocol'
import { startMain } from '../fixtures/processes/child-processes.ts'
import { assertRefusal } from '../fixtures/refusal.ts'
import { startHarness } from '../fixtures/harness.ts'

const harness = await startHarness()
const databaseUrl = harness.ctx.config.DATABASE_URL

/** As the machine's owner does it: `main.ts operator create NAME`. */
const createOnMachine = async (name: string) => {
  const run = startMain(['operator', 'create', name], {
    DATABASE_URL: databaseUrl,
    DATA_DIR: harness.dataDir,
  })
  assert.equal(await run.exited, 0, run.errors())
  return { made: JSON.parse(run.out()) as { operatorId: string; name: string; operatorKey: string }, run }
}
const { made: ada, run: adaRun } = await createOnMachine('Ada')
const audit = async (query = '') =>
  (await harness.callOperator('GET', `/operator/audit${query}`, { key: ada.operatorKey })).json as {
    intact: boolean
    entries: {
      seq: number
      action: string
      target: string
      operatorId: string
      details: object
      hash: string
    }[]
  }
const createByAda = async (name: string) =>
  (await harness.callOperator('POST', '/operator/operators', { key: ada.operatorKey, body: { name } }))
    .json as {
    operatorId: string
    operatorKey: string
  }
/** Runs SQL as the owner with the guard of the audit log off, as an intruder with the whole database could. */
const tamper = async (text: string) => {
  const client = await harness.owner.connect()
  try {
    await client.query('begin; alter table operator_audit disable trigger all')
    await client.query(text)
    await client.query('alter table operator_audit enable trigger all; commit')
  } finally {
    client.release()
  }
}

test('the first operator is made on the machine, and the key is printed once, alone', () => {
  assert.ok(isId('opr_', ada.operatorId))
  assert.match(ada.operatorKey, /^svc_op_aa[0-9A-Za-z]{36}$/)
  assert.deepEqual(Object.keys(ada), ['operatorId', 'name', 'operatorKey'])
  assert.equal(adaRun.out().split('\n').length, 2)
  assert.equal(adaRun.errors(), '')
})

test('without a name no operator is made', async () => {
  const run = startMain(['operator', 'create'], { DATABASE_URL: databaseUrl, DATA_DIR: harness.dataDir })
  assert.equal(await run.exited, 2)
  assert.match(run.errors(), /usage:/)
})

test('an operator key opens the operators’ listener and nothing on the API; an agent key the reverse', async () => {
  const agent = await harness.register('live')
  const mine = await harness.callOperator('GET', '/operator/operators', { key: ada.operatorKey })
  assert.equal(mine.status, 200)
  assert.deepEqual(
    mine.json.operators.map((row: { name: string }) => row.name),
    ['Ada'],
  )
  assert.doesNotMatch(mine.text, /svc_op_/)
  assertRefusal(
    await harness.call('GET', '/api/agents/me', { key: ada.operatorKey }),
    401,
    'malformed_api_key',
  )
  assertRefusal(
    await harness.callOperator('GET', '/operator/operators', { key: agent.apiKey }),
    401,
    'malformed_api_key',
  )
})

test('the operators’ paths do not exist on the public listener, nor the API on theirs', async () => {
  for (const path of ['/operator/operators', '/operator/audit', '/operator/agents', '/metrics'])
    assertRefusal(await harness.call('GET', path, { key: ada.operatorKey }), 404, 'not_found')
  assertRefusal(await harness.callOperator('GET', '/api/agents/me'), 404, 'not_found')
  assertRefusal(await harness.callOperator('POST', '/api/agents/register', { body: {} }), 404, 'not_found')
})

test('suspension stops every key of an agent with the next request, is audited, and can be lifted', async () => {
  const agent = await harness.register('live')
  const other = await harness.register('live')
  const second = await harness.call('POST', '/api/agents/keys', {
    key: agent.apiKey,
    body: { scopes: ['keys'] },
  })
  const statuses = async () => {
    const keys = [agent.apiKey, second.json.apiKey as string, other.apiKey]
    return Promise.all(keys.map(async (key) => (await harness.call('GET', '/api/agents/me', { key })).status))
  }
  assert.deepEqual(await statuses(), [200, 200, 200])
  const suspend = (suspended: boolean, reason: string) =>
    harness.callOperator('POST', `/operator/agents/${agent.agentId}/suspend`, {
      key: ada.operatorKey,
      body: { suspended, reason },
    })
  assert.deepEqual((await suspend(true, 'abuse')).json, { agentId: agent.agentId, suspended: true })
  assert.deepEqual(await statuses(), [401, 401, 200])
  const refused = await harness.call('GET', '/api/agents/me', { key: agent.apiKey })
  assertRefusal(refused, 401, 'invalid_api_key')
  assert.match(refused.json.message, /suspended/)

  assert.equal((await suspend(false, 'talked')).status, 200)
  assert.deepEqual(await statuses(), [200, 200, 200])
  const lines = (await audit('?limit=1000')).entries.filter((entry) => entry.target === agent.agentId)
  assert.deepEqual(
    lines.map(({ action, operatorId, details }) => ({ action, operatorId, details })),
    [
      { action: 'agent.suspend', operatorId: ada.operatorId, details: { reason: 'abuse' } },
      { action: 'agent.reinstate', operatorId: ada.operatorId, details: { reason: 'talked' } },
    ],
  )
})

test('an act that is refused leaves no line, and one without a reason does not happen', async () => {
  const before = (await audit('?limit=1000')).entries.length
  const suspend = (agentId: string, body: unknown) =>
    harness.callOperator('POST', `/operator/agents/${agentId}/suspend`, { key: ada.operatorKey, body })
  assertRefusal(await suspend('agt_none', { suspended: true, reason: 'x' }), 404, 'not_found')
  assertRefusal(await suspend('agt_none', { suspended: true }), 400, 'validation_failed')
  assertRefusal(await suspend('agt_none', { suspended: 'true', reason: 'x' }), 400, 'validation_failed')
  assertRefusal(
    await harness.callOperator('POST', '/operator/operators/opr_none/revoke', { key: ada.operatorKey }),
    404,
    'not_found',
  )
  assert.equal((await audit('?limit=1000')).entries.length, before)
})

test('a revoked operator is refused with the next request', async () => {
  const eve = await createByAda('Eve')
  assert.equal((await harness.callOperator('GET', '/operator/audit', { key: eve.operatorKey })).status, 200)
  const path = `/operator/operators/${eve.operatorId}/revoke`
  assert.equal((await harness.callOperator('POST', path, { key: ada.operatorKey })).status, 200)
  assertRefusal(
    await harness.callOperator('GET', '/operator/audit', { key: eve.operatorKey }),
    401,
    'invalid_api_key',
  )
  assertRefusal(await harness.callOperator('POST', path, { key: ada.operatorKey }), 404, 'not_found')
  const last = (await audit('?limit=1000')).entries.at(-1)
  assert.deepEqual(
    [last?.action, last?.target, last?.operatorId],
    ['operator.revoke', eve.operatorId, ada.operatorId],
  )
})

test('twenty acts at once make one unbroken chain', async () => {
  const before = (await audit('?limit=1000')).entries.length
  await Promise.all(Array.from({ length: 20 }, (_, n) => createByAda(`Operator ${n}`)))
  const { entries, intact } = await audit('?limit=1000')
  assert.equal(intact, true)
  assert.equal(entries.length, before + 20)
  assert.deepEqual(
    entries.map((entry) => entry.seq),
    entries.map((_, index) => index + 1),
  )
})

test('a page of the log is checked against the line before it', async () => {
  const whole = await audit('?limit=1000')
  const page = await audit('?after=3&limit=4')
  assert.equal(page.intact, true)
  assert.deepEqual(page.entries, whole.entries.slice(3, 7))
  const beyond = await audit('?after=999999')
  assert.deepEqual(beyond, { entries: [], intact: false, nextCursor: null })
})

test('the database refuses to change or delete what was logged, to the program and to the owner', async () => {
  for (const text of [
    "update operator_audit set action = 'nothing'",
    'delete from operator_audit where seq = 1',
    'truncate operator_audit',
  ]) {
    await assert.rejects(harness.ctx.db.pool.query(text), /permission denied/, text)
    await assert.rejects(harness.owner.query(text), /append-only/, text)
  }
  await assert.rejects(
    harness.ctx.db.pool.query('alter table operator_audit disable trigger all'),
    /must be owner/,
  )
  assert.equal((await audit('?limit=1000')).intact, true)
})

const tampering: readonly [string, string, string][] = [
  ['a changed reason', `set details = '{"reason":"other"}' where seq = 2`, `set details = saved.details`],
  ['a changed actor', `set operator_id = 'opr_other' where seq = 2`, `set operator_id = saved.operator_id`],
  ['a changed act', `set action = 'other' where seq = 2`, `set action = saved.action`],
  ['a changed target', `set target = 'other' where seq = 2`, `set target = saved.target`],
  ['a changed time', `set at = at + interval '1 second' where seq = 2`, `set at = saved.at`],
  ['a changed link', `set prev_hash = sha256('x') where seq = 2`, `set prev_hash = saved.prev_hash`],
  ['a changed hash', `set hash = sha256('x') where seq = 2`, `set hash = saved.hash`],
]
for (const [name, change, undo] of tampering)
  test(`the owner can tamper with the log only visibly: ${name}`, async () => {
    await harness.owner.query('create table saved as table operator_audit')
    await tamper(`update operator_audit ${change}`)
    assert.equal((await audit('?limit=1000')).intact, false)
    await tamper(
      `update operator_audit ${undo} from saved where saved.seq = operator_audit.seq and saved.seq = 2`,
    )
    assert.equal((await audit('?limit=1000')).intact, true)
    await harness.owner.query('drop table saved')
  })

test('the owner can tamper with the log only visibly: lines cut out, at the start or in the middle', async () => {
  await harness.owner.query('create table saved as table operator_audit')
  for (const where of ['seq = 1', 'seq = 4', 'seq between 2 and 6']) {
    await tamper(`delete from operator_audit where ${where}`)
    assert.equal((await audit('?limit=1000')).intact, false, where)
    await tamper(`insert into operator_audit select * from saved where ${where}`)
    assert.equal((await audit('?limit=1000')).intact, true)
  }
  // Numbers closed up again do not hide the cut.
  await tamper(
    'delete from operator_audit where seq = 4; update operator_audit set seq = -seq where seq > 4; update operator_audit set seq = -seq - 1 where seq < 0',
  )
  assert.equal((await audit('?limit=1000')).intact, false)
})
