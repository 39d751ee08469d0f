import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { enrolApprover, makeApproval } from '../../../test/fixtures/people/approver.ts'
import { openBrowser } from '../../../test/fixtures/people/member.ts'
import { playSession } from '../../../test/fixtures/people/play-session.ts'

const harness = await startHarness()

test('a recording of a decision, from the page to the credential', async () => {
  const agent = await harness.register('test')
  const person = await enrolApprover(harness, agent)
  const { approvalId } = await makeApproval(harness, agent, [person])
  const { json } = await person.read(approvalId)
  const { site, challenge } = json as { site: string; challenge: string }
  const headers = { origin: openBrowser(harness).origin }
  const { sessionId, ended } = await playSession(harness, { site, kind: 'approval', challenge, headers })
  assert.equal(ended.json.verdict, 'passed', ended.text)
  const decided = await person.decideWhole(approvalId, { decision: 'approve', sessionId })
  assert.equal(decided.status, 200, decided.text)
  assert.ok(decided.json.credentialId)
  const after = await person.read(approvalId)
  assert.deepEqual([after.status, after.json.status, after.json.ownDecision], [200, 'approved', 'approve'])
  assert.equal(after.json.own.credentialId, decided.json.credentialId)
  assert.ok(after.json.own.inViewSeconds >= 3)
})
