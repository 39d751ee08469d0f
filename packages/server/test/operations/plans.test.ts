// The short form of npm run battery -- plans: what most statements of a day are, on a database without statistics that has
// many other agents and months of history.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { cardSettler } from '../../src/credits/index.ts'
import * as operators from '../../src/operators/index.ts'
import { inTransaction } from '../../src/platform/db/db.ts'
import { openHarness } from '../fixtures/harness.ts'
import { grantCredits } from '../fixtures/payments/ledger.ts'
import { makePasskey } from '../fixtures/people/authenticator.ts'
import { makeAccount, makeColleague } from '../fixtures/people/console.ts'
import { playSession } from '../fixtures/people/play-session.ts'
import { seedList } from '../fixtures/lists/rows.ts'
import { fillBackground, filledTables, unfilledTables } from '../fixtures/plans/background.ts'
import {
  makePlanJudge,
  openPlanCluster,
  readFirstColumns,
  type ExplainedStatement,
  type PlanFindings,
} from '../fixtures/plans/plans.ts'
import { makeScoredSession } from '../fixtures/scored-session.ts'
import { startReceiver } from '../fixtures/webhook-receiver.ts'
import { subscribe } from '../fixtures/webhooks.ts'

const cluster = await openPlanCluster()
process.env['POHF_TEST_CLUSTER'] = cluster.url('')
// Few connections, so that each has made its plans while the database was small: PostgreSQL keeps them when it grows.
const pool = { DATABASE_POOL_SIZE: '3', ROOT_BUDGETS: 'on' }
const harness = await openHarness(pool)
const receiver = await startReceiver()
after(async () => {
  await harness.close()
  await cluster.stop()
})

type Server = typeof harness
const fill = (server: Server, rows: number) =>
  fillBackground(server.ctx.config.DATABASE_URL, { agents: 20_000, rows })

/** What the server did since the last call of this. */
const findPlans = async (server: Server): Promise<PlanFindings> => {
  const { addStatement, findings } = makePlanJudge(await readFirstColumns(server.ctx.config.DATABASE_URL))
  await cluster.readStatements(addStatement)
  return findings()
}

const post = async (server: Server, path: string, key: string, body: unknown) => {
  const answer = await server.call('POST', path, { key, body })
  assert.equal(answer.status, 200, `${path}: ${answer.text}`)
  return answer.json
}
const registerWithCredits = async (server: Server) => {
  const agent = await server.register('live')
  await grantCredits(server, agent, 1_000n)
  return agent
}
/** Sessions that are ready, each with its call. */
const prepareVerifies = async (server: Server, count: number): Promise<(() => Promise<unknown>)[]> => {
  const agents = [await registerWithCredits(server), await registerWithCredits(server)]
  const calls: (() => Promise<unknown>)[] = []
  for (const agent of agents)
    for (let n = 0; n < count; n++) {
      const { sessionId } = await makeScoredSession(server, agent)
      calls.push(() => post(server, '/api/agents/verify', agent.apiKey, { sessionId }))
    }
  return calls
}
const verifyAtOnce = async (server: Server, count: number): Promise<void> => {
  await Promise.all((await prepareVerifies(server, count)).map((call) => call()))
}
const verifyInTurn = async (server: Server, count: number): Promise<void> => {
  for (const call of await prepareVerifies(server, count)) await call()
}

/** A pack by card whose payment is disputed after a part of it was spent; a job then suspends what it paid for. */
const disputePack = async (server: Server): Promise<void> => {
  const { agentId, apiKey, mode } = await server.register('live')
  const checkout = {
    agentId,
    mode,
    checkoutId: `chk_${agentId}`,
    reference: 'starter',
    amountUsdCents: 4_900n,
  }
  await inTransaction(server.ctx, 'system', (tx) => cardSettler.applyPayment(tx, checkout))
  const { sessionId } = await makeScoredSession(server, { agentId, mode })
  await post(server, '/api/agents/verify', apiKey, { sessionId })
  await inTransaction(server.ctx, 'system', async (tx) => {
    await cardSettler.applyReversal(tx, checkout, {
      beforeUsdCents: 0n,
      afterUsdCents: 4_900n,
      ownRefundsUsdCents: 0n,
      isDisputed: true,
      reference: `${checkout.checkoutId} 1`,
    })
    const parts = { refundedUsdCents: 0n, lostUsdCents: 0n, openUsdCents: 4_900n }
    await cardSettler.applyDisputes(tx, checkout, parts)
  })
}

/** What people do in the console. */
const driveConsole = async (): Promise<void> => {
  const account = await makeAccount(harness)
  const { browser, personId } = await makeColleague(harness, account, 'developer')
  await browser.addPasskey(makePasskey())
  const key = await browser.bearer('live')
  await harness.call('GET', '/api/agents/me', { key })
  for (const path of ['account', 'people', 'sessions', 'passkeys']) await account.owner.get(path)
  await account.owner.patch(`people/${personId}`, { role: 'viewer' })
  await account.owner.remove(`people/${personId}`)
  await account.owner.post('claim', { agentId: account.agents.live })
  await account.owner.post('sign-out')
}

/** What the pages of operators read. */
const operatorLists = [
  'overview',
  'agents',
  'agents?order=newest',
  'agents?order=newest&after=agt_other9',
  'agents?state=suspended&order=newest',
  'agents?search=zzz',
  'agents?search=oth&after=agt_other9',
  'agents?search=o7@other.example',
  'audit?order=newest',
  'audit?order=newest&after=3000&action=agent.suspend',
  'payouts',
  'payouts?status=queued',
  'refunds?state=failed',
  'refunds?after=ref_other9',
  'purchases',
  `purchases?cursor=${Buffer.from(`2026-01-01 00:00:00+00 pur_${'0'.repeat(38)}`).toString('base64url')}`,
  'orders',
  'orders?waiting=1',
  'appeals',
  'roots/suspended',
  'roots/sites',
] as const

/** What agents, people, operators and jobs do most. */
const drive = async (): Promise<void> => {
  const agent = await registerWithCredits(harness)
  await subscribe(harness, agent, receiver.url)
  await verifyAtOnce(harness, 10)
  const { sessionId } = await playSession(harness, { site: agent.agentId })
  for (const _ of ['minted', 'stored']) {
    const { vt } = await post(harness, '/api/agents/verify', agent.apiKey, { sessionId })
    await post(harness, '/api/track/event', agent.apiKey, { vt, type: 'click', path: '/a', eventId: 'e1' })
  }
  const { apiKey } = await harness.register('test')
  const items = ['One?', 'Two?']
  const order = { taskType: 'wf_judge', quantity: items.length, items }
  const { orderId } = await post(harness, '/api/agents/order', apiKey, order)
  await post(harness, '/api/agents/order/fund', apiKey, { orderId })
  const lists = ['credentials', 'sessions', 'requests', 'requests?status=4xx', 'usage', 'usage?bucket=hour']
  for (const path of [
    'credits/balance',
    'metrics',
    'metrics/attention',
    'metrics/funnel',
    'webhooks',
    'events',
    'keys',
    ...lists,
  ]) {
    const answer = await harness.call('GET', `/api/agents/${path}`, { key: agent.apiKey })
    assert.equal(answer.status, 200, answer.text)
  }
  await driveConsole()
  await disputePack(harness)
  const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
  await harness.callOperator('GET', '/metrics')
  for (const path of [...operatorLists, `agents/${agent.agentId}`]) {
    const answer = await harness.callOperator('GET', `/operator/${path}`, { key: operatorKey })
    assert.equal(answer.status, 200, answer.text)
  }
  await harness.runJobs()
}
await drive()
await fill(harness, 5_000)

test('every table is filled or listed as unfilled', async () => {
  const { rows } = await harness.owner.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace
     and relkind in ('r', 'p') and not relispartition order by 1`,
  )
  assert.deepEqual(
    rows.map(({ name }) => name),
    [...filledTables, ...unfilledTables].toSorted(),
  )
})

test('no statement of a day reads the rows of other agents or history, also with plans from before', async (t) => {
  await findPlans(harness)
  await drive()
  assert.ok(receiver.received.length > 2)
  const { statements, faults } = await findPlans(harness)
  t.diagnostic(`${statements.size} statements`)
  assert.deepEqual(faults, [])
  assert.ok(statements.size > 150, `only ${statements.size} statements were seen`)
  const texts = [...statements.keys()]
  for (const ofDispute of [
    'from dispute_passes',
    'from ledger_claims where agent_id',
    'order by line.line_number',
  ])
    assert.ok(
      texts.some((text) => text.includes(ofDispute)),
      `${ofDispute}: the statements of a pass were not explained`,
    )
  for (const inside of [
    'from ledger_accounts held',
    'update ledger_accounts held',
    'insert into credential_claims',
    'insert into root_counters',
  ])
    assert.ok(
      texts.some((text) => text.includes(inside)),
      `${inside}: the statements inside the mint were not explained`,
    )
})

/** The rows of a table that a plan read, also those that a filter then dropped. */
const rowsRead = (node: ExplainedStatement['plan'], table: string): number =>
  (node['Relation Name']?.startsWith(table)
    ? ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)) * (node['Actual Loops'] ?? 0)
    : 0) + (node.Plans ?? []).reduce((sum, child) => sum + rowsRead(child, table), 0)

test('no list reads more than its page, and with a filter a bounded number of rows', async () => {
  const agent = await harness.register('live')
  const key = agent.apiKey
  const rows = { agentId: agent.agentId, mode: 'live', count: 4_000, stepMs: 20 } as const
  const limit = 10
  // Each kind of session is read in its own order.
  const lists = {
    credentials: { table: 'credentials', none: 'status=suspended', page: limit + 1, filtered: 500 },
    sessions: { table: 'sessions', none: 'status=open', page: 4 * (limit + 1), filtered: 4 * 500 },
    requests: { table: 'request_log', none: 'endpoint=none', page: limit + 1, filtered: 500 },
  } as const
  for (const list of ['credentials', 'sessions', 'requests'] as const) {
    await seedList(harness.owner, list, { ...rows, newest: new Date(Date.now() - 60_000) })
    const { table, none, page, filtered } = lists[list]
    const readOf = async (query: string) => {
      await cluster.readStatements(() => undefined)
      const answer = await harness.call('GET', `/api/agents/${list}?limit=${limit}&${query}`, { key })
      assert.equal(answer.status, 200, answer.text)
      let most = 0
      await cluster.readStatements(({ text, plan }) => {
        if (text.includes(`from ${table} `)) most = Math.max(most, rowsRead(plan, table))
      })
      assert.ok(most > 0, `the statement of ${list} was not seen`)
      return { most, nextCursor: String(answer.json.nextCursor) }
    }
    const first = await readOf('')
    assert.ok(first.most <= page, `${list} read ${first.most} rows`)
    const next = await readOf(`cursor=${first.nextCursor}`)
    assert.ok(next.most <= page, `${list} read ${next.most} rows for the next page`)
    const nothing = await readOf(none)
    assert.ok(nothing.most <= filtered, `${list} read ${nothing.most} rows for a filter`)
  }
})

test('a planted violation is seen: the join of keys with all accounts that verify once had', async () => {
  const text = readFileSync(new URL('../../migrations/0021_mint.sql', import.meta.url), 'utf8')
  const definition = /create (function ledger_hold\([\s\S]*?\nend \$\$;)/.exec(text)?.[1]
  assert.ok(definition)
  // As it ran: with bitmaps. The plan is made on a small database.
  const planted = `create or replace ${definition.replace(' as $$', () => ' set enable_bitmapscan = on as $$')}`
  const broken = await openHarness({ ...pool, DATABASE_POOL_SIZE: '2' })
  // One of two connections is taken, so all calls use the other, which keeps its plan after five and stays open.
  const taken = await broken.ctx.db.pool.connect()
  broken.ctx.db.pool.options.idleTimeoutMillis = 0
  try {
    await broken.owner.query(planted)
    await verifyInTurn(broken, 5)
    await fill(broken, 0)
    await findPlans(broken)
    await verifyInTurn(broken, 5)
    const { faults } = await findPlans(broken)
    assert.deepEqual([...new Set(faults.map(({ table }) => table))], ['ledger_accounts'])
    assert.match(faults[0]?.text ?? '', /for update of held/)
  } finally {
    taken.release()
    await broken.close()
  }
})

test('a planted violation is seen: an index is missing', async () => {
  await harness.owner.query('drop index session_recorders_by_id')
  await playSession(harness, { site: (await harness.register('test')).agentId })
  await harness.owner.query('create index session_recorders_by_id on session_recorders (session_id)')
  const { faults } = await findPlans(harness)
  assert.ok(
    faults.some(({ table }) => table === 'session_recorders'),
    JSON.stringify(faults),
  )
})

test('a planted violation is seen: a look-up without the time touches every partition', async () => {
  const client = await harness.ctx.db.pool.connect()
  await client.query(`set "pohf.tenant" = 'system'`)
  await client.query('select 1 from sessions where agent_id = $1 and session_id = $2', ['agt_x', 'ses_x'])
  client.release(true)
  const { faults } = await findPlans(harness)
  assert.deepEqual(
    faults.map(({ table, fault }) => [table, fault]),
    [['sessions', 'touches 6 partitions']],
  )
})
