import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { startHarness } from '../../test/fixtures/harness.ts'
import { registerPartner } from '../../test/fixtures/partner.ts'
import { enrolMember } from '../../test/fixtures/people/member.ts'
import { expectedAnswer } from '../../test/fixtures/people/micro-task.ts'
import { playSession } from '../../test/fixtures/people/play-session.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'
import { userAccountOf } from '../partners/index.ts'

const harness = await startHarness()
type Agent = { readonly agentId: string; readonly apiKey: string; readonly mode: 'live' | 'test' }

const options = ['fits', 'fits a little', 'does not fit']
const questionsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ prompt: `Does picture ${index} fit?`, options }))
const agentCall = (agent: Agent, method: string, path: string, body?: unknown) =>
  harness.call(method, `/api/agents/${path}`, { key: agent.apiKey, ...(body === undefined ? {} : { body }) })
const createCampaign = async (agent: Agent, over: object = {}) => {
  const body = {
    name: 'Fit',
    questions: questionsOf(1),
    rewardStars: 5,
    agreement: 2,
    budgetStars: 100,
    ...over,
  }
  const answer = await agentCall(agent, 'POST', 'campaigns', body)
  assert.equal(answer.status, 200, answer.text)
  return answer.json as { campaignId: string; remainingStars: number }
}
const readCampaign = async (agent: Agent, campaignId: string) =>
  (await agentCall(agent, 'GET', `campaigns/${campaignId}`)).json
const stars = async (agent: Agent, account: string): Promise<number> => {
  const { rows } = await harness.owner.query(
    "select balance from ledger_accounts where agent_id = $1 and account = $2 and unit = 'star'",
    [agent.agentId, account],
  )
  return Number(rows[0]?.balance ?? 0)
}
const starsOf = (agent: Agent, memberId: string) => stars(agent, userAccountOf(agent.agentId, memberId))
const visitorFor = async (agent: Agent, memberId: string): Promise<string> => {
  const answer = await agentCall(agent, 'POST', 'tasks/visitor', { memberId })
  assert.equal(answer.status, 200, answer.text)
  return answer.json.visitor
}
const next = async (agent: Agent, visitor?: string) => {
  const query = visitor === undefined ? '' : `&visitor=${visitor}`
  return (await harness.call('GET', `/api/tasks/next?site=${agent.agentId}${query}`)).json.task
}
const complete = async (token: string, answer: unknown, sessionId?: string) =>
  (await harness.call('POST', '/api/tasks/complete', { body: { token, answer, sessionId } })).json
const attend = async (agent: Agent) =>
  (await playSession(harness, { site: agent.agentId, kind: 'task' })).sessionId

/** A person who answers what the service made, so that their next task is a question. */
const earnTrust = async (agent: Agent, visitor: string) => {
  for (let item = 0; item < 10; item++) {
    const task = await next(agent, visitor)
    if (task.kind === 'question') return task
    const done = await complete(task.token, expectedAnswer(harness, task.token), await attend(agent))
    assert.equal(done.verified, true, JSON.stringify(done))
    assert.equal(done.rewardStars, 0)
  }
  throw new Error('no question came')
}
const members = async (agent: Agent, count: number) => {
  const made: { memberId: string; visitor: string }[] = []
  for (let i = 0; i < count; i++) {
    const { memberId } = await enrolMember(harness, agent)
    made.push({ memberId, visitor: await visitorFor(agent, memberId) })
  }
  return made
}

test('a campaign is funded from the limit of the agent, listed, paused, ended, and the rest is returned', async () => {
  const agent = (await registerPartner(harness, 150)) as Agent
  assertRefusal(
    await agentCall(agent, 'POST', 'campaigns', { name: 'Big', questions: questionsOf(1), budgetStars: 151 }),
    409,
    'conversion_limit_reached',
  )
  const { campaignId, remainingStars } = await createCampaign(agent)
  assert.equal(remainingStars, 100)
  assert.equal(await stars(agent, 'points_limit'), 50)
  assert.equal(await stars(agent, 'owed:points'), -100)
  const { json } = await agentCall(agent, 'GET', 'campaigns')
  assert.deepEqual(
    json.campaigns.map((one: { campaignId: string }) => one.campaignId),
    [campaignId],
  )
  const patch = (status: string) => agentCall(agent, 'PATCH', `campaigns/${campaignId}`, { status })
  assert.equal((await patch('paused')).json.status, 'paused')
  assert.equal((await next(agent)).campaignId, undefined)
  assert.equal((await patch('active')).json.status, 'active')
  assert.equal((await next(agent)).campaignId, campaignId)
  const ended = await patch('ended')
  assert.equal(ended.json.remainingStars, 0)
  assert.equal(await stars(agent, 'points_limit'), 150)
  assert.equal(await stars(agent, 'owed:points'), 0)
  assertRefusal(await patch('active'), 409, 'campaign_ended')
  const other = (await registerPartner(harness, 1)) as Agent
  assertRefusal(await agentCall(other, 'GET', `campaigns/${campaignId}`), 404, 'not_found')
})

test('one Idempotency-Key creates one campaign, and an agent has at most 20 open ones', async () => {
  const agent = (await harness.register('test')) as Agent
  const body = { name: 'Once', questions: questionsOf(2), budgetStars: 10, rewardStars: 1 }
  const createOnce = () =>
    harness.call('POST', '/api/agents/campaigns', {
      key: agent.apiKey,
      body,
      headers: { 'idempotency-key': 'a' },
    })
  const [first, second] = [await createOnce(), await createOnce()]
  assert.equal(first.json.campaignId, second.json.campaignId)
  for (let i = 1; i < 20; i++) await createCampaign(agent)
  assertRefusal(await agentCall(agent, 'POST', 'campaigns', body), 409, 'campaign_limit_reached')
  for (const bad of [
    { questions: [] },
    { questions: [{ prompt: 'x', options: ['a'] }] },
    { questions: [{ prompt: 'x', options: ['a', 'a'] }] },
    { questions: [{ prompt: 'x', options: ['a', 'b'], answer: 'c' }] },
    { agreement: 1 },
    { rewardStars: 101 },
  ])
    assert.equal((await agentCall(agent, 'POST', 'campaigns', { ...body, ...bad })).status, 400)
})

test('two members agree: both are verified and paid once, and a third who answers the same late is paid too', async () => {
  const agent = (await registerPartner(harness, 1_000)) as Agent
  const { campaignId } = await createCampaign(agent)
  const people = await members(agent, 3)
  const tasks = []
  for (const { visitor } of people) {
    const task = await earnTrust(agent, visitor)
    assert.equal(task.rewardStars, 5)
    assert.deepEqual(task.options, options)
    tasks.push(task)
  }
  const [one, two, three] = tasks
  const first = await complete(one.token, 'fits', await attend(agent))
  assert.equal(first.reason, 'agreement_pending')
  assert.equal(first.verified, false)
  assert.equal((await readCampaign(agent, campaignId)).heldStars, 5)
  await complete(two.token, 'fits', await attend(agent))
  for (const { memberId } of people.slice(0, 2)) assert.equal(await starsOf(agent, memberId), 5)
  const { rows } = await harness.owner.query(
    "select data from events where subject = $1 and type = 'task.completed'",
    [first.completionId],
  )
  assert.equal(rows[0].data.verified, true)
  const minted = await agentCall(agent, 'POST', 'verify', { sessionId: rows[0].data.sessionId })
  assert.ok(minted.status === 200 || minted.json.error === 'insufficient_credits', minted.text)
  const late = await complete(three.token, 'fits', await attend(agent))
  assert.equal(late.verified, true, JSON.stringify(late))
  assert.equal(late.rewardStars, 5)
  const { results, heldStars, remainingStars, answers } = await readCampaign(agent, campaignId)
  assert.equal(heldStars, 0)
  assert.equal(remainingStars, 85)
  assert.equal(answers, 2)
  assert.deepEqual(results[0].counts, [3, 0, 0])
  assert.equal(results[0].answer, 'fits')
})

test('a visitor who disagrees with the others is not verified or paid, and the Stars return to the budget', async () => {
  const agent = (await registerPartner(harness, 1_000)) as Agent
  const { campaignId } = await createCampaign(agent)
  const people = await members(agent, 3)
  const given = []
  for (const [index, { visitor }] of people.entries()) {
    const task = await earnTrust(agent, visitor)
    given.push(await complete(task.token, index === 0 ? 'does not fit' : 'fits', await attend(agent)))
  }
  const paid = await Promise.all(people.map(({ memberId }) => starsOf(agent, memberId)))
  assert.deepEqual(paid, [0, 5, 5])
  assert.equal((await readCampaign(agent, campaignId)).remainingStars, 90)
  const { rows } = await harness.owner.query(
    'select verified, correct from task_completions where completion_id = $1',
    [given[0].completionId],
  )
  assert.deepEqual(rows, [{ verified: false, correct: false }])
})

test('fetching again gives the same picture, and of several tokens for one place only one counts', async () => {
  const agent = (await registerPartner(harness, 1_000)) as Agent
  await createCampaign(agent)
  const [person] = await members(agent, 1)
  const fetched = await Promise.all(Array.from({ length: 10 }, () => next(agent, person?.visitor)))
  assert.equal(new Set(fetched.map(({ media }) => media?.[0])).size, 1)
  const answer = expectedAnswer(harness, fetched[0].token)
  const sessions: string[] = []
  for (let i = 0; i < 3; i++) sessions.push(await attend(agent))
  const done = await Promise.all(
    fetched.slice(0, 3).map(({ token }, i) => complete(token, answer, sessions[i])),
  )
  assert.equal(done.filter(({ verified }) => verified === true).length, 1, JSON.stringify(done))
  assert.equal(done.filter(({ error }) => error === 'task_token_used').length, 2)
})

test('a wrong answer to a picture shows no question, pays nothing, and nobody without a token is paid', async () => {
  const agent = (await registerPartner(harness, 1_000)) as Agent
  const { campaignId } = await createCampaign(agent, { agreement: 2 })
  const [person] = await members(agent, 1)
  for (let i = 0; i < 3; i++) {
    const task = await next(agent, person?.visitor)
    assert.notEqual(task.kind, 'question')
    const done = await complete(task.token, '00000', await attend(agent))
    assert.equal(done.verified, false)
    assert.match(done.reason, /answer_wrong/)
  }
  // Anonymous: the same campaign, and no Stars.
  const task = await next(agent)
  assert.equal(task.campaignId, campaignId)
  await complete(task.token, expectedAnswer(harness, task.token), await attend(agent))
  const question = await next(agent)
  assert.equal(question.rewardStars, 0)
  assert.equal((await readCampaign(agent, campaignId)).remainingStars, 100)
  const other = (await registerPartner(harness, 1)) as Agent
  const [stranger] = await members(other, 1)
  assert.equal((await next(agent, stranger?.visitor)).rewardStars, 0)
})

test('an exhausted budget pauses the campaign, and nothing is paid beyond it', async () => {
  const agent = (await registerPartner(harness, 1_000)) as Agent
  const { campaignId } = await createCampaign(agent, { budgetStars: 5 })
  const people = await members(agent, 2)
  const tasks = []
  for (const { visitor } of people) tasks.push(await earnTrust(agent, visitor))
  for (const task of tasks) await complete(task.token, 'fits', await attend(agent))
  const paid = await Promise.all(people.map(({ memberId }) => starsOf(agent, memberId)))
  assert.deepEqual(paid, [5, 0])
  const campaign = await readCampaign(agent, campaignId)
  assert.equal(campaign.remainingStars, 0)
  assert.equal(campaign.status, 'paused')
  assert.equal(campaign.exhausted, true)
})

const week = 7 * 86_400_000 + 60_000

test('an answer that nobody joined is not paid: after a week its Stars return, also after the campaign ended', async () => {
  const agent = (await registerPartner(harness, 100)) as Agent
  const { campaignId } = await createCampaign(agent)
  const [person] = await members(agent, 1)
  assert.ok(person)
  const task = await earnTrust(agent, person.visitor)
  await complete(task.token, 'fits', await attend(agent))
  await agentCall(agent, 'PATCH', `campaigns/${campaignId}`, { status: 'ended' })
  assert.equal(await stars(agent, 'points_limit'), 95)
  await harness.runJobs()
  assert.equal(await stars(agent, `tasks_held:${campaignId}`), 5)
  await harness.advance(week)
  await harness.runJobs()
  assert.equal(await starsOf(agent, person.memberId), 0)
  assert.equal(await stars(agent, `tasks_held:${campaignId}`), 0)
  assert.equal(await stars(agent, 'points_limit'), 100)
})

test('equal answers too few for agreement are paid after a week; a different answer is not', async () => {
  const agent = (await registerPartner(harness, 100)) as Agent
  const { campaignId } = await createCampaign(agent, { agreement: 3 })
  const people = await members(agent, 3)
  for (const [index, { visitor }] of people.entries()) {
    const task = await earnTrust(agent, visitor)
    const done = await complete(task.token, index === 0 ? 'does not fit' : 'fits', await attend(agent))
    assert.equal(done.reason, 'agreement_pending')
  }
  await harness.advance(week)
  await harness.runJobs()
  const paid = await Promise.all(people.map(({ memberId }) => starsOf(agent, memberId)))
  assert.deepEqual(paid, [0, 5, 5])
  assert.equal(await stars(agent, `tasks_held:${campaignId}`), 0)
  assert.equal((await readCampaign(agent, campaignId)).remainingStars, 90)
})

test('a campaign that ends while its last answer is settled keeps no Stars', async () => {
  const agent = (await registerPartner(harness, 100)) as Agent
  const { campaignId } = await createCampaign(agent)
  const people = await members(agent, 3)
  const tasks = []
  for (const { visitor } of people) tasks.push(await earnTrust(agent, visitor))
  await complete(tasks[0].token, 'does not fit', await attend(agent))
  await complete(tasks[1].token, 'fits', await attend(agent))
  const session = await attend(agent)
  // The last answer has read that the campaign is active, and waits for the visitors.
  const blocker = await harness.owner.connect()
  try {
    await blocker.query('begin')
    await blocker.query('select 1 from task_visitors where campaign_id = $1 for update', [campaignId])
    const settled = complete(tasks[2].token, 'fits', session)
    const isWaiting = async () =>
      (
        await harness.owner.query(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%task_visitors%'`,
        )
      ).rows.length > 0
    while (!(await isWaiting())) await setTimeout(5)
    const ended = agentCall(agent, 'PATCH', `campaigns/${campaignId}`, { status: 'ended' })
    await Promise.race([ended, setTimeout(200)])
    await blocker.query('commit')
    assert.equal((await ended).json.status, 'ended')
    await settled
  } finally {
    blocker.release()
  }
  const paid = await Promise.all(people.map(({ memberId }) => starsOf(agent, memberId)))
  assert.deepEqual(paid, [0, 5, 5])
  assert.equal(await stars(agent, `tasks:${campaignId}`), 0)
  assert.equal(await stars(agent, `tasks_held:${campaignId}`), 0)
  assert.equal(await stars(agent, 'points_limit'), 90)
})

test('on a test site every answer counts, no question comes twice, and test Stars are paid', async () => {
  const agent = (await harness.register('test')) as Agent
  await createCampaign(agent, {
    questions: [...questionsOf(30), ...questionsOf(20).map((one) => ({ ...one, answer: 'fits' }))],
    budgetStars: 1_000,
  })
  const visitor = await visitorFor(agent, 'anyone')
  const seen = new Set<string>()
  for (let i = 0; i < 12; i++) {
    const task = await next(agent, visitor)
    seen.add(task.id)
    const done = await complete(task.token, 'fits')
    assert.equal(done.verified, true, 'the sandbox verifies every answer')
  }
  assert.ok(seen.size >= 8, 'no question comes twice')
  assert.ok((await starsOf(agent, 'anyone')) > 0)
})
