import assert from 'node:assert/strict'
import { test } from 'node:test'
import { questionPrice as price, startQuestionHarness } from '../fixtures/payments/questions.ts'
import { pollUntil } from '../fixtures/polling.ts'
import { assertRefusal } from '../fixtures/refusal.ts'

const fixture = await startQuestionHarness()
if (!fixture) test('refunds of questions', { skip: 'no chain runs on this system' }, () => undefined)
else {
  const { chain, harness, rows, askUnpaid, pay, purchasesOf, stateOf, makeFundedPayer, operatorKey } = fixture
  type Payer = Awaited<ReturnType<typeof makeFundedPayer>>
  /** The purchase of a question that its buyer paid and cancelled: the refund is due. */
  const makeDue = async (payer: Payer) => {
    const { apiKey } = await harness.register('test')
    const questionId = await askUnpaid({}, apiKey)
    const paid = await pay(questionId, { payer, key: apiKey })
    assert.equal(paid.answer.status, 200, paid.answer.text)
    await harness.call('POST', `/api/agents/orders/${questionId}/cancel`, { key: apiKey })
    assert.equal(await stateOf(questionId), 'refund_due')
    const [{ purchase_id: purchaseId }] = await purchasesOf(questionId)
    return { purchaseId: String(purchaseId), questionId }
  }
  const record = (purchaseId: string, transaction: string) =>
    harness.callOperator('POST', `/operator/purchases/${purchaseId}/refund`, {
      key: operatorKey,
      body: { transaction, reason: 'cancelled' },
    })
  /** Runs `work` while no purchase can change, until so many calls wait. */
  const whilePurchasesAreLocked = async <T>(count: number, work: () => T): Promise<T> => {
    const client = await harness.owner.connect()
    await client.query('begin; lock table purchases in share mode')
    try {
      const started = work()
      await pollUntil(`${count} calls wait`, async () => {
        const waiters = await rows(
          "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        )
        return waiters.length >= count
      })
      return started
    } finally {
      await client.query('rollback')
      client.release()
    }
  }

  test('one transaction refunds one purchase, also where two agents have the same wallet and both are recorded at once', async () => {
    const payer = await makeFundedPayer(2n * price)
    const [one, two] = [await makeDue(payer), await makeDue(payer)]
    const { transactionHash } = await chain.transfer(chain.payTo.address, payer.account.address, price)
    const { answers } = await whilePurchasesAreLocked(2, () => ({
      answers: Promise.all([
        record(one.purchaseId, transactionHash),
        record(two.purchaseId, transactionHash),
      ]),
    }))
    const statuses = (await answers).map(({ status }) => status)
    assert.deepEqual(new Set(statuses), new Set([200, 409]))
    const states = [await stateOf(one.questionId), await stateOf(two.questionId)]
    assert.deepEqual(new Set(states), new Set(['refund_due', 'refunded']))
  })

  test('a transaction in other letters is the same transaction', async () => {
    const payer = await makeFundedPayer(2n * price)
    const [one, two] = [await makeDue(payer), await makeDue(payer)]
    const { transactionHash } = await chain.transfer(chain.payTo.address, payer.account.address, price)
    assert.equal((await record(one.purchaseId, transactionHash)).status, 200)
    const again = await record(two.purchaseId, `0x${transactionHash.slice(2).toUpperCase()}`)
    assertRefusal(again, 409, 'purchase_conflict')
    assert.equal(await stateOf(two.questionId), 'refund_due')
  })

  test('what somebody else sent to the payer is no refund', async () => {
    const payer = await makeFundedPayer(price)
    const { purchaseId, questionId } = await makeDue(payer)
    const { transactionHash } = await chain.transfer(chain.buyer.address, payer.account.address, price)
    assertRefusal(await record(purchaseId, transactionHash), 422, 'payment_not_settled')
    assert.equal(await stateOf(questionId), 'refund_due')
  })
}
