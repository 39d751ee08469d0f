import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { packs } from '@pohf/protocol'
import { makeCardSteps } from '../../../test/fixtures/payments/card-steps.ts'
import { startCardHarness } from '../../../test/fixtures/payments/card.ts'
import * as operators from '../../operators/index.ts'

const card = await startCardHarness()
const { harness, simulator } = card
const { withHeldEvents, waitForReversal, spendCredits } = makeCardSteps(card)
const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
const readCheck = async () =>
  (await harness.callOperator('GET', '/operator/credits/check', { key: operatorKey })).json as {
    ok: boolean
    checkouts: number
    postings: number
    faults: unknown[]
    unmatched: { eventId: string }[]
  }
const verify = (agent: { apiKey: string }) =>
  harness.call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId: 'any' } })

test('a dispute after spending leaves a debt: verify returns 409, and the next pack settles it first', async () => {
  const agent = await card.liveAgent()
  const { sessionId, checkoutId } = await card.openCheckout(agent)
  const payment = await card.pay(sessionId)
  await card.waitForState(checkoutId, 'completed')
  await spendCredits(agent.agentId, 70)
  const { dispute } = await simulator.control<{ dispute: string }>(`payments/${payment}/dispute`)
  await waitForReversal(checkoutId, 4_900)
  assert.equal((await card.balance(agent)).balance, 0)
  assert.equal(await card.owed(agent.agentId), 70)
  const refused = await verify(agent)
  assert.equal(refused.status, 409)
  assert.equal(refused.json.error, 'account_in_debt')
  assert.deepEqual((await card.eventsOf(agent.agentId)).at(-1), {
    type: 'credits.reversed',
    data: { balance: 0, owed: 70, credits: 100, checkoutId },
  })
  const next = await card.openCheckout(agent)
  await card.pay(next.sessionId)
  await card.waitForState(next.checkoutId, 'completed')
  assert.equal((await card.balance(agent)).balance, 30)
  assert.equal(await card.owed(agent.agentId), 0)
  assert.notEqual((await verify(agent)).json.error, 'account_in_debt')
  // A won dispute restores the credits.
  await simulator.control(`disputes/${dispute}/close`, { how: 'won' })
  await waitForReversal(checkoutId, 0)
  assert.equal((await card.balance(agent)).balance, 130)
  assert.equal((await card.eventsOf(agent.agentId)).at(-1)?.type, 'credits.restored')
})

test('a dispute whose closing arrives before its opening counts as closed; an inquiry takes nothing', async () => {
  const agent = await card.liveAgent()
  const { sessionId, checkoutId } = await card.openCheckout(agent)
  const payment = await card.pay(sessionId)
  await card.waitForState(checkoutId, 'completed')
  const ids = await withHeldEvents(async () => {
    const { dispute } = await simulator.control<{ dispute: string }>(`payments/${payment}/dispute`)
    await simulator.control(`disputes/${dispute}/close`, { how: 'won' })
    return card.heldEvents(['charge.dispute.closed', 'charge.dispute.created'])
  })
  assert.deepEqual(await card.deliver(ids), [200, 200])
  assert.equal((await card.balance(agent)).balance, 100)
  const inquiry = await withHeldEvents(async () => {
    await simulator.control(`payments/${payment}/dispute`, { inquiry: true })
    return card.heldEvents(['charge.dispute.created'])
  })
  await card.deliver(inquiry)
  assert.equal((await card.balance(agent)).balance, 100)
})

const step = fc.oneof(
  fc.record({ kind: fc.constant('refund' as const), cents: fc.integer({ min: 1, max: 4_900 }) }),
  fc.record({ kind: fc.constant('dispute' as const), cents: fc.integer({ min: 1, max: 4_900 }) }),
  fc.record({ kind: fc.constant('close' as const), won: fc.boolean() }),
  fc.record({ kind: fc.constant('spend' as const), count: fc.integer({ min: 1, max: 40 }) }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** Runs the steps at the simulator and sums what they do to the payment. */
const runSteps = async (payment: string, steps: readonly Step[]) => {
  let refunded = 0
  let toSpend = 0
  const disputes: { id: string; cents: number; end: 'open' | 'won' | 'lost' }[] = []
  for (const one of steps) {
    if (one.kind === 'refund' && refunded + one.cents <= 4_900) {
      await simulator.control(`payments/${payment}/refund`, { amount: one.cents })
      refunded += one.cents
    }
    if (one.kind === 'dispute') {
      const { dispute } = await simulator.control<{ dispute: string }>(`payments/${payment}/dispute`, {
        amount: one.cents,
      })
      disputes.push({ id: dispute, cents: one.cents, end: 'open' })
    }
    const open = disputes.find(({ end }) => end === 'open')
    if (one.kind === 'close' && open) {
      open.end = one.won ? 'won' : 'lost'
      await simulator.control(`disputes/${open.id}/close`, { how: open.end })
    }
    if (one.kind === 'spend') toSpend += one.count
  }
  const reversed = disputes
    .filter(({ end }) => end !== 'won')
    .reduce((sum, { cents }) => sum + cents, refunded)
  return { toSpend, reversed: Math.min(4_900, reversed) }
}

/** The expected accounts follow by arithmetic alone: the money that came and stayed, and what was spent. */
test('any order of payments, refunds, disputes, repeats and spends leaves the sums of arithmetic', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 8 }),
      fc.array(fc.nat(), { minLength: 12, maxLength: 12 }),
      async (steps, lots) => {
        const agent = await card.liveAgent()
        const { sessionId, checkoutId } = await card.openCheckout(agent)
        const before = new Set((await card.state()).events.map(({ id }) => id))
        const { toSpend, reversed } = await withHeldEvents(async () =>
          runSteps(await card.pay(sessionId), steps),
        )
        const fresh = (await card.state()).events.filter(({ id }) => !before.has(id)).map(({ id }) => id)
        // Each at least once, some twice, in a random order.
        const sent = [...fresh, ...fresh.filter((_, index) => (lots[index] ?? 0) % 2 === 0)].toSorted(
          (a, b) => ((lots[fresh.indexOf(a)] ?? 0) % 7) - ((lots[fresh.indexOf(b)] ?? 0) % 7),
        )
        const half = Math.floor(sent.length / 2)
        await card.deliver(sent.slice(0, half))
        const spent = Math.min(toSpend, (await card.balance(agent)).balance)
        await spendCredits(agent.agentId, spent)
        await card.deliver(sent.slice(half))
        const left = packs.starter.credits - Math.floor((packs.starter.credits * reversed) / 4_900) - spent
        const { balance } = await card.balance(agent)
        assert.equal(balance, Math.max(0, left))
        assert.equal(await card.owed(agent.agentId), Math.max(0, -left))
        assert.equal((await card.checkoutOf(checkoutId)).state, 'completed')
      },
    ),
    { numRuns: 40 },
  )
})

test('afterwards money and credits agree, and a planted difference is found', async () => {
  const report = await readCheck()
  assert.deepEqual(report.faults, [])
  assert.deepEqual(report.unmatched, [])
  assert.ok(report.ok && report.checkouts > 40 && report.postings === report.checkouts)
  const agent = await card.liveAgent()
  const { sessionId, checkoutId } = await card.openCheckout(agent)
  await card.pay(sessionId)
  await card.waitForState(checkoutId, 'completed')
  await harness.owner.query('update checkouts set taken_usd_cents = 4900 where checkout_id = $1', [
    checkoutId,
  ])
  await harness.owner.query(
    "select set_config('pohf.tenant', 'system', false), ledger_post($1, 'live', 'purchase', 'chk_planted', 'ent_planted', array['world:purchases', 'credits'], array['credit', 'credit'], array[-5, 5]::bigint[])",
    [agent.agentId],
  )
  assert.deepEqual((await readCheck()).faults, [
    { agentId: agent.agentId, checkoutId, fault: 'not_taken_back' },
    { agentId: agent.agentId, checkoutId: 'chk_planted', fault: 'not_paid' },
  ])
  // The reconciler finds the same and stops minting for this agent only.
  await harness.owner.query('delete from ledger_compared')
  await harness.runJobs()
  const { rows } = await harness.owner.query<{ agent_id: string; subject: string }>(
    "select agent_id, subject from ledger_drift where finding = 'card_credits' and cleared_at is null",
  )
  assert.deepEqual(
    new Set(rows.map(({ agent_id, subject }) => `${agent_id} ${subject}`)),
    new Set([`${agent.agentId} ${checkoutId}`, `${agent.agentId} chk_planted`]),
  )
})
