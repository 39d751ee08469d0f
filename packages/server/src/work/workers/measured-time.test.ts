import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { makeWorker } from '../../../test/fixtures/people/worker.ts'

const harness = await startHarness()
const [home, buyer] = [await harness.register('test'), await harness.register('test')]
const worker = await makeWorker(harness, home)
const call = async (path: string, body: object = {}) => {
  const answered = await harness.call('POST', `/api/agents/${path}`, { key: buyer.apiKey, body })
  assert.equal(answered.status, 200, answered.text)
  return answered.json
}

/** Delivers the next unit with a recording of this length. */
const deliverIn = async (seconds: number): Promise<void> => {
  const { json } = await worker.claim('wf_judge')
  const sessionId = await worker.record(json)
  await harness.owner.query(
    'update sessions set ended_at = at + make_interval(secs => $2) where session_id = $1',
    [sessionId, seconds],
  )
  const answer = { judgement: 'It is fine. I think so.', sure: 4 }
  const delivered = await worker.deliver(json.assignmentId, sessionId, answer)
  assert.equal(delivered.json.status, 'delivered', delivered.text)
}
const medianSeconds = async (): Promise<number | null> => {
  const { json } = await worker.get('tasks')
  return json.tasks.find(({ workflowId }: { workflowId: string }) => workflowId === 'wf_judge').medianSeconds
}
const measured = async () => {
  const { json } = await worker.get('earnings')
  return json.books.find(({ mode }: { mode: string }) => mode === 'test').measured
}

test('the time of work is that of accepted recordings; without enough of them none is stated', async () => {
  const items = Array.from({ length: 12 }, (_, index) => `Question ${index}?`)
  const { orderId } = await call('order', { taskType: 'wf_judge', quantity: 12, items })
  await call('order/fund', { orderId })
  assert.equal(await measured(), null, 'nothing was done')
  const lengths = [60, 100, 80, 120, 0, 3_000, 90]
  for (const length of lengths) await deliverIn(length)
  assert.equal(await medianSeconds(), null, 'delivered is not accepted')
  assert.equal(await measured(), null)
  for (const n of [1, 2, 3, 4, 5]) await call(`orders/${orderId}/units/${n}/accept`)
  // The fifth has no length.
  assert.equal(await medianSeconds(), null, 'four were measured')
  const { rows } = await harness.owner.query<{ stars: number }>(
    'select sum(stars)::int as stars from worker_earnings where order_id = $1 and n <= 4',
    [orderId],
  )
  assert.deepEqual(await measured(), { units: 4, stars: rows[0]?.stars, seconds: 360 })
  await call(`orders/${orderId}/units/6/reject`, { reason: 'low_effort' })
  await call(`orders/${orderId}/units/7/accept`)
  assert.equal(await medianSeconds(), 90)
  assert.deepEqual(await measured().then(({ units, seconds }) => [units, seconds]), [5, 450])
})

test('Stars that were taken back count neither as earned nor as time', async () => {
  const before = await measured()
  await harness.owner.query("update worker_earnings set status = 'taken_back' where n = 1")
  const after = await measured()
  assert.deepEqual([after.units, after.seconds], [before.units - 1, before.seconds - 60])
  assert.ok(after.stars < before.stars)
})
