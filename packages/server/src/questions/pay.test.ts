import assert from 'node:assert/strict'
import { test } from 'node:test'
import { additions } from '@pohf/protocol'
import { decode, encode } from '../../test/fixtures/payments/payer.ts'
import { questionPrice as price, startQuestionHarness } from '../../test/fixtures/payments/questions.ts'
import { makeWorker } from '../../test/fixtures/people/worker.ts'

const fixture = await startQuestionHarness()
if (!fixture) test('paying questions', { skip: 'no chain runs on this system' }, () => undefined)
else {
  const { chain, harness, agent, rows, ask, askUnpaid, read, send, challenge, pay, stateOf, refund } = fixture
  const {
    balances,
    assertBooks,
    purchasesOf,
    balanceOf,
    makeFundedPayer,
    signV1,
    advanceChain,
    operatorKey,
  } = fixture
  const home = await harness.register('test')
  const eventsOf = async (orderId: string) =>
    (await rows('select type from events where subject = $1 order by at, event_id', [orderId])).map(
      ({ type }) => type,
    )
  const cancel = (questionId: string) =>
    harness.call('POST', `/api/agents/orders/${questionId}/cancel`, { key: agent.apiKey })
  const answerIt = async (answer = true) => {
    const worker = await makeWorker(harness, home)
    const delivered = await worker.work('wf_ask_human', { single_answer: answer })
    assert.equal(delivered.status, 200, delivered.text)
    return worker
  }

  test('an agent alone asks, pays over 402 and gets an answer; the books hold the price until it is accepted', async () => {
    const questionId = await askUnpaid()
    const { v1, v2, answer: terms } = await challenge(questionId)
    assert.equal(v1.maxAmountRequired, String(price))
    assert.equal(v2.amount, String(price))
    assert.equal(
      terms.json.accepts[0].resource,
      `${harness.ctx.config.BASE_URL}/api/agents/questions/${questionId}/pay`,
    )
    assert.deepEqual(await purchasesOf(questionId), [], 'a challenge writes nothing')
    const before = await balanceOf(chain.payTo.address)
    const { answer, payer } = await pay(questionId)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.json.status, 'queued')
    const row = additions.find(({ id }) => id === 'questions.pay')
    assert.deepEqual(row?.response.parse(answer.json), answer.json)
    assert.equal(decode(answer.headers['payment-response']).transaction, answer.json.payment.transaction)
    assert.equal(await balanceOf(chain.payTo.address), before + price)
    assert.equal(await balanceOf(payer.account.address), 0n)
    assert.deepEqual(await eventsOf(questionId), ['order.created', 'order.funded'])
    assert.deepEqual(await balances(), {
      'backing:orders usdc_micro': 500_000,
      [`escrow:${questionId} usd_cent`]: 50,
      'world:chain usd_cent': -50,
      'world:chain usdc_micro': -500_000,
    })
    await assertBooks()
    await answerIt()
    const answered = await read(questionId)
    assert.equal(answered.status, 'answered')
    assert.equal(answered.answer, true)
    const accepted = await harness.call('POST', `/api/agents/orders/${questionId}/units/1/accept`, {
      key: agent.apiKey,
    })
    assert.equal(accepted.status, 200, accepted.text)
    assert.deepEqual(await balances(), {
      'backing:orders usdc_micro': 500_000,
      'backing:stars usd_cent': 30,
      'revenue:work usd_cent': 20,
      'world:chain usd_cent': -50,
      'world:chain usdc_micro': -500_000,
    })
    assert.equal(await stateOf(questionId), 'delivered')
    await assertBooks()
  })

  test('a version 1 client without a purchase id pays too, and a repeat gets the question again, charged once', async () => {
    const questionId = await askUnpaid()
    const payer = await makeFundedPayer(2n * price)
    const { v1 } = await challenge(questionId)
    const headers = { 'x-payment': encode(await signV1(payer, v1)) }
    const answer = await send(questionId, headers)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(decode(answer.headers['x-payment-response']).network, 'base-sepolia')
    const again = await send(questionId, headers)
    assert.equal(again.status, 200, again.text)
    assert.deepEqual(again.json.payment, answer.json.payment)
    assert.equal(await balanceOf(payer.account.address), price)
    assert.equal((await send(questionId)).status, 409, 'a paid question has no challenge')
    await cancel(questionId)
  })

  test('nobody answers in time: the refund goes to the wallet, never to a card, and the books end empty', async () => {
    const buyer = await harness.register('test')
    const deadline = new Date(harness.ctx.clock.now().getTime() + 20 * 60_000).toISOString()
    const questionId = await askUnpaid({ deadline }, buyer.apiKey)
    const { answer, payer } = await pay(questionId, { key: buyer.apiKey })
    assert.equal(answer.status, 200, answer.text)
    await harness.advance(16 * 60_000)
    await advanceChain(16 * 60_000)
    await harness.runJobs()
    assert.equal((await read(questionId, buyer.apiKey)).status, 'expired')
    assert.equal(await stateOf(questionId), 'refund_due')
    assert.deepEqual(await balances(buyer), {
      'backing:orders usdc_micro': 500_000,
      'unused:chain usd_cent': 50,
      'world:chain usd_cent': -50,
      'world:chain usdc_micro': -500_000,
    })
    assert.deepEqual(await rows('select from card_refunds where agent_id = $1', [buyer.agentId]), [])
    await assertBooks()
    const [{ purchase_id: purchaseId }] = await purchasesOf(questionId)
    const owed = await harness.callOperator('GET', '/operator/purchases', { key: operatorKey })
    assert.deepEqual(
      owed.json.purchases
        .filter(({ questionId: id }: { questionId: string }) => id === questionId)
        .map(({ purpose, status }: Record<string, string>) => [purpose, status]),
      [['question', 'refund_due']],
    )
    const done = await refund(purchaseId, payer)
    assert.equal(done.status, 200, done.text)
    assert.equal(await balanceOf(payer.account.address), price)
    assert.deepEqual(await balances(buyer), {})
    assert.deepEqual(await eventsOf(questionId), [
      'order.created',
      'order.funded',
      'order.expired',
      'order.refunded',
    ])
    assert.equal((await refund(purchaseId, payer)).status, 409, 'a refund is recorded once')
    const listed = await harness.call('GET', '/api/agents/purchases', { key: buyer.apiKey })
    assert.deepEqual(
      listed.json.purchases.map(({ purpose, status, questionId: id }: Record<string, string>) => [
        purpose,
        status,
        id,
      ]),
      [['question', 'refunded', questionId]],
    )
    await assertBooks()
  })

  test('a cancelled question is refunded to the wallet, and so is one whose rejection is final', async () => {
    const before = (await balances())['unused:chain usd_cent']
    const cancelled = await askUnpaid()
    const first = await pay(cancelled)
    assert.equal(first.answer.status, 200, first.answer.text)
    assert.equal((await cancel(cancelled)).status, 200)
    assert.equal((await read(cancelled)).status, 'cancelled')
    assert.equal(await stateOf(cancelled), 'refund_due')
    const shown = await send(cancelled, first.headers)
    assert.equal(shown.status, 202, shown.text)
    assert.equal(shown.json.status, 'refund_due')

    const rejected = await askUnpaid()
    const second = await pay(rejected)
    assert.equal(second.answer.status, 200, second.answer.text)
    await answerIt(false)
    const refused = await harness.call('POST', `/api/agents/orders/${rejected}/units/1/reject`, {
      key: agent.apiKey,
      body: { reason: 'wrong_answer' },
    })
    assert.equal(refused.status, 200, refused.text)
    assert.equal(await stateOf(rejected), 'delivered', 'the worker can still appeal')
    await rows(
      "begin; set local session_replication_role = replica; update order_units set appeal_until = pohf_now() where status = 'rejected'; commit",
    )
    await harness.advance(6_000)
    await harness.runJobs()
    assert.equal((await read(rejected)).status, 'refunded')
    assert.equal(await stateOf(rejected), 'refund_due')
    await assertBooks()
    for (const [id, { payer }] of [
      [cancelled, first],
      [rejected, second],
    ] as const) {
      const [{ purchase_id: purchaseId }] = await purchasesOf(id)
      assert.equal((await refund(purchaseId, payer)).status, 200)
    }
    assert.equal((await balances())['unused:chain usd_cent'], before)
    await assertBooks()
  })

  test('a claimed question whose order was cancelled is refunded when the claim is returned', async () => {
    const questionId = await askUnpaid()
    assert.equal((await pay(questionId)).answer.status, 200)
    const worker = await makeWorker(harness, home)
    const claimed = await worker.claim('wf_ask_human')
    assert.equal(claimed.status, 200, claimed.text)
    assert.equal((await cancel(questionId)).status, 200)
    assert.equal(await stateOf(questionId), 'delivered', 'the worker may still answer')
    const returned = await worker.post(`assignments/${claimed.json.assignmentId}/return`, {})
    assert.equal(returned.status, 200, returned.text)
    assert.equal(await stateOf(questionId), 'refund_due')
    await assertBooks()
  })

  test('the chain undoes the payment: the question stops, nothing is refunded, and the books end empty', async () => {
    for (const isCancelled of [false, true]) {
      const buyer = await harness.register('test')
      const payer = await makeFundedPayer(price)
      const snapshot = await chain.rpc('evm_snapshot')
      const questionId = await askUnpaid({}, buyer.apiKey)
      const { answer } = await pay(questionId, { payer, key: buyer.apiKey })
      assert.equal(answer.status, 200, answer.text)
      if (isCancelled)
        assert.equal(
          (await harness.call('POST', `/api/agents/orders/${questionId}/cancel`, { key: buyer.apiKey }))
            .status,
          200,
        )
      await chain.rpc('evm_revert', [snapshot])
      await advanceChain(300_000)
      await harness.advance(30_000)
      await harness.runJobs()
      assert.equal(await stateOf(questionId), 'void')
      assert.equal((await read(questionId, buyer.apiKey)).status, 'cancelled')
      assert.deepEqual(await balances(buyer), {})
      assert.deepEqual(
        await rows("select from order_units where order_id = $1 and status = 'open'", [questionId]),
        [],
      )
      await harness.advance(300_000)
      await assertBooks()
    }
  })

  test('the chain undoes the payment of an accepted question: it is owed, and the refund of another is still there', async () => {
    const buyer = await harness.register('test')
    const post = (path: string) => harness.call('POST', `/api/agents/orders/${path}`, { key: buyer.apiKey })
    const cancelled = await askUnpaid({}, buyer.apiKey)
    const refunded = await pay(cancelled, { key: buyer.apiKey })
    assert.equal((await post(`${cancelled}/cancel`)).status, 200)
    const payer = await makeFundedPayer(price)
    // So many blocks that the first payment stays.
    await advanceChain(300_000)
    await harness.advance(300_000)
    const snapshot = await chain.rpc('evm_snapshot')
    const accepted = await askUnpaid({}, buyer.apiKey)
    assert.equal((await pay(accepted, { payer, key: buyer.apiKey })).answer.status, 200)
    await answerIt()
    assert.equal((await post(`${accepted}/units/1/accept`)).status, 200)
    await chain.rpc('evm_revert', [snapshot])
    await advanceChain(300_000)
    await harness.advance(30_000)
    await harness.runJobs()
    assert.deepEqual([await stateOf(accepted), await stateOf(cancelled)], ['void', 'refund_due'])
    const held = await balances(buyer)
    assert.deepEqual([held['owed:chain usd_cent'], held['unused:chain usd_cent']], [-50, 50])
    const [{ purchase_id: purchaseId }] = await purchasesOf(cancelled)
    const done = await refund(purchaseId, refunded.payer)
    assert.equal(done.status, 200, done.text)
    assert.equal((await balances(buyer))['unused:chain usd_cent'], undefined)
    await assertBooks()
  })

  test('over MCP a question has payUrl only in the mode that the network pays', async () => {
    const live = await harness.register('live')
    const unpaid = await ask({ payWith: undefined }, live.apiKey)
    const payUrlOf = async (questionId: string, key: string) => {
      const params = { name: 'ask_human', arguments: { questionId } }
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
      return (await harness.call('POST', '/mcp', { body, key })).json.result.structuredContent.payUrl
    }
    assert.equal(await payUrlOf(unpaid.json.questionId, live.apiKey), null)
    const questionId = await askUnpaid()
    assert.equal(
      await payUrlOf(questionId, agent.apiKey),
      `${harness.ctx.config.BASE_URL}/api/agents/questions/${questionId}/pay`,
    )
  })

  test('a call with simulate cannot wait for a payment, and one without payWith is funded by the sandbox', async () => {
    const refused = await ask({ simulate: true })
    assert.equal(refused.status, 400)
    assert.equal(refused.json.details[0].code, 'simulate_unpaid')
    const funded = await ask({ payWith: undefined })
    assert.equal(funded.json.status, 'queued', funded.text)
    assert.equal((await send(funded.json.questionId)).status, 409)
  })
}
