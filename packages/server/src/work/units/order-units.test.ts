import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ledgerFaults } from '../../../test/fixtures/payments/ledger.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { makeWorker } from '../../../test/fixtures/people/worker.ts'

const harness = await startHarness()
const buyer = await harness.register('test')
const home = await harness.register('test')

const call = (method: string, path: string, body?: unknown) =>
  harness.call(method, `/api/agents/${path}`, { key: buyer.apiKey, ...(body === undefined ? {} : { body }) })
const commission = async (body: object): Promise<string> => {
  const placed = await call('POST', 'order', body)
  assert.equal(placed.status, 200, placed.text)
  const funded = await call('POST', 'order/fund', { orderId: placed.json.orderId })
  assert.equal(funded.status, 200, funded.text)
  return String(placed.json.orderId)
}
const balance = async (account: string, unit = 'usd_cent', agentId: string = buyer.agentId) => {
  const { rows } = await harness.owner.query(
    'select balance::int as balance from ledger_accounts where agent_id = $1 and account = $2 and unit = $3',
    [agentId, account, unit],
  )
  return (rows[0]?.balance ?? 0) as number
}
const answer = { judgement: 'It is fine. I think so.', sure: 4 }
const texts = ['One.', 'Two.', 'Three.']

test('from funding to payment: three units, three credentials, the escrow empty', async () => {
  const orderId = await commission({ taskType: 'wf_judge', quantity: 3, items: texts })
  assert.equal(await balance(`escrow:${orderId}`), 300)
  const worker = await makeWorker(harness, home)
  const tasks = await worker.get('tasks')
  assert.equal(tasks.status, 200, tasks.text)
  assert.deepEqual(
    tasks.json.tasks.map((task: { workflowId: string; available: number }) => [
      task.workflowId,
      task.available,
    ]),
    [['wf_judge', 3]],
  )
  for (const text of texts) {
    const claimed = await worker.claim('wf_judge')
    assert.equal(claimed.status, 200, claimed.text)
    assert.deepEqual(claimed.json.input, { question: text })
    assert.equal(claimed.json.site, buyer.agentId)
    const sessionId = await worker.record(claimed.json)
    const delivered = await worker.deliver(claimed.json.assignmentId, sessionId, answer)
    assert.equal(delivered.status, 200, delivered.text)
    assert.equal(delivered.json.status, 'delivered')
  }
  const { json: results } = await call('GET', `orders/${orderId}/results`)
  assert.equal(results.status, 'delivered')
  assert.deepEqual(
    results.units.map((unit: { input: unknown; answer: unknown }) => [unit.input, unit.answer]),
    texts.map((text) => [{ question: text }, answer]),
  )
  for (const { n, sessionId, credential } of results.units) {
    const verified = await call('POST', 'verify', { sessionId })
    assert.equal(verified.json.pohf_jwt, credential.pohf_jwt)
    const accepted = await call('POST', `orders/${orderId}/units/${n}/accept`)
    assert.equal(accepted.status, 200, accepted.text)
  }
  assert.equal(await balance(`escrow:${orderId}`), 0)
  assert.equal(await balance('revenue:work'), 150)
  assert.equal(await balance('backing:stars'), 150)
  const { json: order } = await call('GET', `orders/${orderId}`)
  assert.equal(order.status, 'completed')
  assert.deepEqual(order.escrow, { status: 'released', heldUsd: 0, paidUsd: 3, returnedUsd: 0 })
  const earnings = await worker.get('earnings')
  assert.equal(earnings.json.books.find((book: { mode: string }) => book.mode === 'test').vestingStars, 150)
  assert.deepEqual(await ledgerFaults(harness), [])
})
