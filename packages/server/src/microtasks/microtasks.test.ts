import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { expectedAnswer, giveTask } from '../../test/fixtures/people/micro-task.ts'
import { digitsOf, renderDigits } from './items/digits.ts'
import {
  chooseGenerated,
  expectedAnswerOf,
  generatedItems,
  promptOf,
  sampleTask,
  seedOf,
} from './items/generated.ts'
import { isExpected } from './rules.ts'

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
const tokenFor = (agent: typeof live, expiresAt?: Date): string =>
  giveTask(harness, agent, expiresAt ? { expiresAt } : {}).token
const countRows = async (table: string) =>
  Number((await harness.owner.query(`select count(*) from ${table}`)).rows[0].count)

test('an item has an answer that its seed alone tells, and a guess is right once in 100,000', () => {
  const key = Buffer.alloc(32, 1)
  const answers = new Set<string>()
  for (let i = 0; i < 200; i++) {
    const seed = seedOf(key, `${i}`)
    const id = chooseGenerated(seed, false)
    const answer = expectedAnswerOf(id, seed, 'en')
    assert.match(answer, /^\d{5}$/)
    assert.ok(generatedItems[id].isPicture)
    assert.ok(!promptOf(id, seed, 'en').includes(answer))
    answers.add(answer)
    const words = chooseGenerated(seed, true)
    assert.equal(expectedAnswerOf(words, seed, 'en').split(' ').length, 4)
    assert.ok(
      isExpected(
        expectedAnswerOf(words, seed, 'de'),
        ` ${expectedAnswerOf(words, seed, 'de').toUpperCase()} `,
      ),
    )
  }
  assert.ok(answers.size > 195)
  assert.ok(isExpected('12345', '12 345'))
  assert.ok(isExpected('12345', 12_345))
  for (const wrong of ['12346', '', '1234', { digits: 12_345 }, ['12345'], null])
    assert.equal(isExpected('12345', wrong), false)
})

/** The names of the parts of a PNG. */
const partsOf = (png: Buffer) => {
  const parts: string[] = []
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at))
    parts.push(png.toString('latin1', at + 4, at + 8))
  return parts
}

test('a picture holds pixels alone: its bytes without the pixels are the same for every answer', () => {
  for (let i = 0; i < 20; i++) {
    const png = renderDigits(`seed ${i}`, true)
    assert.deepEqual(partsOf(png), ['IHDR', 'PLTE', 'IDAT', 'IEND'])
    assert.ok(!png.toString('latin1').includes(digitsOf(`seed ${i}`, true)))
  }
})

test('nothing in the response tells the answer of a picture', async () => {
  for (let i = 0; i < 20; i++) {
    const task = await next(live.agentId)
    const answer = expectedAnswer(harness, task.token)
    const { media, token, ...rest } = task
    assert.match(media[0], /^data:image\/png;base64,/)
    const fields = Buffer.from(token.split('.')[0].slice(6), 'base64url').toString()
    assert.ok(!JSON.stringify(rest).includes(answer))
    assert.ok(!fields.includes(answer), fields)
  }
})

test('words instead of a picture, in English and German', async () => {
  for (const [lang, prompt] of [
    ['en', /^Type these words/],
    ['de-AT', /^Geben Sie diese Wörter/],
  ] as const) {
    const { json } = await harness.call('GET', `/api/tasks/next?site=${sandbox.agentId}&words=1&lang=${lang}`)
    assert.match(json.task.prompt, prompt)
    assert.equal(json.task.media, undefined)
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
  assert.ok(new Set(tasks.map(({ kind }) => kind)).size >= 2)
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
    [{ token: giveTask(harness, sandbox, { taskId: 'tsk_gone' }).token, answer: 'x' }, 'token_invalid'],
    [{ token: tokenFor(sandbox, new Date(Date.now() - 1)), answer: 'x' }, 'token_expired'],
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
    answer: expectedAnswer(harness, task.token),
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
  for (const answer of ['apple', 6, { nested: ['hammer'] }]) {
    const { json } = await complete({ token: tokenFor(sandbox), answer })
    assert.equal(json.verified, true)
    assert.equal(json.reason, undefined)
  }
  for (const answer of [undefined, null, '', '  ']) {
    const { json } = await complete({ token: tokenFor(sandbox), answer })
    assert.equal(json.verified, false)
    assert.equal(json.reason, 'answer_missing')
  }
})

test('on a live site an answer alone is no attention: not verified, nothing rewarded', async () => {
  const task = await next(live.agentId)
  const { status, json } = await complete({ token: task.token, answer: expectedAnswer(harness, task.token) })
  assert.equal(status, 200)
  assert.equal(json.verified, false)
  assert.equal(json.rewardStars, 0)
  assert.equal(json.reason, 'attention_missing')
})

for (const parallel of [2, 20, 100])
  test(`one token completed ${parallel} times at once counts exactly once`, async () => {
    const before = await countRows('task_completions')
    const token = tokenFor(sandbox)
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
  const token = tokenFor(sandbox)
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
  await complete({ token: used.token, answer: expectedAnswer(harness, used.token) })
  await harness.advance(10 * 60_000 + 1_000)
  assert.equal((await complete({ token: task.token, answer: 'x' })).json.reason, 'token_expired')
  assert.equal((await complete({ token: used.token, answer: 'x' })).json.reason, 'token_expired')
  await harness.runJobs()
  assert.ok((await countRows('task_token_claims')) > 0)
  await harness.advance(61 * 60_000)
  await harness.runJobs()
  assert.equal(await countRows('task_token_claims'), 0)
})
