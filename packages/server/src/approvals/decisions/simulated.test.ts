import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import type { Claims } from '@pohf/verify'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { makeApproval } from '../../../test/fixtures/people/approver.ts'

const harness = await startHarness()
const agent = await harness.register('test')
const request = (approvers: readonly string[], requestId: string, key = agent.apiKey) =>
  harness.call('POST', '/api/agents/approvals', {
    key,
    body: { type: 'test.pay', action: { amount: '1.00' }, requestId, approvers },
  })

test('in the sandbox a simulated person approves at once, with a test credential over the shown action', async () => {
  const answer = await request(['apv_test_approves'], 'one')
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.json.status, 'approved')
  const [decision] = answer.json.decisions
  const claims = decodeJwt(decision.pohf_jwt)
  assert.equal(claims['test'], true)
  const { decision: said, envelope_hash: hash } = claims['approval'] as Record<string, unknown>
  assert.deepEqual([said, hash], ['approve', answer.json.envelopeHash])
  const { key, enrolled, decided, needed } = claims['approver'] as NonNullable<Claims['approver']>
  assert.deepEqual(
    [key, enrolled.by, enrolled.way, decided, needed],
    ['unknown', 'simulated', 'in_console', 1, 1],
  )
  assert.equal((claims['evidence'] as { type: string }[])[0]?.type, 'simulated')
  // A repeat decides nothing again.
  const again = await request(['apv_test_approves'], 'one')
  assert.equal(again.json.decisions[0].credentialId, decision.credentialId)
})

test('one simulated approver denies, and one never decides', async () => {
  const denied = await request(['apv_test_denies'], 'two')
  assert.deepEqual([denied.json.status, denied.json.decisions[0].decision], ['denied', 'deny'])
  const silent = await request(['apv_test_silent'], 'three')
  assert.deepEqual([silent.json.status, silent.json.decisions], ['pending', []])
})

test('in live mode the simulated people are not people', async () => {
  const live = await harness.register('live')
  const answer = await request(['apv_test_approves'], 'four', live.apiKey)
  assert.notEqual(answer.status, 200)
  // Even where one of them were an approver of a live approval, nobody decides for them.
  const made = await makeApproval(harness, live, [{ approver: 'apv_test_approves' }])
  const { decideSimulated } = await import('./simulated.ts')
  await decideSimulated({ ctx: harness.ctx } as Parameters<typeof decideSimulated>[0], made)
  const { rows } = await harness.owner.query('select status from approvals where approval_id = $1', [
    made.approvalId,
  ])
  assert.deepEqual(rows, [{ status: 'pending' }])
})
