import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { inTransaction, now } from '../../platform/db/db.ts'
import { beginIdempotent, completeIdempotent } from '../../platform/db/idempotency.ts'
import { drainOutbox, publish } from '../../platform/queue/outbox.ts'
import { fanOut } from '../../webhooks/index.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { enrolMember, registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'
import { findTablesHolding } from '../../../test/architecture/personal-data.ts'
import { startReceiver } from '../../../test/fixtures/webhook-receiver.ts'
import { subscribe } from '../../../test/fixtures/webhooks.ts'

const harness = await startHarness()
const receiver = await startReceiver()
const live = await registerConfirmedAgent(harness, 'live', 'first@example.com')
await subscribe(harness, live, receiver.url)

let calls = 0
/** A call with an Idempotency-Key, whose response is therefore stored. */
const post = async (path: string, body: unknown) => {
  calls += 1
  const answer = await harness.call('POST', path, {
    key: live.apiKey,
    body,
    headers: { 'idempotency-key': `call ${calls}` },
  })
  assert.equal(answer.status, 200, `${path} ${answer.text}`)
  return answer.json
}

const secondErasureMs = 601_000
const erase = async (browser: Awaited<ReturnType<typeof enrolMember>>['browser']) => {
  const { status, text } = await browser.post('me/erase', { confirm: 'delete everything' })
  assert.equal(status, 200, text)
}
const claimsOf = (jwt: string) => JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString())

/** A member whose events wait in the outbox and whose responses are stored. */
const createWaitingMember = async (externalRef: string, lat: number) => {
  const { browser, memberId, passkey } = await enrolMember(harness, live, { externalRef })
  const wallet = privateKeyToAccount(generatePrivateKey())
  const { nonce, message } = await post('/api/agents/wallet/challenge', { wallet: wallet.address, memberId })
  const walletSig = await wallet.signMessage({ message })
  const bound = { wallet: wallet.address, walletSig, walletNonce: nonce }
  const { pohf_jwt: jwt } = await post('/api/agents/verify-personhood', { memberId, ...bound })
  const place = { source: 'geo_photo', lat, lng: 56.78, photoHash: `photo of ${externalRef}` }
  const presence = await post('/api/kinetic/submit', { memberId, ...place })
  await post('/api/agents/verify', { sessionId: presence.sessionId })
  await post('/api/agents/bind-transaction', { memberId, paymentRef: `invoice ${calls}` })
  await post(`/api/agents/members/${memberId}/acts`, { action: 'vote' })
  const traces = {
    member: memberId,
    reference: externalRef,
    passkey: passkey.id.toString('base64url'),
    place: `${lat},56.78`,
    wallet: wallet.address.slice(2).toLowerCase(),
    sub: String(claimsOf(jwt).sub),
  }
  return { browser, memberId, wallet, traces }
}

/** Until a statement waits for the lock of another transaction. */
const untilLockWait = async (): Promise<void> => {
  for (let look = 0; look < 1_000; look += 1) {
    const { rowCount } = await harness.owner.query(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    )
    if (rowCount === 1) return
  }
  throw new Error('no statement waits for a lock')
}

/** Credentials are signed documents and stay; the notice tells the agent to delete. */
const kept: Readonly<Record<string, readonly string[]>> = {
  member: ['events', 'outbox', 'webhook_deliveries'],
  wallet: ['credentials'],
  sub: ['credentials'],
}
const assertErased = async (traces: Readonly<Record<string, string>>) => {
  for (const [name, trace] of Object.entries(traces))
    assert.deepEqual(
      (await findTablesHolding(harness.owner, trace)).filter((table) => !kept[name]?.includes(table)),
      [],
      name,
    )
}

test('erasure covers events that wait and stored responses, before and after the jobs ran', async () => {
  const { browser, memberId, traces } = await createWaitingMember('customer-waiting', 34.56)
  const before = await findTablesHolding(harness.owner, memberId)
  for (const table of ['outbox', 'events', 'idempotency_keys']) assert.ok(before.includes(table), table)
  const heard = receiver.received.length
  await erase(browser)
  await assertErased(traces)
  await harness.runJobs()
  await assertErased(traces)
  const bodies = receiver.received.slice(heard).map(({ body }) => JSON.parse(body))
  assert.deepEqual(
    bodies.filter(({ data }) => JSON.stringify(data).includes(memberId)).map(({ type }) => type),
    ['member.erased'],
  )
  const { rows } = await harness.owner.query(
    "select data from events where agent_id = $1 and data::text like '%' || $2 || '%'",
    [live.agentId, memberId],
  )
  assert.deepEqual(rows, [{ data: { memberId } }])
  await harness.advance(secondErasureMs)
  await harness.runJobs()
  assert.deepEqual(await findTablesHolding(harness.owner, memberId), ['events', 'webhook_deliveries'])
})

test('an event that is being fanned out while the person is erased leaves no delivery', async () => {
  const { browser, traces, memberId } = await createWaitingMember('customer-fan-out', 45.67)
  const fannedOut = Promise.withResolvers<void>()
  const mayCommit = Promise.withResolvers<void>()
  const draining = drainOutbox(harness.ctx, 'event', {
    withinTransaction: async (tx, rows) => {
      await fanOut(tx, rows)
      fannedOut.resolve()
      await mayCommit.promise
    },
  })
  await fannedOut.promise
  const erasing = erase(browser)
  await untilLockWait().finally(mayCommit.resolve)
  await Promise.all([draining, erasing])
  await assertErased(traces)
  const { rows } = await harness.owner.query(
    "select body::jsonb ->> 'type' as type from webhook_deliveries where body like '%' || $1 || '%'",
    [memberId],
  )
  assert.deepEqual(rows, [])
})

test('what a call that began before the erasure writes afterwards is erased ten minutes later', async () => {
  const { browser, memberId, traces } = await createWaitingMember('customer-late', 56.78)
  const { agentId } = live
  const call = { method: 'POST', path: '/api/agents/verify-personhood' }
  const late = { ...call, agentId }
  const begin = async (key: string) => {
    const begun = await beginIdempotent(
      harness.ctx,
      { ...late, key },
      { body: { memberId }, secret: live.apiKey, subject: memberId },
    )
    assert.ok('claim' in begun)
    return begun.claim
  }
  const inProgress = await begin('in progress')
  await erase(browser)
  // The response of a call in progress is not stored any more; one that begins later is.
  const answer = { status: 200, body: JSON.stringify({ memberId, wallet: traces.wallet }) }
  await completeIdempotent(harness.ctx, inProgress, answer)
  assert.ok(!(await findTablesHolding(harness.owner, memberId)).includes('idempotency_keys'))
  await completeIdempotent(harness.ctx, await begin('late'), answer)
  await inTransaction(harness.ctx, agentId, async (tx) => {
    await publish(tx, {
      agentId,
      mode: 'live',
      subject: memberId,
      type: 'personhood.verified',
      data: { memberId, credentialId: 'crd_late' },
    })
    await tx
      .insertInto('presences')
      .values({ agent_id: agentId, mode: 'live', member_ref: memberId, lat: 56.78, lng: 56.78, at: now() })
      .execute()
  })
  await harness.runJobs()
  const tables = await findTablesHolding(harness.owner, memberId)
  for (const table of ['idempotency_keys', 'presences', 'webhook_deliveries'])
    assert.ok(tables.includes(table), table)
  await harness.advance(secondErasureMs)
  await harness.runJobs()
  await assertErased(traces)
  assert.deepEqual(await findTablesHolding(harness.owner, memberId), ['events', 'webhook_deliveries'])
  const { rows } = await harness.owner.query(
    "select body::jsonb ->> 'type' as type from webhook_deliveries where body like '%' || $1 || '%'",
    [memberId],
  )
  assert.deepEqual(rows, [{ type: 'member.erased' }])
})
