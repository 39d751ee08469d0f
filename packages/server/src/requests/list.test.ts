import assert from 'node:assert/strict'
import { after, mock, test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { holdLimits } from '../../test/fixtures/time/held-limits.ts'
import { pollUntil } from '../../test/fixtures/polling.ts'
import type { AnsweredRequest } from '../platform/http/http.ts'
import { makeRequestLog } from './log.ts'

const harness = await startHarness()
type Agent = Awaited<ReturnType<typeof harness.register>>
type Row = {
  readonly requestId: string
  readonly at: string
  readonly method: string
  readonly endpoint: string
  readonly status: number
  readonly code: string | null
  readonly durationMs: number
  readonly keyId: string
}

const list = async (agent: Agent, query = ''): Promise<Row[]> => {
  const answer = await harness.call('GET', `/api/agents/requests${query}`, { key: agent.apiKey })
  assert.equal(answer.status, 200, answer.text)
  return answer.json.requests
}
/** The log is written a second after a request, and here when a test looks for one. */
const limits = holdLimits({ mock, after }, 1_000)
/** The row of a request, once it is written. */
const find = (agent: Agent, requestId: string): Promise<Row> =>
  pollUntil(`request ${requestId}`, async () => {
    limits.runOut(limits.running())
    return (await list(agent, `?requestId=${requestId}`))[0]
  })

const unlogged = async (): Promise<number> =>
  (await harness.ctx.metrics.unloggedRequests.get()).values[0]?.value ?? 0

test('a request is listed with its endpoint, status, code, duration and key, also where it was refused', async () => {
  const agent = await harness.register('test')
  const calls = [
    ['GET', '/api/agents/me', undefined, 'agents.profile', 200, null],
    ['GET', '/api/agents/sessions/unknown', undefined, 'sessions.read', 404, 'not_found'],
    ['POST', '/api/agents/verify', {}, 'credentials.verify', 400, 'validation_failed'],
    ['GET', '/api/agents/credentials?limit=0', undefined, 'credentials.list', 400, 'validation_failed'],
  ] as const
  const before = Date.now()
  const answers = []
  for (const [method, path, body, , status] of calls) {
    const answer = await harness.call(method, path, { key: agent.apiKey, ...(body && { body }) })
    assert.equal(answer.status, status, answer.text)
    answers.push(answer)
  }
  for (const [n, [method, , , endpoint, status, code]] of calls.entries()) {
    const row = await find(agent, answers[n]?.headers['x-request-id'] ?? '')
    assert.deepEqual([row.method, row.endpoint, row.status, row.code], [method, endpoint, status, code])
    assert.ok(row.durationMs >= 0 && row.durationMs < 60_000)
    assert.ok(Math.abs(Date.parse(row.at) - before) < 5_000, `${row.at} is not the time of the request`)
    assert.match(row.keyId, /^key_/)
  }
})

test('a request that its key does not permit is listed under its key; one without a valid key is nobody’s', async () => {
  const agent = await harness.register('test')
  const { json: key } = await harness.call('POST', '/api/agents/keys', {
    key: agent.apiKey,
    body: { scopes: ['webhooks'] },
  })
  const refused = await harness.call('GET', '/api/agents/me', { key: key.apiKey })
  assert.equal(refused.status, 403)
  const row = await find(agent, refused.headers['x-request-id'] ?? '')
  assert.deepEqual([row.status, row.code, row.keyId], [403, 'forbidden', key.keyId])
  const badKey = await harness.call('GET', '/api/agents/me', { key: `${agent.apiKey}x` })
  assert.equal(badKey.status, 401)
  await find(
    agent,
    (await harness.call('GET', '/api/agents/me', { key: agent.apiKey })).headers['x-request-id'] ?? '',
  )
  const { rows } = await harness.owner.query('select 1 from request_log where request_id = $1', [
    badKey.headers['x-request-id'],
  ])
  assert.deepEqual(rows, [])
})

test('a refusal of siteverify, which is sent as 200, is listed with its code', async () => {
  const agent = await harness.register('test')
  const answer = await harness.call('POST', '/siteverify', {
    body: { secret: agent.apiKey, response: '', sitekey: 'another' },
  })
  assert.equal(answer.status, 200)
  const row = await find(agent, answer.headers['x-request-id'] ?? '')
  assert.equal(row.status, 200)
  assert.equal(row.code, answer.json.pohf.error)
  assert.deepEqual(
    (await list(agent, `?code=${row.code}`)).map(({ requestId }) => requestId),
    [row.requestId],
  )
})

test('no part of a body, query, path or header is stored', async () => {
  const agent = await harness.register('test')
  const mark = 'Zanzibar77'
  const answer = await harness.call('POST', `/api/agents/members/${mark}/acts?${mark}=${mark}`, {
    key: agent.apiKey,
    body: { action: mark, [mark]: mark },
    headers: { 'user-agent': mark, 'x-forwarded-for': '203.0.113.9', 'idempotency-key': mark },
  })
  const { requestId } = await find(agent, answer.headers['x-request-id'] ?? '')
  const { rows } = await harness.owner.query<{ text: string }>(
    'select log::text as text from request_log log where request_id = $1',
    [requestId],
  )
  assert.equal(rows.length, 1)
  for (const hidden of [mark, '203.0.113', '127.0.0.1', agent.apiKey])
    assert.ok(!rows[0]?.text.includes(hidden), rows[0]?.text)
})

test('filters by status, class of status, code and endpoint find the requests', async () => {
  const agent = await harness.register('test')
  const ids: string[] = []
  for (const path of ['me', 'sessions/none', 'orders/none', 'orders?limit=0']) {
    const answer = await harness.call('GET', `/api/agents/${path}`, { key: agent.apiKey })
    ids.push(answer.headers['x-request-id'] ?? '')
  }
  await find(agent, ids.at(-1) ?? '')
  const [me, session, order, orders] = ids
  const found = async (query: string) => (await list(agent, query)).map(({ requestId }) => requestId)
  assert.deepEqual(await found('?status=4xx'), [orders, order, session])
  assert.deepEqual(await found('?status=404'), [order, session])
  assert.deepEqual(await found('?status=404&endpoint=work.order-read'), [order])
  assert.deepEqual(await found('?code=validation_failed'), [orders])
  assert.deepEqual(await found('?status=5xx'), [])
  assert.deepEqual(await found('?status=2xx&endpoint=agents.profile'), [me])
  assert.deepEqual(await found('?status=2xx&endpoint=sessions.read'), [])
})

test('a week later the request is not listed, and its day is dropped', async () => {
  const agent = await harness.register('test')
  const answer = await harness.call('GET', '/api/agents/me', { key: agent.apiKey })
  const { requestId } = await find(agent, answer.headers['x-request-id'] ?? '')
  const stored = async () =>
    (await harness.owner.query('select 1 from request_log where request_id = $1', [requestId])).rowCount
  await harness.advance(7 * 86_400_000 + 60_000)
  assert.deepEqual(await list(agent, `?requestId=${requestId}`), [])
  assert.equal(await stored(), 1, 'the day is not over yet')
  await harness.advance(2 * 86_400_000)
  await harness.runJobs()
  assert.equal(await stored(), 0)
})

const requestOf = (agentId: string, requestId: string): AnsweredRequest => ({
  agentId,
  keyId: 'key_test',
  requestId,
  method: 'GET',
  endpoint: 'agents.profile',
  status: 200,
  code: undefined,
  startedAt: performance.now(),
  durationMs: 1,
})
const countOf = async (agentId: string): Promise<number> =>
  (await harness.owner.query('select from request_log where agent_id = $1', [agentId])).rowCount ?? 0

test('a flood of one agent is dropped and counted, and the requests of others are kept', async () => {
  const [loud, quiet] = [await harness.register('test'), await harness.register('test')]
  const log = makeRequestLog({ ctx: harness.ctx, isPaused: async () => false })
  const before = await unlogged()
  for (let n = 0; n < 1_500; n++) log.note(requestOf(loud.agentId, `req_flood${n}`))
  log.note(requestOf(quiet.agentId, 'req_quiet000'))
  assert.equal((await unlogged()) - before, 500)
  await log.flush()
  assert.deepEqual([await countOf(loud.agentId), await countOf(quiet.agentId)], [1_000, 1])
  log.note(requestOf(loud.agentId, 'req_afterwards'))
  await log.flush()
  assert.equal(await countOf(loud.agentId), 1_001, 'there is room again')
})

test('the memory of the log is bounded over all agents', async () => {
  const log = makeRequestLog({ ctx: harness.ctx, isPaused: async () => true })
  const before = await unlogged()
  for (let n = 0; n < 10_500; n++) log.note(requestOf(`agt_many${n % 100}`, `req_many${n}`))
  assert.equal((await unlogged()) - before, 500)
  await log.flush()
  assert.equal((await unlogged()) - before, 10_500, 'a paused log drops what it holds')
})

test('while the database is from the past, or does not answer, nothing is written and nothing fails', async () => {
  const agent = await harness.register('test')
  const before = await unlogged()
  const paused = makeRequestLog({ ctx: harness.ctx, isPaused: async () => true })
  paused.note(requestOf(agent.agentId, 'req_paused00'))
  await paused.flush()
  const broken = makeRequestLog({
    ctx: harness.ctx,
    isPaused: () => Promise.reject(new Error('no connection')),
  })
  broken.note(requestOf(agent.agentId, 'req_broken00'))
  await broken.flush()
  assert.equal(await countOf(agent.agentId), 0)
  assert.equal((await unlogged()) - before, 2)
  assert.ok(harness.lines.some((line) => line.includes('requests not written to the request log')))
})
