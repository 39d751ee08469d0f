import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildJobs } from '../../src/wiring/index.ts'
import { runJobs, startHarness } from '../fixtures/harness.ts'
import { ledgerFaults } from '../fixtures/payments/ledger.ts'
import { openBrowser } from '../fixtures/people/member.ts'
import { makeSessionKey } from '../fixtures/people/recorder.ts'
import { makeWorker, type TestWorker } from '../fixtures/people/worker.ts'
import { assertRefusal } from '../fixtures/refusal.ts'

const harness = await startHarness()
const buyer = await harness.register('test')
const home = await harness.register('test')
const call = (method: string, path: string, body?: unknown) =>
  harness.call(method, `/api/agents/${path}`, { key: buyer.apiKey, ...(body === undefined ? {} : { body }) })
const answer = { judgement: 'It is fine. I think so.', sure: 4 }
const hourMs = 3_600_000

const commission = async (question: string): Promise<string> => {
  const { json } = await call('POST', 'order', { taskType: 'wf_judge', quantity: 1, items: [question] })
  const funded = await call('POST', 'order/fund', { orderId: json.orderId })
  assert.equal(funded.status, 200, funded.text)
  return String(json.orderId)
}
const unitOf = async (orderId: string) => (await call('GET', `orders/${orderId}/results`)).json.units[0]
const vestingStarsOf = async (worker: TestWorker): Promise<number> => {
  const { json } = await worker.get('earnings')
  return json.books.find(({ mode }: { mode: string }) => mode === 'test').vestingStars
}
const reviewJobs = buildJobs(harness.ctx).filter(({ name }) => name === 'work reviews')
assert.equal(reviewJobs.length, 1)
const endReview = async () => {
  await harness.advance(73 * hourMs)
  await runJobs(reviewJobs)
}

test('a buyer who verifies the recording before the delivery does not stop the delivery', async () => {
  const orderId = await commission('First?')
  const worker = await makeWorker(harness, home)
  const { json: claim } = await worker.claim('wf_judge')
  const sessionId = await worker.record(claim)
  const early = await call('POST', 'verify', { sessionId })
  assert.equal(early.status, 200, early.text)
  const delivered = await worker.deliver(claim.assignmentId, sessionId, answer)
  assert.equal(delivered.json.status, 'delivered', delivered.text)
  assert.equal(
    (await unitOf(orderId)).credential.credentialId,
    early.json.credentialId,
    'one act, one credential',
  )
  await endReview()
  assert.equal((await unitOf(orderId)).status, 'accepted')
  assert.equal(await vestingStarsOf(worker), claim.rewardStars)
})

test('a buyer who allows other origins alone after a claim does not lock the worker out', async () => {
  const orderId = await commission('Second?')
  const worker = await makeWorker(harness, home)
  const { json: claim } = await worker.claim('wf_judge')
  const allowed = await call('PATCH', 'me', { allowedOrigins: ['https://buyer.example'] })
  assert.equal(allowed.status, 200, allowed.text)
  const open = async (origin: string) =>
    harness.call('POST', '/api/sessions', {
      body: { site: claim.site, kind: 'work', challenge: claim.challenge, key: (await makeSessionKey()).jwk },
      headers: { origin },
    })
  assertRefusal(await open('https://elsewhere.example'), 403, 'forbidden')
  const opened = await open(openBrowser(harness).origin)
  assert.equal(opened.status, 200, opened.text)
  await call('PATCH', 'me', { allowedOrigins: [] })
  assert.equal((await worker.deliver(claim.assignmentId, await worker.record(claim), answer)).status, 200)
  assert.equal((await unitOf(orderId)).status, 'delivered')
})

test('a buyer who cancels in the moment of a delivery pays for the delivery', async () => {
  for (let round = 0; round < 5; round += 1) {
    const orderId = await commission(`Round ${round}?`)
    const worker = await makeWorker(harness, home)
    const { json: claim } = await worker.claim('wf_judge')
    const sessionId = await worker.record(claim)
    const [delivered, cancelled] = await Promise.all([
      worker.deliver(claim.assignmentId, sessionId, answer),
      call('POST', `orders/${orderId}/cancel`),
    ])
    assert.equal(delivered.json.status, 'delivered', delivered.text)
    assert.ok([200, 409].includes(cancelled.status), cancelled.text)
    // Once more at the end of the review period, against the job that accepts.
    await harness.advance(73 * hourMs)
    await Promise.all([runJobs(reviewJobs), call('POST', `orders/${orderId}/cancel`)])
    const unit = await unitOf(orderId)
    assert.equal(unit.status, 'accepted')
    assert.equal(await vestingStarsOf(worker), claim.rewardStars)
    const { escrow } = (await call('GET', `orders/${orderId}`)).json
    assert.deepEqual([escrow.heldUsd, escrow.paidUsd, escrow.returnedUsd], [0, 1, 0])
  }
  assert.deepEqual(await ledgerFaults(harness), [])
})

const order = (body: object) => call('POST', 'order', { taskType: 'wf_judge', quantity: 1, ...body })

test('an order below a cent, of no unit, of half a unit or of more than all money is refused', async () => {
  for (const body of [
    { quantity: 0 },
    { quantity: -1 },
    { quantity: 1.5 },
    { quantity: 1e15 },
    { quantity: 10_001 },
    { quantity: '1' },
    { maxPriceUsd: -0.01 },
    { maxPriceUsd: 1e300 },
  ])
    assertRefusal(await order(body), 400, 'validation_failed')
  for (const maxPriceUsd of [0, 0.001, 0.009_999])
    assertRefusal(await order({ maxPriceUsd }), 409, 'price_above_max')
})
