import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { grantCredits } from '../../test/fixtures/payments/ledger.ts'
import { playSession } from '../../test/fixtures/people/play-session.ts'
import { makeScoredSession } from '../../test/fixtures/scored-session.ts'
import { inTransaction } from '../platform/db/db.ts'
import { deleteVisitorSessions } from '../sessions/store.ts'

const harness = await startHarness()
type Agent = Awaited<ReturnType<typeof harness.register>>
const dayMs = 86_400_000

const ago = (days: number) => new Date(Date.now() - days * dayMs).toISOString()
const read = (agent: Agent, query = '') =>
  harness.call('GET', `/api/agents/usage${query}`, { key: agent.apiKey })
const usage = async (agent: Agent, query = '') => {
  const answer = await read(agent, query)
  assert.equal(answer.status, 200, answer.text)
  return answer.json
}
const verify = async (agent: Agent, sessionId: string) => {
  const answer = await harness.call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId } })
  assert.equal(answer.status, 200, answer.text)
}

/** The figures of an agent from the rows themselves. */
const recount = async ({ agentId }: Agent) => {
  const { rows } = await harness.owner.query(
    `select (select count(*)::int from sessions where agent_id = $1) as started,
      (select count(ended_at)::int from sessions where agent_id = $1) as ended,
      (select count(*)::int from sessions where agent_id = $1 and verified) as verified,
      (select count(*)::int from sessions where agent_id = $1 and not verified) as refused,
      (select count(*)::int from credentials where agent_id = $1 and charged) as spent`,
    [agentId],
  )
  return rows[0] as Record<string, number>
}

test('the figures are those of the rows, for sessions of every kind, at any time', async () => {
  const agent = await harness.register('live')
  await grantCredits(harness, agent, 100n)
  await makeScoredSession(harness, agent, { quality: 0.05 })
  await makeScoredSession(harness, agent, { kind: 'work', quality: 1 })
  await makeScoredSession(harness, agent, { kind: 'presence', quality: 0.95 })
  await makeScoredSession(harness, agent, {
    verified: false,
    quality: 0.3,
    reasons: ['quality_low', 'focus_low'],
  })
  await playSession(harness, { site: agent.agentId })
  const { sessionId } = await makeScoredSession(harness, agent, { quality: 0.9 })
  await verify(agent, sessionId)
  const { totals, series, quality } = await usage(agent)
  const counted = await recount(agent)
  assert.deepEqual({ ...totals, spent: undefined }, { ...counted, spent: undefined })
  assert.equal(totals.spent, 1)
  assert.equal(totals.started, 6)
  const today = series.at(-1)
  assert.equal(today.refusedBy.quality_low >= 1, true)
  assert.equal(today.refusedBy.focus_low >= 1, true)
  assert.equal(
    quality.reduce((sum: number, count: number) => sum + count, 0),
    (counted['verified'] ?? 0) + (counted['refused'] ?? 0),
  )
  assert.deepEqual([quality[0], quality[3] >= 1, quality[9]], [1, true, 3])
})

test('sessions that retention deletes are taken off', async () => {
  const agent = await harness.register('test')
  await makeScoredSession(harness, agent, { verified: false, reasons: ['quality_low'], quality: 0.2 })
  await harness.advance(3 * dayMs)
  await makeScoredSession(harness, agent)
  assert.deepEqual((await usage(agent)).totals, { started: 2, ended: 2, verified: 1, refused: 1, spent: 0 })
  await inTransaction(harness.ctx, 'system', (tx) => deleteVisitorSessions(tx, 2))
  const left = await usage(agent)
  assert.deepEqual(left.totals, { started: 1, ended: 1, verified: 1, refused: 0, spent: 0 })
  assert.deepEqual(
    left.series.flatMap((row: { refusedBy: object }) => Object.keys(row.refusedBy)),
    [],
  )
  assert.deepEqual(left.quality, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
})

test('every bucket of the period is there, in UTC, with what happened in it', async () => {
  const agent = await harness.register('test')
  await verify(agent, 'first')
  await harness.advance(2 * dayMs)
  await verify(agent, 'second')
  await verify(agent, 'third')
  const days = await usage(agent)
  assert.equal(days.series.length, 30)
  assert.deepEqual(
    days.series.slice(-3).map((row: { started: number; spent: number }) => [row.started, row.spent]),
    [
      [1, 1],
      [0, 0],
      [2, 2],
    ],
  )
  for (const { at } of days.series) assert.match(at, /T00:00:00\.000Z$/)
  const hours = await usage(agent, '?bucket=hour')
  assert.equal(hours.series.length, 48)
  assert.equal(hours.series.at(-1).spent, 2)
  const [since, until] = days.series.slice(-3, -1).map((row: { at: string }) => row.at)
  const one = await usage(agent, `?since=${since}&until=${until}`)
  assert.deepEqual([one.series.length, one.since, one.until, one.totals.spent], [1, since, until, 1])
})

test('a period of more than 92 days or 400 hours, or of none, is refused', async () => {
  const agent = await harness.register('test')
  assert.equal((await usage(agent, `?since=${ago(91)}&until=${ago(0)}`)).series.length, 92)
  for (const query of [
    `?since=${ago(92)}&until=${ago(0)}`,
    `?bucket=hour&since=${ago(18)}`,
    `?since=${ago(-40)}`,
    `?since=${ago(1)}&until=${ago(3)}`,
    '?bucket=week',
    '?since=1970-01-01',
  ])
    assert.equal((await read(agent, query)).status, 400, query)
})

test('the runway divides what is left by what was spent a day', async () => {
  const agent = await harness.register('live')
  await grantCredits(harness, agent, 71n)
  const fresh = await usage(agent)
  assert.deepEqual(fresh.runway, { available: 71, spentPerDay: 0, daysLeft: null })
  for (let n = 0; n < 7; n++) await verify(agent, (await makeScoredSession(harness, agent)).sessionId)
  const { json: balance } = await harness.call('GET', '/api/agents/credits/balance', { key: agent.apiKey })
  assert.equal(balance.balance, 64)
  assert.deepEqual((await usage(agent)).runway, { available: 64, spentPerDay: 1, daysLeft: 64 })
  const tester = await harness.register('test')
  await verify(tester, 'visit')
  assert.equal((await usage(tester)).runway.daysLeft, null)
})

test('another agent’s figures are invisible', async () => {
  const [mine, other] = [await harness.register('test'), await harness.register('test')]
  await verify(other, 'visit')
  assert.deepEqual((await usage(mine)).totals, { started: 0, ended: 0, verified: 0, refused: 0, spent: 0 })
})
