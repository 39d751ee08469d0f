import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encode, makePayer } from '../../test/fixtures/payments/payer.ts'
import { startPurchaseHarness } from '../../test/fixtures/payments/purchases.ts'

const fixture = await startPurchaseHarness()
if (!fixture) test('payment identifiers', { skip: 'no chain runs on this system' }, () => undefined)
else {
  const { chain, harness, requestChallenge, makeFundedPayer, signV2, pay, balanceOf } = fixture
  const funds = 1_000_000n
  const price = 10_000n
  type Payer = ReturnType<typeof makePayer>

  /** A new payment under this identifier, as a version 2 client sends it. */
  const paymentUnder = async (payer: Payer, id: unknown) => {
    const { v2 } = await requestChallenge()
    const extensions = { 'payment-identifier': { info: { required: false, id } } }
    return { 'payment-signature': encode({ ...(await signV2(payer, v2)), extensions }) }
  }
  const spentBy = async (payer: Payer) => funds - (await balanceOf(payer.account.address))

  test('the same payment again gets the same bytes; another payment under its identifier is 409 and not charged', async () => {
    const payer = await makeFundedPayer()
    const id = 'pay_first_0000000001'
    const headers = await paymentUnder(payer, id)
    const first = await pay(headers)
    assert.equal(first.status, 200, first.text)
    assert.equal((await pay(headers)).text, first.text)
    const other = await pay(await paymentUnder(payer, id))
    assert.equal(other.status, 409, other.text)
    assert.equal(other.json.error, 'purchase_conflict')
    assert.equal(await spentBy(payer), price)
    const stranger = await makeFundedPayer()
    assert.equal((await pay(await paymentUnder(stranger, id))).status, 200)
  })

  test('of twelve payments at once under one identifier, one is charged', async () => {
    const payer = await makeFundedPayer()
    const sent = await Promise.all(
      Array.from({ length: 12 }, () => paymentUnder(payer, 'pay_parallel_00000001')),
    )
    const answers = await Promise.all(sent.map((headers) => pay(headers)))
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
    assert.deepEqual(statuses, [200, ...Array<number>(11).fill(409)])
    assert.equal(await spentBy(payer), price)
  })

  test('a payment that was refused before anything was sent releases its identifier', async () => {
    const payer = makePayer()
    const refused = await pay(await paymentUnder(payer, 'pay_released_00000001'))
    assert.equal(refused.status, 402, refused.text)
    await chain.mint(payer.account.address, funds)
    const answer = await pay(await paymentUnder(payer, 'pay_released_00000001'))
    assert.equal(answer.status, 200, answer.text)
  })

  test('an identifier is 16 to 128 letters, digits, hyphens and underscores; an echo without one is no identifier', async () => {
    const payer = await makeFundedPayer()
    for (const id of ['short', 'x'.repeat(129), 'with a space in it', 'pay_\u0000_00000000001', 7, null])
      assert.equal((await pay(await paymentUnder(payer, id))).json.error, 'payment_malformed', String(id))
    assert.equal(await spentBy(payer), 0n)
    assert.equal((await pay(await paymentUnder(payer, undefined))).status, 200)
    const { rows } = await harness.owner.query(
      "select count(*)::int as count from idempotency_keys where path = 'payment-identifier' and status is null",
    )
    assert.equal(rows[0].count, 0)
  })
}
