import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { registerPartner } from '../../test/fixtures/partner.ts'
import * as operators from '../operators/index.ts'

const harness = await startHarness()
const live = await registerPartner(harness)
const ada = await operators.create(harness.ctx, 'machine', 'Ada')
const bob = await operators.create(harness.ctx, 'machine', 'Bob')

void test('approval is off by default: requests are accepted, reviewed and rejected, but never approved', async () => {
  const body = { userRef: 'user', points: 10 }
  await harness.call('POST', '/api/partner/points/convert', { key: live.apiKey, body })
  const { json } = await harness.call('POST', '/api/partner/payout/request', {
    key: live.apiKey,
    body: { userRef: 'user', stars: 10 },
  })
  const at = (name: string) => `/operator/payouts/${json.requestId}/${name}`
  assert.equal((await harness.callOperator('POST', at('review'), { key: ada.operatorKey })).status, 200)
  const approval = await harness.callOperator('POST', at('approve'), { key: bob.operatorKey })
  assert.equal(approval.status, 403)
  assert.equal(approval.json.error, 'forbidden')
  assert.match(approval.json.message, /PAYOUT_APPROVAL/)
  const rejection = { key: bob.operatorKey, body: { reason: 'approval is off' } }
  assert.equal((await harness.callOperator('POST', at('reject'), rejection)).status, 200)
})
