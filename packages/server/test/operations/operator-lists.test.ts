// What holds for the lists of operators: every row once, in order, whatever happens between two pages.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as operators from '../../src/operators/index.ts'
import { startHarness } from '../fixtures/harness.ts'
import { assertRefusal } from '../fixtures/refusal.ts'

const harness = await startHarness()
const ada = await operators.create(harness.ctx, 'machine', 'Ada')
const key = ada.operatorKey
type Row = Readonly<Record<string, unknown>>
type Query = Readonly<Record<string, string>>

const read = async (path: string, query: Query = {}) => {
  const answer = await harness.callOperator(
    'GET',
    `/operator/${path}?${new URLSearchParams(query).toString()}`,
    { key },
  )
  assert.equal(answer.status, 200, answer.text)
  return answer.json
}
/** All rows of a list, page by page. `cursor` is the parameter that continues it; `between` runs after the first page. */
const readAll = async (
  path: string,
  { list, cursor = 'after', ...query }: Query & { readonly list: string; readonly cursor?: string },
  between: () => Promise<unknown> = async () => undefined,
): Promise<Row[]> => {
  const rows: Row[] = []
  let next: string | number | null = null
  for (let pages = 0; pages < 200; pages++) {
    const page = await read(path, next === null ? query : { ...query, [cursor]: String(next) })
    rows.push(...(page[list] as Row[]))
    if (pages === 0) await between()
    next = page.nextCursor as string | number | null
    if (next === null) return rows
  }
  return assert.fail(`${path} does not end`)
}
const idsOf = (rows: readonly Row[], name: string) => rows.map((row) => String(row[name]))

/** Agents of a name that are older than the test, as many as a deployment of some years has of a common one. */
const seedAgents = (name: string, count: number, columns = `'live', now(), null::timestamptz`) =>
  harness.owner.query(
    `insert into agents (agent_id, name, contact_email, mail_domain, network_tag, mode, email_confirmed_at, suspended_at)
     select 'agt_0' || $1 || lpad(i::text, 6, '0'), $2, $1 || i || '@example.com', 'example.com', 'tag', ${columns}
     from generate_series(1, ${count}) i`,
    [name.toLowerCase().replaceAll(/[^a-z]/g, ''), name],
  )

test('agents: pages of both orders hold every agent once, also one that registers meanwhile', async () => {
  await seedAgents('Paged', 120)
  const newest = await readAll('agents', { list: 'agents', order: 'newest', limit: '25' })
  const oldest = await readAll('agents', { list: 'agents', limit: '25' }, () => harness.register('test'))
  assert.deepEqual(idsOf(newest, 'agentId').toReversed(), idsOf(oldest, 'agentId').slice(0, newest.length))
  assert.equal(new Set(idsOf(oldest, 'agentId')).size, oldest.length)
  assert.equal(oldest.length, newest.length + 1)
})

test('agents: a search finds the beginning of a name in any case, a whole mail address, or an id', async () => {
  await seedAgents('Zoë & Söhne', 60)
  await seedAgents('Zoo', 3)
  const found = await readAll('agents', { list: 'agents', search: 'zoë', limit: '7' })
  assert.equal(found.length, 60)
  assert.equal(new Set(idsOf(found, 'agentId')).size, 60)
  assert.equal((await readAll('agents', { list: 'agents', search: 'ZO', limit: '50' })).length, 63)
  assert.equal((await readAll('agents', { list: 'agents', search: 'öhne' })).length, 0)
  const byMail = await readAll('agents', { list: 'agents', search: 'zoo2@example.com' })
  assert.deepEqual(idsOf(byMail, 'agentId'), ['agt_0zoo000002'])
  assert.deepEqual(idsOf(await readAll('agents', { list: 'agents', search: 'agt_0zoo000003' }), 'agentId'), [
    'agt_0zoo000003',
  ])
  // Characters that mean something in a pattern mean themselves here.
  assert.equal((await readAll('agents', { list: 'agents', search: 'z%' })).length, 0)
  assert.equal((await readAll('agents', { list: 'agents', search: "z'o" })).length, 0)
})

test('agents: a filter lists exactly those that match, though it looks at a limited number for a page', async () => {
  await seedAgents('Plain', 1_200)
  await seedAgents('Stopped', 30, `'test', null, now()`)
  const suspended = await readAll('agents', { list: 'agents', state: 'suspended', limit: '20' })
  assert.deepEqual(new Set(idsOf(suspended, 'name')), new Set(['Stopped']))
  assert.equal(suspended.length, 30)
  const both = await readAll('agents', { list: 'agents', mode: 'live', state: 'suspended' })
  assert.deepEqual(both, [])
  const page = await read('agents', { state: 'suspended', order: 'oldest', limit: '20' })
  assert.ok(page.nextCursor !== null, 'it read 500 agents and says where it goes on')
})

test('an agent is read with its balances and grants; an unknown one is not found', async () => {
  const agent = await harness.register('live')
  const post = async (path: string, body: object) => {
    const answer = await harness.callOperator('POST', `/operator/agents/${agent.agentId}/${path}`, {
      key,
      body,
    })
    assert.equal(answer.status, 200, answer.text)
  }
  await post('credits', { credits: 70, reference: 'r1', reason: 'test' })
  await post('points-limit', { stars: 500, reference: 'r1', reason: 'test' })
  await post('network-budget', { factor: 4, reason: 'test' })
  await post('apps', { kind: 'rp_id', name: 'shop.example', admitted: true, reason: 'test' })
  await harness.call('PATCH', '/api/agents/me', {
    key: agent.apiKey,
    body: { attestation: { webauthn: { rpIds: ['shop.example', 'other.example'] } } },
  })
  const details = await read(`agents/${agent.agentId}`)
  const { createdAt: _, ...rest } = details
  assert.deepEqual(rest, {
    agentId: agent.agentId,
    name: 'Test',
    mode: 'live',
    contactEmail: 'dev@example.com',
    emailConfirmed: false,
    suspended: false,
    suspendedAt: null,
    credits: 70,
    limitStars: 500,
    networkFactor: 4,
    declaredApps: [
      { kind: 'rp_id', name: 'shop.example' },
      { kind: 'rp_id', name: 'other.example' },
    ],
    admittedApps: [{ kind: 'rp_id', name: 'shop.example' }],
  })
  assert.equal((await read(`agents/${(await harness.register('test')).agentId}`)).limitStars, null)
  assertRefusal(await harness.callOperator('GET', '/operator/agents/agt_none', { key }), 404, 'not_found')
})

test('the audit log: newest first holds the same entries, and each filter those that match', async () => {
  const bob = await operators.create(harness.ctx, 'machine', 'Bob')
  for (let n = 0; n < 40; n++)
    await harness.callOperator('POST', '/operator/roots/suspend', {
      key: bob.operatorKey,
      body: { kind: 'app', name: `app ${n}`, credentials: 'keep', reason: 'test' },
    })
  const oldest = await readAll('audit', { list: 'entries', limit: '9' })
  const newest = await readAll('audit', { list: 'entries', limit: '9', order: 'newest' })
  assert.deepEqual(newest.toReversed(), oldest)
  assert.equal(newest.at(-1)?.['seq'], 1)
  for (const [index, entry] of oldest.entries())
    if (index > 0) assert.equal(entry['prevHash'], oldest[index - 1]?.['hash'])
  const bobs = await readAll('audit', {
    list: 'entries',
    operatorId: bob.operatorId,
    order: 'newest',
    limit: '9',
  })
  assert.equal(bobs.length, 40)
  const one = await readAll('audit', { list: 'entries', target: 'app app 7' })
  assert.deepEqual(idsOf(one, 'action'), ['root.suspend'])
  const created = await readAll('audit', { list: 'entries', action: 'operator.create', order: 'newest' })
  assert.deepEqual(idsOf(created, 'operatorId'), ['machine', 'machine'])
})

test('the audit log: a change is seen in either order and behind a filter that drops the entry', async () => {
  const set = async (text: string) => {
    const client = await harness.owner.connect()
    try {
      await client.query('begin; alter table operator_audit disable trigger all')
      await client.query(text)
      await client.query('alter table operator_audit enable trigger all; commit')
    } finally {
      client.release()
    }
  }
  const readIntact = async (query: Query) =>
    (await read('audit', { limit: '1000', ...query })).intact as boolean
  const orders: Query[] = [{}, { order: 'newest' }, { order: 'newest', action: 'operator.create' }]
  for (const query of orders) assert.equal(await readIntact(query), true)
  const { rows: kept } = await harness.owner.query('select target from operator_audit where seq = 5')
  await set(`update operator_audit set target = 'other' where seq = 5`)
  for (const query of orders) assert.equal(await readIntact(query), false, JSON.stringify(query))
  // A page beside the change is intact; the page that goes on after a cut is not.
  assert.equal((await read('audit', { order: 'newest', limit: '3' })).intact, true)
  await set(`update operator_audit set target = '${String(kept[0].target)}' where seq = 5`)
  assert.equal(await readIntact({}), true)
  const { rows } = await harness.owner.query('select max(seq)::int as last from operator_audit')
  const after = String(Number(rows[0].last) - 2)
  await set(`delete from operator_audit where seq = ${Number(after) - 1}`)
  assert.equal((await read('audit', { order: 'newest', limit: '2', after })).intact, false)
  await set(`delete from operator_audit where seq < ${after}`)
  assert.equal(
    (await read('audit', { order: 'newest', limit: '2', after })).intact,
    false,
    'all before are gone',
  )
})

test('roots: suspended ones and sites with a budget of their own are listed page by page', async () => {
  const before = await readAll('roots/suspended', { list: 'suspended', limit: '6' })
  assert.equal(before.length, 40)
  assert.equal(new Set(idsOf(before, 'name')).size, 40)
  assert.ok(idsOf(before, 'name').includes('app 12'), 'a name with a space')
  const reinstate = { kind: 'app', name: 'app 12', reason: 'test' }
  await harness.callOperator('POST', '/operator/roots/reinstate', { key, body: reinstate })
  assert.equal((await readAll('roots/suspended', { list: 'suspended', limit: '6' })).length, 39)
  const agents: string[] = []
  for (let n = 0; n < 5; n++) agents.push((await harness.register('test')).agentId)
  for (const agentId of agents)
    await harness.callOperator('POST', `/operator/agents/${agentId}/network-budget`, {
      key,
      body: { factor: 3, reason: 'test' },
    })
  const sites = idsOf(await readAll('roots/sites', { list: 'sites', limit: '2' }), 'agentId')
  assert.deepEqual(
    sites.filter((id) => agents.includes(id)),
    agents.toSorted(),
  )
})

test('payouts, refunds and purchases: pages hold every row of a state once', async () => {
  const { agentId } = await harness.register('live')
  await harness.owner.query(
    `insert into payout_requests (agent_id, request_id, mode, user_ref, stars)
     select $1, 'pay_' || lpad(i::text, 4, '0'), 'live', 'u' || i, 1 from generate_series(1, 33) i`,
    [agentId],
  )
  assert.equal((await readAll('payouts', { list: 'payouts', status: 'queued', limit: '8' })).length, 33)
  assert.equal((await readAll('payouts', { list: 'payouts', status: 'paid', limit: '8' })).length, 0)
  const client = await harness.owner.connect()
  try {
    // The guards of the rows want a whole payment behind each, which this list does not read.
    await client.query('set session_replication_role = replica')
    await client.query(
      `insert into card_refunds (agent_id, refund_id, mode, checkout_id, reference, amount_usd_cents, reason, state, fault)
       select $1, 'rfd_' || lpad(i::text, 4, '0'), 'live', 'chk', 'r' || i, 1, 'test',
         case i % 2 when 0 then 'failed' else 'wanted' end, 'declined' from generate_series(1, 40) i`,
      [agentId],
    )
    // All at one time: only the id tells them apart.
    await client.query(
      `insert into purchases (agent_id, mode, purchase_id, secret_hash, workflow_id, state, network, payer,
         amount_usdc_micro, transaction_hash, changed_at)
       select $1, 'test', 'pur_' || lpad(i::text, 38, '0'), '', 'wf', 'refund_due', 'net', 'payer', 1, '0x' || i,
         '2026-01-01 00:00:00.123456+00' from generate_series(1, 29) i`,
      [agentId],
    )
  } finally {
    await client.query('reset session_replication_role')
    client.release()
  }
  assert.equal((await readAll('refunds', { list: 'refunds', state: 'failed', limit: '7' })).length, 20)
  const due = await readAll('purchases', { list: 'purchases', cursor: 'cursor', limit: '5' })
  assert.equal(due.length, 29)
  assert.equal(new Set(idsOf(due, 'purchaseId')).size, 29)
  assertRefusal(
    await harness.callOperator('GET', '/operator/purchases?cursor=x', { key }),
    400,
    'validation_failed',
  )
})
