import assert from 'node:assert/strict'
import { test } from 'node:test'
import { budgetSettings, moveClockTo } from '../../../test/fixtures/networks.ts'
import { startCardHarness } from '../../../test/fixtures/payments/card.ts'
import { makeWorker, type TestWorker } from '../../../test/fixtures/people/worker.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'
import { inTransaction, readNow } from '../../platform/db/db.ts'
import { makeRoots } from '../../roots/index.ts'
import { updateClaimDue } from './store.ts'
import { readClientAddress } from '../../platform/http/client-address.ts'

// Half of two for one buyer: a second delivery from the same address waits for the next hour.
const card = await startCardHarness({ ...budgetSettings, ROOT_ADDRESS_PER_HOUR: '2', ORDER_REVIEWS: '0' })
const { harness } = card
const roots = makeRoots(harness.ctx)
const answer = { judgement: 'It is fine. I think so.', sure: 4 }
const minute = 60_000
const buyer = await card.liveAgent()
const home = { ...(await card.liveAgent()), mode: 'live' as const }

const call = (path: string, body: object) =>
  harness.call('POST', `/api/agents/${path}`, { key: buyer.apiKey, body })
const items = ['One?', 'Two?', 'Three?', 'Four?', 'Five?', 'Six?']
const { orderId } = (await call('order', { taskType: 'wf_judge', quantity: items.length, items })).json
const { json: funding } = await call('order/fund', { orderId })
await card.pay(new URL(funding.checkoutUrl).pathname.split('/').at(-1) ?? '')
await pollUntil('funded', async () => {
  const { json } = await harness.call('GET', `/api/agents/orders/${orderId}`, { key: buyer.apiKey })
  return json.status === 'funded'
})

/** A unit that a new worker has claimed, and the recording of the work, seen from this address. */
const claimUnit = async (address: string) => {
  const worker: TestWorker = await makeWorker(harness, home)
  const { json: assignment, text } = await worker.claim('wf_judge')
  assert.ok(assignment.assignmentId, text)
  const sessionId = await worker.record(assignment)
  await inTransaction(harness.ctx, 'system', async (tx) => {
    const at = await readNow(tx)
    await roots.noteAddress(tx, { sessionId, at, now: at }, readClientAddress(address))
  })
  const assignmentId = String(assignment.assignmentId)
  const readRow = async () => {
    const { rows } = await harness.owner.query<{ status: string; minutes: number }>(
      `select status, round(extract(epoch from due_at - pohf_now()) / 60)::int as minutes
       from assignments where assignment_id = $1`,
      [assignmentId],
    )
    return rows[0]
  }
  const setDue = (minutes: number) =>
    harness.owner.query(
      'update assignments set due_at = pohf_now() + make_interval(mins => $2) where assignment_id = $1',
      [assignmentId, minutes],
    )
  const deliver = () => worker.deliver(assignmentId, sessionId, answer)
  return { assignmentId, sessionId, deliver, readRow, setDue }
}

test('a worker whose network is busy keeps the claim until there is a place again', async () => {
  await moveClockTo(harness, 9, 20)
  const [first, second] = [await claimUnit('203.0.113.1'), await claimUnit('203.0.113.1')]
  assert.equal((await first.deliver()).json.status, 'delivered')
  await second.setDue(30)
  const busy = await second.deliver()
  assertRefusal(busy, 409, 'network_busy')
  const openIn = Number(busy.headers['retry-after'])
  assert.ok(Math.abs(openIn - 40 * 60) < 120, String(openIn))
  assert.equal((await second.readRow())?.minutes, Math.round(openIn / 60) + 30)
  await harness.advance(41 * minute)
  await harness.runJobs()
  assert.equal((await second.readRow())?.status, 'claimed', 'its first deadline is over')
  const delivered = await second.deliver()
  assert.equal(delivered.json.status, 'delivered', delivered.text)
})

test('a claim is not extended beyond the day after the session', async () => {
  await moveClockTo(harness, 9, 20)
  const [taken, late] = [await claimUnit('203.0.113.2'), await claimUnit('203.0.113.2')]
  assert.equal((await taken.deliver()).status, 200)
  await harness.owner.query(
    "update sessions set ended_at = ended_at - interval '23 hours 30 minutes' where session_id = $1",
    [late.sessionId],
  )
  await late.setDue(10)
  assertRefusal(await late.deliver(), 409, 'network_busy')
  assert.equal((await late.readRow())?.minutes, 30)
})

test('a claim is extended within the deadline of its order', async () => {
  const late = await claimUnit('203.0.113.4')
  await late.setDue(5)
  const sessionEnd = harness.ctx.clock.now()
  const dueAtLatest = new Date(sessionEnd.getTime() + 15 * 60_000).toISOString()
  await inTransaction(harness.ctx, 'system', (tx) =>
    updateClaimDue(tx, late.assignmentId, { openInSeconds: 60, sessionEnd, dueAtLatest }),
  )
  assert.equal((await late.readRow())?.minutes, 15)
})

test('a claim that is over stays over', async () => {
  const late = await claimUnit('203.0.113.3')
  await late.setDue(-5)
  assertRefusal(await late.deliver(), 409, 'order_conflict')
  await inTransaction(harness.ctx, 'system', (tx) =>
    updateClaimDue(tx, late.assignmentId, {
      openInSeconds: 60,
      sessionEnd: harness.ctx.clock.now(),
      dueAtLatest: undefined,
    }),
  )
  assert.equal((await late.readRow())?.minutes, -5)
})
