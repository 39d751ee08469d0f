import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPurchaseHarness } from '../../test/fixtures/payments/purchases.ts'
import { makeSettlement } from '../payments/index.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { makePurchaseSettlement } from '../wiring/settlement.ts'
import { purchaseJobs } from './jobs.ts'
import { recordRefundDue } from './record.ts'
import { publicIdOf } from './rules.ts'
import { findPurchase } from './store.ts'

const fixture = await startPurchaseHarness()
if (!fixture) test('jobs of purchases', { skip: 'no chain runs on this system' }, () => undefined)
else {
  const { harness, node, buy, makeFundedPayer } = fixture
  const { ctx } = harness
  const settlement = makeSettlement(ctx)
  assert.ok(settlement)
  const mint = {
    isForgotten: async () => false,
    ready: async () => undefined,
    sign: () => Promise.reject(new Error('nothing is signed here')),
    write: async () => false,
  }
  const checked: string[] = []
  let fault: { readonly reference: string; readonly error: Error } | undefined
  const deps = makePurchaseSettlement(ctx, {
    mint,
    settlement: {
      ...settlement,
      recheck: async (payment) => {
        checked.push(payment.reference)
        if (payment.reference === fault?.reference) throw fault.error
        return settlement.recheck(payment)
      },
    },
  })
  assert.ok(deps)
  const jobs = purchaseJobs(deps)
  const runJob = async (name: string) => {
    const job = jobs.find((each) => each.name === name)
    assert.ok(job, name)
    return job.run()
  }
  const buyOne = async () => {
    const { answer, purchaseId } = await buy(await makeFundedPayer())
    assert.equal(answer.status, 200, answer.text)
    return publicIdOf(purchaseId)
  }

  test('a payment that cannot be checked does not keep the payments after it from being watched', async () => {
    const [first, second] = [await buyOne(), await buyOne()]
    await harness.advance(30_000)
    fault = { reference: first, error: new Error('broken') }
    await runJob('payments under watch')
    assert.deepEqual(checked.splice(0), [first, second])
    assert.ok(harness.lines.some((line) => line.includes(first) && line.includes('was not checked')))
    // An outage ends the run, and the next run does not begin with the same payment.
    await harness.advance(30_000)
    fault = { reference: first, error: new Refusal('chain_unreachable') }
    await runJob('payments under watch')
    await runJob('payments under watch')
    assert.deepEqual(checked.splice(0), [first, second])
  })

  test('an outage of the database fails the jobs, and an outage of the chain does not', async (t) => {
    fault = undefined
    await harness.advance(30_000)
    node.setFaultRule(() => 'drop')
    for (const { name } of jobs) await runJob(name)
    node.setFaultRule(() => 'pass')
    t.mock.method(ctx.db.pool, 'connect', () => Promise.reject(new Error('connection refused')))
    for (const { name } of jobs) await assert.rejects(runJob(name), { code: 'overloaded' }, name)
  })

  test('a refund is reported only where it became due', async () => {
    const purchaseId = await buyOne()
    const delivered = await inTransaction(ctx, 'system', (tx) => findPurchase(tx, purchaseId))
    assert.ok(delivered)
    await recordRefundDue(deps, delivered, 'a test')
    assert.equal(
      harness.lines.some((line) => line.includes('refund required')),
      false,
    )
  })
}
