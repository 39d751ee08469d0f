import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ledgerFaults } from '../../../test/fixtures/payments/ledger.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { findTablesHolding } from '../../../test/architecture/personal-data.ts'
import { makeWorker, type TestWorker } from '../../../test/fixtures/people/worker.ts'
import * as operators from '../../operators/index.ts'

const harness = await startHarness()
const buyer = await harness.register('test')
const home = await harness.register('test')
const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')

const call = (method: string, path: string, body?: unknown, key = buyer.apiKey) =>
  harness.call(method, `/api/agents/${path}`, { key, ...(body === undefined ? {} : { body }) })
const operate = (method: 'GET' | 'POST', path: string, body?: unknown) =>
  harness.callOperator(method, `/operator/${path}`, {
    key: operatorKey,
    ...(body === undefined ? {} : { body }),
  })
const commission = async (body: object): Promise<string> => {
  const placed = await call('POST', 'order', body)
  assert.equal(placed.status, 200, placed.text)
  const funded = await call('POST', 'order/fund', { orderId: placed.json.orderId })
  assert.equal(funded.status, 200, funded.text)
  return String(placed.json.orderId)
}
const starsOf = async (worker: TestWorker) => {
  const { json } = await worker.get('earnings')
  return json.books.find((book: { mode: string }) => book.mode === 'test')
}
const answer = { judgement: 'It is fine. I think so.', sure: 4 }
const cancelAll = (orderId: string) => call('POST', `orders/${orderId}/cancel`)

test('20 people and 60 units at once: every unit has exactly one paid result', async (t) => {
  const units = 60
  const items = Array.from({ length: units }, (_, index) => `Question ${index}?`)
  const orderId = await commission({ taskType: 'wf_judge', quantity: units, items })
  const people = await Promise.all(Array.from({ length: 20 }, () => makeWorker(harness, home)))
  const delivered = await Promise.all(
    people.map(async (worker) => {
      let done = 0
      for (let tries = 0; tries < 300; tries++) {
        const { status, json, text } = await worker.work('wf_judge', answer)
        if (status === 409 && json.error === 'out_of_stock') return done
        assert.equal(status, 200, text)
        done += 1
      }
      throw new Error('it never ends')
    }),
  )
  t.diagnostic(`units by person: ${Math.min(...delivered)} to ${Math.max(...delivered)}`)
  assert.equal(
    delivered.reduce((sum, done) => sum + done, 0),
    units,
  )
  // The buyer accepts, twice each and all at once: the second call of each is a conflict.
  const answers = await Promise.all(
    Array.from({ length: 2 * units }, (_, index) =>
      call('POST', `orders/${orderId}/units/${(index % units) + 1}/accept`),
    ),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, units)
  assert.equal(answers.filter(({ status }) => status === 409).length, units)
  const { rows } = await harness.owner.query(
    `select count(*)::int as units, count(distinct session_id)::int as sessions, count(distinct credential_id)::int as credentials,
       (select count(*)::int from worker_earnings e where e.order_id = $1) as earnings,
       (select count(*)::int from ledger_claims c where c.kind = 'unit_payment' and starts_with(c.reference, $1)) as payments
     from order_units where order_id = $1 and status = 'accepted'`,
    [orderId],
  )
  assert.deepEqual(rows[0], {
    units,
    sessions: units,
    credentials: units,
    earnings: units,
    payments: units,
  })
  assert.equal((await call('GET', `orders/${orderId}`)).json.status, 'completed')
  assert.deepEqual(await ledgerFaults(harness), [])
})

test('an expired claim reopens the unit, and a later delivery is refused', async () => {
  const orderId = await commission({ taskType: 'wf_judge', quantity: 1, items: ['Well?'] })
  const gone = await makeWorker(harness, home)
  const next = await makeWorker(harness, home)
  const { json } = await gone.claim('wf_judge')
  assert.equal((await next.claim('wf_judge')).json.error, 'out_of_stock')
  const sessionId = await gone.record(json)
  await harness.advance(Date.parse(json.dueAt) - harness.ctx.clock.now().getTime() + 1_000)
  await harness.runJobs()
  assert.equal((await gone.get(`assignments/${json.assignmentId}`)).json.status, 'ran_out')
  assert.equal((await gone.deliver(json.assignmentId, sessionId, answer)).status, 409)
  assert.equal((await next.work('wf_judge', answer)).json.status, 'delivered')
  await cancelAll(orderId)
})

test('the log of a failed deadline job names the unit, not the person', async () => {
  const orderId = await commission({ taskType: 'wf_judge', quantity: 1, items: ['Who?'] })
  const worker = await makeWorker(harness, home)
  const { json } = await worker.claim('wf_judge')
  await harness.advance(Date.parse(json.dueAt) - harness.ctx.clock.now().getTime() + 1_000)
  await harness.owner.query(
    `create function fail_release() returns trigger language plpgsql as $$ begin raise exception 'no release'; end $$;
     create trigger fail_release before update on assignments for each row execute function fail_release()`,
  )
  const from = harness.lines.length
  await harness.runJobs()
  await harness.owner.query('drop trigger fail_release on assignments')
  const failures = harness.lines.slice(from).filter((line) => line.includes('work deadline job failed'))
  assert.ok(failures.length > 0)
  assert.ok(failures.every((line) => line.includes(orderId)))
  assert.ok(failures.every((line) => !line.includes(worker.personId) && !line.includes(json.challenge)))
  await harness.runJobs()
  await cancelAll(orderId)
})

test('a bot that claims work is never paid, and the unit is open again', async () => {
  const orderId = await commission({ taskType: 'wf_judge', quantity: 1, items: ['Who are you?'] })
  const bot = await makeWorker(harness, home)
  const { json } = await bot.claim('wf_judge')
  const sessionId = await bot.record(json, { verified: false, reasons: ['quality_low'], quality: 0.1 })
  const handed = await bot.deliver(json.assignmentId, sessionId, answer)
  assert.equal(handed.status, 200)
  assert.equal(handed.json.status, 'not_verified')
  assert.deepEqual(handed.json.reasons, ['quality_low'])
  assert.equal((await starsOf(bot)).vestingStars, 0)
  const { json: results } = await call('GET', `orders/${orderId}/results`)
  assert.equal(results.units[0].status, 'open')
  assert.equal(results.units[0].answer, null)
  assert.equal((await bot.claim('wf_judge')).json.error, 'out_of_stock', 'not the same one again')
  const person = await makeWorker(harness, home)
  assert.equal((await person.work('wf_judge', answer)).json.status, 'delivered')
})

test('a session of other work is refused, and the claim stays', async () => {
  const orderId = await commission({ taskType: 'wf_judge', quantity: 1, items: ['So?'] })
  const worker = await makeWorker(harness, home)
  const { json } = await worker.claim('wf_judge')
  const good = await worker.record(json)
  const stranger = await worker.record({ site: json.site, challenge: 'another' })
  const view = await worker.record(json, { kind: 'view' })
  const elsewhere = await worker.record({ site: home.agentId, challenge: json.challenge })
  for (const sessionId of [stranger, view, elsewhere, 'ses_none'])
    assert.equal((await worker.deliver(json.assignmentId, sessionId, answer)).status, 404, sessionId)
  for (const bad of [
    {},
    { ...answer, sure: 6 },
    { ...answer, more: 1 },
    'text',
    { ...answer, judgement: ' ' },
  ]) {
    const refused = await worker.deliver(json.assignmentId, good, bad)
    assert.equal(refused.status, 400, JSON.stringify(bad))
    assert.match(refused.json.details[0].path, /^body\.answer/)
  }
  assert.equal((await worker.claim('wf_judge')).status, 409, 'one at a time')
  const other = await makeWorker(harness, home)
  assert.equal((await other.get(`assignments/${json.assignmentId}`)).status, 404)
  assert.equal((await other.deliver(json.assignmentId, good, answer)).status, 404)
  const first = await worker.deliver(json.assignmentId, good, answer)
  assert.equal(first.json.status, 'delivered')
  assert.equal(
    (await worker.deliver(json.assignmentId, good, answer)).text,
    first.text,
    'a repeated call gets the same response',
  )
  // Another site's page is refused before its body is looked at.
  assert.equal((await worker.post('claim', {})).status, 400)
  assert.equal((await worker.post('claim', {}, 'https://evil.example')).status, 403)
  assert.equal(
    (await worker.post('claim', { workflowId: 'wf_judge', mode: 'test' }, 'https://evil.example')).status,
    403,
  )
  assert.equal((await worker.claim('wf_judge', 'live')).json.error, 'member_not_enrolled')
  await cancelAll(orderId)
})

test('the second unit of an item goes to another person', async () => {
  const orderId = await commission({ taskType: 'wf_judge', quantity: 3, items: ['One?', 'Two?'] })
  const first = await makeWorker(harness, home)
  const second = await makeWorker(harness, home)
  for (let count = 0; count < 2; count++)
    assert.equal((await first.work('wf_judge', answer)).json.status, 'delivered')
  assert.equal((await first.work('wf_judge', answer)).json.error, 'out_of_stock')
  assert.equal((await second.work('wf_judge', answer)).json.input.question, 'One?')
  const { json } = await call('GET', `orders/${orderId}/results`)
  const subs = json.units.map(
    (unit: { credential: { pohf_jwt: string } }) =>
      JSON.parse(Buffer.from(unit.credential.pohf_jwt.split('.')[1] ?? '', 'base64url').toString()).sub,
  )
  assert.equal(subs[0], subs[1], 'one person, one name to this buyer')
  assert.notEqual(subs[0], subs[2])
})

test('stock: units that the operator pays are produced, accepted automatically and reserved once each', async () => {
  const made = await operate('POST', 'work/produce', { workflowId: 'wf_judge', mode: 'test', quantity: 3 })
  assert.equal(made.status, 200, made.text)
  assert.equal(made.json.costUsd, 1.5)
  const worker = await makeWorker(harness, home)
  for (let count = 0; count < 3; count++)
    assert.equal((await worker.work('wf_judge', answer)).json.status, 'delivered')
  await harness.advance(73 * 3_600_000)
  await harness.runJobs()
  const { vestedStars, vestingStars } = await starsOf(worker)
  assert.deepEqual([vestedStars, vestingStars], [0, 150], 'the operator’s money vests as a buyer’s does')
  const { json } = await operate('GET', 'workflows')
  const stock = json.workflows.find(
    ({ workflowId }: { workflowId: string }) => workflowId === 'wf_judge',
  ).stock
  assert.equal(stock.test, 3)
  const {
    reserveStockUnit: takeStock,
    releaseStockUnit: returnStock,
    markStockUnitSold: markSold,
  } = await import('../workflows/stock.ts')
  const { inTransaction } = await import('../../platform/db/db.ts')
  const reserved = await Promise.all(
    Array.from({ length: 6 }, () =>
      inTransaction(harness.ctx, 'system', (tx) => takeStock(tx, 'wf_judge', 'test')),
    ),
  )
  const refs = reserved.flatMap((unit) => unit?.unitRef ?? [])
  assert.equal(new Set(refs).size, refs.length)
  assert.equal(refs.length, 3)
  const [first = '', second = ''] = refs
  await inTransaction(harness.ctx, 'system', (tx) => returnStock(tx, first))
  await inTransaction(harness.ctx, 'system', (tx) => markSold(tx, second))
  await assert.rejects(inTransaction(harness.ctx, 'system', (tx) => markSold(tx, second)))
  await assert.rejects(inTransaction(harness.ctx, 'system', (tx) => returnStock(tx, second)))
  const again = await inTransaction(harness.ctx, 'system', (tx) => takeStock(tx, 'wf_judge', 'test'))
  assert.equal(again?.unitRef, first)
  assert.deepEqual(again?.answer, answer)
})

test('Stars vest after 14 days, and a payout then goes through the review of operators', async () => {
  const orderId = await commission({ taskType: 'wf_judge', quantity: 1, items: ['When?'] })
  const worker = await makeWorker(harness, home)
  await worker.work('wf_judge', answer)
  await call('POST', `orders/${orderId}/units/1/accept`)
  const account = 'DE89 3704 0044 0532 0130 00'
  const refused = await worker.post('payout', { mode: 'test', stars: 50, account })
  assert.equal(refused.json.error, 'insufficient_stars')
  await harness.advance(14 * 86_400_000 + 1_000)
  await harness.runJobs()
  assert.deepEqual(
    (({ vestingStars, vestedStars, nextVestsAt }) => [vestingStars, vestedStars, nextVestsAt])(
      await starsOf(worker),
    ),
    [0, 50, null],
  )
  const payout = await worker.post('payout', { mode: 'test', stars: 40, account })
  assert.equal(payout.status, 200, payout.text)
  assert.equal((await starsOf(worker)).heldStars, 40)
  const { json } = await operate('GET', 'payouts?state=queued')
  assert.ok(json.payouts.some(({ requestId }: { requestId: string }) => requestId === payout.json.requestId))
})

test('an offer starts after an operator has set its steps and reward', async () => {
  const orderId = await commission({ taskType: 'Look at my garden', quantity: 2, maxPriceUsd: 3 })
  const worker = await makeWorker(harness, home)
  assert.equal((await worker.claim(orderId)).json.error, 'out_of_stock')
  const waiting = await operate('GET', 'orders?waiting=1')
  assert.ok(waiting.json.orders.some((order: { orderId: string }) => order.orderId === orderId))
  const terms = {
    mode: 'test',
    title: 'Look at a garden',
    steps: ['Look'],
    estMinutes: 2,
    rewardStars: 100,
    answerForm: [{ name: 'nice', label: 'Is it nice?', type: 'yes_no', required: true }],
  }
  const accept = (body: object) => operate('POST', `agents/${buyer.agentId}/orders/${orderId}/accept`, body)
  assert.equal((await accept({ ...terms, rewardStars: 151 })).status, 400)
  assert.equal((await accept(terms)).json.waitsForOperator, false)
  assert.equal((await accept(terms)).status, 409)
  assert.equal((await worker.work(orderId, { nice: true })).json.status, 'delivered')
  const declined = await commission({ taskType: 'Rob a bank', quantity: 1 })
  const no = await operate('POST', `agents/${buyer.agentId}/orders/${declined}/decline`, {
    mode: 'test',
    reason: 'No.',
  })
  assert.equal(no.status, 200, no.text)
  const { json } = await call('GET', `orders/${declined}`)
  assert.equal(json.status, 'refunded')
  assert.equal(json.escrow.returnedUsd, 5)
  await cancelAll(orderId)
})

test('no cell of the results as CSV starts a formula', async () => {
  const orderId = await commission({ taskType: 'wf_judge', quantity: 1, items: ['=1+1'] })
  const worker = await makeWorker(harness, home)
  const odd = { judgement: '=HYPERLINK("x")\r\n"quoted", and more', sure: 5 }
  assert.equal((await worker.work('wf_judge', odd)).json.status, 'delivered')
  const csv = await call('GET', `orders/${orderId}/results?format=csv`)
  assert.equal(csv.status, 200)
  assert.match(csv.headers['content-type'] ?? '', /^text\/csv/)
  const [head, ...lines] = csv.text.split('\r\n')
  assert.equal(
    head,
    'n,status,deliveredAt,quality,credentialId,sessionId,input,rejectReason,rejectNote,pohf_jwt,answer.judgement,answer.sure',
  )
  assert.match(lines.join('\r\n'), /"'=HYPERLINK\(""x""\)\r\n""quoted"", and more",5\r\n$/)
})

test('the response for work of another agent is that for work that does not exist', async () => {
  const orderId = await commission({ taskType: 'wf_judge', quantity: 1, items: ['Mine?'] })
  const other = await harness.register('test')
  for (const [method, path, body] of [
    ['GET', `orders/${orderId}`],
    ['GET', `orders/${orderId}/results`],
    ['POST', `orders/${orderId}/cancel`, {}],
    ['POST', `orders/${orderId}/units/1/accept`, {}],
    ['POST', `orders/${orderId}/units/1/reject`, { reason: 'other' }],
  ] as const)
    assert.equal((await call(method, path, body, other.apiKey)).status, 404, path)
  const { json } = await call('GET', 'orders', undefined, other.apiKey)
  assert.deepEqual(json, { orders: [], nextCursor: null })
  await cancelAll(orderId)
})

test('after erasure answers and payments stay, without any link to the person', async () => {
  const orderId = await commission({ taskType: 'wf_judge', quantity: 2, items: ['Stay?', 'Go?'] })
  const worker = await makeWorker(harness, home)
  await worker.work('wf_judge', answer)
  const claimed = await worker.claim('wf_judge')
  const bad = await worker.record(claimed.json, { verified: false, reasons: ['focus_low'] })
  await worker.deliver(claimed.json.assignmentId, bad, answer)
  await call('POST', `orders/${orderId}/units/1/reject`, { reason: 'incomplete' })
  const { json: earnings } = await worker.get('earnings')
  const rejected = earnings.assignments.find((one: { status: string }) => one.status === 'rejected')
  await worker.post(`assignments/${rejected.assignmentId}/appeal`, { text: 'I live at Elm Street 5.' })
  const { origin } = new URL(harness.ctx.config.BASE_URL.replace('127.0.0.1', 'localhost'))
  const headers = { origin, cookie: worker.cookie }
  const file = await harness.call('GET', '/api/members/me/export', { headers })
  assert.equal(file.json.work.length, 2)
  assert.deepEqual(file.json.work[1].answer, answer)
  assert.equal(file.json.sessions.length, 2, 'recordings at buyers are exported too')
  const { rows: before } = await harness.owner.query(
    'select worker_ref from order_units where order_id = $1 and n = 1',
    [orderId],
  )
  const erased = await harness.call('POST', '/api/members/me/erase', {
    headers,
    body: { confirm: 'delete everything' },
  })
  assert.equal(erased.status, 200, erased.text)
  for (const trace of [worker.personId, worker.memberId, String(before[0].worker_ref), 'Elm Street'])
    assert.deepEqual(
      (await findTablesHolding(harness.owner, trace)).filter(
        (table) => !['outbox', 'events', 'webhook_deliveries'].includes(table),
      ),
      [],
      trace,
    )
  const { json: results } = await call('GET', `orders/${orderId}/results`)
  assert.deepEqual(results.units[0].answer, answer, 'the answer is the buyer’s')
  assert.ok(results.units[0].credential.pohf_jwt)
  const { json: appeals } = await operate('GET', 'appeals')
  const open = appeals.appeals.find((one: { orderId: string }) => one.orderId === orderId)
  assert.equal(
    (await operate('POST', `appeals/${open.assignmentId}/decide`, { decision: 'accepted', reason: 'ok' }))
      .status,
    200,
  )
  assert.deepEqual(await ledgerFaults(harness), [])
})
