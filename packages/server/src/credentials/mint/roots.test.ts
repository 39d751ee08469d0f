import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { mintSignerOf } from '../../../test/fixtures/mint-signer.ts'
import {
  browseFrom,
  budgetSettings,
  findCounterFaults,
  makeSeenSessions,
  moveClockTo,
} from '../../../test/fixtures/networks.ts'
import { grantCredits } from '../../../test/fixtures/payments/ledger.ts'
import { enrolMember, registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'
import { giveTask } from '../../../test/fixtures/people/micro-task.ts'
import { playSession } from '../../../test/fixtures/people/play-session.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'
import * as agents from '../../agents/index.ts'
import { makeCredits } from '../../credits/index.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { makeRoots } from '../../roots/index.ts'
import { findSession } from '../../sessions/index.ts'
import { connectSigner } from '../../signing/index.ts'
import { readForgingFile } from '../forging/prices.ts'
import { makeStatusIndexes } from '../status/indexes.ts'
import { makePurchaseMint } from './purchase.ts'
import { makeWorkMint } from './work.ts'

const harness = await startHarness({ ...budgetSettings, ROOT_ADDRESS_PER_HOUR: '8' })
const { ctx } = harness
const seen = makeSeenSessions(harness)
const agent = await registerConfirmedAgent(harness, 'live', 'agent@example.com')
await grantCredits(harness, agent, 1_000n)
const post = (path: string, body: unknown, headers = {}) =>
  harness.call('POST', path, { key: agent.apiKey, body, headers })
const signer = connectSigner(ctx)
after(() => signer.close())
const deps = {
  ctx,
  signer,
  mintSigner: mintSignerOf(ctx, signer),
  statusIndexes: makeStatusIndexes(ctx, signer),
  roots: makeRoots(ctx),
}

/** The networks that a credential spent on. */
const networksOf = async (credentialId: string): Promise<number> => {
  const { rows } = await harness.owner.query<{ n: number }>(
    'select count(*)::int as n from root_network_credentials where credential_id = $1',
    [credentialId],
  )
  return rows[0]?.n ?? -1
}
/** Places taken of all counters that agents share. */
const countPlaces = async (): Promise<number> => {
  const { rows } = await harness.owner.query<{ n: number }>(
    "select coalesce(sum(used), 0)::int as n from root_counters where spender = ''",
  )
  return rows[0]?.n ?? -1
}
/** Mints, and checks that it took a place of one address and one wider network. */
const assertSpends = async (mint: () => Promise<string>, taken = 2): Promise<void> => {
  const before = await countPlaces()
  const credentialId = await mint()
  assert.equal(await networksOf(credentialId), 1)
  assert.equal((await countPlaces()) - before, taken)
  assert.deepEqual(await findCounterFaults(harness), [])
}
const mintBy = (path: string, body: unknown) => async (): Promise<string> => {
  const { status, json, text } = await post(path, body)
  assert.equal(status, 200, text)
  return json.credentialId
}

test('a view spends what its session reserved when it passed, and a repeat nothing', async () => {
  await moveClockTo(harness, 9, 5)
  const before = await countPlaces()
  const { sessionId } = await playSession(browseFrom(harness, '203.0.113.10'), { site: agent.agentId })
  assert.equal((await countPlaces()) - before, 2, 'the places are held')
  await assertSpends(mintBy('/api/agents/verify', { sessionId }), 0)
  await assertSpends(mintBy('/api/agents/verify', { sessionId }), 0)
})

test('personhood, a binding, and presence that names no session spend on the last attention check of the member', async () => {
  await moveClockTo(harness, 9, 5)
  const { memberId } = await enrolMember(harness, agent)
  await assertSpends(mintBy('/api/agents/verify-personhood', { memberId }))
  const binding = { memberId, paymentRef: 'agentpay:visa:1' }
  await assertSpends(mintBy('/api/agents/bind-transaction', binding))
  const presence = await post('/api/kinetic/submit', { memberId, source: 'geo_photo', photoHash: 'p-1' })
  assert.equal(presence.json.verified, true, presence.text)
  await assertSpends(mintBy('/api/agents/verify', { sessionId: presence.json.sessionId }))
  // The agent has half of 8 an hour: one is left.
  await assertSpends(mintBy('/api/agents/bind-transaction', { ...binding, paymentRef: 'agentpay:visa:2' }))
  for (const [path, body] of [
    ['/api/agents/verify-personhood', { memberId: (await enrolMember(harness, agent)).memberId }],
    ['/api/agents/bind-transaction', { ...binding, paymentRef: 'agentpay:visa:3' }],
  ] as const)
    assertRefusal(await post(path, body), 409, 'network_busy')
  const { rows } = await harness.owner.query('select used from binding_allowances where agent_id = $1', [
    agent.agentId,
  ])
  assert.deepEqual(rows, [{ used: 2 }], 'a refused binding draws nothing')
})

/** The sessions that hold places. */
const listReserved = async (): Promise<string[]> => {
  const { rows } = await harness.owner.query<{ id: string }>(
    'select session_id as id from root_reservations where expires_at > pohf_now()',
  )
  return rows.map(({ id }) => id)
}

test('a binding and presence on a session leave its own credential what the session reserved', async () => {
  await moveClockTo(harness, 9, 5)
  const { memberId } = await enrolMember(harness, agent)
  const { sessionId } = await playSession(browseFrom(harness, '203.0.113.12'), { site: agent.agentId })
  await assertSpends(mintBy('/api/agents/bind-transaction', { sessionId, paymentRef: 'agentpay:visa:9' }))
  const submission = { memberId, sessionId, source: 'geo_photo', photoHash: 'p-2' }
  const presence = await post('/api/kinetic/submit', submission)
  assert.equal(presence.json.verified, true, presence.text)
  await assertSpends(mintBy('/api/agents/verify', { sessionId: presence.json.sessionId }))
  assert.deepEqual(await listReserved(), [sessionId])
  await assertSpends(mintBy('/api/agents/verify', { sessionId }), 0)
  assert.deepEqual(await listReserved(), [])
})

test('a micro-task takes over what its recording reserved', async () => {
  await moveClockTo(harness, 9, 5)
  const { token, answer } = giveTask(harness, { ...agent, mode: 'live' })
  const page = browseFrom(harness, '203.0.113.13')
  const recorded = await playSession(page, { site: agent.agentId, kind: 'task' })
  assert.deepEqual(await listReserved(), [recorded.sessionId])
  const { json } = await post('/api/tasks/complete', { token, answer, sessionId: recorded.sessionId })
  assert.equal(json.verified, true, JSON.stringify(json))
  assert.deepEqual(await listReserved(), [json.sessionId])
  await assertSpends(mintBy('/api/agents/verify', { sessionId: json.sessionId }), 0)
})

test('work spends on the session of the worker, and a purchase on that of the work', async () => {
  await moveClockTo(harness, 9, 5)
  const { memberId } = await enrolMember(harness, agent)
  const [sessionId = ''] = await seen(1, agent, '203.0.113.11', { kind: 'work' })
  const key = { agentId: agent.agentId, mode: 'live', sessionId } as const
  const session = await inTransaction(ctx, 'system', (tx) => findSession(tx, key))
  assert.ok(session)
  const mintWork = makeWorkMint({
    ...deps,
    credits: makeCredits(ctx, agents),
    forging: readForgingFile(''),
    findPayoutRoot: async () => undefined,
    findWorkRef: async () => undefined,
  })
  await assertSpends(async () => {
    const member = { agentId: agent.agentId, mode: 'live', memberId } as const
    const signed = await mintWork.sign({
      agentId: agent.agentId,
      mode: 'live',
      session,
      member,
      personId: 'nobody',
    })
    const minted = await inTransaction(ctx, 'system', (tx) => mintWork.write(tx, signed))
    assert.ok('credentialId' in minted)
    return minted.credentialId
  })
  const mintPurchase = makePurchaseMint(deps)
  const buy = async (purchaseId: string) => {
    const signed = await mintPurchase.sign({
      agentId: agent.agentId,
      mode: 'live',
      purchaseId,
      workflowId: 'wf_judge',
      payer: `0x${'1'.repeat(40)}`,
      transaction: `0x${'2'.repeat(64)}`,
      answer: 'yes',
      session: { agentId: agent.agentId, sessionId },
    })
    await inTransaction(ctx, 'system', (tx) => mintPurchase.write(tx, signed))
    return signed.row.credentialId
  }
  await assertSpends(() => buy('pur_1'))
  await buy('pur_2')
  await buy('pur_3')
  await assert.rejects(() => buy('pur_4'), { code: 'network_busy' })
})

test('a credential of the sandbox spends nothing', async () => {
  const { apiKey } = await harness.register('test')
  const before = await countPlaces()
  for (let n = 0; n < 20; n++) {
    const body = { sessionId: `ses_${n}` }
    assert.equal((await harness.call('POST', '/api/agents/verify', { key: apiKey, body })).status, 200)
  }
  assert.equal(await countPlaces(), before)
})
