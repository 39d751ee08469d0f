import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { startHarness } from '../fixtures/harness.ts'
import { enrolMember, registerConfirmedAgent } from '../fixtures/people/member.ts'
import { giveTask } from '../fixtures/people/micro-task.ts'
import { playSession } from '../fixtures/people/play-session.ts'
import { assertRefusal } from '../fixtures/refusal.ts'
import { makeScoredSession } from '../fixtures/scored-session.ts'

const harness = await startHarness()
const live = await registerConfirmedAgent(harness, 'live', 'dev@agent.example')
const call = (path: string, body: unknown, key = live.apiKey) =>
  harness.call('POST', `/api/agents/${path}`, { key, body })
const subjectOf = (answer: { readonly json: { readonly pohf_jwt: string } }) =>
  decodeJwt(answer.json.pohf_jwt).sub

/** A micro-task that a visitor has attended to; `complete` sends the answer, and who the visitor says they are. */
const attendTask = async () => {
  const { token, answer } = giveTask(harness, live)
  const recording = (await playSession(harness, { site: live.agentId, kind: 'task' })).sessionId
  const complete = async (memberRef?: string) => {
    const body = { token, answer, sessionId: recording, memberRef }
    return (await harness.call('POST', '/api/tasks/complete', { body })).json as {
      verified: boolean
      sessionId: string
      reason?: string
    }
  }
  return { recording, complete }
}
const completeTask = async (memberRef?: string) => {
  const { recording, complete } = await attendTask()
  const { verified, sessionId, reason } = await complete(memberRef)
  assert.equal(verified, true, reason)
  return { recording, sessionId }
}

test('a visitor who names an enrolled member in a micro-task does not become that member', async () => {
  const { memberId } = await enrolMember(harness, live)
  const member = await call('verify-personhood', { memberId })
  const { sessionId } = await completeTask(memberId)
  const task = await call('verify', { sessionId })
  assert.equal(task.status, 200, task.text)
  assert.notEqual(subjectOf(task), subjectOf(member), 'the page cannot choose the subject of a credential')
  const bound = await call('bind-transaction', { paymentRef: 'invoice 17', sessionId, memberId })
  assertRefusal(bound, 400, 'anchor_mismatch')
  // The reference of a site for its own visitor still gives one subject for all of their tasks.
  const verifyTask = async () => {
    const visitor = await completeTask('visitor-7')
    return subjectOf(await call('verify', { sessionId: visitor.sessionId }))
  }
  assert.equal(await verifyTask(), await verifyTask())
})

test('one recorded attention gives one credential: that of the micro-task or that of the recording', async () => {
  const first = await completeTask()
  assert.equal((await call('verify', { sessionId: first.sessionId })).status, 200)
  const again = await call('verify', { sessionId: first.recording })
  assertRefusal(again, 409, 'session_rejected')
  assert.equal(again.json.details[0].code, 'session_used')
  assert.equal((await call('verify', { sessionId: first.sessionId })).status, 200, 'the repeat stays')
  for (let round = 0; round < 3; round += 1) {
    const { recording, complete } = await attendTask()
    const [verified, completed] = await Promise.all([call('verify', { sessionId: recording }), complete()])
    assert.notEqual(verified.status === 200, completed.verified, 'of two at the same time, one')
  }
})

test('what the sandbox made is nothing to a live key, and the reverse', async () => {
  const sandbox = await harness.register('test')
  const { sessionId } = await makeScoredSession(harness, sandbox)
  assertRefusal(await call('verify', { sessionId }), 404, 'not_found')
  const enrolled = await enrolMember(harness, sandbox)
  assertRefusal(await call('verify-personhood', { memberId: enrolled.memberId }), 404, 'not_found')
  const { json: challenge } = await call('attest/challenge', {}, sandbox.apiKey)
  const attested = await call('attest/verify', {
    method: 'webauthn',
    nonce: challenge.nonce,
    subjectRef: 'x',
    evidence: {},
  })
  assert.notEqual(attested.json.attested, true, attested.text)
  const liveSession = await makeScoredSession(harness, live)
  const simulated = await call('verify', { sessionId: liveSession.sessionId }, sandbox.apiKey)
  assert.equal(simulated.headers['x-sandbox'], 'simulated', 'an unknown id is a simulated person there')
  const left = await call('verify', { sessionId: liveSession.sessionId })
  assert.equal(left.status, 200, 'and the live session is as it was')
})
