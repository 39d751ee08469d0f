import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { encode } from '../../../test/fixtures/payments/payer.ts'
import { startPurchaseHarness } from '../../../test/fixtures/payments/purchases.ts'
import { backUp, makeRestoreService, restore } from '../../../test/fixtures/restore.ts'
import { derivedNonceOf } from '../../purchases/rules.ts'

const fixture = await startPurchaseHarness({ ROOT_BUDGETS: 'off' })
if (!fixture) test('purchases of a lost span', { skip: 'no chain runs on this system' }, () => undefined)
else {
  const { harness, node, makeFundedPayer, requestChallenge, signV2, pay, submitAsStranger } = fixture
  const service = await makeRestoreService(harness)
  after(() => service.signer.close())
  const { mint, operate, acknowledged } = service

  /** A payment of another wallet each time. `derived`: with the nonce of its purchase, as our SDK signs. */
  const sign = async (nonce: 'derived' | 'random') => {
    const { v2, purchaseId } = await requestChallenge()
    const change = nonce === 'derived' ? { nonce: derivedNonceOf(purchaseId) } : {}
    const payment = await signV2(await makeFundedPayer(), v2, change)
    return { payment, purchaseId, headers: { 'payment-signature': encode(payment) } }
  }
  const buy = async (nonce: 'derived' | 'random') => {
    const signed = await sign(nonce)
    const answer = await pay(signed.headers)
    assert.equal(answer.status, 200, answer.text)
    return { ...signed, text: answer.text }
  }

  await mint(await service.makeSessions(1))
  // The service does not know whether the chain has its payment.
  const open = await sign('derived')
  node.setFaultRule((method) => (method.startsWith('eth_sendRaw') ? 'drop' : 'pass'))
  assert.equal((await pay(open.headers)).status, 202)
  node.setFaultRule(() => 'pass')
  const kept = await buy('derived')
  await acknowledged()
  await backUp(harness)
  await harness.advance(5_000)
  await harness.runJobs()
  assert.equal((await pay(open.headers)).status, 200)
  const delivered = await buy('derived')
  const deliveredRandom = await buy('random')
  const undelivered = await sign('derived')
  await submitAsStranger(undelivered.payment)
  await acknowledged()
  await restore(harness)
  const { json: applied } = await operate('POST', '/operator/restore/apply', {})

  test('a payment that was delivered in the lost span buys nothing again', async () => {
    // Revoked is the one that was signed while its payment was pending.
    assert.deepEqual([applied.applied, applied.recorded - applied.revoked], [true, 3])
    const again = await pay(delivered.headers)
    assert.deepEqual([again.status, again.json.error], [409, 'purchase_conflict'])
    assert.match(again.text, /delivered before the database was restored/)
    const random = await pay(deliveredRandom.headers)
    assert.deepEqual([random.status, random.json.error], [409, 'purchase_conflict'])
    const { rows } = await harness.owner.query('select count(*)::int as n from purchases')
    assert.equal(rows[0].n, 2)
  })

  test('a payment that was settled and not delivered is delivered, once', async () => {
    const first = await pay(undelivered.headers)
    assert.equal(first.status, 200, first.text)
    assert.equal((await pay(undelivered.headers)).text, first.text)
  })

  test('a purchase of before the lost span is as it was', async () => {
    assert.equal((await pay(kept.headers)).text, kept.text)
  })

  test('a purchase that was open before and delivered in the lost span ends, and an operator decides', async () => {
    await harness.advance(120_000)
    await harness.runJobs()
    const { rows } = await harness.owner.query('select state, reason from purchases where state <> $1', [
      'delivered',
    ])
    assert.deepEqual(rows, [
      { state: 'refund_due', reason: 'its credential was delivered before the database was restored' },
    ])
    const check = await operate('GET', '/operator/ledger/check?whole=1')
    assert.equal(check.json.ok, true, check.text)
  })
}
