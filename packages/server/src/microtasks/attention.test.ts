import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { playSession, type SessionScript } from '../../test/fixtures/people/play-session.ts'
import { microTasks } from './items.ts'
import { makeTaskToken } from './token.ts'

const harness = await startHarness()
const live = await harness.register('live')
const knownAnswerTask = microTasks.find((task) => task.id === 'tsk_odd_fruit')
assert.ok(knownAnswerTask?.knownAnswer)

const tokenFor = (agent: typeof live): string =>
  makeTaskToken(harness.ctx, {
    agentId: agent.agentId,
    mode: agent.mode,
    taskId: 'tsk_odd_fruit',
    nonce: harness.ctx.ids.random(),
    expiresAt: new Date(harness.ctx.clock.now().getTime() + 600_000),
  })
const attend = async (play_: Partial<SessionScript> = {}, agent = live) =>
  (await playSession(harness, { site: agent.agentId, kind: 'task', ...play_ })).sessionId
const complete = async (
  token: string,
  sessionId?: string,
  answer: string | undefined = knownAnswerTask.knownAnswer,
) => (await harness.call('POST', '/api/tasks/complete', { body: { token, answer, sessionId } })).json

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
  (token: () => string) => Promise<[string, string | undefined, string?]>,
  string,
])[] = [
  ['no session', async (token) => [token(), undefined], 'attention_missing'],
  ['an id that does not exist', async (token) => [token(), 'ses_nobody'], 'session_unknown'],
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
    async (token) => [token(), await attend({ workflowId: 'tsk_count_letters' })],
    'session_of_another_task',
  ],
  [
    'attention from before the task was handed out',
    async (token) => {
      const recorded = await attend()
      return [token(), recorded]
    },
    'session_before_task',
  ],
  [
    'a wrong answer',
    async (token) => {
      const given = token()
      return [given, await attend(), 'plum']
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
