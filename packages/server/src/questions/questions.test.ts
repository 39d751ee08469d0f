import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verifyCredential, type Fetch } from '@pohf/verify'
import { startHarness } from '../../test/fixtures/harness.ts'
import { ledgerFaults } from '../../test/fixtures/payments/ledger.ts'
import { makeWorker } from '../../test/fixtures/people/worker.ts'

const harness = await startHarness()
const agent = await harness.register('test')
const other = await harness.register('test')
const live = await harness.register('live')
const home = await harness.register('test')

const inMinutes = async (minutes: number) => {
  const { rows } = await harness.owner.query('select pohf_now() as now')
  return new Date(rows[0].now.getTime() + minutes * 60_000).toISOString()
}
const question = 'Which of these words sounds friendlier?'
const answerSchema = { enum: ['hello', 'greetings'] }
const ask = (
  body: object = {},
  { key = agent.apiKey, headers = {} }: { key?: string; headers?: Record<string, string> } = {},
) =>
  harness.call('POST', '/api/agents/questions', {
    key,
    headers,
    body: { question, answerSchema, budgetUsd: 1, ...body },
  })
const read = (questionId: unknown, key = agent.apiKey) =>
  harness.call('GET', `/api/agents/questions/${String(questionId)}`, { key })
const quote = (body: object, key = agent.apiKey) =>
  harness.call('POST', '/api/agents/questions/quote', { key, body: { question, answerSchema, ...body } })
const countOrders = async () =>
  (await harness.owner.query('select count(*)::int as count from orders')).rows[0].count
const fetchFrom: Fetch = async (address) => {
  const answer = await harness.call('GET', new URL(address).pathname)
  return new Response(answer.text, { status: answer.status })
}

test('a question goes from the quote to an accepted answer with a credential that verifies', async () => {
  const worker = await makeWorker(harness, home)
  const quoted = await quote({})
  assert.equal(quoted.status, 200, quoted.text)
  assert.equal(quoted.json.priceUsd, 0.5)
  assert.equal(quoted.json.expectedSeconds, null)
  const asked = await ask({ deadline: await inMinutes(60) })
  assert.equal(asked.status, 200, asked.text)
  const { questionId } = asked.json
  assert.equal(asked.json.status, 'queued')
  assert.equal(asked.json.priceUsd, 0.5)
  assert.equal(asked.json.answer, null)
  const claimed = await worker.claim('wf_ask_human')
  assert.equal(claimed.status, 200, claimed.text)
  assert.deepEqual(claimed.json.input, { question })
  assert.equal((await read(questionId)).json.status, 'claimed')
  const sessionId = await worker.record(claimed.json)
  const garbage = await worker.deliver(claimed.json.assignmentId, sessionId, { single_answer: 'hi' })
  assert.equal(garbage.status, 400)
  const delivered = await worker.deliver(claimed.json.assignmentId, sessionId, { single_answer: 'hello' })
  assert.equal(delivered.status, 200, delivered.text)
  const answered = (await read(questionId)).json
  assert.equal(answered.status, 'answered')
  assert.equal(answered.answer, 'hello')
  assert.equal(answered.sessionId, sessionId)
  const checked = await verifyCredential(answered.credential.pohf_jwt, {
    issuer: harness.ctx.config.BASE_URL,
    policy: { kinds: ['work'], minAssurance: 'low', minQuality: 0, status: 'require', allowTest: true },
    fetch: fetchFrom,
    clock: () => harness.ctx.clock.now(),
  })
  assert.equal(checked.ok, true, JSON.stringify(checked))
  const accepted = await harness.call('POST', `/api/agents/orders/${questionId}/units/1/accept`, {
    key: agent.apiKey,
  })
  assert.equal(accepted.status, 200, accepted.text)
  assert.equal((await read(questionId)).json.status, 'accepted')
  assert.deepEqual(await ledgerFaults(harness), [])
})

test('in the sandbox a simulated worker answers at once, in the form of the schema', async () => {
  const schema = {
    type: 'object',
    properties: {
      word: { enum: ['a', 'b'], title: 'Which word?' },
      why: { type: 'string', maxLength: 100 },
      sure: { type: 'integer', minimum: 1, maximum: 5 },
      odd: { type: 'boolean' },
      tags: { type: 'array', items: { enum: ['x', 'y'] } },
      text: { type: 'string' },
    },
    required: ['word', 'why'],
  }
  const asked = await ask({ answerSchema: schema, simulate: true })
  assert.equal(asked.status, 200, asked.text)
  const { json } = await read(asked.json.questionId)
  assert.equal(json.status, 'answered')
  assert.deepEqual(json.answer, {
    word: 'a',
    why: 'Simulated answer.',
    sure: 3,
    odd: true,
    tags: ['x'],
    text: 'Simulated answer. No person has read the question.',
  })
  assert.ok(json.credential.pohf_jwt.length > 100)
  const accepted = await harness.call('POST', `/api/agents/orders/${json.questionId}/units/1/accept`, {
    key: agent.apiKey,
  })
  assert.equal(accepted.status, 200, accepted.text)
  assert.deepEqual(await ledgerFaults(harness), [])
})

test('nobody simulates an answer with a live key', async () => {
  const before = await countOrders()
  const refused = await ask({ simulate: true }, { key: live.apiKey })
  assert.equal(refused.status, 400)
  assert.equal(refused.json.details[0].code, 'test_only')
  assert.equal(await countOrders(), before)
})

test('a live question waits for a person to pay its checkout', async () => {
  const asked = await ask({}, { key: live.apiKey })
  assert.equal(asked.status, 200, asked.text)
  assert.equal(asked.json.status, 'unpaid')
  assert.match(asked.json.checkoutUrl, /\/checkout\/chk_/)
  const { rows } = await harness.owner.query(
    'select count(*)::int as units from order_units where order_id = $1',
    [asked.json.questionId],
  )
  assert.deepEqual(rows, [{ units: 0 }])
})

for (const [mode, key] of [
  ['test', agent.apiKey],
  ['live', live.apiKey],
] as const)
  test(`${mode}: a budget below the price is refused and orders nothing`, async () => {
    const before = await countOrders()
    const refused = await ask({ budgetUsd: 0.49 }, { key })
    assert.equal(refused.status, 409)
    assert.equal(refused.json.error, 'price_above_max')
    assert.equal(await countOrders(), before)
  })

test('a call that is sent again with its Idempotency-Key asks and pays once', async () => {
  const before = await countOrders()
  const deadline = await inMinutes(60)
  const send = () => ask({ deadline }, { headers: { 'idempotency-key': 'question-1' } })
  const first = await send()
  const again = await send()
  assert.equal(first.status, 200, first.text)
  assert.equal(again.text, first.text)
  assert.equal(await countOrders(), before + 1)
})

test('another agent does not see a question, and an order of other work is no question', async () => {
  const { questionId } = (await ask()).json
  assert.equal((await read(questionId, other.apiKey)).status, 404)
  const placed = await harness.call('POST', '/api/agents/order', {
    key: agent.apiKey,
    body: { taskType: 'wf_judge', quantity: 1 },
  })
  assert.equal((await read(placed.json.orderId)).status, 404)
})

for (const [minutes, code] of [
  [-1, 'deadline_too_short'],
  [9.9, 'deadline_too_short'],
  [30 * 24 * 60 + 1, 'deadline_too_long'],
] as const)
  test(`a deadline in ${minutes} minutes is refused: ${code}`, async () => {
    const refused = await ask({ deadline: await inMinutes(minutes) })
    assert.equal(refused.status, 400)
    assert.equal(refused.json.details[0].code, code)
  })

test('a question ends at its deadline: nobody can claim it in the last five minutes, and it is refunded', async () => {
  const fresh = await harness.register('test')
  const worker = await makeWorker(harness, home)
  await harness.owner.query(
    "update order_units set status = 'cancelled', ended_at = pohf_now() where status = 'open'",
  )
  const asked = await ask({ deadline: await inMinutes(10.5) }, { key: fresh.apiKey })
  assert.equal(asked.status, 200, asked.text)
  const { questionId } = asked.json
  await harness.advance(5.5 * 60_000 + 1_000)
  assert.equal((await worker.claim('wf_ask_human')).json.error, 'out_of_stock')
  await harness.runJobs()
  const ended = await read(questionId, fresh.apiKey)
  assert.equal(ended.json.status, 'expired', ended.text)
  const order = await harness.call('GET', `/api/agents/orders/${questionId}`, { key: fresh.apiKey })
  assert.equal(order.json.escrow.status, 'refunded')
  assert.equal(order.json.escrow.returnedUsd, 0.5)
})

test('a claim of a question ends with its deadline', async () => {
  const worker = await makeWorker(harness, home)
  const deadline = await inMinutes(12)
  await ask({ deadline })
  const claimed = await worker.claim('wf_ask_human')
  assert.equal(claimed.status, 200, claimed.text)
  assert.equal(claimed.json.dueAt, deadline)
})

test('the buyer cancels a question that nobody has claimed, and gets the price back', async () => {
  const { questionId } = (await ask()).json
  const cancelled = await harness.call('POST', `/api/agents/orders/${questionId}/cancel`, {
    key: agent.apiKey,
  })
  assert.equal(cancelled.status, 200, cancelled.text)
  assert.equal((await read(questionId)).json.status, 'cancelled')
})

/** What the order endpoint says about work with these texts. */
const orderCodeOf = async (more: object, taskType = 'wf_ask_human') => {
  const body = { taskType, quantity: 1, ...more }
  const { status, json } = await harness.call('POST', '/api/agents/order', { key: agent.apiKey, body })
  return status === 200 ? 'passes' : `${json.error} ${json.details[0].code} ${json.details[0].path}`
}

test('a question that is ordered as work obeys the rules of its text, and may be ordered', async () => {
  const link = 'Is https://evil.example/login a good page?'
  const path = 'body.items.0'
  assert.equal(await orderCodeOf({ items: [link] }), `validation_failed link ${path}`)
  assert.equal(await orderCodeOf({ items: [{ question: link }] }), `validation_failed link ${path}.question`)
  assert.equal(await orderCodeOf({ items: [link] }, 'question'), `validation_failed link ${path}`)
  const personal = 'What is your password?'
  assert.equal(await orderCodeOf({ items: [personal] }), `validation_failed asks_personal_data ${path}`)
  assert.equal(
    await orderCodeOf({ items: ['Is it late?'], instructions: personal }),
    'validation_failed asks_personal_data body.instructions',
  )
  assert.equal(await orderCodeOf({ items: ['Is this polite: "No."?'] }), 'passes')
  // A character that NFKC writes out as four: neither the text nor what becomes of it may cost more than a question.
  const long = Array.from({ length: 8 }, () => '\u33c2'.repeat(10_000))
  assert.equal(await orderCodeOf({ items: long, quantity: 8 }), `validation_failed too_big ${path}`)
  assert.equal(await orderCodeOf({ items: ['\u33c2'.repeat(1_500)] }), `validation_failed too_big ${path}`)
  // The items of other work may have links; what speaks to the worker may not.
  assert.equal(await orderCodeOf({ items: [link] }, 'wf_judge'), 'passes')
  assert.equal(
    await orderCodeOf({ items: ['Is it late?'], instructions: link }, 'wf_judge'),
    'validation_failed link body.instructions',
  )
})

test('a retired workflow answers no questions', async () => {
  await harness.owner.query("update workflows set active = false where workflow_id = 'wf_ask_human'")
  try {
    for (const refused of [await ask(), await quote({})]) {
      assert.equal(refused.status, 409)
      assert.equal(refused.json.error, 'out_of_stock')
    }
  } finally {
    await harness.owner.query("update workflows set active = true where workflow_id = 'wf_ask_human'")
  }
})

test('the expected time is the median of the last units that people answered', async () => {
  const fresh = await harness.register('test')
  await harness.owner.query(
    "update order_units set status = 'cancelled', ended_at = pohf_now() where status = 'open'",
  )
  const seconds = [20, 30, 40, 50, 600]
  for (const wait of seconds) {
    const worker = await makeWorker(harness, home)
    await ask({}, { key: fresh.apiKey })
    await harness.advance(wait * 1_000)
    const delivered = await worker.work('wf_ask_human', { single_answer: 'hello' })
    assert.equal(delivered.status, 200, delivered.text)
  }
  for (let simulated = 0; simulated < 3; simulated += 1)
    assert.equal((await ask({ simulate: true }, { key: fresh.apiKey })).status, 200)
  const { json } = await quote({}, other.apiKey)
  // One more person has answered in the first test.
  assert.equal(json.measuredUnits, seconds.length + 1)
  assert.ok(json.expectedSeconds >= 30 && json.expectedSeconds <= 41, String(json.expectedSeconds))
})
