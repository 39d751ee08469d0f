import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verifyCredential, type Fetch } from '@pohf/verify'
import { makeCardSteps } from '../../../test/fixtures/payments/card-steps.ts'
import { startCardHarness } from '../../../test/fixtures/payments/card.ts'
import { makeWorker } from '../../../test/fixtures/people/worker.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import * as operators from '../../operators/index.ts'

const card = await startCardHarness({ ORDER_REVIEWS: '0' })
const { harness, simulator } = card
const { advanceClock } = makeCardSteps(card)
const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
const answer = { judgement: 'It is fine. I think so.', sure: 4 }
const base = harness.ctx.config.BASE_URL
const fetchFromHarness: Fetch = async (url) => {
  const response = await harness.call('GET', url.slice(base.length))
  return new Response(response.text, {
    status: response.status,
    headers: { 'content-type': response.headers['content-type'] ?? '' },
  })
}

const reject = { reason: 'low_effort' }
const decide = (assignmentId: string, decision: 'accepted' | 'refused') =>
  harness.callOperator('POST', `/operator/appeals/${assignmentId}/decide`, {
    key: operatorKey,
    body: { decision, reason: 'Read.' },
  })

/** A test order, or a live one that a card paid, of which one person has delivered every unit. */
const deliveredOrder = async (mode: 'live' | 'test', quantity: number) => {
  const agent = mode === 'live' ? await card.liveAgent() : await harness.register('test')
  const call = (method: string, path: string, body?: unknown) =>
    harness.call(method, `/api/agents/${path}`, {
      key: agent.apiKey,
      ...(body === undefined ? {} : { body }),
    })
  const items = Array.from({ length: quantity }, (_, n) => `Question ${n}?`)
  const placed = await call('POST', 'order', { taskType: 'wf_judge', quantity, items })
  const orderId = String(placed.json.orderId)
  const { json } = await call('POST', 'order/fund', { orderId })
  const checkout = new URL(json.checkoutUrl).pathname.split('/').at(-1) ?? ''
  const payment = mode === 'live' ? await card.pay(checkout) : ''
  const statusIs = async (status: string) => (await call('GET', `orders/${orderId}`)).json.status === status
  await pollUntil('funded', () => statusIs('funded'))
  const home = { ...(mode === 'live' ? await card.liveAgent() : await harness.register('test')), mode }
  const worker = await makeWorker(harness, home)
  for (let n = 0; n < quantity; n++)
    assert.equal((await worker.work('wf_judge', answer)).json.status, 'delivered')
  const unitsNow = async () => (await call('GET', `orders/${orderId}/results`)).json.units
  return {
    call,
    orderId,
    payment,
    statusIs,
    worker,
    unitsNow,
    /** What a verifier says about the credential of a unit once the status lists are published again. */
    verdictOf: async (n: number): Promise<string> => {
      await advanceClock(90_000)
      await harness.runJobs()
      const { credential } = (await unitsNow())[n - 1]
      const result = await verifyCredential(credential.pohf_jwt, {
        issuer: base,
        policy: { kinds: ['work'], minAssurance: 'low', minQuality: 0, status: 'require', allowTest: true },
        fetch: fetchFromHarness,
        clock: () => harness.ctx.clock.now(),
      })
      return result.ok ? 'valid' : result.reason
    },
    eventsOf: async (n: number): Promise<string[]> => {
      const { credential } = (await unitsNow())[n - 1]
      const { rows } = await harness.owner.query(
        'select type from events where subject = $1 order by event_id',
        [credential.credentialId],
      )
      return rows.map((row: { type: string }) => row.type)
    },
    appeal: async (n: number) => {
      const { json: earnings } = await worker.get('earnings')
      const rejected = earnings.assignments.filter((one: { status: string }) => one.status === 'rejected')
      const { assignmentId } = rejected[n - 1] ?? rejected[0]
      const appealed = await worker.post(`assignments/${assignmentId}/appeal`, { text: 'Look again.' })
      assert.equal(appealed.status, 200, appealed.text)
      return (decision: 'accepted' | 'refused') => decide(String(assignmentId), decision)
    },
  }
}

// First: the card provider signs by the real time, which the other tests leave behind.
test('a rejected unit anchors no binding, neither by its session nor by its number', async () => {
  const { call, orderId, unitsNow } = await deliveredOrder('live', 1)
  const [unit] = await unitsNow()
  const bind = (anchor: object) => call('POST', 'bind-transaction', { paymentRef: 'order-7', ...anchor })
  assert.equal((await call('POST', `orders/${orderId}/units/1/reject`, reject)).status, 200)
  const bySession = await bind({ sessionId: unit.sessionId })
  assert.equal(bySession.json.error, 'credential_revoked', bySession.text)
  const byNumber = await bind({ workRef: `${orderId}/1` })
  assert.equal(byNumber.json.error, 'missing_human_anchor', byNumber.text)
})

/** A live order of three units, one accepted and one rejected, whose payment is disputed. */
const disputedOrder = async () => {
  const order = await deliveredOrder('live', 3)
  await order.call('POST', `orders/${order.orderId}/units/1/accept`)
  await order.call('POST', `orders/${order.orderId}/units/2/reject`, reject)
  const { dispute } = await simulator.control<{ dispute: string }>(`payments/${order.payment}/dispute`)
  await pollUntil('stopped', async () => {
    const states = (await order.unitsNow()).map((unit: { status: string }) => unit.status)
    return states.join() === 'accepted,rejected,rejected'
  })
  for (const n of [1, 2, 3]) assert.equal(await order.verdictOf(n), 'suspended', `unit ${n}`)
  const close = async (how: 'won' | 'lost') => {
    await simulator.control(`disputes/${dispute}/close`, { how })
    await pollUntil('closed', async () => {
      const { rows } = await harness.owner.query('select state from card_disputes where dispute_id = $1', [
        dispute,
      ])
      return rows[0]?.state === how
    })
  }
  return { order, close }
}

test('a dispute suspends the credentials of units that wait, and of units that were paid from it; a lost one revokes them', async () => {
  const { order, close } = await disputedOrder()
  // The operator pays the worker. The buyer has not paid, so the credential stays suspended.
  const decideAppeal = await order.appeal(1)
  assert.equal((await decideAppeal('accepted')).status, 200)
  const paid = (await order.unitsNow()).findIndex(
    (unit: { status: string; n: number }) => unit.status === 'accepted' && unit.n > 1,
  )
  assert.equal(await order.verdictOf(paid + 1), 'suspended')
  await close('lost')
  for (const n of [1, 2, 3]) assert.equal(await order.verdictOf(n), 'revoked', `unit ${n}`)
})

test('a dispute that is won reinstates the credentials, except those whose unit the buyer had rejected', async () => {
  const { order, close } = await disputedOrder()
  await close('won')
  const verdicts = [await order.verdictOf(1), await order.verdictOf(2), await order.verdictOf(3)]
  assert.deepEqual(verdicts, ['valid', 'suspended', 'valid'])
  assert.deepEqual(await order.eventsOf(1), [
    'credential.issued',
    'credential.suspended',
    'credential.reinstated',
  ])
})

test('a buyer who rejects a unit and gets the price back keeps no credential that verifies', async () => {
  const order = await deliveredOrder('test', 1)
  assert.equal(await order.verdictOf(1), 'valid')
  assert.equal((await order.call('POST', `orders/${order.orderId}/units/1/reject`, reject)).status, 200)
  assert.equal(await order.verdictOf(1), 'suspended')
  await harness.advance(73 * 3_600_000)
  await harness.runJobs()
  assert.equal((await order.unitsNow())[0].status, 'refused')
  assert.equal(await order.verdictOf(1), 'revoked')
  assert.deepEqual(await order.eventsOf(1), [
    'credential.issued',
    'credential.suspended',
    'credential.revoked',
  ])
  const { sessionId } = (await order.unitsNow())[0]
  const verified = await order.call('POST', 'verify', { sessionId })
  assert.equal(verified.json.error, 'credential_revoked', 'nor a new credential of the same session')
})

test('an appeal that is won reinstates the credential, one that is lost revokes it', async () => {
  const order = await deliveredOrder('test', 2)
  for (const n of [1, 2]) await order.call('POST', `orders/${order.orderId}/units/${n}/reject`, reject)
  const first = await order.appeal(1)
  assert.equal(await order.verdictOf(1), 'suspended', 'an appeal alone changes nothing')
  assert.equal((await first('accepted')).status, 200)
  const second = await order.appeal(1)
  assert.equal((await second('refused')).status, 200)
  const states = (await order.unitsNow()).map((unit: { status: string }) => unit.status)
  const verdicts = [await order.verdictOf(1), await order.verdictOf(2)]
  assert.deepEqual(Object.fromEntries(states.map((state: string, at: number) => [state, verdicts[at]])), {
    accepted: 'valid',
    refused: 'revoked',
  })
})

test('a suspended credential that expires is not minted anew', async () => {
  const order = await deliveredOrder('test', 1)
  await order.call('POST', `orders/${order.orderId}/units/1/reject`, reject)
  await order.appeal(1)
  await harness.advance(8 * 86_400_000)
  const [unit] = await order.unitsNow()
  assert.equal(unit.status, 'appealed', 'the operator has not decided')
  const verified = await order.call('POST', 'verify', { sessionId: unit.sessionId })
  assert.equal(verified.json.pohf_jwt, unit.credential.pohf_jwt)
})

test('the units of an order that was cancelled keep their credentials where they are paid', async () => {
  const order = await deliveredOrder('test', 1)
  assert.equal((await order.call('POST', `orders/${order.orderId}/cancel`)).status, 409)
  assert.equal((await order.call('POST', `orders/${order.orderId}/units/1/accept`)).status, 200)
  assert.equal(await order.verdictOf(1), 'valid')
})
