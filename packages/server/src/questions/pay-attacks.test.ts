import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keccak256, toHex } from 'viem'
import { inTransaction } from '../platform/db/db.ts'
import { recordSettled } from '../purchases/record.ts'
import { findPurchase } from '../purchases/store.ts'
import { settlersOf } from '../wiring/settlement.ts'
import { encode } from '../../test/fixtures/payments/payer.ts'
import { pollUntil } from '../../test/fixtures/polling.ts'
import { questionPrice as price, startQuestionHarness } from '../../test/fixtures/payments/questions.ts'

const fixture = await startQuestionHarness()
if (!fixture) test('attacks on paid questions', { skip: 'no chain runs on this system' }, () => undefined)
else {
  const { node, harness, agent, rows, ask, askUnpaid, read, send, challenge, sign, pay, stateOf } = fixture
  const { assertBooks, purchasesOf, balanceOf, makeFundedPayer, signV1, signV2, submitAsStranger, balances } =
    fixture
  const other = await harness.register('test')
  const live = await harness.register('live')
  const countPurchases = async () => Number((await rows('select count(*) from purchases'))[0].count)
  /** Lets the worker run until the payment of a question has come to this state. */
  const workUntil = async (questionId: string, state: string) => {
    for (let round = 0; round < 12; round++) {
      await harness.advance(5_000)
      await harness.runJobs()
      if ((await stateOf(questionId)) === state) return
    }
    assert.fail(`the payment of ${questionId} is ${await stateOf(questionId)}, not ${state}`)
  }
  /** Lets time pass here and on the chain. */
  const pass = async (ms: number) => {
    await fixture.advanceChain(ms)
    await harness.advance(ms)
  }
  /** Pays while the node loses the response, so that the call ends with 202. */
  const payUncertain = async (questionId: string) => {
    node.setFaultRule((method) => (method.startsWith('eth_sendRaw') ? 'lose later' : 'pass'))
    const paid = await pay(questionId)
    node.setFaultRule(() => 'pass')
    assert.equal(paid.answer.status, 202, paid.answer.text)
    return paid
  }

  /** Waits until so many transactions wait for a lock. */
  const waiting = (count: number) =>
    pollUntil(`${count} transactions wait`, async () => {
      const waiters = await rows(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      )
      return waiters.length >= count
    })

  test('100 copies of one payment at once: one transaction, one purchase, one unit', async () => {
    const questionId = await askUnpaid()
    const payer = await makeFundedPayer(5n * price)
    const { headers } = await sign(payer, questionId)
    const answers = await Promise.all(Array.from({ length: 100 }, () => send(questionId, headers)))
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
    assert.equal((await purchasesOf(questionId)).length, 1)
    assert.equal((await rows('select from order_units where order_id = $1', [questionId])).length, 1)
    assert.equal(await balanceOf(payer.account.address), 4n * price)
    await assertBooks()
  })

  test('a copy that waits for the reservation of the first gets its outcome, never that nothing was charged', async () => {
    const questionId = await askUnpaid()
    const payer = await makeFundedPayer(price)
    const { headers, payment } = await sign(payer, questionId)
    const { signature } = payment.payload
    // In another spelling, 0 or 1 for 27 or 28, it is not in flight here: as if it arrived at another process.
    const parity = signature.endsWith('1b') ? '00' : '01'
    const respelled = { ...payment.payload, signature: `${signature.slice(0, -2)}${parity}` }
    const copy = { 'payment-signature': encode({ ...payment, payload: respelled }) }
    const blocker = await harness.owner.connect()
    try {
      // The first stops in its reservation, with its order locked and its payment claimed.
      await blocker.query('begin; lock table purchases in share mode')
      const first = send(questionId, headers)
      await waiting(1)
      const second = send(questionId, copy)
      await waiting(2)
      await blocker.query('rollback')
      const answers = await Promise.all([first, second])
      assert.deepEqual(
        answers.map(({ status, text }) => [status, status === 200 ? '' : text]),
        [
          [200, ''],
          [200, ''],
        ],
      )
    } finally {
      await blocker.query('rollback')
      blocker.release()
    }
    assert.equal((await purchasesOf(questionId)).length, 1)
    assert.equal(await balanceOf(payer.account.address), 0n)
    await assertBooks()
  })

  test('20 different payments of one question at once: one is charged', async () => {
    const questionId = await askUnpaid()
    const payers = await Promise.all(Array.from({ length: 20 }, () => makeFundedPayer(price)))
    const signed = await Promise.all(payers.map((payer) => sign(payer, questionId)))
    const answers = await Promise.all(signed.map(({ headers }) => send(questionId, headers)))
    assert.equal(answers.filter(({ status }) => status === 200).length, 1)
    assert.deepEqual(
      [...new Set(answers.map(({ status }) => status))].toSorted((one, two) => one - two),
      [200, 409],
    )
    const left = await Promise.all(payers.map((payer) => balanceOf(payer.account.address)))
    assert.equal(left.filter((balance) => balance === 0n).length, 1)
    assert.equal((await purchasesOf(questionId)).length, 1)
    await assertBooks()
  })

  test('one authorization pays one question: for another it is a conflict, with the id of either', async () => {
    const first = await askUnpaid()
    const second = await askUnpaid()
    const payer = await makeFundedPayer(5n * price)
    const { v1, purchaseId } = await challenge(first)
    const { purchaseId: otherId } = await challenge(second)
    const headers = { 'x-payment': encode(await signV1(payer, v1)) }
    const swapped = await send(second, { ...headers, 'x-purchase-id': purchaseId })
    assert.equal(swapped.status, 402, swapped.text)
    assert.equal(swapped.json.error, 'payment_invalid')
    assert.equal((await send(first, { ...headers, 'x-purchase-id': purchaseId })).status, 200)
    for (const ids of [{}, { 'x-purchase-id': purchaseId }, { 'x-purchase-id': otherId }]) {
      const refused = await send(second, { ...headers, ...ids })
      assert.equal(refused.status, 409, refused.text)
      assert.equal(refused.json.error, 'purchase_conflict')
    }
    const task = await harness.call('GET', '/api/agent/tasks/wf_test_ok/buy', { headers })
    assert.equal(task.status, 409, task.text)
    assert.equal((await read(second)).status, 'unpaid')
    assert.equal(await balanceOf(payer.account.address), 4n * price)
  })

  test('the payment of a task pays no question', async () => {
    const questionId = await askUnpaid()
    const payer = await makeFundedPayer(5n * price)
    const { v2 } = await fixture.requestChallenge()
    const headers = { 'payment-signature': encode(await signV2(payer, v2, { value: String(price) })) }
    assert.equal((await send(questionId, headers)).status, 402)
    assert.equal((await harness.call('GET', '/api/agent/tasks/wf_test_ok/buy', { headers })).status, 200)
    const refused = await send(questionId, headers)
    assert.equal(refused.json.error, 'purchase_conflict', refused.text)
    assert.equal((await read(questionId)).status, 'unpaid')
  })

  test('to another agent the question is unknown, with and without a payment, and a live key never reads a test question', async () => {
    const questionId = await askUnpaid()
    const { headers, payer } = { ...(await pay(questionId)) }
    const open = await askUnpaid()
    for (const key of [other.apiKey, live.apiKey])
      for (const id of [questionId, open, 'ord_none'])
        for (const sent of [{}, headers]) assert.equal((await send(id, sent, key)).status, 404)
    assert.equal(await balanceOf(payer.account.address), 0n)
    const order = await harness.call('POST', '/api/agents/order', {
      key: agent.apiKey,
      body: { taskType: 'wf_judge', quantity: 1 },
    })
    assert.equal((await send(order.json.orderId)).status, 404, 'an order of other work is no question')
  })

  test('test money pays no live question: the mode is that of the key', async () => {
    const unasked = await ask({}, live.apiKey)
    assert.equal(unasked.status, 409, unasked.text)
    const asked = await ask({ payWith: undefined }, live.apiKey)
    assert.equal(asked.json.status, 'unpaid', asked.text)
    const { questionId } = asked.json
    const refused = await send(questionId, {}, live.apiKey)
    assert.equal(refused.status, 409, refused.text)
    assert.equal(refused.json.error, 'order_conflict')
    // A payment that the terms of a test question would accept.
    const { v1 } = await challenge(await askUnpaid())
    const payer = await makeFundedPayer(price)
    const paid = await send(questionId, { 'x-payment': encode(await signV1(payer, v1)) }, live.apiKey)
    assert.equal(paid.status, 409, paid.text)
    assert.equal(await balanceOf(payer.account.address), price)
    assert.equal((await read(questionId, live.apiKey)).status, 'unpaid')
  })

  const seconds = () => Math.floor(harness.ctx.clock.now().getTime() / 1_000)
  for (const [name, change] of [
    ['less than the price', { value: String(price - 1n) }],
    ['more than the price', { value: String(price + 1n) }],
    ['another recipient', { to: `0x${'12'.repeat(20)}` }],
    ['an authorization that has ended', { validBefore: String(seconds() - 1) }],
    ['an authorization that is not valid yet', { validAfter: String(seconds() + 600) }],
  ] as const)
    test(`${name} is refused and charges nothing`, async () => {
      const questionId = await askUnpaid()
      const payer = await makeFundedPayer(5n * price)
      const before = await countPurchases()
      const { headers } = await sign(payer, questionId, change)
      const refused = await send(questionId, headers)
      assert.equal(refused.status, 402, refused.text)
      assert.equal(refused.json.error, 'payment_invalid')
      assert.equal(await balanceOf(payer.account.address), 5n * price)
      assert.equal(await countPurchases(), before)
    })

  for (const [name, change] of [
    ['another asset', { asset: `0x${'34'.repeat(20)}` }],
    ['another network', { network: 'eip155:8453' }],
  ] as const)
    test(`${name} is refused and charges nothing`, async () => {
      const questionId = await askUnpaid()
      const payer = await makeFundedPayer(price)
      const { v2 } = await challenge(questionId)
      const headers = { 'payment-signature': encode(await signV2(payer, { ...v2, ...change })) }
      const refused = await send(questionId, headers)
      assert.equal(refused.json.error, 'payment_invalid', refused.text)
      assert.equal(await balanceOf(payer.account.address), price)
    })

  test('an authorization that was used before pays nothing, unless its nonce derives from the purchase id', async () => {
    const questionId = await askUnpaid()
    const payer = await makeFundedPayer(2n * price)
    const used = await sign(payer, questionId)
    await submitAsStranger(used.payment)
    assert.equal((await send(questionId, used.headers)).status, 409)
    assert.equal((await read(questionId)).status, 'unpaid')
    const { v2, purchaseId } = await challenge(questionId)
    const derived = await signV2(payer, v2, { nonce: keccak256(toHex(`pohf-x402:${purchaseId}`)) })
    await submitAsStranger(derived)
    const paid = await send(questionId, { 'payment-signature': encode(derived) })
    assert.equal(paid.status, 200, paid.text)
    assert.equal(paid.json.status, 'queued')
  })

  test('the process ends between broadcast and record: the chain decides, and the worker funds the question once', async () => {
    const questionId = await askUnpaid()
    const { headers, payer } = await payUncertain(questionId)
    const second = await sign(await makeFundedPayer(price), await askUnpaid())
    assert.equal((await send(questionId, second.headers)).status, 409, 'one payment at a time')
    assert.equal((await send(questionId)).status, 409, 'no challenge while a payment is in progress')
    await workUntil(questionId, 'delivered')
    assert.equal((await read(questionId)).status, 'queued')
    assert.equal((await send(questionId, headers)).status, 200)
    assert.equal(await balanceOf(payer.account.address), 0n)
    await assertBooks()
  })

  test('a failed delivery is recorded in the lock order of the settlement: purchase before payment', async () => {
    const questionId = await askUnpaid()
    await payUncertain(questionId)
    const [{ purchase_id: id }] = await purchasesOf(questionId)
    const purchase = await inTransaction(harness.ctx, 'system', (tx) => findPurchase(tx, id))
    assert.ok(purchase)
    const blocker = await harness.owner.connect()
    try {
      await blocker.query('begin')
      await blocker.query('select from purchases where purchase_id = $1 for update', [id])
      const proof = { transactionHash: `0x${'5'.repeat(64)}`, blockNumber: 1n } as const
      const recorded = recordSettled(harness, purchase, proof)
      await waiting(1)
      await blocker.query('select from x402_payments where reference = $1 for update nowait', [id])
      await blocker.query('rollback')
      await recorded
    } finally {
      await blocker.query('rollback')
      blocker.release()
    }
    await workUntil(questionId, 'delivered')
    await assertBooks()
  })

  test('a payment that never arrives is void, and the question can be paid again', async () => {
    const questionId = await askUnpaid()
    node.setFaultRule((method) => (method.startsWith('eth_sendRaw') ? 'drop' : 'pass'))
    const lost = await pay(questionId)
    assert.equal(lost.answer.status, 202, lost.answer.text)
    await pass(300_000)
    await harness.runJobs()
    node.setFaultRule(() => 'pass')
    assert.equal(await stateOf(questionId), 'void')
    const again = await pay(questionId)
    assert.equal(again.answer.status, 200, again.answer.text)
    assert.equal(await balanceOf(lost.payer.account.address), price)
    await assertBooks()
  })

  const laterEvents: readonly (readonly [string, (questionId: string) => Promise<unknown>, string])[] = [
    [
      'was cancelled',
      (id) => harness.call('POST', `/api/agents/orders/${id}/cancel`, { key: agent.apiKey }),
      'cancelled',
    ],
    [
      'was paid in another way',
      (id) => harness.call('POST', '/api/agents/order/fund', { key: agent.apiKey, body: { orderId: id } }),
      'queued',
    ],
    ['can no longer be claimed', () => pass(16 * 60_000), 'expired'],
  ]
  for (const [name, end, status] of laterEvents)
    test(`a payment that settles after the question ${name} is refunded, and never pays it`, async () => {
      const buyer = { agentId: agent.agentId }
      const before = await balances(buyer)
      const deadline = new Date(harness.ctx.clock.now().getTime() + 20 * 60_000).toISOString()
      const questionId = await askUnpaid({ deadline })
      const { headers } = await payUncertain(questionId)
      await end(questionId)
      await workUntil(questionId, 'refund_due')
      if (status === 'expired') await pass(5 * 60_000)
      assert.equal((await read(questionId)).status, status)
      const shown = await send(questionId, headers)
      assert.equal(shown.json.status, 'refund_due', shown.text)
      const funded = await rows(
        "select from ledger_claims where kind = 'order_payment' and reference like 'pur_%' and reference in (select purchase_id from purchases where order_id = $1)",
        [questionId],
      )
      assert.deepEqual(funded, [])
      const after = await balances(buyer)
      assert.equal(
        (after['backing:orders usdc_micro'] ?? 0) - (before['backing:orders usdc_micro'] ?? 0),
        500_000,
      )
      await assertBooks()
    })

  test('a question that nobody could claim any more is not charged', async () => {
    const deadline = new Date(harness.ctx.clock.now().getTime() + 11 * 60_000).toISOString()
    const questionId = await askUnpaid({ deadline })
    const payer = await makeFundedPayer(price)
    const { headers } = await sign(payer, questionId)
    await pass(5 * 60_000)
    for (const sent of [{}, headers]) {
      const refused = await send(questionId, sent)
      assert.equal(refused.status, 409, refused.text)
      assert.equal(refused.json.error, 'order_conflict')
    }
    assert.equal(await balanceOf(payer.account.address), price)
  })

  test('an Idempotency-Key stores no outcome of one payment for another: the fingerprint does not cover it', async () => {
    const questionId = await askUnpaid()
    const keyed = { 'idempotency-key': `pay ${questionId}` }
    const late = await sign(await makeFundedPayer(price), questionId)
    const { headers, answer } = await pay(questionId)
    assert.equal(answer.status, 200, answer.text)
    const refused = await send(questionId, { ...late.headers, ...keyed })
    assert.equal(refused.json.error, 'order_conflict', refused.text)
    for (const copy of [1, 2]) {
      const again = await send(questionId, { ...headers, ...keyed })
      assert.equal(again.status, 200, again.text)
      assert.ok(again.headers['payment-response'], `copy ${copy} has no receipt`)
    }
  })

  test('an unreadable payment, two payments, and no key are refused', async () => {
    const questionId = await askUnpaid()
    assert.equal((await send(questionId, { 'x-payment': 'none' })).json.error, 'payment_malformed')
    const { headers } = await sign(await makeFundedPayer(price), questionId)
    const two = await send(questionId, { ...headers, 'x-payment': headers['payment-signature'] })
    assert.equal(two.json.error, 'payment_malformed')
    const bare = await harness.call('POST', `/api/agents/questions/${questionId}/pay`, { headers })
    assert.equal(bare.status, 401)
    assert.equal(await stateOf(questionId), undefined)
  })

  test('a card payment that was returned takes nothing from the escrow of a wallet, and does not stop the question', async () => {
    const questionId = await askUnpaid()
    assert.equal((await pay(questionId)).answer.status, 200)
    const settler = settlersOf(harness.ctx).order
    const checkout = {
      agentId: agent.agentId,
      mode: 'test' as const,
      checkoutId: 'chk_other',
      reference: questionId,
      amountUsdCents: 50n,
    }
    const change = {
      beforeUsdCents: 0n,
      afterUsdCents: 50n,
      ownRefundsUsdCents: 0n,
      isDisputed: true,
      reference: 'chk_other 1',
    }
    await inTransaction(harness.ctx, 'system', (tx) => settler.applyReversal(tx, checkout, change))
    assert.equal((await read(questionId)).status, 'queued')
    assert.equal(await stateOf(questionId), 'delivered')
    assert.equal((await balances())[`escrow:${questionId} usd_cent`], 50)
    await assertBooks()
  })

  test('the database lets only a question go from delivered to refund_due, and its order keeps its payment', async () => {
    const { answer } = await fixture.buy(await makeFundedPayer())
    const stock = answer.json.purchaseId
    await assert.rejects(rows("update purchases set state = 'refund_due' where purchase_id = $1", [stock]))
    const questionId = await askUnpaid()
    assert.equal((await pay(questionId)).answer.status, 200)
    await assert.rejects(rows('update orders set purchase_id = null where order_id = $1', [questionId]))
    await assert.rejects(rows('update purchases set order_id = null where order_id = $1', [questionId]))
  })
}
