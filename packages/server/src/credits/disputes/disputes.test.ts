import assert from 'node:assert/strict'
import { test } from 'node:test'
import { packs } from '@pohf/protocol'
import { makeCardSteps } from '../../../test/fixtures/payments/card-steps.ts'
import { startCardHarness } from '../../../test/fixtures/payments/card.ts'
import { makeScoredSession } from '../../../test/fixtures/scored-session.ts'
import * as credentials from '../../credentials/index.ts'
import * as operators from '../../operators/index.ts'
import { disputeJob, type DisputeDeps } from './pass.ts'

const card = await startCardHarness()
const { harness, simulator } = card
const { withHeldEvents, waitForReversal } = makeCardSteps(card)
const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')

type Agent = Awaited<ReturnType<typeof card.liveAgent>>
const price = packs.starter.priceUsd * 100

/** Buys a pack by card. */
const buyPack = async (agent: Agent) => {
  const { sessionId, checkoutId } = await card.openCheckout(agent)
  const payment = await card.pay(sessionId)
  await card.waitForState(checkoutId, 'completed')
  return { payment, checkoutId }
}
let granted = 0
const grant = async (agent: Agent, credits: number): Promise<void> => {
  const answer = await harness.callOperator('POST', `/operator/agents/${agent.agentId}/credits`, {
    key: operatorKey,
    body: { credits, reference: `grant ${granted++}`, reason: 'A test.' },
  })
  assert.equal(answer.status, 200, answer.text)
}
/** Mints credentials, each for one credit or free seal. */
const mint = async (agent: Agent, count: number): Promise<string[]> => {
  const ids: string[] = []
  for (let index = 0; index < count; index++) {
    const { sessionId } = await makeScoredSession(harness, agent)
    const answer = await harness.call('POST', '/api/agents/verify', {
      key: agent.apiKey,
      body: { sessionId },
    })
    assert.equal(answer.status, 200, answer.text)
    ids.push(String(answer.json.credentialId))
  }
  return ids
}
const statesOf = async (ids: readonly string[]): Promise<string[]> => {
  const { rows } = await harness.owner.query<{ state: string }>(
    `select (select state from credential_states where credential_id = id order by seq desc limit 1) as state
     from unnest($1::text[]) with ordinality named (id, n) order by n`,
    [ids],
  )
  return rows.map(({ state }) => state)
}
const allAre = async (ids: readonly string[], state: string): Promise<void> => {
  assert.ok(ids.length > 0)
  assert.deepEqual(
    await statesOf(ids),
    ids.map(() => state),
  )
}
const eventsOf = async (id: string): Promise<string[]> => {
  const { rows } = await harness.owner.query<{ type: string }>(
    'select type from events where subject = $1 order by event_id',
    [id],
  )
  return rows.map(({ type }) => type.replace('credential.', ''))
}
const disputesOf = async (agent: Agent) =>
  (await harness.call('GET', '/api/agents/credits/balance', { key: agent.apiKey })).json.disputes
const open = async ({ payment, checkoutId }: { payment: string; checkoutId: string }, amount = price) => {
  const { dispute } = await simulator.control<{ dispute: string }>(`payments/${payment}/dispute`, { amount })
  await waitForReversal(checkoutId, amount)
  return dispute
}
/** The state of a dispute arrives by an event of its own. */
const close = async (dispute: string, how: 'won' | 'lost') => {
  const ids = await withHeldEvents(async () => {
    await simulator.control(`disputes/${dispute}/close`, { how })
    return card.heldEvents(['charge.dispute.closed'])
  })
  assert.deepEqual(await card.deliver(ids), [200])
}
const operate = (id: string, act: 'suspend' | 'reinstate' | 'revoke') =>
  harness.callOperator('POST', `/operator/credentials/${id}/${act}`, {
    key: operatorKey,
    body: { reason: 'An operator.' },
  })
const changeState = credentials.makeChangeCredentialState(harness.ctx)
const job = disputeJob({ ctx: harness.ctx, changeCredentialState: changeState })
const runPass = async (): Promise<void> => {
  while ((await job.run()) > 0);
}
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
  const shown = await disputesOf(agent)
  assert.deepEqual(
    shown.map(({ disputedAt: _, ...rest }: { disputedAt: string }) => rest),
    [
      {
        checkoutId: first.checkoutId,
        pack: 'starter',
        state: 'open',
        suspended: 4,
        revoked: 0,
        isDone: true,
      },
    ],
  )
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

/** No index of a status list twice. */
let statusIndex = 1_000_000
/** Credentials that are written and paid for as the mint does it, and the first of them, which it minted. */
const spendMany = async (agent: Agent, count: number): Promise<string[]> => {
  const [sample] = await mint(agent, 1)
  const { rows } = await harness.owner.query<{ id: string }>(
    `with made as (
       insert into credentials (agent_id, credential_id, at, mode, kind, expires_at, jwt, answer, status_list, status_idx, charged)
       select agent_id, credential_id || '_' || lpad(i::text, 6, '0'), at, mode, kind, expires_at, jwt, answer, status_list,
         $3::int + i, true
       from credentials, generate_series(1, $2::int) i where credential_id = $1 order by i returning agent_id, credential_id
     ), states as (
       insert into credential_states (agent_id, credential_id, seq, state, reason)
       select agent_id, credential_id, 1, 'issued', 'minted' from made
     ) select credential_id as id from made order by 1`,
    [sample, count, statusIndex],
  )
  statusIndex += count + 1
  const client = await harness.owner.connect()
  await client.query("set pohf.tenant = 'system'")
  await client.query(
    `select ledger_post($1, 'live', 'spend', id, 'ent_' || id, array['credits', 'consumed:credit'],
       array['credit', 'credit'], array[-1, 1]::bigint[]) from unnest($2::text[]) id`,
    [agent.agentId, rows.map(({ id }) => id)],
  )
  client.release(true)
  return [sample ?? '', ...rows.map(({ id }) => id)]
}
const buyLargePack = async (agent: Agent) => {
  const { sessionId, checkoutId } = await card.openCheckout(agent, 'growth')
  const payment = await card.pay(sessionId)
  await card.waitForState(checkoutId, 'completed')
  return { payment, checkoutId }
}
test('an interrupted pass goes on where it stopped, and what cannot be changed is skipped and counted', async () => {
  const agent = await card.liveAgent()
  const pack = await buyLargePack(agent)
  const ids = await spendMany(agent, 249)
  const dispute = await open(pack, packs.growth.priceUsd * 100)
  const run = (change: DisputeDeps['changeCredentialState']) =>
    disputeJob({ ctx: harness.ctx, changeCredentialState: change }).run()
  const suspended = async () => (await statesOf(ids)).filter((state) => state === 'suspended').length
  assert.equal(await run(changeState), 1, 'the plan')
  assert.equal(await run(changeState), 100)
  assert.equal(await suspended(), 100)
  assert.equal((await disputesOf(agent))[0].isDone, false)
  const broken = ids[120] ?? ''
  const refusesOne: DisputeDeps['changeCredentialState'] = (tx, change) =>
    change.credentialId === broken ? Promise.reject(new Error('of another cell')) : changeState(tx, change)
  assert.equal(await run(refusesOne), 100)
  assert.equal(await suspended(), 199)
  assert.equal(await run(changeState), 50)
  assert.equal(await run(changeState), 0)
  assert.equal(await suspended(), 249)
  assert.deepEqual(await statesOf([broken]), ['issued'])
  const { rows } = await harness.owner.query(
    'select is_done, skipped from dispute_passes where agent_id = $1',
    [agent.agentId],
  )
  assert.deepEqual(rows, [{ is_done: true, skipped: 1 }])
  // The next pass finds it.
  await close(dispute, 'lost')
  await runPass()
  await allAre(ids, 'revoked')
})

test('a dispute that closes during a pass starts it again', async () => {
  const agent = await card.liveAgent()
  const pack = await buyLargePack(agent)
  const ids = await spendMany(agent, 149)
  const dispute = await open(pack, packs.growth.priceUsd * 100)
  await job.run()
  assert.equal(await job.run(), 100)
  await close(dispute, 'won')
  await runPass()
  await allAre(ids, 'issued')
  assert.deepEqual(await eventsOf(ids[149] ?? ''), [], 'it was never suspended')
})

test('a pass whose ledger has a gap is loud and ends', async () => {
  const agent = await card.liveAgent()
  const pack = await buyLargePack(agent)
  const ids = await spendMany(agent, 9)
  await harness.owner.query('alter table ledger_lines disable trigger append_only')
  await harness.owner.query(
    "delete from ledger_lines where agent_id = $1 and account = 'consumed:credit' and line_number = 5",
    [agent.agentId],
  )
  await open(pack, packs.growth.priceUsd * 100)
  await runPass()
  assert.deepEqual(
    (await statesOf(ids))
      .map((state, index) => (state === 'issued' ? index : -1))
      .filter((index) => index >= 0),
    [4],
  )
  const { rows } = await harness.owner.query(
    'select is_done, skipped from dispute_passes where agent_id = $1',
    [agent.agentId],
  )
  assert.deepEqual(rows, [{ is_done: true, skipped: 1 }])
})
