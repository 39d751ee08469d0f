// The short form of npm run battery:plans: what most statements of a day are, on a database without statistics that has
// many other agents and months of history.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import * as operators from '../../src/operators/index.ts'
import { openHarness } from '../fixtures/harness.ts'
import { grantCredits } from '../fixtures/payments/ledger.ts'
import { playSession } from '../fixtures/people/play-session.ts'
import { fillBackground, filledTables, unfilledTables } from '../fixtures/plans/background.ts'
import {
  makePlanJudge,
  openPlanCluster,
  readFirstColumns,
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
const verifyMany = async (server: Server, count: number): Promise<void> => {
  const agents = [await registerWithCredits(server), await registerWithCredits(server)]
  const calls: (() => Promise<unknown>)[] = []
  for (const agent of agents)
    for (let n = 0; n < count; n++) {
      const { sessionId } = await makeScoredSession(server, agent)
      calls.push(() => post(server, '/api/agents/verify', agent.apiKey, { sessionId }))
    }
  await Promise.all(calls.map((call) => call()))
}

/** What agents, people, operators and jobs do most. */
const drive = async (): Promise<void> => {
  const agent = await registerWithCredits(harness)
  await subscribe(harness, agent, receiver.url)
  await verifyMany(harness, 10)
  const { sessionId } = await playSession(harness, { site: agent.agentId })
  for (const _ of ['minted', 'stored']) await post(harness, '/api/agents/verify', agent.apiKey, { sessionId })
  const { apiKey } = await harness.register('test')
  const items = ['One?', 'Two?']
  const order = { taskType: 'wf_judge', quantity: items.length, items }
  const { orderId } = await post(harness, '/api/agents/order', apiKey, order)
  await post(harness, '/api/agents/order/fund', apiKey, { orderId })
  for (const path of ['credits/balance', 'metrics', 'webhooks', 'events', 'keys'])
    await harness.call('GET', `/api/agents/${path}`, { key: agent.apiKey })
  const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
  for (const path of ['metrics', 'operator/agents', 'operator/payouts', 'operator/orders'])
    await harness.callOperator('GET', `/${path}`, { key: operatorKey })
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

test('a planted violation is seen: the join of keys with all accounts that verify once had', async () => {
  const text = readFileSync(new URL('../../migrations/0021_mint.sql', import.meta.url), 'utf8')
  const definition = /create (function ledger_hold\([\s\S]*?\nend \$\$;)/.exec(text)?.[1]
  assert.ok(definition)
  // As it ran: with bitmaps. The plan is made on a small database.
  const planted = `create or replace ${definition.replace(' as $$', () => ' set enable_bitmapscan = on as $$')}`
  const broken = await openHarness(pool)
  try {
    await broken.owner.query(planted)
    await verifyMany(broken, 5)
    await fill(broken, 0)
    await findPlans(broken)
    await verifyMany(broken, 5)
    const { faults } = await findPlans(broken)
    assert.deepEqual([...new Set(faults.map(({ table }) => table))], ['ledger_accounts'])
    assert.match(faults[0]?.text ?? '', /for update of held/)
  } finally {
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
