import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { decode } from '../../../test/payer.ts'
import { startShop } from '../../../test/shop.ts'

const shop = await startShop()
if (!shop) test('purchases that settle', { skip: 'no chain runs on this system' }, () => undefined)
else {
  const { chain, fund, buy, balanceOf } = shop

  test('a good payment is charged once and delivers the credential with the answer', async () => {
    const payer = await fund(30_000n)
    const before = await balanceOf(chain.payTo.address)
    const { answer, purchaseId } = await buy(payer)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(await balanceOf(payer.account.address), 20_000n)
    assert.equal(await balanceOf(chain.payTo.address), before + 10_000n)
    assert.equal(answer.json.kind, 'purchase')
    assert.equal(answer.json.purchaseId, purchaseId.split('.')[0])
    assert.equal(answer.json.payment.payer, payer.account.address.toLowerCase())
    const claims = decodeJwt(answer.json.pohf_jwt)
    assert.equal(claims['test'], true)
    const receipt = decode(answer.headers['payment-response'])
    assert.equal(receipt.success, true)
    assert.equal(receipt.transaction, answer.json.payment.transaction)
  })
}
