import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { registerPayingAgent, type LiveAgent } from '../../test/fixtures/networks.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'
import { makeScoredSession } from '../../test/fixtures/scored-session.ts'

const harness = await startHarness()
const agent = await registerPayingAgent(harness)
const dayMs = 86_400_000
const verify = (by: LiveAgent, sessionId: string) =>
  harness.call('POST', '/api/agents/verify', { key: by.apiKey, body: { sessionId } })
const readBalance = async (): Promise<number> =>
  (await harness.call('GET', '/api/agents/credits/balance', { key: agent.apiKey })).json.balance

test('the first credential of a session is minted within a day of its end, and a later call is not charged', async () => {
  const [early, late] = [await makeScoredSession(harness, agent), await makeScoredSession(harness, agent)]
  await harness.advance(dayMs - 60_000)
  const inTime = await verify(agent, early.sessionId)
  assert.equal(inTime.status, 200, inTime.text)
  const before = await readBalance()
  await harness.advance(120_000)
  const tooLate = await verify(agent, late.sessionId)
  assertRefusal(tooLate, 409, 'session_expired')
  assert.match(tooLate.json.message, /within 24 hours of its end/)
  assert.equal(await readBalance(), before)
})

test('a repeat gets its credential on any later day, and an expired credential is minted anew', async () => {
  const { sessionId } = await makeScoredSession(harness, agent)
  const { json: first } = await verify(agent, sessionId)
  await harness.advance(3 * dayMs)
  const repeated = await verify(agent, sessionId)
  assert.equal(repeated.json.pohf_jwt, first.pohf_jwt, repeated.text)
  const before = await readBalance()
  await harness.advance(28 * dayMs)
  const renewed = await verify(agent, sessionId)
  assert.equal(renewed.status, 200, renewed.text)
  assert.notEqual(renewed.json.credentialId, first.credentialId)
  assert.equal(await readBalance(), before - 1)
})

test('a session of the sandbox can get its first credential later than a day after its end', async () => {
  const sandbox = await harness.register('test')
  const { sessionId } = await makeScoredSession(harness, sandbox)
  await harness.advance(3 * dayMs)
  assert.equal((await verify(sandbox, sessionId)).status, 200)
})
