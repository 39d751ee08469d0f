import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { flagCaps, componentNames } from '@pohf/scorer'
import { startHarness, type TestResponse } from '../../test/fixtures/harness.ts'
import {
  browseFrom,
  budgetSettings,
  findCounterFaults,
  moveClockTo,
  registerPayingAgent,
  type LiveAgent,
} from '../../test/fixtures/networks.ts'
import { makeAttestedModel } from '../../test/fixtures/people/attested-model.ts'
import { playSession, type SessionScript } from '../../test/fixtures/people/play-session.ts'
import { openSecurityKey } from '../../test/fixtures/people/security-key.ts'
import { pollUntil } from '../../test/fixtures/polling.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'

const model = await makeAttestedModel()
after(() => model.close())
const harness = await startHarness({ ...budgetSettings, ...model.settings, ROOT_ADDRESS_PER_HOUR: '4' })
const agent = await registerPayingAgent(harness)
const minute = 60_000

const fields = ['verdict', 'reasons', 'stepUp', 'retryAfter', 'validUntil']
const secrets = [...Object.keys(flagCaps), ...componentNames, 'quality', 'score', 'flag', 'component']
/** The verdict of an answer. No answer has a score, a flag or a component. */
const verdictOf = ({ status, json, text }: TestResponse) => {
  assert.equal(status, 200, text)
  const others = Object.keys(json).filter((name) => !fields.includes(name))
  assert.ok(
    others.every((name) => ['sessionId', 'status', 'vt'].includes(name)),
    text,
  )
  const verdict = Object.fromEntries(Object.entries(json).filter(([name]) => fields.includes(name)))
  const told = JSON.stringify({ ...verdict, stepUp: undefined })
  for (const name of secrets) assert.ok(!told.includes(name), `${name} in ${told}`)
  return verdict as {
    verdict: string
    reasons: string[]
    stepUp?: { kind: string; url: string }[]
    retryAfter?: number
    validUntil?: string
  }
}

let hosts = 0
/** A session of a new address, unless one is named. */
const play = async (
  by: Pick<LiveAgent, 'agentId'>,
  { address = `203.0.113.${++hosts}`, ...script }: Partial<SessionScript> & { address?: string } = {},
) => playSession(browseFrom(harness, address), { site: by.agentId, ...script })
const verify = (by: LiveAgent, sessionId: string) =>
  harness.call('POST', '/api/agents/verify', { key: by.apiKey, body: { sessionId } })
const setPolicy = async (by: LiveAgent, policy: unknown) => {
  const { status, text } = await harness.call('PATCH', '/api/agents/me', { key: by.apiKey, body: { policy } })
  assert.equal(status, 200, text)
}
/** The places that are taken of all counters: those of the network, of the network for stronger roots, and of the root. */
const countPlaces = async () => {
  const { rows } = await harness.owner.query<{ kind: string; n: number }>(
    `select case when tag like '%.strong' then 'strong' when tag like '%.%' then 'model'
       when tag in (select unnest(narrow_tags || wide_tags) from root_sessions) then 'network' else 'key' end as kind,
       sum(used)::int as n from root_counters where spender = '' group by 1`,
  )
  assert.deepEqual(await findCounterFaults(harness), [])
  return Object.fromEntries(rows.filter(({ n }) => n > 0).map(({ kind, n }) => [kind, n]))
}
const dropCounters = () => harness.owner.query('truncate root_counters, root_reservations')

test('finish says passed, the same bytes again say the same, and a repeat holds nothing more', async () => {
  await moveClockTo(harness, 9, 10)
  await dropCounters()
  const { recorder, ended, sessionId } = await play(agent)
  const told = verdictOf(ended)
  assert.deepEqual([told.verdict, told.reasons, told.stepUp], ['passed', [], undefined])
  const wait = Date.parse(told.validUntil ?? '') - harness.ctx.clock.now().getTime()
  assert.ok(wait > 14.9 * minute && wait <= 15 * minute, told.validUntil)
  assert.deepEqual(await countPlaces(), { network: 2 })
  await harness.advance(5 * minute)
  const again = await Promise.all([recorder.finishAgain(), recorder.finishAgain()])
  for (const answer of again) assert.deepEqual(verdictOf(answer), told)
  assert.deepEqual(await countPlaces(), { network: 2 })
  assert.equal((await verify(agent, sessionId)).status, 200)
  assert.equal(verdictOf(await recorder.finishAgain()).verdict, 'passed')
  assert.deepEqual(await countPlaces(), { network: 2 })
})

test('a reservation that is over is made anew by the next call', async () => {
  await moveClockTo(harness, 9, 10)
  await dropCounters()
  const { recorder, ended } = await play(agent)
  await harness.advance(20 * minute)
  const again = verdictOf(await recorder.finishAgain())
  assert.equal(again.verdict, 'passed')
  assert.ok((again.validUntil ?? '') > (verdictOf(ended).validUntil ?? ''))
  await harness.runJobs()
  assert.deepEqual(await countPlaces(), { network: 2 })
})

for (const [name, script, verdict] of [
  ['who missed the questions', { answers: false }, { verdict: 'retry', reasons: ['questions_missed'] }],
  ['whose page was hidden', { visible: 0 }, { verdict: 'retry', reasons: ['page_hidden'] }],
  ['whose page a script drives', { trusted: 0 }, { verdict: 'failed', reasons: ['not_confirmed'] }],
  [
    'whose browser is driven, and who missed the questions',
    { webdriver: true, answers: false },
    { verdict: 'failed', reasons: ['not_confirmed'] },
  ],
] as const)
  test(`somebody ${name} is told so, and no place is held`, async () => {
    await dropCounters()
    const { recorder, ended } = await play(agent, script)
    assert.deepEqual(verdictOf(ended), verdict)
    assert.deepEqual(verdictOf(await recorder.finishAgain()), verdict)
    assert.deepEqual(await countPlaces(), {})
  })

/** Plays a session whose score waits for a lock, until `release` is called. */
const playUnscored = async () => {
  const holder = await harness.owner.connect()
  await holder.query('begin')
  await holder.query('lock table events in share mode')
  const played = await play(agent, { asksOnce: true })
  return { ...played, release: async () => (await holder.query('rollback'), holder.release()) }
}

test('finish answers pending where the score takes longer than a second, and the same bytes get the verdict later', async () => {
  const { recorder, ended, release } = await playUnscored()
  assert.deepEqual(verdictOf(ended), { verdict: 'pending', reasons: [] })
  assert.equal(ended.json.status, 'closed')
  assert.equal(verdictOf(await recorder.finishAgain()).verdict, 'pending')
  await release()
  await pollUntil(
    'the score is there',
    async () => verdictOf(await recorder.finishAgain()).verdict === 'passed',
  )
})

test('after a crash while scoring, the worker scores, and the same bytes get the verdict', async () => {
  const { recorder, ended, release } = await playUnscored()
  assert.equal(verdictOf(ended).verdict, 'pending')
  await harness.owner.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  await release()
  assert.equal(verdictOf(await recorder.finishAgain()).verdict, 'pending')
  // The worker leaves sessions to the api for their first seconds.
  await harness.advance(6_000)
  await harness.runJobs()
  assert.equal(verdictOf(await recorder.finishAgain()).verdict, 'passed')
})

test('below the floor of the agent a person steps up, and then passes with places of the stronger root', async () => {
  await moveClockTo(harness, 9, 10)
  await dropCounters()
  const shop = await registerPayingAgent(harness)
  await setPolicy(shop, { view: { minAssurance: 'substantial' } })
  const { recorder, ended, sessionId } = await play(shop)
  const asked = verdictOf(ended)
  assert.deepEqual([asked.verdict, asked.reasons], ['step_up', ['proof_needed']])
  const [way, ...more] = asked.stepUp ?? []
  assert.deepEqual([way?.kind, more], ['authenticator', []])
  assert.equal((await harness.call('GET', new URL(way?.url ?? '').pathname)).status, 200)
  assert.deepEqual(await countPlaces(), {}, 'nothing is held for a credential that cannot be minted')
  await openSecurityKey(harness, model).attest(shop.apiKey, sessionId)
  const told = verdictOf(await recorder.finishAgain())
  assert.deepEqual([told.verdict, told.reasons], ['passed', []])
  const held = { strong: 2, key: 1, model: 2 }
  assert.deepEqual(await countPlaces(), held)
  await recorder.finishAgain()
  assert.deepEqual(await countPlaces(), held)
  const minted = await verify(shop, sessionId)
  assert.deepEqual([minted.status, minted.json.assurance], [200, 'substantial'], minted.text)
  assert.deepEqual(await countPlaces(), held)
})

test('a step-up after passing reserves both roots; the mint keeps the stronger one and releases the network', async () => {
  await moveClockTo(harness, 9, 50)
  await dropCounters()
  const { recorder, ended, sessionId } = await play(agent)
  assert.equal(verdictOf(ended).verdict, 'passed')
  await openSecurityKey(harness, model).attest(agent.apiKey, sessionId)
  assert.equal(verdictOf(await recorder.finishAgain()).verdict, 'passed')
  assert.deepEqual(await countPlaces(), { network: 2, strong: 2, key: 1, model: 2 })
  await harness.advance(14 * minute)
  assert.equal((await verify(agent, sessionId)).json.assurance, 'substantial')
  await harness.runJobs()
  assert.deepEqual(await countPlaces(), { strong: 2, key: 1, model: 2 })
  const { rows } = await harness.owner.query('select from root_reservations')
  assert.equal(rows.length, 0)
})

test('a person on a busy network gets a step-up, and passes once a place is free or a key has answered', async () => {
  await moveClockTo(harness, 9, 10)
  await dropCounters()
  const address = '198.51.100.1'
  const first = await play(agent, { address })
  const second = await play(agent, { address })
  const third = await play(agent, { address })
  assert.deepEqual(
    [first, second].map(({ ended }) => verdictOf(ended).verdict),
    ['passed', 'passed'],
  )
  const busy = verdictOf(third.ended)
  assert.deepEqual([busy.verdict, busy.reasons, busy.stepUp?.length], ['step_up', ['network_busy'], 1])
  assert.ok((busy.retryAfter ?? 0) > 40 * 60 && (busy.retryAfter ?? 0) <= 50 * 60, String(busy.retryAfter))
  assertRefusal(await verify(agent, third.sessionId), 409, 'network_busy')
  await harness.owner.query('update root_reservations set expires_at = pohf_now() where session_id = $1', [
    first.sessionId,
  ])
  await harness.runJobs()
  assert.equal(verdictOf(await third.recorder.finishAgain()).verdict, 'passed')
  assert.equal((await verify(agent, third.sessionId)).status, 200, 'although it was refused a moment ago')
  assert.equal((await verify(agent, second.sessionId)).status, 200)
  const fourth = await play(agent, { address })
  await openSecurityKey(harness, model).attest(agent.apiKey, fourth.sessionId)
  assert.equal(verdictOf(fourth.ended).verdict, 'step_up')
  assert.equal(verdictOf(await fourth.recorder.finishAgain()).verdict, 'passed')
  assert.equal((await verify(agent, fourth.sessionId)).json.assurance, 'substantial')
})

test('a floor that no step-up reaches fails, and a suspended model asks for another one', async () => {
  const shop = await registerPayingAgent(harness)
  await setPolicy(shop, { view: { minAssurance: 'high' } })
  const { recorder, ended, sessionId } = await play(shop)
  assert.deepEqual(verdictOf(ended), { verdict: 'failed', reasons: ['proof_needed'] })
  await setPolicy(shop, {})
  await openSecurityKey(harness, model).attest(shop.apiKey, sessionId)
  await harness.owner.query(
    "insert into root_suspensions (kind, name, reason) values ('authenticator', $1, 'x')",
    [model.aaguid],
  )
  const told = verdictOf(await recorder.finishAgain())
  assert.deepEqual([told.verdict, told.reasons, told.stepUp?.length], ['step_up', ['proof_needed'], 1])
  await harness.owner.query('delete from root_suspensions')
  assert.equal(verdictOf(await recorder.finishAgain()).verdict, 'passed')
})

test('ordered work has no floor, and its verdict names no page', async () => {
  await moveClockTo(harness, 9, 10)
  const shop = await registerPayingAgent(harness)
  await setPolicy(shop, { work: { minAssurance: 'substantial' } })
  const work = { kind: 'work', challenge: 'asg_1', address: '198.51.100.2' } as const
  for (const verdict of ['passed', 'passed'])
    assert.equal(verdictOf((await play(shop, work)).ended).verdict, verdict)
  const busy = verdictOf((await play(shop, work)).ended)
  assert.deepEqual([busy.verdict, busy.reasons, busy.stepUp], ['failed', ['network_busy'], undefined])
  assert.ok((busy.retryAfter ?? 0) > 0)
  const other = verdictOf((await play(shop, { kind: 'work' })).ended)
  assert.deepEqual([other.verdict, other.reasons], ['step_up', ['proof_needed']])
})

test('an attention check passes and reserves no budget: personhood is another act', async () => {
  await dropCounters()
  const { ended } = await play(agent, { challenge: 'att_1' })
  assert.deepEqual(verdictOf(ended), { verdict: 'passed', reasons: [] })
  assert.deepEqual(await countPlaces(), {})
})

test('the sandbox has floors and no budgets', async () => {
  await dropCounters()
  const sandbox = await harness.register('test')
  const { recorder, ended } = await play(sandbox)
  assert.equal(verdictOf(ended).verdict, 'passed')
  assert.deepEqual(await countPlaces(), {})
  await setPolicy(sandbox, { view: { minAssurance: 'substantial' } })
  assert.deepEqual(verdictOf(await recorder.finishAgain()), { verdict: 'failed', reasons: ['proof_needed'] })
})

test('a day after its end a session has to be recorded again', async () => {
  const { recorder } = await play(agent)
  await harness.advance(24 * 60 * minute + 1_000)
  assert.deepEqual(verdictOf(await recorder.finishAgain()), { verdict: 'retry', reasons: ['interrupted'] })
})
