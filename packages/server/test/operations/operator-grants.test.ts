import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modes } from '@pohf/protocol'
import { platformAgentId } from '../../src/agents/index.ts'
import * as operators from '../../src/operators/index.ts'
import { startHarness } from '../fixtures/harness.ts'
import { ledgerFaults } from '../fixtures/payments/ledger.ts'
import { openBrowser, proveAttention } from '../fixtures/people/member.ts'
import { makePasskey } from '../fixtures/people/authenticator.ts'
import { assertRefusal } from '../fixtures/refusal.ts'
import { makeScoredSession } from '../fixtures/scored-session.ts'

// A deployment without a mail server and without a card provider.
const harness = await startHarness()
const ada = await operators.create(harness.ctx, 'machine', 'Ada')
const operate = (path: string, body: object) =>
  harness.callOperator('POST', `/operator/${path}`, { key: ada.operatorKey, body })
const register = async (mode: 'live' | 'test', contactEmail: string) =>
  (await harness.call('POST', '/api/agents/register', { body: { name: 'New', contactEmail, mode } })).json
const verify = (apiKey: string, sessionId: string) =>
  harness.call('POST', '/api/agents/verify', { key: apiKey, body: { sessionId } })
const balanceOf = async (apiKey: string) =>
  (await harness.call('GET', '/api/agents/credits/balance', { key: apiKey })).json
const auditOf = async (target: string): Promise<string[]> => {
  const { json } = await harness.callOperator('GET', '/operator/audit?limit=1000', { key: ada.operatorKey })
  assert.equal(json.intact, true)
  return (json.entries as { action: string; target: string }[])
    .filter((entry) => entry.target === target)
    .map(({ action }) => action)
}
const hint = /Confirm the contact mail address of the agent: 1,000 free verifications a month, no card needed/

test('registration and the 402 say what to do next, and an operator who confirms the address gives the free plan', async () => {
  const agent = await register('live', 'first@example.com')
  assert.match(agent.next, hint)
  assert.match(agent.next, /ask its operator/)
  const { sessionId } = await makeScoredSession(harness, agent, {})
  const refused = await verify(agent.apiKey, sessionId)
  assert.equal(refused.status, 402)
  assert.match(refused.json.message, hint)
  assert.equal(refused.json.buy, `${harness.ctx.config.BASE_URL}/buy`)

  const path = `agents/${agent.agentId}/email/confirm`
  for (let times = 0; times < 2; times++)
    assert.deepEqual((await operate(path, { reason: 'known by phone' })).json, {
      agentId: agent.agentId,
      confirmed: true,
    })
  const minted = await verify(agent.apiKey, sessionId)
  assert.equal(minted.status, 200, minted.text)
  assert.equal((await balanceOf(agent.apiKey)).freeRemaining, 999)
  assert.deepEqual(await auditOf(agent.agentId), ['agent.confirm'], 'the second call changed nothing')
})

test('with a mail server the hint names the mailed link; a test key needs no step', async () => {
  const { nextStep } = await import('../../src/agents/register.ts')
  const config = { ...harness.ctx.config, SMTP_URL: 'smtp://127.0.0.1:25' }
  assert.match(nextStep({ config }, 'live'), /Open the link that was mailed/)
  assert.match((await register('test', 'test@example.com')).next, /no credits/)
})

test('the address of the platform agent and of nobody cannot be confirmed', async () => {
  for (const mode of modes) {
    const path = `agents/${platformAgentId(harness.ctx.config, mode)}/email/confirm`
    assertRefusal(await operate(path, { reason: 'none' }), 404, 'not_found')
  }
  assertRefusal(await operate('agents/agt_nobody/email/confirm', { reason: 'none' }), 404, 'not_found')
})

test('granted credits verify without a confirmed address, post once per reference, and are audited', async () => {
  const agent = await register('live', 'second@example.com')
  const { sessionId } = await makeScoredSession(harness, agent, {})
  const path = `agents/${agent.agentId}/credits`
  const grant = { credits: 5, reference: 'trial 1', reason: 'trial' }
  const answers = await Promise.all(Array.from({ length: 20 }, () => operate(path, grant)))
  assert.ok(answers.every(({ status, json }) => status === 200 && json.balance === 5))
  assert.equal(answers.filter(({ json }) => json.repeated === false).length, 1)
  assertRefusal(await operate(path, { ...grant, credits: 6 }), 422, 'idempotency_key_reused')
  assert.equal((await verify(agent.apiKey, sessionId)).status, 200)
  const { balance, lifetimePurchased, lifetimeConsumed } = await balanceOf(agent.apiKey)
  assert.deepEqual([balance, lifetimePurchased, lifetimeConsumed], [4, 0, 1], 'a grant is no purchase')
  assert.deepEqual(await auditOf(agent.agentId), ['credits.grant'])
  const { rows } = await harness.owner.query(
    "select data from events where agent_id = $1 and type = 'credits.granted'",
    [agent.agentId],
  )
  assert.deepEqual(rows, [{ data: { balance: 5, credits: 5 } }])
  assertRefusal(await operate('agents/agt_nobody/credits', grant), 404, 'not_found')
  assert.deepEqual(await ledgerFaults(harness), [])
})

test('an operator invites a worker, who enrols and sees the work of this deployment', async () => {
  const invited = await operate('workers/invite', { mode: 'live', externalRef: 'worker 1' })
  assert.equal(invited.status, 200, invited.text)
  const token = String(invited.json.enrolUrl).split('/m/')[1] ?? ''
  const browser = openBrowser(harness)
  const agreed = await browser.agree(token, makePasskey())
  assert.equal(agreed.status, 200, agreed.text)
  const { site, challenge } = agreed.json
  assert.equal(site, platformAgentId(harness.ctx.config, 'live'))
  const { answer } = await proveAttention(harness, browser, { token, site, challenge })
  assert.equal(answer.status, 200, answer.text)
  const headers = { cookie: browser.cookie() ?? '' }
  assert.equal((await harness.call('GET', '/api/work/tasks', { headers })).status, 200)
  const again = await operate('workers/invite', { mode: 'live', externalRef: 'worker 1' })
  assert.equal(again.json.memberId, invited.json.memberId, 'the same reference is the same person')
  assert.deepEqual(await auditOf(platformAgentId(harness.ctx.config, 'live')), [
    'worker.invite',
    'worker.invite',
  ])
})
