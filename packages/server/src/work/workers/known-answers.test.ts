import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { ledgerFaults } from '../../../test/fixtures/payments/ledger.ts'
import { makeWorker, type TestWorker } from '../../../test/fixtures/people/worker.ts'
import * as operators from '../../operators/index.ts'
import { isKnownAnswerDue } from '../units/rules.ts'
import { padResponseTime } from './response-time.ts'

const harness = await startHarness()
const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
const buyer = await harness.register('test')
const home = await harness.register('test')
const operate = (method: string, path: string, body?: unknown) =>
  harness.callOperator(method, `/operator/${path}`, {
    key: operatorKey,
    ...(body === undefined ? {} : { body }),
  })
const call = (method: string, path: string, body?: unknown) =>
  harness.call(method, `/api/agents/${path}`, { key: buyer.apiKey, ...(body === undefined ? {} : { body }) })

const known = Array.from({ length: 8 }, (_, index) => ({
  input: { q: `Is ${index} a number?` },
  answer: { yes: true },
}))
const workflowOf = (gold: readonly object[]) => ({
  title: 'Pick',
  description: 'Pick yes.',
  steps: ['Pick'],
  estMinutes: 1,
  rewardStars: 5,
  webcamBonus: 0,
  datasetOptin: false,
  category: 'pick',
  priceUsd: 0.1,
  inputForm: [{ name: 'q', label: 'Q', type: 'text', required: true }],
  answerForm: [{ name: 'yes', label: 'Yes?', type: 'yes_no', required: true }],
  gold,
})
let workflows = 0
/** A workflow with known-answer items, and a funded order of it with one item for each unit. */
const orderOf = async (quantity: number) => {
  const workflowId = `wf_pick_${workflows++}`
  assert.equal((await operate('POST', `workflows/${workflowId}`, workflowOf(known))).status, 200)
  const items = Array.from({ length: quantity }, (_, index) => `Is ${index + 100} a number?`)
  const body = { taskType: workflowId, quantity, items, instructions: 'Think first.' }
  const { orderId } = (await call('POST', 'order', body)).json
  assert.equal((await call('POST', 'order/fund', { orderId })).status, 200)
  return { workflowId, orderId: String(orderId) }
}
const key = harness.ctx.secrets.derive('worker')
/** A person who is, or is not, shown a known-answer item for each of these units. */
const workerFor = async (orderId: string, kinds: Readonly<Record<number, boolean>>): Promise<TestWorker> => {
  for (let attempt = 0; attempt < 3_000; attempt++) {
    const worker = await makeWorker(harness, home)
    const isDue = (n: string) => isKnownAnswerDue(key, worker.personId, { orderId, n: Number(n) })
    if (Object.entries(kinds).every(([n, due]) => isDue(n) === due)) return worker
  }
  throw new Error(`no person of 3000 has these kinds for ${orderId}`)
}
const isKnownInput = (input: { q: string }) => known.some((item) => item.input.q === input.q)
const starsOf = async (worker: TestWorker) =>
  (await worker.get('earnings')).json.books.find(({ mode }: { mode: string }) => mode === 'test')
const hours = 3_600_000
const advance = async (ms: number) => {
  await harness.advance(ms)
  await harness.runJobs()
}

/** What differs between any two units; everything else must be equal. */
const individual = ['assignmentId', 'challenge', 'claimedAt', 'dueAt', 'deliveredAt', 'input', 'appealUntil']
const comparable = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(comparable)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      individual.includes(name) ? (field === null ? 'null' : typeof field) : comparable(field),
    ]),
  )
}
const availableIn = (tasks: { tasks: { workflowId: string; available: number }[] }, workflowId: string) =>
  tasks.tasks.find((task) => task.workflowId === workflowId)?.available ?? 0

/** Everything that the pages of a person show around one unit, from before the claim to after the delivery. */
const observeUnit = async (worker: TestWorker, workflowId: string, answer: object) => {
  const before = (await worker.get('tasks')).json
  const claimed = (await worker.claim(workflowId)).json
  const during = (await worker.get('tasks')).json
  const read = (await worker.get(`assignments/${claimed.assignmentId}`)).json
  const { x, y } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
  const session = await harness.call('POST', '/api/sessions', {
    headers: { origin: 'http://127.0.0.1' },
    body: {
      site: claimed.site,
      kind: 'work',
      workflowId: claimed.workflowId,
      challenge: claimed.challenge,
      key: { kty: 'EC', crv: 'P-256', x, y },
    },
  })
  assert.equal(session.status, 200, session.text)
  const delivered = await worker.deliver(claimed.assignmentId, await worker.record(claimed), answer)
  assert.equal(delivered.status, 200, delivered.text)
  const after = (await worker.get('tasks')).json
  return {
    assignmentId: String(claimed.assignmentId),
    input: claimed.input,
    seen: comparable({
      claimed,
      claimMs: Date.parse(claimed.dueAt) - Date.parse(claimed.claimedAt),
      during: during.current,
      read,
      session: Object.keys(session.json).toSorted(),
      delivered: delivered.json,
      readAgain: (await worker.get(`assignments/${claimed.assignmentId}`)).json,
      repeated: (await worker.get('earnings')).json,
      taken: availableIn(before, workflowId) - availableIn(during, workflowId),
      gone: availableIn(before, workflowId) - availableIn(after, workflowId),
    }),
  }
}

const text = (seen: unknown) => JSON.stringify(seen).replaceAll(/wf_pick_\d+/g, 'wf_pick')
const statusOf = async (worker: TestWorker, { assignmentId }: { assignmentId: string }) =>
  (await worker.get(`assignments/${assignmentId}`)).json.status
test('before, during and after the delivery a known-answer item shows what a bought unit shows', async () => {
  const first = await orderOf(3)
  const second = await orderOf(3)
  const atKnown = await workerFor(first.orderId, { 1: true })
  const atBought = await workerFor(second.orderId, { 1: false })
  const shown = await observeUnit(atKnown, first.workflowId, { yes: true })
  const bought = await observeUnit(atBought, second.workflowId, { yes: true })
  assert.deepEqual([isKnownInput(shown.input), isKnownInput(bought.input)], [true, false])
  assert.deepEqual(JSON.parse(text(shown.seen)), JSON.parse(text(bought.seen)))
  assert.match(text(shown.seen), new RegExp(buyer.agentId), 'the site is the buyer’s')
  // Nobody reviews: both are accepted after the same time, and vest after the same time.
  await advance(71 * hours)
  assert.deepEqual(
    [await statusOf(atKnown, shown), await statusOf(atBought, bought)],
    ['delivered', 'delivered'],
  )
  await advance(2 * hours)
  assert.deepEqual(
    [await statusOf(atKnown, shown), await statusOf(atBought, bought)],
    ['accepted', 'accepted'],
  )
  const stars = async () => [await starsOf(atKnown), await starsOf(atBought)]
  assert.deepEqual(
    (await stars()).map((book) => [book.vestingStars, book.vestedStars]),
    [
      [5, 0],
      [5, 0],
    ],
  )
  await advance(14 * 24 * hours)
  assert.deepEqual(
    (await stars()).map((book) => [book.vestingStars, book.vestedStars]),
    [
      [0, 5],
      [0, 5],
    ],
  )
  assert.deepEqual(await ledgerFaults(harness), [])
})

test('the export of a person does not tell a known-answer item, and erasure finds its recording', async () => {
  const { workflowId, orderId } = await orderOf(3)
  const worker = await workerFor(orderId, { 1: false, 2: true, 3: false })
  for (let count = 0; count < 3; count++)
    assert.equal((await worker.work(workflowId, { yes: true })).json.status, 'delivered')
  const { origin } = new URL(harness.ctx.config.BASE_URL.replace('127.0.0.1', 'localhost'))
  const headers = { origin, cookie: worker.cookie }
  const { json } = await harness.call('GET', '/api/members/me/export', { headers })
  const bySession = json.sessions.map((one: object) =>
    comparable({ ...one, sessionId: '', credentialId: '', at: '' }),
  )
  assert.equal(bySession.length, 3)
  for (const one of bySession) assert.deepEqual(one, bySession[0])
  const ids = json.sessions.map((one: { sessionId: string }) => one.sessionId)
  assert.deepEqual(ids, ids.toSorted().toReversed(), 'newest first, whoever owns the recording')
  assert.equal(new Set(json.work.map((one: { site: string }) => one.site)).size, 1)
  const body = { confirm: 'delete everything' }
  assert.equal((await harness.call('POST', '/api/members/me/erase', { headers, body })).status, 200)
  const { rows } = await harness.owner.query(
    'select count(*)::int as n from sessions where member_ref = $1',
    [json.sessions[0].memberId],
  )
  assert.equal(rows[0].n, 0)
})

test('the buyer sees no known-answer item: no unit, no session, no event, and its unit is done later', async () => {
  const { workflowId, orderId } = await orderOf(1)
  const worker = await workerFor(orderId, { 1: true })
  const delivered = await worker.work(workflowId, { yes: true })
  assert.equal(delivered.json.status, 'delivered')
  const { rows } = await harness.owner.query('select session_id from assignments where assignment_id = $1', [
    delivered.json.assignmentId,
  ])
  assert.equal((await call('GET', `sessions/${rows[0].session_id}`)).status, 404)
  assert.equal((await call('GET', `orders/${orderId}`)).json.units.open, 1)
  const { rows: events } = await harness.owner.query(
    "select type from events where agent_id = $1 and data::text like '%' || $2 || '%'",
    [buyer.agentId, orderId],
  )
  const types = events.map((event: { type: string }) => event.type)
  assert.ok(types.includes('order.in_progress'))
  assert.ok(!types.includes('order.unit_delivered'))
  assert.equal((await worker.claim(workflowId)).json.error, 'out_of_stock', 'not at once')
  await advance(hours)
  const claimed = await worker.claim(workflowId)
  assert.equal(claimed.json.input.q, 'Is 100 a number?', 'the same unit shows no other known-answer item')
})

test('a wrong known answer looks like a rejection by the buyer, and is never paid', async () => {
  const { workflowId, orderId } = await orderOf(2)
  const worker = await workerFor(orderId, { 1: true })
  const missed = await worker.work(workflowId, { yes: false })
  assert.deepEqual([missed.json.status, missed.json.reasons], ['delivered', []])
  await advance(25 * hours)
  const { json: rejected } = await worker.get(`assignments/${missed.json.assignmentId}`)
  assert.equal(rejected.status, 'rejected')
  assert.deepEqual([rejected.rejection, rejected.reasons], [{ reason: 'wrong_answer', note: null }, []])
  await advance(73 * hours)
  assert.equal((await worker.get(`assignments/${missed.json.assignmentId}`)).json.status, 'refused')
  await advance(30 * 24 * hours)
  const { vestingStars, vestedStars } = await starsOf(worker)
  assert.deepEqual([vestingStars, vestedStars], [0, 0])
  const { rows } = await harness.owner.query(
    'select u.status, e.stars from assignments a join order_units u on u.order_id = a.order_id and u.n = a.n left join worker_earnings e on e.order_id = a.order_id where a.assignment_id = $1',
    [missed.json.assignmentId],
  )
  assert.deepEqual(rows, [{ status: 'refused', stars: null }])
  assert.deepEqual(await ledgerFaults(harness), [])
})

test('an appeal against a wrong known answer is decided with the known answer in view, and then paid', async () => {
  const { workflowId, orderId } = await orderOf(2)
  const worker = await workerFor(orderId, { 1: true })
  const { assignmentId } = (await worker.work(workflowId, { yes: false })).json
  await advance(25 * hours)
  assert.equal((await worker.post(`assignments/${assignmentId}/appeal`, { text: 'It is not.' })).status, 200)
  const { json: appeals } = await operate('GET', 'appeals')
  const appeal = appeals.appeals.find((one: { assignmentId: string }) => one.assignmentId === assignmentId)
  assert.match(appeal.rejection.note, /yes/)
  const decision = { decision: 'accepted', reason: 'True.' }
  assert.equal((await operate('POST', `appeals/${assignmentId}/decide`, decision)).status, 200)
  assert.equal((await operate('POST', `appeals/${assignmentId}/decide`, decision)).status, 409)
  assert.equal((await starsOf(worker)).vestingStars, 5)
  const { rows } = await harness.owner.query(
    'select golds, golds_right from worker_standing where person_id = $1',
    [worker.personId],
  )
  assert.deepEqual(rows, [{ golds: 1, golds_right: 1 }])
})

test('too few right of five known answers pause a person for a week, in this workflow only', async () => {
  const { workflowId, orderId } = await orderOf(3)
  const worker = await workerFor(orderId, { 1: true, 2: true })
  await harness.owner.query(
    "insert into worker_standing (person_id, mode, task_id, golds, golds_right) values ($1, 'test', $2, 3, 2)",
    [worker.personId, workflowId],
  )
  for (let count = 0; count < 2; count++)
    assert.equal((await worker.work(workflowId, { yes: false })).json.status, 'delivered')
  assert.equal((await worker.claim(workflowId)).status, 200, 'nothing is told before the review')
  await advance(25 * hours)
  const paused = await worker.claim(workflowId)
  assert.equal(paused.json.error, 'order_conflict')
  assert.match(paused.json.message, /known-answer items were wrong/)
  assert.equal((await worker.claim('wf_judge')).json.error, 'out_of_stock', 'other work is not touched')
  await harness.advance(7 * 24 * hours)
  assert.equal((await worker.claim(workflowId)).status, 200)
})

test('nobody is shown the same known-answer item twice', async () => {
  const { workflowId, orderId } = await orderOf(2)
  assert.equal((await operate('POST', `workflows/${workflowId}`, workflowOf(known.slice(0, 1)))).status, 200)
  const worker = await workerFor(orderId, { 1: true, 2: true })
  const inputs = []
  for (let count = 0; count < 2; count++)
    inputs.push((await worker.work(workflowId, { yes: true })).json.input)
  assert.deepEqual(inputs, [known[0]?.input, { q: 'Is 101 a number?' }])
})

test('a person who returns a unit is shown the same again, and waits after five returns in a day', async () => {
  const { workflowId, orderId } = await orderOf(4)
  const person = await workerFor(orderId, { 1: true, 2: false, 3: false, 4: false })
  const other = await workerFor(orderId, { 1: false })
  const inputs = []
  for (let count = 0; count < 5; count++) {
    const { json } = await person.claim(workflowId)
    inputs.push(json.input.q)
    if (count === 4) await advance(hours)
    else assert.equal((await person.post(`assignments/${json.assignmentId}/return`, {})).status, 200)
  }
  assert.equal(new Set(inputs).size, 1, 'no other item, known or bought')
  const refused = await person.claim(workflowId)
  assert.equal(refused.status, 429)
  assert.equal(refused.json.error, 'rate_limited')
  const wait = Number(refused.headers['retry-after'])
  assert.ok(wait > 22 * 3_600 && wait <= 24 * 3_600, String(wait))
  const headers = { origin: openOrigin(), cookie: person.cookie, 'x-forwarded-for': '198.51.100.7' }
  const elsewhere = await harness.call('POST', '/api/work/claim', {
    headers,
    body: { workflowId, mode: 'test' },
  })
  assert.equal(elsewhere.status, 429, 'the limit is the person’s, not the address’s')
  assert.equal((await other.claim(workflowId)).status, 200)
  await advance(wait * 1_000 + 1_000)
  // The last claim ran out: that unit goes to somebody else.
  assert.notEqual((await person.claim(workflowId)).json.input.q, inputs[0])
})

test('a link of a known-answer item leads where the page says, not to the address of the unit', async () => {
  const workflowId = `wf_pick_${workflows++}`
  const workflow = {
    ...workflowOf([{ input: { q: 'https://known.example/a' }, answer: { yes: true } }]),
    inputForm: [{ name: 'q', label: 'Q', type: 'link', required: true }],
  }
  assert.equal((await operate('POST', `workflows/${workflowId}`, workflow)).status, 200)
  const items = [{ q: 'https://bought.example/b' }]
  const placed = await call('POST', 'order', { taskType: workflowId, quantity: 1, items })
  const orderId = String(placed.json.orderId)
  assert.equal((await call('POST', 'order/fund', { orderId })).status, 200)
  const worker = await workerFor(orderId, { 1: true })
  const { assignmentId, input } = (await worker.claim(workflowId)).json
  assert.equal(input.q, 'https://known.example/a')
  const page = await harness.call('GET', `/work/${assignmentId}/link/q`, {
    headers: { cookie: worker.cookie },
  })
  assert.equal(page.status, 200, page.text)
  assert.match(page.text, /known\.example/)
  assert.doesNotMatch(page.text, /bought\.example/)
})

const elapsedOf = async (work: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now()
  await padResponseTime(work).catch(() => undefined)
  return performance.now() - startedAt
}
test('a delivery is answered at a full quarter of a second, whatever it took', async () => {
  assert.ok((await elapsedOf(async () => undefined)) >= 249)
  assert.ok((await elapsedOf(() => Promise.reject(new Error('refused')))) >= 249)
  assert.ok((await elapsedOf(() => sleep(260))) >= 499)
})
const openOrigin = () => new URL(harness.ctx.config.BASE_URL.replace('127.0.0.1', 'localhost')).origin

const isDueWith = (secret: Buffer) => (_: unknown, index: number) =>
  isKnownAnswerDue(secret, `person ${index % 100}`, { orderId: 'ord_x', n: Math.floor(index / 100) + 1 })
test('one unit in ten is due for a known-answer item, and a person cannot compute which', () => {
  const due = Array.from({ length: 10_000 }, isDueWith(key))
  const otherwise = Array.from({ length: 10_000 }, isDueWith(Buffer.alloc(32)))
  const count = due.filter(Boolean).length
  assert.ok(count > 850 && count < 1_150, String(count))
  const both = due.filter((isDue, index) => isDue && otherwise[index]).length
  assert.ok(both < 160, `${both} of ${count} also under another key`)
})

test('whoever reviews a payout sees where the Stars come from', async () => {
  const { workflowId, orderId } = await orderOf(5)
  const worker = await workerFor(orderId, { 1: true, 2: true, 3: false })
  const { json: returned } = await worker.claim(workflowId)
  await worker.post(`assignments/${returned.assignmentId}/return`, {})
  for (const yes of [true, false, true])
    assert.equal((await worker.work(workflowId, { yes })).json.status, 'delivered')
  await advance(73 * hours)
  await advance(14 * 24 * hours)
  const payout = await worker.post('payout', { mode: 'test', stars: 10, account: 'acct_1032D82eZvKYlo2C' })
  assert.equal(payout.status, 200, payout.text)
  const { requestId } = payout.json
  const { json } = await operate('GET', 'payouts?status=queued')
  const listed = json.payouts.find((one: { requestId: string }) => one.requestId === requestId)
  const { accountCreatedAt, firstAssignmentAt, sameNetwork: _, topBuyerWorkers, ...counts } = listed.risk
  assert.ok(topBuyerWorkers > 0)
  const gained = { starsDay: 0, starsWeek: 0, buyers: 1, topBuyerShare: 0.5 }
  const work = { assignments: 4, knownAnswerShare: 0.5, wrongKnownAnswers: 1, rejected: 1, notVerified: 0 }
  assert.deepEqual(counts, { ...work, ...gained, returned: 1, onlyThroughBuyer: 0 })
  assert.ok(Date.parse(accountCreatedAt) <= Date.parse(firstAssignmentAt))
  const reviewed = await operate('POST', `payouts/${requestId}/review`)
  assert.deepEqual(reviewed.json.risk, listed.risk)
  const partner = { userRef: 'u1', stars: 5 }
  const simulated = await harness.call('POST', '/api/partner/payout/request', {
    key: buyer.apiKey,
    body: partner,
  })
  assert.equal(simulated.status, 200, simulated.text)
  const { json: all } = await operate('GET', 'payouts?limit=200')
  const own = all.payouts.find((one: { requestId: string }) => one.requestId === simulated.json.requestId)
  assert.equal(own.risk, null)
})
