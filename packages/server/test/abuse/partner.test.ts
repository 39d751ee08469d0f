import assert from 'node:assert/strict'
import { test } from 'node:test'
import { platformAgentId } from '../../src/agents/index.ts'
import { post } from '../../src/ledger/index.ts'
import { userAccountOf } from '../../src/partners/index.ts'
import { inTransaction } from '../../src/platform/db/db.ts'
import type { AgentId } from '../../src/platform/ops/ids.ts'
import { payeeRefOf } from '../../src/work/units/rules.ts'
import { startHarness } from '../fixtures/harness.ts'
import { ledgerFaults } from '../fixtures/payments/ledger.ts'
import { registerConfirmedAgent } from '../fixtures/people/member.ts'
import { makeWorker } from '../fixtures/people/worker.ts'
import { assertRefusal } from '../fixtures/refusal.ts'

const harness = await startHarness()
const partner = await registerConfirmedAgent(harness, 'live', 'dev@partner.example')
const requestPayout = (userRef: string, stars: number, key = partner.apiKey) =>
  harness.call('POST', '/api/partner/payout/request', { key, body: { userRef, stars } })

/** Stars of a user of an agent, however they came there. */
const giveStars = (agentId: AgentId, userRef: string, stars: bigint) =>
  inTransaction(harness.ctx, 'system', (tx) =>
    post(tx, {
      agentId,
      mode: 'live',
      kind: 'test_gift',
      reference: userRef,
      lines: [
        { account: 'world:gift', unit: 'star', amount: -stars },
        { account: userAccountOf(agentId, userRef), unit: 'star', amount: stars },
      ],
    }),
  )

test('a payout for a user whose name looks alike takes no Stars of the other', async () => {
  await giveStars(partner.agentId, 'josé@example.com'.normalize('NFC'), 100n)
  for (const userRef of [
    'josé@example.com'.normalize('NFD'),
    'JOSÉ@example.com',
    ' josé@example.com',
    'josé@example.com ',
    'josé@example.com\u200b',
    'jose@example.com',
    'josé@еxample.com',
  ])
    assertRefusal(await requestPayout(userRef, 1), 409, 'insufficient_stars')
  assert.equal((await requestPayout('josé@example.com'.normalize('NFC'), 100)).status, 200)
})

test('a partner who names a worker or a user of another partner gets none of their Stars', async () => {
  const worker = await makeWorker(harness, partner)
  const payee = payeeRefOf(harness.ctx.secrets.derive('worker'), worker.personId)
  await giveStars(platformAgentId(harness.ctx.config, 'live'), payee, 70n)
  const other = await registerConfirmedAgent(harness, 'live', 'dev@other-partner.example')
  await giveStars(other.agentId, 'anna', 30n)
  for (const userRef of [
    payee,
    worker.personId,
    worker.memberId,
    'anna',
    userAccountOf(other.agentId, 'anna'),
  ])
    assertRefusal(await requestPayout(userRef, 1), 409, 'insufficient_stars')
  const sandbox = await harness.register('test')
  const simulated = await requestPayout('anna', 30, sandbox.apiKey)
  assert.equal(simulated.status, 200, 'the sandbox simulates it')
  const { rows } = await harness.owner.query(
    'select simulated, mode from payout_requests where request_id = $1',
    [simulated.json.requestId],
  )
  assert.deepEqual(rows, [{ simulated: true, mode: 'test' }])
  const own = await worker.post('payout', { mode: 'live', stars: 70, account: 'acct_00000001' })
  assert.equal(own.status, 200, 'they are all there')
  assert.equal((await requestPayout('anna', 30, other.apiKey)).status, 200)
  assert.deepEqual(await ledgerFaults(harness), [])
})
