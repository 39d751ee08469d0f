import assert from 'node:assert/strict'
import { test } from 'node:test'
import { packs } from '@pohf/protocol'
import { makeCardSteps } from '../../../test/fixtures/payments/card-steps.ts'
import { startCardHarness } from '../../../test/fixtures/payments/card.ts'
import { makeDisputeSteps } from '../../../test/fixtures/payments/disputes.ts'
import * as operators from '../../operators/index.ts'

const card = await startCardHarness()
const { harness, simulator } = card
const { withHeldEvents, waitForReversal } = makeCardSteps(card)
const { buyPack, mint, statesOf, allAre, eventsOf, disputesOf, open, close, runPass } = makeDisputeSteps(card)
const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')

type Agent = Awaited<ReturnType<typeof card.liveAgent>>
const price = packs.starter.priceUsd * 100

let granted = 0
const grant = async (agent: Agent, credits: number): Promise<void> => {
  const answer = await harness.callOperator('POST', `/operator/agents/${agent.agentId}/credits`, {
    key: operatorKey,
    body: { credits, reference: `grant ${granted++}`, reason: 'A test.' },
  })
  assert.equal(answer.status, 200, answer.text)
}
const operate = (id: string, act: 'suspend' | 'reinstate' | 'revoke') =>
  harness.callOperator('POST', `/operator/credentials/${id}/${act}`, {
    key: operatorKey,
    body: { reason: 'An operator.' },
  })
const confirmAddress = (agent: Agent) =>
  harness.owner.query('update agents set email_confirmed_at = pohf_now() where agent_id = $1', [
    agent.agentId,
  ])

test('a dispute suspends exactly the credentials of its pack; a lost one revokes them', async () => {
  const agent = await card.liveAgent()
  await grant(agent, 3)
  const first = await buyPack(agent)
  const byGrant = await mint(agent, 3)
  const byFirst = await mint(agent, 4)
  await confirmAddress(agent)
  // Reading the balance claims the free plan.
  await disputesOf(agent)
  const free = await mint(agent, 2)
  await harness.runJobs()
  await allAre([...byGrant, ...byFirst, ...free], 'issued')
  const dispute = await open(first)
  await harness.runJobs()
  await allAre(byFirst, 'suspended')
  await allAre([...byGrant, ...free], 'issued')
  assert.deepEqual(await eventsOf(byFirst[0] ?? ''), ['issued', 'suspended'])
  const [{ disputedAt, ...shown }, ...others] = await disputesOf(agent)
  assert.equal(others.length, 0)
  assert.ok(Date.parse(disputedAt) > 0)
  assert.deepEqual(shown, {
    checkoutId: first.checkoutId,
    pack: 'starter',
    state: 'open',
    suspended: 4,
    revoked: 0,
    isDone: true,
  })
  await close(dispute, 'lost')
  await harness.runJobs()
  await allAre(byFirst, 'revoked')
  await allAre([...byGrant, ...free], 'issued')
  assert.deepEqual(await eventsOf(byFirst[0] ?? ''), ['issued', 'suspended', 'revoked'])
  const [{ state, revoked }] = await disputesOf(agent)
  assert.deepEqual({ state, revoked }, { state: 'lost', revoked: 4 })
})

test('credits are spent in the order of their packs; a won dispute reinstates the credentials of its pack', async () => {
  const agent = await card.liveAgent()
  const first = await buyPack(agent)
  const byFirst = await mint(agent, 2)
  const second = await buyPack(agent)
  // The first pack is not used up, so its credits pay first.
  byFirst.push(...(await mint(agent, 2)))
  const disputeOfSecond = await open(second)
  await runPass()
  await allAre(byFirst, 'issued')
  await close(disputeOfSecond, 'won')
  const disputeOfFirst = await open(first)
  await runPass()
  await allAre(byFirst, 'suspended')
  await close(disputeOfFirst, 'won')
  await runPass()
  await allAre(byFirst, 'issued')
  assert.deepEqual(await eventsOf(byFirst[0] ?? ''), ['issued', 'suspended', 'reinstated'])
  assert.deepEqual(
    (await disputesOf(agent)).map(({ state, suspended }: { state: string; suspended: number }) => [
      state,
      suspended,
    ]),
    [
      ['won', 0],
      ['won', 0],
    ],
  )
})

test('a suspension by an operator outlives a won dispute, whichever was first', async () => {
  const agent = await card.liveAgent()
  const pack = await buyPack(agent)
  const [before, after, neither, revoked] = (await mint(agent, 4)) as [string, string, string, string]
  assert.equal((await operate(before, 'suspend')).status, 200)
  assert.equal((await operate(revoked, 'revoke')).status, 200)
  const dispute = await open(pack)
  await runPass()
  await allAre([before, after, neither], 'suspended')
  assert.equal((await operate(after, 'suspend')).status, 200)
  await close(dispute, 'won')
  await runPass()
  assert.deepEqual(await statesOf([before, after, neither, revoked]), [
    'suspended',
    'suspended',
    'issued',
    'revoked',
  ])
  assert.deepEqual(await eventsOf(after), ['issued', 'suspended'])
  // The operator ends it.
  assert.equal((await operate(after, 'reinstate')).status, 200)
  await allAre([after], 'issued')
  const { json } = await harness.call('GET', `/api/agents/credentials/${after}`, { key: agent.apiKey })
  assert.deepEqual(
    json.changes.map(({ state }: { state: string }) => state),
    ['issued', 'suspended', 'issued'],
  )
})

test('a part of a payment concerns the credits that were not spent, and then those that were spent last', async () => {
  const agent = await card.liveAgent()
  const pack = await buyPack(agent)
  const ids = await mint(agent, 5)
  // 96 of 100 credits: 95 are left.
  const dispute = await open(pack, Math.ceil((price * 96) / 100))
  await runPass()
  assert.deepEqual(await statesOf(ids), ['issued', 'issued', 'issued', 'issued', 'suspended'])
  await close(dispute, 'lost')
  await runPass()
  assert.deepEqual(await statesOf(ids), ['issued', 'issued', 'issued', 'issued', 'revoked'])
})

test('a refund suspends nothing, and a dispute of the rest concerns the credentials', async () => {
  const agent = await card.liveAgent()
  const pack = await buyPack(agent)
  const ids = await mint(agent, 3)
  const refunded = Math.ceil((price * 98) / 100)
  await simulator.control(`payments/${pack.payment}/refund`, { amount: refunded })
  await waitForReversal(pack.checkoutId, refunded)
  await runPass()
  await allAre(ids, 'issued')
  assert.deepEqual(await disputesOf(agent), [])
  await simulator.control(`payments/${pack.payment}/dispute`, { amount: price - refunded })
  await waitForReversal(pack.checkoutId, price)
  await runPass()
  assert.deepEqual(await statesOf(ids), ['suspended', 'suspended', 'issued'], 'the last one was refunded')
})

test('events out of order, repeated and missed lead to the same states', async () => {
  const agent = await card.liveAgent()
  const pack = await buyPack(agent)
  const ids = await mint(agent, 2)
  const [opened, closed] = (await withHeldEvents(async () => {
    const { dispute } = await simulator.control<{ dispute: string }>(`payments/${pack.payment}/dispute`)
    await simulator.control(`disputes/${dispute}/close`, { how: 'lost' })
    return card.heldEvents(['charge.dispute.created', 'charge.dispute.closed'])
  })) as [string, string]
  assert.deepEqual(await card.deliver([closed, opened, closed, opened]), [200, 200, 200, 200])
  await runPass()
  await allAre(ids, 'revoked')
  assert.deepEqual(await eventsOf(ids[0] ?? ''), ['issued', 'revoked'])
  // The webhooks of another dispute never arrive: the job reads the provider's list.
  const quiet = await card.liveAgent()
  const other = await buyPack(quiet)
  const missed = await mint(quiet, 2)
  await withHeldEvents(() => simulator.control(`payments/${other.payment}/dispute`))
  await harness.runJobs()
  await allAre(missed, 'suspended')
})

test('of two disputes of an agent each keeps its own credentials, and one that is won changes nothing of the other', async () => {
  const agent = await card.liveAgent()
  const first = await buyPack(agent)
  const byFirst = await mint(agent, 2)
  // What is left of the first pack is refunded, so that the second pays from now on.
  const refunded = Math.ceil((price * 98) / 100)
  await simulator.control(`payments/${first.payment}/refund`, { amount: refunded })
  await waitForReversal(first.checkoutId, refunded)
  const second = await buyPack(agent)
  const bySecond = await mint(agent, 2)
  const disputeOfFirst = await simulator.control<{ dispute: string }>(`payments/${first.payment}/dispute`, {
    amount: price - refunded,
  })
  await waitForReversal(first.checkoutId, price)
  const disputeOfSecond = await open(second)
  await runPass()
  await allAre([...byFirst, ...bySecond], 'suspended')
  await close(disputeOfFirst.dispute, 'won')
  await runPass()
  await allAre(byFirst, 'issued')
  await allAre(bySecond, 'suspended')
  await close(disputeOfSecond, 'lost')
  await runPass()
  await allAre(byFirst, 'issued')
  await allAre(bySecond, 'revoked')
})

test('a pack that settled a debt paid for the credentials of the debt', async () => {
  const agent = await card.liveAgent()
  const own = await buyPack(agent)
  const ids = await mint(agent, 3)
  const dispute = await open(own)
  const stolen = await buyPack(agent)
  const later = await mint(agent, 1)
  // The owner of the first card withdraws: the credits of the second pack are free again, and pay for what follows.
  await close(dispute, 'won')
  await runPass()
  await allAre([...ids, ...later], 'issued')
  await open(stolen)
  await runPass()
  await allAre(ids, 'issued')
  await allAre(later, 'suspended')
})
