import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { encode } from '../../test/fixtures/payments/payer.ts'
import { startPurchaseHarness } from '../../test/fixtures/payments/purchases.ts'

const fixture = await startPurchaseHarness()
if (!fixture) test('races', { skip: 'no chain runs on this system' }, () => undefined)
else {
  const { chain, harness, requestChallenge, makeFundedPayer, signV1, signV2, pay, buy, balanceOf } = fixture
  const price = 10_000n
  const buyers = 40
  const transactions = async () => (await harness.owner.query('select from gas_transactions')).rowCount

  test('40 buyers at the same time: all are delivered, each is charged once', async (t) => {
    const payers: Awaited<ReturnType<typeof makeFundedPayer>>[] = []
    for (let index = 0; index < buyers; index++) payers.push(await makeFundedPayer(50_000n))
    const begun = performance.now()
    const answers = await Promise.all(
      payers.map(async (payer) => {
        const first = await buy(payer)
        // On a busy machine some get 202 or 503. They retry with the same payment.
        for (let answer = first.answer, tries = 0; ; tries++) {
          if (![202, 503].includes(answer.status) || tries >= 60) return { answer }
          await setTimeout(500)
          answer = await pay(first.headers)
        }
      }),
    )
    t.diagnostic(`${Math.round(performance.now() - begun)} ms for ${buyers}`)
    assert.deepEqual(
      answers.filter(({ answer }) => answer.status !== 200).map(({ answer }) => answer.text),
      [],
    )
    assert.equal(new Set(answers.map(({ answer }) => answer.json.credentialId)).size, buyers)
    for (const payer of payers) assert.equal(await balanceOf(payer.account.address), 50_000n - price)
    assert.equal(await balanceOf(chain.payTo.address), price * BigInt(buyers))
  })

  test('64 copies of one payment: one transaction, one credential, the same bytes for all', async () => {
    const payer = await makeFundedPayer()
    const { v2 } = await requestChallenge()
    const headers = { 'payment-signature': encode(await signV2(payer, v2)) }
    const before = await transactions()
    const answers = await Promise.all(Array.from({ length: 64 }, () => pay(headers)))
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
    assert.equal(await transactions(), (before ?? 0) + 1)
    assert.equal(await balanceOf(payer.account.address), 1_000_000n - price)
  })

  test('64 copies without a purchase id: one charge, one credential, and no late caller gets it', async () => {
    const payer = await makeFundedPayer()
    const { v1 } = await requestChallenge()
    const headers = { 'x-payment': encode(await signV1(payer, v1)) }
    const before = await transactions()
    const answers = await Promise.all(Array.from({ length: 64 }, () => pay(headers)))
    assert.ok(answers.every(({ status }) => status === 200 || status === 202))
    const delivered = answers.filter(({ status }) => status === 200)
    assert.ok(delivered.length >= 1)
    assert.equal(new Set(delivered.map(({ text }) => text)).size, 1)
    assert.equal(await transactions(), (before ?? 0) + 1)
    assert.equal(await balanceOf(payer.account.address), 1_000_000n - price)
  })

  test('one purchase id and 16 authorizations at once: one is charged, the others are conflicts', async () => {
    const payer = await makeFundedPayer()
    const { v2 } = await requestChallenge()
    const payments = await Promise.all(Array.from({ length: 16 }, () => signV2(payer, v2)))
    const answers = await Promise.all(
      payments.map((payment) => pay({ 'payment-signature': encode(payment) })),
    )
    const statuses = answers.map(({ status }) => status).toSorted((one, other) => one - other)
    assert.deepEqual(statuses, [200, ...Array.from({ length: 15 }, () => 409)])
    assert.equal(await balanceOf(payer.account.address), 1_000_000n - price)
  })
}
