// The short form of npm run battery:plans: what most statements of a day are, on a database without statistics that has
// many other agents and months of history.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import * as operators from '../../src/operators/index.ts'
import { openHarness } from '../fixtures/harness.ts'
import { grantCredits } from '../fixtures/payments/ledger.ts'
import { playSession } from '../fixtures/people/play-session.ts'
import { filledTables, smallTables } from '../fixtures/plans/background.ts'
import { makePlanJudge, openPlanCluster, type PlanFindings } from '../fixtures/plans/plans.ts'
import { makeScoredSession } from '../fixtures/scored-session.ts'
import { startReceiver } from '../fixtures/webhook-receiver.ts'
import { subscribe } from '../fixtures/webhooks.ts'

const cluster = await openPlanCluster({ agents: 20_000, rows: 5_000 })
process.env['POHF_TEST_CLUSTER'] = cluster.url('')
const harness = await openHarness()
after(async () => {
  await harness.close()
  await cluster.stop()
})

/** What the server did since the last call of this. */
const findPlans = async (): Promise<PlanFindings> => {
  const { judge, findings } = makePlanJudge(cluster.firstColumns)
  await cluster.readStatements(judge)
  return findings()
}

const agent = await harness.register('live')
await grantCredits(harness, agent, 1_000n)
const post = async (path: string, body: unknown, key = agent.apiKey) => {
  const answer = await harness.call('POST', path, { key, body })
  assert.equal(answer.status, 200, `${path}: ${answer.text}`)
  return answer.json
}
const verifyMany = async (count: number): Promise<void> => {
  const sessions = []
  for (let n = 0; n < count; n++) sessions.push(await makeScoredSession(harness, agent))
  await Promise.all(sessions.map(({ sessionId }) => post('/api/agents/verify', { sessionId })))
}

test('every table is filled or listed as small', async () => {
  const { rows } = await harness.owner.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace
     and relkind in ('r', 'p') and not relispartition order by 1`,
  )
  assert.deepEqual(
    rows.map(({ name }) => name),
    [...filledTables, ...smallTables].toSorted(),
  )
})

test('no statement of a day reads the rows of other agents or history', async (t) => {
  const receiver = await startReceiver()
  await subscribe(harness, agent, receiver.url)
  await verifyMany(20)
  const { sessionId } = await playSession(harness, { site: agent.agentId })
  await post('/api/agents/verify', { sessionId })
  await post('/api/agents/verify', { sessionId })
  const sandbox = await harness.register('test')
  const { orderId } = await post(
    '/api/agents/order',
    { taskType: 'wf_judge', quantity: 2, items: ['One?', 'Two?'] },
    sandbox.apiKey,
  )
  await post('/api/agents/order/fund', { orderId }, sandbox.apiKey)
  for (const path of ['credits/balance', 'metrics', 'webhooks', 'events', 'keys'])
    await harness.call('GET', `/api/agents/${path}`, { key: agent.apiKey })
  const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
  for (const path of ['metrics', 'operator/agents', 'operator/payouts', 'operator/orders'])
    await harness.callOperator('GET', `/${path}`, { key: operatorKey })
  await harness.runJobs()
  assert.ok(receiver.received.length > 20)

  const { statements, faults } = await findPlans()
  t.diagnostic(`${statements.size} statements`)
  assert.deepEqual(faults, [])
  assert.ok(statements.size > 150, `only ${statements.size} statements were seen`)
  const texts = [...statements.keys()]
  for (const inside of [
    'from ledger_accounts held',
    'update ledger_accounts held',
    'insert into credential_claims',
  ])
    assert.ok(
      texts.some((text) => text.includes(inside)),
      `${inside}: the statements inside the mint were not explained`,
    )
})

test('a planted violation is seen: the join of keys with all accounts that verify once had', async () => {
  const migrations = new URL('../../migrations/', import.meta.url)
  const functionIn = (file: string, name: string): string => {
    const text = readFileSync(new URL(file, migrations), 'utf8')
    const definition = new RegExp(
      `create (?:or replace )?(function ${name}\\([\\s\\S]*?\\nend \\$\\$;)`,
    ).exec(text)?.[1]
    assert.ok(definition, `${name} is not in ${file}`)
    return `create or replace ${definition}`
  }
  // As it ran: with bitmaps.
  const old = functionIn('0021_mint.sql', 'ledger_hold').replace(
    ' as $$',
    () => ' set enable_bitmapscan = on as $$',
  )
  await harness.owner.query(old)
  try {
    await verifyMany(5)
    const { faults } = await findPlans()
    assert.ok(
      faults.some(({ table, text }) => table === 'ledger_accounts' && text.includes('for update of held')),
      JSON.stringify(faults),
    )
  } finally {
    await harness.owner.query(functionIn('0043_plans.sql', 'ledger_hold'))
  }
  await verifyMany(5)
  assert.deepEqual((await findPlans()).faults, [])
})

test('a planted violation is seen: an index is missing', async () => {
  await harness.owner.query('drop index session_recorders_by_id')
  await playSession(harness, { site: agent.agentId })
  await harness.owner.query('create index session_recorders_by_id on session_recorders (session_id)')
  const { faults } = await findPlans()
  assert.ok(
    faults.some(({ table }) => table === 'session_recorders'),
    JSON.stringify(faults),
  )
})

test('a planted violation is seen: a look-up without the time touches every partition', async () => {
  const client = await harness.ctx.db.pool.connect()
  await client.query(`set "pohf.tenant" = 'system'`)
  await client.query('select 1 from sessions where agent_id = $1 and session_id = $2', [
    agent.agentId,
    'ses_x',
  ])
  client.release(true)
  const { faults } = await findPlans()
  assert.deepEqual(
    faults.map(({ table, fault }) => [table, fault]),
    [['sessions', 'touches 6 partitions']],
  )
})
