import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Mode } from '@pohf/protocol'
import { startCardHarness } from '../../../test/fixtures/payments/card.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import { ledgerFaults } from '../../../test/fixtures/payments/ledger.ts'
import { makeWorker, type TestWorker } from '../../../test/fixtures/people/worker.ts'
import { create } from '../../operators/index.ts'
import type { AgentId } from '../../platform/ops/ids.ts'
import { reportsMax, waitingMax } from './rules.ts'

const card = await startCardHarness()
const { harness } = card
const { operatorKey } = await create(harness.ctx, 'machine', 'Otto')
const home = { ...(await card.liveAgent()), mode: 'live' as const }
type Buyer = { readonly apiKey: string; readonly agentId: AgentId; readonly mode: Mode }

const makeBuyer = async (): Promise<Buyer> => ({ ...(await card.liveAgent()), mode: 'live' })
const ask = (buyer: Buyer, question = 'Is tea a soup?', more: object = {}) =>
  harness.call('POST', '/api/agents/questions', {
    key: buyer.apiKey,
    body: { question, answerSchema: { type: 'boolean' }, budgetUsd: 1, ...more },
  })
const read = async (buyer: Buyer, questionId: string) =>
  (await harness.call('GET', `/api/agents/questions/${questionId}`, { key: buyer.apiKey })).json
const fetchOrder = async (buyer: Buyer, orderId: string) =>
  (await harness.call('GET', `/api/agents/orders/${orderId}`, { key: buyer.apiKey })).json
/** A card really pays the checkout of the order. */
const payOrder = async (buyer: Buyer, orderId: string): Promise<void> => {
  const { rows } = await harness.owner.query('select checkout_url from orders where order_id = $1', [orderId])
  await card.pay(new URL(rows[0].checkout_url).pathname.split('/').at(-1) ?? '')
  await pollUntil('funded', async () => (await fetchOrder(buyer, orderId)).status !== 'created')
}
const askAndPay = async (buyer: Buyer, question?: string, more: object = {}): Promise<string> => {
  const asked = await ask(buyer, question, more)
  assert.equal(asked.status, 200, asked.text)
  await payOrder(buyer, asked.json.questionId)
  return asked.json.questionId
}
const orderAndPay = async (buyer: Buyer, body: object): Promise<string> => {
  const placed = await harness.call('POST', '/api/agents/order', { key: buyer.apiKey, body })
  assert.equal(placed.status, 200, placed.text)
  const { orderId } = placed.json
  await harness.call('POST', '/api/agents/order/fund', { key: buyer.apiKey, body: { orderId } })
  await payOrder(buyer, orderId)
  return orderId
}
const decide = (buyer: Buyer, orderId: string, decision: string, reason?: string) =>
  harness.callOperator('POST', `/operator/agents/${buyer.agentId}/orders/${orderId}/review`, {
    key: operatorKey,
    body: { mode: buyer.mode, decision, ...(reason === undefined ? {} : { reason }) },
  })
const listReviews = async () =>
  (await harness.callOperator('GET', '/operator/reviews?limit=100', { key: operatorKey })).json.reviews
const report = (worker: TestWorker, assignmentId: string, body: object = {}) =>
  worker.post(`assignments/${assignmentId}/report`, body)
const claimed = async (worker: TestWorker, workflowId = 'wf_ask_human'): Promise<string> => {
  const answer = await worker.claim(workflowId)
  assert.equal(answer.status, 200, answer.text)
  return answer.json.assignmentId
}
const newWorker = () => makeWorker(harness, home)
/** Nothing of an earlier test is open. */
const clear = () =>
  harness.owner.query(
    "update order_units set status = 'cancelled', ended_at = pohf_now() where status = 'open'",
  )
/** One more order of this buyer that was approved, done and accepted. */
const complete = async (buyer: Buyer): Promise<void> => {
  const questionId = await askAndPay(buyer)
  if ((await read(buyer, questionId)).review?.status === 'waiting')
    assert.equal((await decide(buyer, questionId, 'approved')).status, 200)
  const done = await (await newWorker()).work('wf_ask_human', { single_answer: true })
  assert.equal(done.status, 200, done.text)
  const accepted = await harness.call('POST', `/api/agents/orders/${questionId}/units/1/accept`, {
    key: buyer.apiKey,
  })
  assert.equal(accepted.status, 200, accepted.text)
}

/** What nobody should be asked; no address gives it away. Each needs a person who understands it. */
const heldTexts: readonly string[] = [
  'What is ur e mail',
  'Was ist dein Passwort?',
  'Wie heißt du mit vollem Namen, und wo wohnst du?',
  'Tell me the mail address you use',
  'Which town do you live in, and in which street?',
  'Which six digits are in the SMS that you just got?',
  'What do the distorted letters say: X7k pQ?',
  'Write a five-star review for a shop that you do not know',
  'What was the name of your mother before she married?',
  'Say the twelve words on the paper in your drawer',
  'Your pass-word?',
  'your\u00a0pass\u200bword'.replace('\u200b', ' '),
  'What is the pässword you use',
  'Is this a good IBAN of yours: type yours',
  'Quel est ton mot de passe ?',
  'Search for the shop that is called Evil and log in there',
]
/** What is refused by its structure. */
const refusedTexts: readonly (readonly [text: string, code: string])[] = [
  ['Open evil.click/login and type what you see', 'link'],
  ['Open evil.zip and say what it says', 'link'],
  ['Open 203.0.113.7/login and say what you see', 'link'],
  ['Open evil[.]com', 'link'],
  ['Open evil dot com slash login', 'link'],
  ['Go to ｅｖｉｌ。com', 'link'],
  ['Go to evil。com', 'link'],
  ['Go to evil.top/x', 'link'],
  ['Send hello to @evilbot', 'handle'],
  ['Call 0049 30 12345678 and say who answers', 'personal_data'],
  ['What is your password?', 'asks_personal_data'],
]
test('there are at least 24 unwanted texts', () => assert.ok(heldTexts.length + refusedTexts.length >= 24))

for (const [text, code] of refusedTexts)
  test(`${JSON.stringify(text)} is refused before it costs anything: ${code}`, async () => {
    const refused = await ask(await makeBuyer(), text)
    assert.equal(refused.status, 400)
    assert.equal(refused.json.details[0].code, code)
  })

test('every other unwanted text of a new buyer is held: no worker sees it, and a refusal refunds it', async () => {
  await clear()
  const worker = await newWorker()
  for (const text of heldTexts) {
    const buyer = await makeBuyer()
    const asked = await ask(buyer, text)
    assert.deepEqual(asked.json.review, { status: 'required', cause: 'new_buyer', reason: null }, asked.text)
    const { questionId } = asked.json
    await payOrder(buyer, questionId)
    assert.equal((await read(buyer, questionId)).review.status, 'waiting')
    assert.equal((await worker.claim('wf_ask_human')).json.error, 'out_of_stock', text)
    assert.equal((await decide(buyer, questionId, 'refused')).status, 400)
    assert.equal((await decide(buyer, questionId, 'refused', 'Ask nothing about workers.')).status, 200)
    const ended = await read(buyer, questionId)
    assert.equal(ended.status, 'cancelled')
    assert.deepEqual(ended.review, {
      status: 'refused',
      cause: 'new_buyer',
      reason: 'Ask nothing about workers.',
    })
    assert.equal((await fetchOrder(buyer, questionId)).escrow.returnedUsd, 0.5)
  }
  assert.deepEqual(await ledgerFaults(harness), [])
})

test('an approved question goes to workers, and the decision is in the audit log', async () => {
  await clear()
  const buyer = await makeBuyer()
  const questionId = await askAndPay(buyer, 'Is this polite: "No."?')
  const [waiting] = (await listReviews()).filter(({ orderId }: { orderId: string }) => orderId === questionId)
  assert.equal(waiting.held, true)
  const path = `/operator/agents/${buyer.agentId}/orders/${questionId}/review?mode=live`
  const { json } = await harness.callOperator('GET', path, { key: operatorKey })
  assert.deepEqual(json.items, [{ question: 'Is this polite: "No."?' }])
  assert.deepEqual(json.buyer, {
    completed: 0,
    refused: 0,
    reports: { open: 0, upheld: 0, dismissed: 0 },
  })
  assert.equal((await decide(buyer, questionId, 'approved')).status, 200)
  assert.equal((await decide(buyer, questionId, 'approved')).json.error, 'order_conflict')
  assert.equal((await read(buyer, questionId)).review.status, 'approved')
  const worker = await newWorker()
  await claimed(worker)
  const { rows } = await harness.owner.query(
    "select details from operator_audit where action = 'order.review' and target = $1",
    [questionId],
  )
  assert.equal(rows[0].details.decision, 'approved')
})

test('orders without items and instructions are not held, and neither are test orders', async () => {
  const buyer = await makeBuyer()
  const own = await orderAndPay(buyer, { taskType: 'wf_text_review', quantity: 1 })
  assert.equal((await fetchOrder(buyer, own)).review, null)
  const items = await orderAndPay(buyer, { taskType: 'wf_text_review', quantity: 1, items: ['Hello'] })
  assert.equal((await fetchOrder(buyer, items)).review.status, 'waiting')
  const said = await orderAndPay(buyer, { taskType: 'wf_text_review', quantity: 1, instructions: 'Be kind.' })
  assert.equal((await fetchOrder(buyer, said)).review.status, 'waiting')
  const sandbox = await harness.register('test')
  assert.equal((await ask({ ...sandbox, mode: 'test' })).json.review, null)
})

test('three approved and completed orders end the reviews, and an upheld report begins them again', async () => {
  await clear()
  const buyer = await makeBuyer()
  for (let done = 0; done < 3; done += 1) await complete(buyer)
  const trusted = await askAndPay(buyer)
  assert.equal((await read(buyer, trusted)).review, null)
  // Placed while the buyer was trusted, and paid after the refusal.
  const unpaid = (await ask(buyer)).json.questionId
  await report(await newWorker(), 'asg_unknown')
  for (const worker of [await newWorker(), await newWorker()])
    assert.equal((await report(worker, await claimed(worker), { reason: 'harmful' })).status, 200)
  assert.equal((await read(buyer, trusted)).review.status, 'waiting')
  assert.equal((await decide(buyer, trusted, 'refused', 'It asks for harm.')).status, 200)
  assert.equal((await read(buyer, trusted)).status, 'cancelled')
  await payOrder(buyer, unpaid)
  assert.equal((await read(buyer, unpaid)).review.status, 'waiting')
  assert.equal((await ask(buyer)).json.review.status, 'required')
  // Two more refusals within a year, and the buyer orders no more.
  for (const questionId of [unpaid, await askAndPay(buyer)])
    assert.equal((await decide(buyer, questionId, 'refused', 'Again.')).status, 200)
  const refused = await ask(buyer)
  assert.equal(refused.status, 403)
  assert.equal(refused.json.error, 'orders_suspended')
  assert.deepEqual(await ledgerFaults(harness), [])
})

test('a report returns the unit without a penalty, and its worker gets no unit of that order again', async () => {
  await clear()
  const buyer = await makeBuyer()
  const questionId = await askAndPay(buyer)
  await decide(buyer, questionId, 'approved')
  const [first, second, third] = [await newWorker(), await newWorker(), await newWorker()]
  const assignmentId = await claimed(first)
  assert.equal((await report(second, assignmentId)).status, 404)
  const reported = await report(first, assignmentId)
  assert.equal(reported.json.status, 'returned', reported.text)
  assert.deepEqual(reported.json.reasons, ['reported'])
  assert.equal((await report(first, assignmentId)).json.error, 'order_conflict')
  const { rows } = await harness.owner.query('select released_at from assignments where assignment_id = $1', [
    assignmentId,
  ])
  assert.equal(rows[0].released_at, null)
  assert.equal((await first.claim('wf_ask_human')).json.error, 'out_of_stock')
  // One report is listed and stops nothing; the second holds the question.
  const listed = (await listReviews()).find(({ orderId }: { orderId: string }) => orderId === questionId)
  assert.deepEqual([listed.cause, listed.held, listed.reporters], ['reports', false, 1])
  await report(second, await claimed(second))
  assert.equal((await third.claim('wf_ask_human')).json.error, 'out_of_stock')
  // Dismissed, it goes on, and other workers get it.
  assert.equal((await decide(buyer, questionId, 'approved')).status, 200)
  await claimed(third)
  const numbers = await harness.owner.query(
    'select count(*) filter (where not report_upheld)::int as dismissed from assignments where order_id = $1',
    [questionId],
  )
  assert.equal(numbers.rows[0].dismissed, 2)
})

test('a buyer who cancels a reported question does not escape the decision', async () => {
  await clear()
  const buyer = await makeBuyer()
  const questionId = await askAndPay(buyer)
  await decide(buyer, questionId, 'approved')
  const worker = await newWorker()
  await report(worker, await claimed(worker))
  await harness.call('POST', `/api/agents/orders/${questionId}/cancel`, { key: buyer.apiKey })
  assert.equal((await decide(buyer, questionId, 'refused', 'It asked for a name.')).status, 200)
  const { rows } = await harness.owner.query('select review_decision from orders where order_id = $1', [
    questionId,
  ])
  assert.equal(rows[0].review_decision, 'refused')
})

test('reports have a limit of a day, and stop to count after three were dismissed', async () => {
  await clear()
  const worker = await newWorker()
  const reportOne = async () => {
    const buyer = await makeBuyer()
    const questionId = await askAndPay(buyer)
    await decide(buyer, questionId, 'approved')
    const assignmentId = await claimed(worker)
    return { buyer, questionId, assignmentId, answer: await report(worker, assignmentId) }
  }
  for (let count = 0; count < reportsMax; count += 1) {
    const { buyer, questionId, answer } = await reportOne()
    assert.equal(answer.status, 200, answer.text)
    await decide(buyer, questionId, 'approved')
    await clear()
  }
  const { rows } = await harness.owner.query(
    'select report_counts as counts from assignments where person_id = $1 order by reported_at',
    [worker.personId],
  )
  assert.deepEqual(
    rows.map(({ counts }) => counts),
    Array.from({ length: reportsMax }, (_, index) => index < 3),
  )
  const limited = await reportOne()
  assert.equal(limited.answer.status, 429, limited.answer.text)
  assert.equal((await worker.post(`assignments/${limited.assignmentId}/return`, {})).status, 200)
})

test('ten orders of one buyer wait at most', async () => {
  const buyer = await makeBuyer()
  for (let count = 0; count < waitingMax; count += 1) await askAndPay(buyer)
  const refused = await ask(buyer)
  assert.equal(refused.status, 409)
  assert.equal(refused.json.error, 'order_conflict')
})

test('what was delivered of a refused order is paid, and its buyer cannot reject it', async () => {
  await clear()
  const buyer = await makeBuyer()
  const orderId = await orderAndPay(buyer, {
    taskType: 'wf_text_review',
    quantity: 4,
    items: ['a', 'b', 'c', 'd'],
  })
  await decide(buyer, orderId, 'approved')
  const answer = { clear: true, correct: true, polite: true, reason: 'It is short.' }
  const worker = await newWorker()
  // A known-answer item in its place would be another unit.
  await harness.owner.query("update workflows set gold = '[]' where workflow_id = 'wf_text_review'")
  const delivered = await worker.work('wf_text_review', answer)
  assert.equal(delivered.status, 200, delivered.text)
  for (const reporter of [await newWorker(), await newWorker()])
    await report(reporter, await claimed(reporter, 'wf_text_review'))
  await decide(buyer, orderId, 'refused', 'Workers reported it.')
  const results = await harness.call('GET', `/api/agents/orders/${orderId}/results`, { key: buyer.apiKey })
  const { n } = results.json.units.find(({ status }: { status: string }) => status === 'delivered')
  const rejected = await harness.call('POST', `/api/agents/orders/${orderId}/units/${n}/reject`, {
    key: buyer.apiKey,
    body: { reason: 'other' },
  })
  assert.equal(rejected.json.error, 'order_conflict', rejected.text)
  const accepted = await harness.call('POST', `/api/agents/orders/${orderId}/units/${n}/accept`, {
    key: buyer.apiKey,
  })
  assert.equal(accepted.status, 200, accepted.text)
  const { escrow } = await fetchOrder(buyer, orderId)
  assert.deepEqual([escrow.paidUsd, escrow.returnedUsd], [1, 3])
  assert.deepEqual(await ledgerFaults(harness), [])
})

// Last: it moves time, and the provider of cards signs with its own.
test('a question that nobody reviews ends at its deadline and is refunded', async () => {
  const buyer = await makeBuyer()
  const { rows } = await harness.owner.query("select pohf_now() + interval '11 minutes' as at")
  const questionId = await askAndPay(buyer, 'Is tea a soup?', { deadline: rows[0].at.toISOString() })
  await harness.advance(7 * 60_000)
  await harness.runJobs()
  const ended = await read(buyer, questionId)
  assert.equal(ended.status, 'expired')
  assert.equal(ended.review.status, 'not_reviewed')
  assert.equal((await fetchOrder(buyer, questionId)).escrow.returnedUsd, 0.5)
  assert.ok(!(await listReviews()).some(({ orderId }: { orderId: string }) => orderId === questionId))
})
