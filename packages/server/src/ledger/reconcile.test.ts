import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grantCredits } from '../../test/fixtures/payments/ledger.ts'
import { startHarness, type Harness } from '../../test/fixtures/harness.ts'
import { makeScoredSession } from '../../test/fixtures/scored-session.ts'
import * as operators from '../operators/index.ts'
import { reconcile, type Comparison } from './index.ts'

const harness = await startHarness()
const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ann')
type Agent = Awaited<ReturnType<Harness['register']>>

const verify = async (agent: Agent) =>
  harness.call('POST', '/api/agents/verify', {
    key: agent.apiKey,
    body: { sessionId: (await makeScoredSession(harness, agent)).sessionId },
  })
const check = async (query = '') => {
  const answer = await harness.callOperator('GET', `/operator/ledger/check${query}`, { key: operatorKey })
  assert.equal(answer.status, 200, answer.text)
  return answer.json as {
    ok: boolean
    accounts: number
    lines: number
    driftTotal: number
    drift: { agentId: string; finding: string; subject: string }[]
  }
}
const findingsOf = async (agent: Agent, query = '') =>
  (await check(query)).drift.filter((drift) => drift.agentId === agent.agentId).map((drift) => drift.finding)
const fundedAgent = async (): Promise<Agent> => {
  const agent = await harness.register('live')
  await grantCredits(harness, agent, 20n)
  assert.equal((await verify(agent)).status, 200)
  return agent
}
/** Writes behind the program's back, and past the triggers that keep history. */
const tamper = async (statement: string, parameters: unknown[]) => {
  const client = await harness.owner.connect()
  try {
    await client.query('begin')
    await client.query('set local session_replication_role = replica')
    await client.query(statement, parameters)
    await client.query('commit')
  } finally {
    client.release()
  }
}

test('accounts without drift are checked once: the next run reads only what is new', async () => {
  const agent = await fundedAgent()
  const first = await check()
  assert.ok(first.ok && first.accounts >= 3 && first.lines >= 4)
  assert.deepEqual(await check(), { ...first, accounts: 0, lines: 0 })
  await verify(agent)
  const next = await check()
  assert.deepEqual([next.ok, next.accounts, next.lines], [true, 2, 2])
  const whole = await check('?whole=1')
  assert.ok(whole.ok && whole.lines >= first.lines + 2)
})

const plantedFaults: readonly {
  name: string
  finding: string
  query?: string
  plant: (agent: Agent) => Promise<() => Promise<void>>
}[] = [
  {
    name: 'a balance that was changed by hand',
    finding: 'balance_differs',
    plant: async ({ agentId }) => {
      const set = (by: number) =>
        tamper(
          "update ledger_accounts set balance = balance + $2 where agent_id = $1 and account = 'credits'",
          [agentId, by],
        )
      await set(5)
      return () => set(-5)
    },
  },
  {
    name: 'a line that is gone',
    finding: 'lines_missing',
    query: '?whole=1',
    plant: async ({ agentId }) => {
      await tamper('create table gone as select * from ledger_lines where false', [])
      await tamper(
        "with d as (delete from ledger_lines where agent_id = $1 and account = 'credits' and line_number = 2 returning *) insert into gone select * from d",
        [agentId],
      )
      return () => tamper('insert into ledger_lines select * from gone', [])
    },
  },
  {
    name: 'a line whose amount was changed',
    finding: 'chain_broken',
    query: '?whole=1',
    plant: async ({ agentId }) => {
      const set = (by: number) =>
        tamper(
          "update ledger_lines set amount = amount + $2 where agent_id = $1 and account = 'credits' and line_number = 1",
          [agentId, by],
        )
      await set(1)
      return () => set(-1)
    },
  },
  {
    name: 'a credential that nothing was spent for',
    finding: 'credential_debit',
    plant: async ({ agentId }) => {
      await tamper(
        `insert into credentials (agent_id, credential_id, at, mode, kind, expires_at, jwt, answer, status_list, status_idx, charged)
         values ($1, 'crd_unpaid', pohf_now(), 'live', 'view', pohf_now(), 'x', '{}', 'aa-live-1', 1, true)`,
        [agentId],
      )
      return () => tamper("delete from credentials where credential_id = 'crd_unpaid'", [])
    },
  },
  {
    name: 'a debit without its credential',
    finding: 'credential_debit',
    plant: async ({ agentId }) => {
      await tamper(
        'create table lost as select * from credentials where agent_id = $1'.replace('$1', `'${agentId}'`),
        [],
      )
      await tamper('delete from credentials where agent_id = $1', [agentId])
      return () => tamper('insert into credentials select * from lost', [])
    },
  },
]
for (const { name, finding, query, plant } of plantedFaults) {
  test(`planted drift is found, stops minting for its agent alone, and ends with its cause: ${name}`, async () => {
    const [agent, other] = [await fundedAgent(), await fundedAgent()]
    const stored = await makeScoredSession(harness, agent)
    const call = () =>
      harness.call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId: stored.sessionId } })
    if (finding !== 'credential_debit') assert.equal((await call()).status, 200)
    await check()
    const mend = await plant(agent)
    assert.ok((await findingsOf(agent, query)).includes(finding))
    // A run that reads only what is new does not forget it.
    assert.ok((await findingsOf(agent)).includes(finding))
    const refused = await verify(agent)
    assert.deepEqual([refused.status, refused.json.error], [503, 'overloaded'])
    assert.equal(refused.headers['retry-after'], '60')
    if (finding !== 'credential_debit')
      assert.equal(
        (await call()).headers['idempotent-replayed'],
        'true',
        'what was minted is still given out',
      )
    assert.equal((await verify(other)).status, 200)
    assert.ok(
      harness.lines.some((line) => line.includes('ledger drift found') && line.includes(agent.agentId)),
    )
    // The worker finds drift in a process of its own: the api must read it from the database.
    harness.ctx.metrics.ledgerDrift.reset()
    const metrics = await harness.callOperator('GET', '/metrics')
    assert.match(metrics.text, /^pohf_ledger_drift [1-9]/m)
    await mend()
    assert.deepEqual(await findingsOf(agent), [])
    assert.equal((await verify(agent)).status, 200)
  })
}

test('accounts that do not sum to zero are found', async () => {
  const agent = await fundedAgent()
  await check()
  // Lines and balance agree with each other; only the other side of the entry is missing.
  await tamper(
    `insert into ledger_lines (agent_id, mode, account, unit, line_number, at, entry_id, amount, balance_after)
     select agent_id, mode, account, unit, line_count + 1, pohf_now(), 'ent_planted', 7, balance + 7 from ledger_accounts
     where agent_id = $1 and account = 'credits'`,
    [agent.agentId],
  )
  await tamper(
    "update ledger_accounts set balance = balance + 7, line_count = line_count + 1 where agent_id = $1 and account = 'credits'",
    [agent.agentId],
  )
  assert.deepEqual(await findingsOf(agent), ['book_uneven'])
  assert.deepEqual(await findingsOf(agent), ['book_uneven'], 'it stays open')
})

test('a comparison that finds drift stops its agent, and clears it when the drift is gone', async () => {
  const agent = await fundedAgent()
  let missing = true
  const spans: { from: Date; to: Date }[] = []
  const cards: Comparison = {
    name: 'card_event',
    find: async (_tx, span) => {
      spans.push(span)
      return spans.length === 1
        ? [
            {
              agentId: agent.agentId,
              mode: 'live',
              finding: 'card_event',
              subject: 'evt_1',
              detail: 'paid, and no credits were posted',
            },
          ]
        : []
    },
    persists: async () => missing,
  }
  const { open } = await reconcile(harness.ctx, [cards])
  assert.ok(open.some((drift) => drift.finding === 'card_event'))
  assert.equal((await verify(agent)).status, 503)
  missing = false
  await reconcile(harness.ctx, [cards])
  assert.equal((await verify(agent)).status, 200)
  assert.ok(
    spans.every((span, index) => index === 0 || span.from.getTime() <= (spans[index - 1]?.to.getTime() ?? 0)),
  )
})

/** Records of other times than the ledger's, in rows for each second; remembers which spans were read whole. */
const makeRecord = (name: string, rowsPerSecond: (at: number) => number) => {
  const read: { from: number; to: number }[] = []
  let asked = 0
  const comparison: Comparison = {
    name,
    find: async (_tx, { from, to, rowsMax }) => {
      asked += 1
      let rows = 0
      for (let at = from.getTime(); at < to.getTime() && rows < rowsMax; at += 1_000)
        rows += rowsPerSecond(at)
      if (rows >= rowsMax) return undefined
      read.push({ from: from.getTime(), to: to.getTime() })
      return []
    },
    persists: async () => false,
  }
  return { read, comparison, asked: () => asked }
}

test('a month without entries takes one run, and busy hours are read in narrow spans without a gap', async () => {
  const { ctx } = harness
  const start = ctx.clock.now().getTime()
  const busyFrom = start + 20 * 86_400_000
  const isBusy = (at: number) => at >= busyFrom && at < busyFrom + 600_000
  const record = makeRecord('busy_hours', (at) => (isBusy(at) ? 400 : 0))
  await reconcile(ctx, [record.comparison])
  const first = record.asked()
  await harness.advance(31 * 86_400_000)
  for (let run = 0; run < 3; run++) await reconcile(ctx, [record.comparison])
  const { read } = record
  assert.ok((read.at(-1)?.to ?? 0) >= ctx.clock.now().getTime() - 10_000, 'it has caught up')
  for (const [index, { from }] of read.entries())
    assert.ok(from <= (read[index - 1]?.to ?? from), 'no time is left out')
  assert.ok(
    read.every(({ from, to }) => to - from <= 12_500 || !isBusy(from) || !isBusy(to)),
    'where there are many rows, spans are narrow',
  )
  assert.ok(record.asked() - first < 200, `${record.asked() - first} spans for a month`)
})

test('entries written after the clock was set back are compared', async () => {
  const { ctx } = harness
  const record = makeRecord('set_back', () => 0)
  await reconcile(ctx, [record.comparison])
  await harness.advance(-3_600_000)
  await reconcile(ctx, [record.comparison])
  const now = ctx.clock.now().getTime()
  await harness.advance(3_600_000)
  assert.ok(record.read.some(({ from, to }) => from < now && to >= now - 5_000 && to < now + 60_000))
})

test('the worker runs it, and the command line shows it', async () => {
  await harness.runJobs()
  assert.equal((await harness.callOperator('GET', '/operator/ledger/check')).status, 401)
  assert.equal(
    (await harness.callOperator('GET', '/operator/ledger/check?whole=yes', { key: operatorKey })).status,
    400,
  )
})
