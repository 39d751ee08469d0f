import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { giveTask } from '../../test/fixtures/people/micro-task.ts'
import { playSession, type SessionScript } from '../../test/fixtures/people/play-session.ts'

const harness = await startHarness()
const live = await harness.register('live')

type AssignedTask = ReturnType<typeof giveTask>
const tokenFor = (agent: typeof live): AssignedTask => giveTask(harness, agent)
const attend = async (play_: Partial<SessionScript> = {}, agent = live) =>
  (await playSession(harness, { site: agent.agentId, kind: 'task', ...play_ })).sessionId
/** The answer is the right one unless another is given. */
const complete = async ({ token, answer }: AssignedTask, sessionId?: string, other?: string) =>
  (
    await harness.call('POST', '/api/tasks/complete', {
      body: { token, answer: other ?? answer, sessionId },
    })
  ).json

test('live: a right answer with recorded attention is verified, with evidence of both', async () => {
  const token = tokenFor(live)
  const recorded = await attend()
  const done = await complete(token, recorded)
  assert.equal(done.verified, true, JSON.stringify(done))
  assert.notEqual(done.sessionId, recorded)
  const [session, source] = await Promise.all(
    [done.sessionId, recorded].map(
      async (id) => (await harness.call('GET', `/api/agents/sessions/${id}`, { key: live.apiKey })).json,
    ),
  )
  assert.deepEqual(session.telemetry, source.telemetry, 'the credential will commit to what was recorded')
  assert.deepEqual(session.components, source.components)
  assert.deepEqual(
    session.evidence.map(({ type }: { type: string }) => type),
    ['answer', 'telemetry'],
  )
  assert.equal(session.simulated, false)
})

const outsiders: readonly (readonly [
  string,
  (token: () => AssignedTask) => Promise<[AssignedTask, string | undefined, string?]>,
  string,
])[] = [
  ['no session', async (token) => [token(), undefined], 'attention_missing'],
  [
    'an id that does not exist',
    async (token) => {
      const given = token()
      await harness.advance(5_000)
      return [given, 'ses_nobody']
    },
    'session_unknown',
  ],
  [
    "another site's session",
    async (token) => [token(), await attend({}, await harness.register('live'))],
    'session_unknown',
  ],
  [
    'a session of kind view',
    async (token) => [token(), await attend({ kind: 'view' })],
    'session_of_another_kind',
  ],
  [
    'a session for another task',
    async (token) => [token(), await attend({ workflowId: 'tsk_closed_rings' })],
    'session_of_another_task',
  ],
  [
    'attention from before the task was handed out',
    async (token) => {
      const recorded = await attend()
      await harness.advance(5_000)
      const given = token()
      await harness.advance(5_000)
      return [given, recorded]
    },
    'session_before_task',
  ],
  [
    'a wrong answer',
    async (token) => {
      const given = token()
      return [given, await attend(), '00000']
    },
    'answer_wrong',
  ],
]
for (const [name, make, reason] of outsiders) {
  test(`live: ${name} is not verified: ${reason}`, async () => {
    const [token, sessionId, answer] = await make(() => tokenFor(live))
    const done = await complete(token, sessionId, answer)
    assert.equal(done.verified, false)
    assert.equal(done.rewardStars, 0)
    // Sessions that must be older than the task are recorded before the token, all others after it.
    assert.ok(done.reason.split(', ').includes(reason), JSON.stringify(done))
  })
}

test('live: a bot with a right answer is not verified', async () => {
  const token = tokenFor(live)
  const done = await complete(token, await attend({ webdriver: true }))
  assert.equal(done.verified, false)
  assert.match(done.reason, /flag_automation_env/)
})

for (const parallel of [2, 20]) {
  test(`live: ${parallel} answers behind one session at once: exactly one is verified`, async () => {
    const tokens = Array.from({ length: parallel }, () => tokenFor(live))
    const recorded = await attend()
    const done = await Promise.all(tokens.map((token) => complete(token, recorded)))
    assert.equal(done.filter(({ verified }) => verified).length, 1)
    assert.equal(done.filter(({ reason }) => reason === 'session_used').length, parallel - 1)
  })
}

test('test site: an id of any text does no harm, and a recorded session is scored as in live', async () => {
  const sandbox = await harness.register('test')
  assert.equal((await complete(tokenFor(sandbox), 'whatever')).verified, true)
  const token = tokenFor(sandbox)
  const idle = await attend({ visible: 0, answers: false }, sandbox)
  assert.equal((await complete(token, idle)).verified, false)
})

test('live: an answer sooner than a person can read is refused, and the token stays valid', async () => {
  const recorded = await attend()
  await harness.advance(5_000)
  const given = tokenFor(live)
  assert.equal((await complete(given, recorded)).reason, 'too_fast')
  const attended = await attend()
  assert.equal((await complete(given, attended)).verified, true)
})

test('live: replayed, crossed to another site, too fast and 100 at once: one completion', async () => {
  const other = await harness.register('live')
  const given = tokenFor(live)
  const body = { token: given.token, answer: given.answer }
  const call = (more: object) => harness.call('POST', '/api/tasks/complete', { body: { ...body, ...more } })
  assert.equal((await call({ sessionId: 'ses_x' })).json.reason, 'too_fast')
  assert.equal((await call({ site: other.agentId })).json.reason, 'token_of_another_site')
  const sessionId = await attend()
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => call({ sessionId, site: live.agentId })),
  )
  const good = answers.filter(({ status }) => status === 200)
  assert.equal(good.length, 1)
  assert.equal(good[0]?.json.verified, true, good[0]?.text)
  assert.equal(answers.filter(({ json }) => json.error === 'task_token_used').length, 99)
  assert.equal((await call({ sessionId: await attend() })).status, 409)
  const { rows } = await harness.owner.query(
    'select count(*)::int as n from task_completions where session_id = $1',
    [good[0]?.json.sessionId],
  )
  assert.equal(rows[0].n, 1)
})
