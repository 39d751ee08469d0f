import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { startCardHarness } from '../../../test/fixtures/payments/card.ts'
import { enrolMember, registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'
import { makeCardProvider, makePayments } from '../../payments/index.ts'

const card = await startCardHarness()
const { harness, simulator } = card
const live = await registerConfirmedAgent(harness, 'live', 'agent@example.com')
const ada = await enrolMember(harness, live)
const ben = await enrolMember(harness, live)
const bind = (body: object, memberId = ada.memberId) =>
  harness.call('POST', '/api/agents/bind-transaction', { key: live.apiKey, body: { memberId, ...body } })
const bindingOf = (jwt: string) => decodeJwt(jwt)['binding'] as Record<string, unknown>
const refusal = async (paymentRef: string, memberId?: string) => {
  const { status, json } = await bind({ paymentRef }, memberId)
  return [status, json.error, json.details?.[0]?.code]
}
const paid = async (agent: { readonly apiKey: string } = live) => {
  const { sessionId, checkoutId } = await card.openCheckout(agent)
  const paymentId = await card.pay(sessionId)
  await card.waitForState(checkoutId, 'completed')
  const { payments } = await simulator.control<{ payments: { id: string; chargeId: string }[] }>('state')
  return { sessionId, paymentId, chargeId: payments.find(({ id }) => id === paymentId)?.chargeId ?? '' }
}

test('a payment through the agent’s own checkout is found by any of its ids, and is one payment', async () => {
  const { sessionId, paymentId, chargeId } = await paid()
  const names = [paymentId, `card:stripe:${sessionId}`, `card:stripe:${chargeId}`, `mpp:stripe:${paymentId}`]
  assert.equal((await bind({ paymentRef: paymentId })).status, 200)
  for (const paymentRef of names) {
    assert.deepEqual(
      await refusal(paymentRef, ben.memberId),
      [409, 'payment_ref_bound', undefined],
      paymentRef,
    )
    const { status, json, text } = await bind({ paymentRef })
    assert.equal(status, 200, text)
    assert.equal(json.binding.assurance, 'verified', paymentRef)
    const { amount, currency, payee, checked_at: checkedAt } = bindingOf(json.pohf_jwt)
    assert.deepEqual([amount, currency, payee], ['49', 'USD', undefined])
    assert.equal(typeof checkedAt, 'number')
  }
})

test('an open, a processing, a refunded and a disputed payment are not settled', async () => {
  const open = await card.openCheckout(live)
  assert.deepEqual(await refusal(open.sessionId), [422, 'payment_not_settled', 'unpaid'])
  await simulator.control(`sessions/${open.sessionId}/pay-slowly`)
  assert.deepEqual(await refusal(open.sessionId), [422, 'payment_not_settled', 'unpaid'])
  const { sessions } = await card.state()
  const slow = String(sessions.find(({ id }) => id === open.sessionId)?.paymentId)
  assert.deepEqual(await refusal(slow), [422, 'payment_not_settled', 'unpaid'])
  await simulator.control(`sessions/${open.sessionId}/settle`, { succeeded: true })
  assert.equal((await bind({ paymentRef: slow })).json.binding.assurance, 'verified')

  const refunded = await paid()
  await simulator.control(`payments/${refunded.paymentId}/refund`, { amount: 1 })
  const disputed = await paid()
  await simulator.control(`payments/${disputed.paymentId}/dispute`)
  for (const [one, code] of [
    [refunded, 'refunded'],
    [disputed, 'disputed'],
  ] as const)
    for (const name of [one.paymentId, one.sessionId, `card:stripe:${one.chargeId}`])
      assert.deepEqual(await refusal(name), [422, 'payment_not_settled', code])
})

test('an id of another account is asserted; an unavailable provider is 503 and binds nothing', async () => {
  for (const paymentRef of ['pi_of_somebody_else', 'cs_of_somebody_else', 'card:stripe:ch_of_somebody_else'])
    assert.equal((await bind({ paymentRef })).json.binding.assurance, 'asserted', paymentRef)
  const { paymentId } = await paid()
  await simulator.control('faults', { kind: 'error', calls: 1 })
  assert.deepEqual(await refusal(paymentId), [503, 'card_provider_unreachable', undefined])
  assert.equal((await bind({ paymentRef: paymentId })).json.binding.assurance, 'verified')
})

test('the payment of another agent, in any state, is like one that does not exist', async () => {
  const victim = await card.liveAgent()
  const settled = await paid(victim)
  const refunded = await paid(victim)
  await simulator.control(`payments/${refunded.paymentId}/refund`, { amount: 1 })
  const open = await card.openCheckout(victim)
  const unknown = await bind({ paymentRef: 'cs_of_nobody' })
  const names = [
    settled.paymentId,
    `card:stripe:${settled.sessionId}`,
    `card:stripe:${settled.chargeId}`,
    `mpp:stripe:${settled.paymentId}`,
    refunded.paymentId,
    `card:stripe:${refunded.chargeId}`,
    open.sessionId,
  ]
  for (const paymentRef of names) {
    const { status, json, text } = await bind({ paymentRef })
    assert.equal(status, 200, text)
    assert.equal(json.binding.assurance, 'asserted', paymentRef)
    assert.deepEqual(
      Object.keys(bindingOf(json.pohf_jwt)),
      Object.keys(bindingOf(unknown.json.pohf_jwt)),
      'no amount, no currency, no time of a look-up',
    )
  }
})

test('with a test key of the provider on a public address nothing is verified', async () => {
  const { paymentId } = await paid()
  const { ctx } = harness
  const statusWith = (loopback: boolean) =>
    makePayments({ ...ctx, config: { ...ctx.config, loopback } }, makeCardProvider(ctx)).findCardPayment(
      live.agentId,
      paymentId,
    )
  assert.deepEqual(await statusWith(true), { settled: true, paymentId, usdCents: 4_900n })
  assert.equal(await statusWith(false), 'foreign')
  assert.equal(await makePayments(ctx, undefined).findCardPayment(live.agentId, paymentId), 'foreign')
})
