import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as operators from '../../src/operators/index.ts'
import { buildJobs } from '../../src/wiring/index.ts'
import { runJobs, startHarness } from '../fixtures/harness.ts'
import { ledgerFaults } from '../fixtures/payments/ledger.ts'
import { giveStars } from '../fixtures/people/stars.ts'
import { makeWorker, type TestWorker } from '../fixtures/people/worker.ts'
import { assertRefusal } from '../fixtures/refusal.ts'

const harness = await startHarness({ PAYOUT_APPROVAL: 'on' })
const buyer = await harness.register('test')
const home = await harness.register('test')
const ada = await operators.create(harness.ctx, 'machine', 'Ada')
const bob = await operators.create(harness.ctx, 'machine', 'Bob')
const call = (path: string, body?: unknown) =>
  harness.call('POST', `/api/agents/${path}`, { key: buyer.apiKey, ...(body === undefined ? {} : { body }) })
const operate = (key: string, path: string, body?: unknown) =>
  harness.callOperator('POST', `/operator/${path}`, { key, ...(body === undefined ? {} : { body }) })
const answer = { judgement: 'It is fine. I think so.', sure: 4 }

const commission = async (question: string): Promise<string> => {
  const { json } = await call('order', { taskType: 'wf_judge', quantity: 1, items: [question] })
  assert.equal((await call('order/fund', { orderId: json.orderId })).status, 200)
  return String(json.orderId)
}
const statusesOf = (answers: readonly { readonly status: number }[]) =>
  answers.map(({ status }) => status).toSorted((one, other) => one - other)
const requestPayout = (worker: TestWorker, stars: number) =>
  worker.post('payout', { mode: 'test', stars, account: `acct_${worker.memberId}` })

test('one operator cannot approve a payout with a second key of their own making', async () => {
  const worker = await makeWorker(harness, home)
  await giveStars(harness, worker, 50n, 'test')
  const { json } = await requestPayout(worker, 50)
  const second = await operate(ada.operatorKey, 'operators', { name: 'Ada again' })
  assert.equal(second.status, 200, second.text)
  const path = `payouts/${json.requestId}`
  assertRefusal(await operate(second.json.operatorKey, `${path}/review`), 403, 'forbidden')
  assert.equal((await operate(ada.operatorKey, `${path}/review`)).status, 200)
  assertRefusal(await operate(second.json.operatorKey, `${path}/approve`), 403, 'forbidden')
  const third = await operate(second.json.operatorKey, 'operators', { name: 'Ada once more' })
  assertRefusal(await operate(third.json.operatorKey, `${path}/approve`), 403, 'forbidden')
  assert.equal((await operate(bob.operatorKey, `${path}/approve`)).status, 200)
})

test('a worker who asks for the same Stars ten times at once is owed them once', async () => {
  const worker = await makeWorker(harness, home)
  await giveStars(harness, worker, 100n, 'test')
  const answers = await Promise.all(Array.from({ length: 10 }, () => requestPayout(worker, 60)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  const [book] = (await worker.get('earnings')).json.books.filter(
    ({ mode }: { mode: string }) => mode === 'test',
  )
  assert.deepEqual([book.vestedStars, book.heldStars, book.paidStars], [40, 60, 0])
  assert.deepEqual(await ledgerFaults(harness), [])
})

test('a worker who lets a claim run out does not get the same unit again', async () => {
  const orderId = await commission('Whose is it?')
  const idle = await makeWorker(harness, home)
  const { json: claim } = await idle.claim('wf_judge')
  await harness.advance(Date.parse(claim.dueAt) - harness.ctx.clock.now().getTime() + 1_000)
  const claimJobs = buildJobs(harness.ctx).filter(({ name }) => name === 'work claims')
  assert.equal(claimJobs.length, 1)
  await runJobs(claimJobs)
  assertRefusal(await idle.claim('wf_judge'), 409, 'out_of_stock')
  const diligent = await makeWorker(harness, home)
  assert.equal((await diligent.work('wf_judge', answer)).json.status, 'delivered')
  await call(`orders/${orderId}/units/1/accept`)
})

test('a worker appeals a rejection once, and the decision ends it', async () => {
  const orderId = await commission('Is it good?')
  const worker = await makeWorker(harness, home)
  const { json: work } = await worker.work('wf_judge', answer)
  await call(`orders/${orderId}/units/1/reject`, { reason: 'low_effort' })
  const appeal = () => worker.post(`assignments/${work.assignmentId}/appeal`, { text: 'I did it well.' })
  const appeals = await Promise.all([appeal(), appeal(), appeal()])
  assert.deepEqual(statusesOf(appeals), [200, 409, 409])
  const decide = () =>
    operate(ada.operatorKey, `appeals/${work.assignmentId}/decide`, { decision: 'refused', reason: 'Seen.' })
  const decisions = await Promise.all([decide(), decide()])
  assert.deepEqual(statusesOf(decisions), [200, 409])
  assertRefusal(await appeal(), 409, 'order_conflict')
})
