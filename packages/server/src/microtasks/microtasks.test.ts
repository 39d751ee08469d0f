import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { gradeAnswer, microTasks, sampleTask } from './items.ts'
import { makeTaskToken } from './token.ts'

const harness = await startHarness()
const live = await harness.register('live')
const sandbox = await harness.register('test')

const next = async (site?: string) => {
  const query = site === undefined ? '' : `?site=${encodeURIComponent(site)}`
  const { status, json, text } = await harness.call('GET', `/api/tasks/next${query}`)
  assert.equal(status, 200, text)
  return json.task
}
const complete = (body: object) => harness.call('POST', '/api/tasks/complete', { body })
const rightAnswer = (taskId: string): string => {
  const task = microTasks.find(({ id }) => id === taskId)
  return task?.knownAnswer ?? task?.options?.[0] ?? 'anything'
}
/** A token of our own for a certain task, as the server would give it. */
const tokenFor = (agent: typeof live, taskId: string, expiresAt = new Date(Date.now() + 600_000)): string =>
  makeTaskToken(harness.ctx, {
    agentId: agent.agentId,
    mode: agent.mode,
    taskId,
    nonce: harness.ctx.ids.random(),
    expiresAt,
  })
const countRows = async (table: string) =>
  Number((await harness.owner.query(`select count(*) from ${table}`)).rows[0].count)

test('the catalogue has at least four kinds, known-answer tasks among them, and every task can be passed', () => {
  assert.ok(new Set(microTasks.map(({ kind }) => kind)).size >= 4)
  assert.equal(new Set(microTasks.map(({ id }) => id)).size, microTasks.length)
  assert.ok(microTasks.filter(({ knownAnswer }) => knownAnswer !== undefined).length >= 4)
  for (const task of microTasks) {
    assert.notEqual(gradeAnswer(task, rightAnswer(task.id)), false, task.id)
    assert.equal(gradeAnswer(task, { no: 'text' }), false, task.id)
    if (task.knownAnswer === undefined) continue
    assert.equal(gradeAnswer(task, ` ${task.knownAnswer.toUpperCase()} `), true)
    if (task.options) assert.ok(task.options.includes(task.knownAnswer))
  }
})

test('without a known site every caller gets the sample task, and no text breaks it', async () => {
  const suspended = await harness.register('test')
  await harness.owner.query('update agents set suspended_at = pohf_now() where agent_id = $1', [
    suspended.agentId,
  ])
  for (const site of [
    undefined,
    '',
    'x',
    'agt_',
    "agt_' or 1=1",
    `${live.agentId}0`,
    `agt_${'0'.repeat(28)}`,
    '\u0000',
    suspended.agentId,
  ]) {
    const task = await next(site)
    assert.equal(task.id, sampleTask.id, String(site))
    assert.equal(task.rewardStars, 0)
  }
})

test('a known site gets tasks of several kinds, each with a token of its own, and never the answer', async () => {
  const tasks = []
  const start = Date.now()
  for (let i = 0; i < 60; i++) tasks.push(await next(sandbox.agentId))
  assert.ok(new Set(tasks.map(({ kind }) => kind)).size >= 4)
  assert.equal(new Set(tasks.map(({ token }) => token)).size, 60)
  const end = Date.now()
  for (const task of tasks) {
    assert.equal(task.gold, undefined)
    assert.equal(task.knownAnswer, undefined)
    const issuedAt = Date.parse(task.expiresAt) - 600_000
    assert.ok(issuedAt >= start - 1_000 && issuedAt <= end + 1_000)
  }
})

test('browsers of any site may call both', async () => {
  for (const [method, path] of [
    ['GET', '/api/tasks/next'],
    ['POST', '/api/tasks/complete'],
  ] as const) {
    const answer = await harness.call(method, path, { headers: { origin: 'https://shop.example' } })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['access-control-allow-origin'], 'https://shop.example')
  }
})

test('without a valid token the response is 200, and nothing is paid or stored', async () => {
  const { token } = await next(sandbox.agentId)
  const sample = await next()
  const before = await countRows('task_completions')
  for (const [body, reason] of [
    [{}, 'token_missing'],
    [{ answer: 'hammer' }, 'token_missing'],
    [{ token: '', answer: 1 }, 'token_missing'],
    [{ token: sample.token, answer: 'seven' }, 'sample_task'],
    [{ token: 'x', answer: 'hammer' }, 'token_invalid'],
    [{ token: `${token.slice(0, -2)}AA`, answer: 'hammer' }, 'token_invalid'],
    [{ token: token.replace('tkt_', 'tkt_A'), answer: 'hammer' }, 'token_invalid'],
    [{ token: tokenFor(sandbox, 'tsk_gone'), answer: 'hammer' }, 'token_invalid'],
    [{ token: tokenFor(sandbox, 'tsk_odd_fruit', new Date(Date.now() - 1)), answer: 'x' }, 'token_expired'],
  ] as const) {
    const { status, json } = await complete(body)
    assert.equal(status, 200)
    assert.deepEqual(json, { ok: true, verified: false, rewardStars: 0, reason })
  }
  assert.equal(await countRows('task_completions'), before)
})

test('on a test site an answered task is verified, shows its reward, and publishes an event', async () => {
  const task = await next(sandbox.agentId)
  const { status, json } = await complete({
    token: task.token,
    answer: rightAnswer(task.id),
    memberRef: 'visitor-1',
    unknown: 'dropped',
  })
  assert.equal(status, 200)
  assert.equal(json.verified, true)
  assert.equal(json.rewardStars, task.rewardStars)
  assert.match(json.completionId, /^cmp_/)
  assert.match(json.sessionId, /^ses_/)
  assert.equal(json.reason, undefined)
  const { rows } = await harness.owner.query(
    'select agent_id, mode, task_id, member_ref, attended, verified, session_id from task_completions where completion_id = $1',
    [json.completionId],
  )
  assert.deepEqual(rows, [
    {
      agent_id: sandbox.agentId,
      mode: 'test',
      task_id: task.id,
      member_ref: 'visitor-1',
      attended: true,
      verified: true,
      session_id: json.sessionId,
    },
  ])
  const { rows: events } = await harness.owner.query('select type, data from events where subject = $1', [
    json.completionId,
  ])
  assert.deepEqual(events, [
    {
      type: 'task.completed',
      data: { completionId: json.completionId, taskId: task.id, sessionId: json.sessionId, verified: true },
    },
  ])
  const { rows: stored } = await harness.owner.query(
    'select kind, verified from sessions where session_id = $1',
    [json.sessionId],
  )
  assert.deepEqual(stored, [{ kind: 'task', verified: true }])
})

test('the sandbox accepts any answer except an empty one', async () => {
  for (const [taskId, answer] of [
    ['tsk_odd_fruit', 'apple'],
    ['tsk_count_letters', 6],
    ['tsk_sentiment_call', 'purple'],
    ['tsk_odd_fruit', { nested: ['hammer'] }],
  ] as const) {
    const { json } = await complete({ token: tokenFor(sandbox, taskId), answer })
    assert.equal(json.verified, true, taskId)
    assert.equal(json.reason, undefined)
  }
  for (const answer of [undefined, null, '', '  ']) {
    const { json } = await complete({ token: tokenFor(sandbox, 'tsk_odd_fruit'), answer })
    assert.equal(json.verified, false)
    assert.equal(json.reason, 'answer_missing')
  }
})

test('on a live site an answer alone is no attention: not verified, nothing rewarded', async () => {
  const task = await next(live.agentId)
  const { status, json } = await complete({ token: task.token, answer: rightAnswer(task.id) })
  assert.equal(status, 200)
  assert.equal(json.verified, false)
  assert.equal(json.rewardStars, 0)
  assert.equal(json.reason, 'attention_missing')
})

for (const parallel of [2, 20, 100])
  test(`one token completed ${parallel} times at once counts exactly once`, async () => {
    const before = await countRows('task_completions')
    const token = tokenFor(sandbox, 'tsk_odd_fruit')
    const answers = await Promise.all(
      Array.from({ length: parallel }, () => complete({ token, answer: 'hammer' })),
    )
    const good = answers.filter(({ status }) => status === 200)
    const used = answers.filter(({ status, json }) => status === 409 && json.error === 'task_token_used')
    assert.equal(good.length, 1)
    assert.equal(used.length, parallel - 1)
    assert.equal(await countRows('task_completions'), before + 1)
  })

test('text that cannot be stored is refused with 4xx', async () => {
  const token = tokenFor(sandbox, 'tsk_odd_fruit')
  for (const bad of [
    { token, answer: 'a\u0000b' },
    { token, answer: 'x'.repeat(16_385) },
    { token, answer: 'hammer', memberRef: 'a\u0000b' },
    { token, answer: 'hammer', memberRef: 'x'.repeat(257) },
    { token: 'x'.repeat(2_049) },
    { token: 5 },
  ])
    assert.equal((await complete(bad)).status, 400)
  assert.equal((await complete({ token, answer: 'hammer' })).status, 200)
})

test('a token expires after ten minutes, and its claim is deleted an hour later', async () => {
  const task = await next(sandbox.agentId)
  const used = await next(sandbox.agentId)
  await complete({ token: used.token, answer: rightAnswer(used.id) })
  await harness.advance(10 * 60_000 + 1_000)
  assert.equal((await complete({ token: task.token, answer: 'x' })).json.reason, 'token_expired')
  assert.equal((await complete({ token: used.token, answer: 'x' })).json.reason, 'token_expired')
  await harness.runJobs()
  assert.ok((await countRows('task_token_claims')) > 0)
  await harness.advance(61 * 60_000)
  await harness.runJobs()
  assert.equal(await countRows('task_token_claims'), 0)
})
