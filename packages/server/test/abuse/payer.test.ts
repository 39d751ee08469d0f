import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encode } from '../fixtures/payments/payer.ts'
import { ledgerFaults } from '../fixtures/payments/ledger.ts'
import { startPurchaseHarness } from '../fixtures/payments/purchases.ts'
import { assertRefusal } from '../fixtures/refusal.ts'

const fixture = await startPurchaseHarness()
if (!fixture) test('payers', { skip: 'no chain runs on this system' }, () => undefined)
else {
  const { harness, requestChallenge, makeFundedPayer, signV1, signV2, pay, buy, balanceOf } = fixture
  const price = 10_000n
  const purchasesOf = async (payer: string) => {
    const { rows } = await harness.owner.query<{ state: string; agent_id: string }>(
      'select state, agent_id from purchases where payer = $1',
      [payer.toLowerCase()],
    )
    return rows
  }

  test('one authorization that pays for two purchases at once buys one and is charged once', async () => {
    const payer = await makeFundedPayer()
    const { v1 } = await requestChallenge()
    const payment = encode(await signV1(payer, v1))
    const ids = await Promise.all(
      Array.from({ length: 6 }, async () => (await requestChallenge()).purchaseId),
    )
    const answers = await Promise.all(ids.map((id) => pay({ 'x-payment': payment, 'x-purchase-id': id })))
    const delivered = answers.filter(({ status }) => status === 200)
    assert.equal(delivered.length, 1, answers.map(({ text }) => text.slice(0, 200)).join('\n'))
    for (const answer of answers) if (answer.status !== 200) assertRefusal(answer, 409, 'purchase_conflict')
    assert.equal(await balanceOf(payer.account.address), 1_000_000n - price)
    assert.deepEqual(
      (await purchasesOf(payer.account.address)).map(({ state }) => state),
      ['delivered'],
    )
    assert.deepEqual(await ledgerFaults(harness), [])
  })

  test('a wallet proof for one purchase opens no other purchase of the same wallet', async () => {
    const payer = await makeFundedPayer()
    const [one, two] = [await buy(payer), await buy(payer)]
    assert.deepEqual([one.answer.status, two.answer.status], [200, 200])
    const read = (purchaseId: string, proof?: string) =>
      harness.call('GET', `/api/agent/purchases/${purchaseId}`, {
        headers: proof === undefined ? {} : { 'x-wallet-proof': proof },
      })
    const shown = await read(one.answer.json.purchaseId)
    assert.equal(shown.json.delivery, undefined, 'without a proof the state alone')
    const time = Math.floor(harness.ctx.clock.now().getTime() / 1_000)
    const message = String(shown.json.recover.message).replace('{time}', String(time))
    const proof = `${time}.${await payer.account.signMessage({ message })}`
    assert.deepEqual((await read(one.answer.json.purchaseId, proof)).json.delivery, one.answer.json)
    assertRefusal(await read(two.answer.json.purchaseId, proof), 400, 'wallet_signature_invalid')
  })

  test('an agent that repeats the payment of another with its own key gets neither delivery nor purchase', async () => {
    const owner = await harness.register('test')
    const thief = await harness.register('test')
    const payer = await makeFundedPayer()
    const { v2 } = await requestChallenge()
    const { extra, ...terms } = v2
    const { purchaseId: _, ...domain } = extra
    const payment = encode(await signV2(payer, { ...terms, extra: domain }))
    const buyAs = (apiKey: string) =>
      harness.call('POST', '/api/agent/tasks/wf_test_ok/buy', {
        key: apiKey,
        body: {},
        headers: { 'payment-signature': payment },
      })
    const first = await buyAs(owner.apiKey)
    assert.equal(first.status, 200, first.text)
    const copied = await buyAs(thief.apiKey)
    assert.equal(copied.json.pohf_jwt, undefined, copied.text)
    assert.equal(copied.json.answer, undefined, copied.text)
    const list = async (key: string) =>
      (await harness.call('GET', '/api/agents/purchases', { key })).json.purchases.length as number
    assert.deepEqual([await list(owner.apiKey), await list(thief.apiKey)], [1, 0])
    assert.equal(await balanceOf(payer.account.address), 1_000_000n - price)
  })

  test('an authorization that ends before a block can have it is refused and costs nobody anything', async () => {
    const payer = await makeFundedPayer()
    const { v2 } = await requestChallenge()
    const seconds = Math.floor(harness.ctx.clock.now().getTime() / 1_000)
    const refused = await pay({
      'payment-signature': encode(await signV2(payer, v2, { validBefore: String(seconds + 1) })),
    })
    assertRefusal(refused, 402, 'payment_invalid')
    assert.deepEqual(await purchasesOf(payer.account.address), [])
    assert.equal(await balanceOf(payer.account.address), 1_000_000n)
  })
}
