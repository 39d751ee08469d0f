import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness, type TestResponse } from '../../../test/fixtures/harness.ts'
import { makeWorker } from '../../../test/fixtures/people/worker.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import {
  assertRefusalOrder,
  namesInOrder,
  refusalNames,
  withoutTriggers,
  type RefusalStep,
} from '../../../test/fixtures/refusal-order.ts'
import * as operators from '../../operators/index.ts'
import { deliveryRefusals } from './deliver.ts'

const harness = await startHarness()
const { owner } = harness
const buyer = await harness.register('test')
const home = await harness.register('test')
const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
const worker = await makeWorker(harness, home)
const stranger = await makeWorker(harness, home)
const callAsBuyer = async (path: string, body: object) => {
  const answer = await harness.call('POST', `/api/agents/${path}`, { key: buyer.apiKey, body })
  assert.equal(answer.status, 200, answer.text)
  return answer.json
}

// A unit that the worker has claimed, and its recording, which the buyer has verified and an operator revoked.
const { orderId } = await callAsBuyer('order', { taskType: 'wf_judge', quantity: 1, items: ['Well?'] })
await callAsBuyer('order/fund', { orderId })
const { json: assignment } = await worker.claim('wf_judge')
const { assignmentId, challenge } = assignment
const sessionId = await worker.record(assignment)
const { credentialId } = await callAsBuyer('verify', { sessionId })
const revoked = await harness.callOperator('POST', `/operator/credentials/${credentialId}/revoke`, {
  key: operatorKey,
  body: { reason: 'planted' },
})
assert.equal(revoked.status, 200, revoked.text)

const assignmentSql = (change: string) =>
  `update assignments set ${change} where assignment_id = '${assignmentId}'`
const sessionSql = (change: string) => `update sessions set ${change} where session_id = '${sessionId}'`
const memberSql = (status: string) =>
  `update members set status = '${status}' where member_id = '${worker.memberId}'`
const inTime = "due_at = pohf_now() + interval '30 minutes'"
const late = "due_at = pohf_now() - interval '1 second'"
const changeRow = (statement: string) => () => withoutTriggers(owner, statement)

/** The request, and what happens to its assignment between the checks and the commit. */
const delivery: { sender: typeof worker; answer: object; meanwhile: string | undefined } = {
  sender: stranger,
  answer: {},
  meanwhile: `status = 'returned', ${late}`,
}
/** The assignment is claimed again; before the next commit something else happens to it. */
const changeMeanwhile = (change: string | undefined) => () => {
  delivery.meanwhile = change
  return withoutTriggers(owner, assignmentSql(`status = 'claimed', ${inTime}`))
}

const hasLockWaiter = async (): Promise<boolean> => {
  const { rowCount } = await owner.query(
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  )
  return rowCount === 1
}
/** Delivers while another transaction has locked the order: the commit waits, and the assignment changes meanwhile. */
const deliver = async (): Promise<TestResponse> => {
  const { sender, answer, meanwhile } = delivery
  if (meanwhile === undefined) return sender.deliver(assignmentId, sessionId, answer)
  const client = await owner.connect()
  try {
    await client.query('begin')
    await client.query('set local session_replication_role = replica')
    await client.query('select from orders where order_id = $1 for update', [orderId])
    const response = sender.deliver(assignmentId, sessionId, answer)
    const hasAnswer = response.then(() => true)
    await pollUntil('an answer, or a delivery that waits for the order', () =>
      Promise.race([hasAnswer, hasLockWaiter()]),
    )
    if (await hasLockWaiter()) await client.query(assignmentSql(meanwhile))
    await client.query('commit')
    return await response
  } finally {
    client.release()
  }
}

const conflict = { status: 409, error: 'order_conflict' } as const
const steps: readonly RefusalStep[] = [
  {
    name: 'assignment_not_found',
    status: 404,
    error: 'not_found',
    message: /You have no such unit/,
    removeReason: () => {
      delivery.sender = worker
    },
  },
  {
    name: 'assignment_not_claimed',
    ...conflict,
    message: /This work is returned/,
    removeReason: changeRow(assignmentSql("status = 'claimed'")),
  },
  {
    name: 'claim_expired',
    ...conflict,
    message: /Your time for this unit is over/,
    removeReason: changeRow(assignmentSql(inTime)),
  },
  {
    name: 'answer_invalid',
    status: 400,
    error: 'validation_failed',
    message: /body\.answer/,
    removeReason: () => {
      delivery.answer = { judgement: 'It is fine. I think so.', sure: 4 }
    },
  },
  {
    name: 'session_of_other_work',
    status: 404,
    error: 'not_found',
    message: /belongs to other work/,
    removeReason: changeRow(sessionSql(`challenge = '${challenge}'`)),
  },
  {
    name: 'session_expired',
    status: 409,
    error: 'session_expired',
    message: /recording has expired/,
    removeReason: changeRow(sessionSql("status = 'closed'")),
  },
  {
    name: 'session_not_ready',
    status: 409,
    error: 'session_not_ready',
    removeReason: changeRow(sessionSql("status = 'scored'")),
  },
  {
    name: 'worker_not_enrolled',
    status: 409,
    error: 'member_not_enrolled',
    message: /no longer enrolled/,
    removeReason: changeRow(memberSql('enrolled')),
  },
  {
    name: 'credential_refused',
    status: 409,
    error: 'credential_revoked',
    removeReason: changeRow(
      `delete from credential_states where credential_id = '${credentialId}' and state = 'revoked'`,
    ),
  },
  {
    name: 'unit_not_held',
    ...conflict,
    message: /no longer hold this unit/,
    removeReason: changeMeanwhile(`status = 'delivered', ${late}`),
  },
  {
    name: 'held_unit_not_claimed',
    ...conflict,
    message: /This work is delivered/,
    removeReason: changeMeanwhile(late),
  },
  {
    name: 'held_claim_expired',
    ...conflict,
    message: /Your time for this unit is over/,
    removeReason: changeMeanwhile(undefined),
  },
]

test('a delivery is refused in the order of its list', async () => {
  await withoutTriggers(
    owner,
    assignmentSql(`status = 'returned', ${late}`),
    sessionSql("status = 'expired', credential_id = null, challenge = 'another'"),
    memberSql('withdrawn'),
  )
  const answer = await assertRefusalOrder(deliver, steps)
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.json.status, 'delivered')
  assert.deepEqual(namesInOrder(steps), refusalNames(deliveryRefusals))
})
