import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { keccak256, toHex } from 'viem'
import { encode, makePayer } from '../../test/fixtures/payments/payer.ts'
import type { CallOutcome } from '../../test/fixtures/payments/chain-proxy.ts'
import { startHarness } from '../../test/fixtures/harness.ts'
import { startPurchaseHarness } from '../../test/fixtures/payments/purchases.ts'

const fixture = await startPurchaseHarness()
if (!fixture) test('settlements in doubt', { skip: 'no chain runs on this system' }, () => undefined)
else {
  const {
    chain,
    node,
    harness,
    requestChallenge,
    makeFundedPayer,
    signV1,
    signV2,
    pay,
    buy,
    balanceOf,
    submitAsStranger,
    advanceChain,
    settings,
  } = fixture
  const price = 10_000n
  const status = async (purchaseId: string, headers: Record<string, string> = {}) =>
    harness.call('GET', `/api/agent/purchases/${purchaseId}`, { headers })
  const rows = async (text: string, values: unknown[] = []) => (await harness.owner.query(text, values)).rows
  /** Lets the worker run until a purchase has come to this state. */
  const workUntil = async (purchaseId: string, state: string) => {
    for (let round = 0; round < 12; round++) {
      await harness.advance(5_000)
      await harness.runJobs()
      if ((await status(purchaseId)).json.status === state) return
    }
    assert.fail(`${purchaseId} is ${(await status(purchaseId)).text}, not ${state}`)
  }

  test('a stranger submits the authorization first: the payer gets the delivery, charged once', async () => {
    const payer = await makeFundedPayer(30_000n)
    const { v2 } = await requestChallenge()
    const payment = await signV2(payer, v2)
    let theirs: unknown
    node.setFaultRule(async (method): Promise<CallOutcome> => {
      if (method.startsWith('eth_sendRaw')) theirs ??= await submitAsStranger(payment)
      return 'pass'
    })
    const answer = await pay({ 'payment-signature': encode(payment) })
    node.setFaultRule(() => 'pass')
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.json.payment.transaction, theirs)
    // The credential that was presigned for our own transaction is dropped.
    const { purchase } = decodeJwt<{ purchase: { transaction: string } }>(answer.json.pohf_jwt)
    assert.equal(purchase.transaction, theirs)
    assert.equal(await balanceOf(payer.account.address), 30_000n - price)
  })

  test('an authorization that was used before it was sent here buys nothing: it may have paid for something else', async () => {
    const payer = await makeFundedPayer()
    const before = await rows('select count(*) from purchases')
    for (const sign of [signV1, signV2]) {
      const { v1, v2, purchaseId } = await requestChallenge()
      const payment = await sign(payer, sign === signV1 ? v1 : v2)
      await submitAsStranger(payment)
      for (const headers of [{}, { 'x-purchase-id': purchaseId }]) {
        const answer = await pay({ 'x-payment': encode(payment), ...headers })
        assert.equal(answer.status, 409, answer.text)
        assert.equal(answer.json.error, 'purchase_conflict')
      }
    }
    assert.deepEqual(await rows('select count(*) from purchases'), before)
  })

  test('unless its nonce derives from the purchase id: then it paid for this purchase, and its id opens the delivery', async () => {
    const payer = await makeFundedPayer()
    const { v2, purchaseId } = await requestChallenge()
    const payment = await signV2(payer, v2, { nonce: keccak256(toHex(`pohf-x402:${purchaseId}`)) })
    await submitAsStranger(payment)
    // Everybody can read this on the chain. Without the id nobody knows for which purchase it was.
    const { accepted, ...open } = payment
    const { purchaseId: _, ...extra } = accepted.extra
    const public_ = { ...open, accepted: { ...accepted, extra } }
    assert.equal((await pay({ 'payment-signature': encode(public_) })).status, 409)
    const other = await requestChallenge()
    const withOther = await pay({
      'payment-signature': encode(public_),
      'x-purchase-id': other.purchaseId,
    })
    assert.equal(withOther.status, 409, withOther.text)
    const answer = await pay({ 'payment-signature': encode(payment) })
    assert.equal(answer.status, 200, answer.text)
    assert.equal((await status(purchaseId)).json.delivery.kind, 'purchase')
    const again = await pay({ 'payment-signature': encode(public_) })
    assert.equal(again.status, 202, again.text)
    assert.equal(again.json.pohf_jwt, undefined)
    assert.equal(await balanceOf(payer.account.address), 1_000_000n - price)
  })

  test('one payment shown to two deployments with the same recipient buys at one of them', async () => {
    const other = await startHarness(settings)
    const payer = await makeFundedPayer()
    const { v1 } = await requestChallenge()
    const headers = { 'x-payment': encode(await signV1(payer, v1)) }
    const path = '/api/agent/tasks/wf_test_ok/buy'
    const first = await pay(headers)
    const second = await other.call('GET', path, { headers })
    assert.equal(first.status, 200, first.text)
    assert.equal(second.status, 409, second.text)
    assert.equal((await other.owner.query('select from purchases')).rowCount, 0)
    assert.equal((await pay(headers)).status, 202, 'the first knows its payment')
  })

  test('a lost response of the node is 202 and never 402, and the same call again delivers without a second charge', async () => {
    const payer = await makeFundedPayer()
    node.setFaultRule((method) => (method.startsWith('eth_sendRaw') ? 'lose later' : 'pass'))
    const { answer, headers } = await buy(payer)
    node.setFaultRule(() => 'pass')
    assert.equal(answer.status, 202, answer.text)
    assert.ok(Number(answer.headers['retry-after']) > 0)
    await harness.advance(3_000)
    const again = await pay(headers)
    assert.equal(again.status, 200, again.text)
    assert.equal(await balanceOf(payer.account.address), 1_000_000n - price)
  })

  test('a transaction that never reached the node is submitted again as it was stored', async () => {
    const payer = await makeFundedPayer()
    node.setFaultRule((method) => (method.startsWith('eth_sendRaw') ? 'drop' : 'pass'))
    const { answer, purchaseId } = await buy(payer)
    node.setFaultRule(() => 'pass')
    assert.equal(answer.status, 202, answer.text)
    assert.equal(await balanceOf(payer.account.address), 1_000_000n)
    await workUntil(purchaseId, 'delivered')
    const sent = await rows('select attempt from gas_transactions where reference = $1', [
      purchaseId.split('.')[0],
    ])
    assert.equal(sent.length, 1)
    assert.equal(await balanceOf(payer.account.address), 1_000_000n - price)
  })

  test('a node that does not answer is 503, nothing is written, and the same payment goes through later', async () => {
    const payer = await makeFundedPayer()
    const { v2 } = await requestChallenge()
    const headers = { 'payment-signature': encode(await signV2(payer, v2)) }
    const before = await rows('select count(*) from purchases')
    for (const fate of [
      'drop',
      { error: { code: -32_000, message: 'header not found' } },
      { error: { code: -32_005, message: 'limit exceeded' } },
      { result: { nonsense: true } },
    ] as const) {
      node.setFaultRule((method) =>
        method === 'eth_call' && typeof fate === 'object' && 'result' in fate ? 'drop' : fate,
      )
      const answer = await pay(headers)
      assert.equal(answer.status, 503, answer.text)
      assert.equal(answer.json.error, 'chain_unreachable')
      await harness.advance(5_000)
    }
    node.setFaultRule(() => 'pass')
    assert.deepEqual(await rows('select count(*) from purchases'), before)
    const answer = await pay(headers)
    assert.equal(answer.status, 200, answer.text)
  })

  test('an outage is never called a wrong signature, not even where the signature is wrong', async () => {
    const { v2 } = await requestChallenge()
    const payment = await signV2(makePayer(), v2)
    const forged = {
      ...payment,
      payload: { ...payment.payload, signature: `${payment.payload.signature.slice(0, -4)}001b` },
    }
    node.setFaultRule(() => 'drop')
    const away = await pay({ 'payment-signature': encode(forged) })
    node.setFaultRule(() => 'pass')
    await harness.advance(5_000)
    const there = await pay({ 'payment-signature': encode(forged) })
    assert.equal(away.status, 503, away.text)
    assert.equal(there.status, 402, there.text)
    assert.equal(there.json.error, 'payment_invalid')
  })

  test('a payment that the payer cancels is void once the chain proves it, not before, and nothing was charged', async () => {
    const payer = await makeFundedPayer()
    const { v2, purchaseId } = await requestChallenge()
    const payment = await signV2(payer, v2)
    const { nonce } = payment.payload.authorization
    const cancellation = await payer.account.signTypedData({
      domain: { ...v2.extra, chainId: 84_532, verifyingContract: chain.token },
      types: {
        CancelAuthorization: [
          { name: 'authorizer', type: 'address' },
          { name: 'nonce', type: 'bytes32' },
        ],
      },
      primaryType: 'CancelAuthorization',
      message: { authorizer: payer.account.address, nonce },
    })
    const data = `0x5a049a70${payer.account.address.slice(2).padStart(64, '0')}${nonce.slice(2)}${cancellation
      .slice(130)
      .padStart(64, '0')}${cancellation.slice(2, 130)}`
    node.setFaultRule(async (method): Promise<CallOutcome> => {
      if (method.startsWith('eth_sendRaw'))
        await chain.rpc('eth_sendTransaction', [
          { from: chain.owner.address, to: chain.token, gas: '0x40000', data },
        ])
      return 'pass'
    })
    const headers = { 'payment-signature': encode(payment) }
    const answer = await pay(headers)
    node.setFaultRule(() => 'pass')
    assert.equal(answer.status, 202, answer.text)
    await harness.advance(5_000)
    await harness.runJobs()
    assert.notEqual((await status(purchaseId)).json.status, 'void')
    await chain.rpc('anvil_mine', ['0x50'])
    await workUntil(purchaseId, 'void')
    const again = await pay(headers)
    assert.equal(again.status, 402, again.text)
    assert.equal(again.json.error, 'payment_invalid')
    assert.equal(await balanceOf(payer.account.address), 1_000_000n)
  })

  test('a token that does not fail and pays nothing delivers nothing, and ends as void after its time', async () => {
    const payer = await makeFundedPayer()
    await chain.putToken('silent')
    const { answer, purchaseId, headers } = await buy(payer)
    assert.equal(answer.status, 202, answer.text)
    assert.equal(answer.json.pohf_jwt, undefined)
    await harness.advance(10_000)
    await harness.runJobs()
    assert.equal((await pay(headers)).status, 202)
    await advanceChain(200_000)
    await workUntil(purchaseId, 'void')
    await chain.putToken('honest')
    assert.equal(await balanceOf(payer.account.address), 1_000_000n)
    assert.equal((await pay(headers)).status, 402)
    await harness.advance(200_000)
  })

  test('another user of a gas account: its nonce is read again, and the purchase is delivered', async () => {
    const payer = await makeFundedPayer()
    const before = await rows('select address, next_nonce from gas_keys')
    for (const { address } of before)
      await chain.rpc('eth_sendTransaction', [{ from: address, to: chain.owner.address, value: '0x1' }])
    const { answer, purchaseId } = await buy(payer)
    assert.ok([200, 202].includes(answer.status), answer.text)
    if (answer.status === 202) await workUntil(purchaseId, 'delivered')
    assert.equal(await balanceOf(payer.account.address), 1_000_000n - price)
    await harness.advance(20_000)
    await harness.runJobs()
    for (const { address, next_nonce: next } of await rows('select address, next_nonce from gas_keys')) {
      const count = BigInt(String(await chain.rpc('eth_getTransactionCount', [address, 'latest'])))
      assert.equal(BigInt(next), count)
    }
  })

  test('a transaction that no block includes is signed again with its nonce at a higher fee', async () => {
    const payer = await makeFundedPayer()
    await chain.rpc('evm_setAutomine', [false])
    node.setFaultRule((method) => (method.startsWith('eth_sendRaw') ? 'lose' : 'pass'))
    const { answer, purchaseId } = await buy(payer)
    node.setFaultRule(() => 'pass')
    assert.equal(answer.status, 202, answer.text)
    await harness.advance(40_000)
    await harness.runJobs()
    const sent = await rows(
      'select nonce, attempt, max_fee_wei::bigint as fee from gas_transactions where reference = $1 order by attempt',
      [purchaseId.split('.')[0]],
    )
    assert.equal(sent.length, 2)
    assert.equal(sent[0].nonce, sent[1].nonce)
    assert.ok(BigInt(sent[1].fee) > BigInt(sent[0].fee))
    await chain.rpc('anvil_mine', ['0x1'])
    await chain.rpc('evm_setAutomine', [true])
    await workUntil(purchaseId, 'delivered')
    assert.equal(await balanceOf(payer.account.address), 1_000_000n - price)
  })

  test('a reverted block: the payment is submitted again; where it has expired meanwhile the credential is revoked', async () => {
    const payer = await makeFundedPayer()
    const first = await chain.rpc('evm_snapshot')
    const { answer, purchaseId } = await buy(payer)
    assert.equal(answer.status, 200, answer.text)
    await chain.rpc('evm_revert', [first])
    assert.equal(await balanceOf(payer.account.address), 1_000_000n)
    await harness.advance(30_000)
    await harness.runJobs()
    assert.equal(await balanceOf(payer.account.address), 1_000_000n - price)
    assert.equal((await status(purchaseId)).json.status, 'delivered')

    const other = await makeFundedPayer()
    const second = await chain.rpc('evm_snapshot')
    const bought = await buy(other)
    assert.equal(bought.answer.status, 200, bought.answer.text)
    await chain.rpc('evm_revert', [second])
    await advanceChain(300_000)
    await harness.advance(30_000)
    await harness.runJobs()
    assert.equal((await status(bought.purchaseId)).json.status, 'void')
    const [state] = await rows(
      'select state from credential_states where credential_id = $1 order by seq desc limit 1',
      [bought.answer.json.credentialId],
    )
    assert.equal(state.state, 'revoked')
    const again = await pay(bought.headers)
    assert.equal(again.status, 402, again.text)
    await harness.advance(300_000)
  })

  test('without a signer a purchase is refused before the charge; one that stops later delays the delivery', async () => {
    const payer = await makeFundedPayer()
    await harness.stopSigner()
    await harness.advance(2_000)
    const refused = await buy(payer)
    assert.equal(refused.answer.status, 503, refused.answer.text)
    assert.equal(await balanceOf(payer.account.address), 1_000_000n)
    await harness.startSigner()
    node.setFaultRule(async (method): Promise<CallOutcome> => {
      if (method.startsWith('eth_sendRaw')) await harness.stopSigner()
      return 'pass'
    })
    const { answer, purchaseId, headers } = await buy(payer)
    node.setFaultRule(() => 'pass')
    assert.equal(answer.status, 202, answer.text)
    assert.equal(answer.json.status, 'settled')
    await harness.startSigner()
    await workUntil(purchaseId, 'delivered')
    const again = await pay(headers)
    assert.equal(again.status, 200, again.text)
    assert.equal(await balanceOf(payer.account.address), 1_000_000n - price)
  })

  test('three requests to the node settle a purchase, two of them at once', async (t) => {
    const payer = await makeFundedPayer()
    // The head of the chain is read again after four seconds: none pass from here on.
    const now = harness.ctx.clock.now()
    t.mock.method(harness.ctx.clock, 'now', () => now)
    await buy(payer)
    const { v1 } = await requestChallenge()
    const headers = { 'x-payment': encode(await signV1(payer, v1)) }
    node.takeCounts()
    assert.equal((await pay(headers)).status, 200)
    assert.deepEqual(node.takeCounts(), { eth_call: 1, eth_getCode: 1, eth_sendRawTransactionSync: 1 })
  })
}
