import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { withoutTriggers } from '../../../test/fixtures/refusal-order.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { makeCompletedWork } from './completed-work.ts'
import { listPayoutRisks } from './payout-risk.ts'

const harness = await startHarness()
const buyer = await harness.register('test')
const placed = await harness.call('POST', '/api/agents/order', {
  key: buyer.apiKey,
  body: { taskType: 'wf_photo_label', quantity: 1 },
})
// 500 units at one Star, after 100 at nine. The export reads 100 at a time.
await withoutTriggers(
  harness.owner,
  `insert into assignments (assignment_id, person_id, mode, agent_id, order_id, n, task_id, status, reward_stars,
     worker, challenge, due_at)
   select 'asg_' || lpad(n::text, 3, '0'), case when n <= 150 then 'person' end, 'test', '${buyer.agentId}', '${placed.json.orderId}', n,
     'wf_photo_label', 'accepted', case when n <= 100 then 9 else 1 end, 'worker', 'challenge' || n, pohf_now()
   from generate_series(1, 600) n`,
)

test('the share of the top buyer is of the same assignments as the Stars', async () => {
  const [risk] = await inTransaction(harness.ctx, 'system', (tx) =>
    listPayoutRisks(tx, [{ mode: 'test', worker: 'worker' }]),
  )
  assert.equal(risk?.assignments, 500)
  assert.equal(risk.topBuyerShare, 1)
})

test('the export of a person has every assignment once', async () => {
  const { exportPerson } = makeCompletedWork({
    ctx: harness.ctx,
    platformAgentOf: () => buyer.agentId,
    listPayoutAccounts: () => Promise.resolve([]),
    erasePayoutAccounts: () => Promise.resolve(),
  })
  const work = await inTransaction(harness.ctx, 'system', (tx) => exportPerson(tx, 'person'))
  const ids = work.map((assignment) => 'assignmentId' in assignment && assignment.assignmentId)
  assert.equal(ids.length, 150)
  assert.equal(new Set(ids).size, 150)
})
