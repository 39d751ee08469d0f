import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backUp, openRestoreHarness, restore } from '../../../test/fixtures/restore.ts'

type RestoreHarness = Awaited<ReturnType<typeof openRestoreHarness>>

/** Runs `lose` in the time that a restore takes back, and completes the restore. */
const loseAndRestore = async (service: RestoreHarness, lose: () => Promise<void>): Promise<void> => {
  const { harness, mint, operate, acknowledged } = service
  await mint(await service.makeSessions(1))
  await acknowledged()
  await backUp(harness)
  await lose()
  await acknowledged()
  await restore(harness)
  const { json } = await operate('POST', '/operator/restore/apply', {})
  assert.deepEqual([json.applied, json.pending], [true, false])
}

const hourMs = 3_600_000

test('credentials of the lost span count against every budget of their hour, up to half of it', async () => {
  // Acts without a known network have a tenth of the budget of a wide network: 12 in an hour.
  const service = await openRestoreHarness({ ROOT_BUDGETS: 'on', ROOT_NETWORK_PER_HOUR: '120' })
  const { harness, mint, verify } = service
  const countServed = async (count: number) => {
    let served = 0
    for (const sessionId of await service.makeSessions(count)) {
      const { status, json } = await verify(sessionId)
      if (status === 200) served += 1
      else assert.equal(json.error, 'network_busy')
    }
    return served
  }
  try {
    // The first minutes of an hour, so that the test ends in it.
    await harness.advance(hourMs - (Date.now() % hourMs) + 60_000)
    await loseAndRestore(service, async () => {
      await mint(await service.makeSessions(4))
    })
    // 12, less the one of before, less 4 that may have been of this root.
    assert.equal(await countServed(9), 7)
    await harness.advance(hourMs)
    assert.equal(await countServed(13), 12)
  } finally {
    await service.close()
  }
})

test('a budget keeps half when more was lost than that', async () => {
  const service = await openRestoreHarness({ ROOT_BUDGETS: 'on', ROOT_NETWORK_PER_HOUR: '60' })
  const { harness, mint, verify } = service
  try {
    await harness.advance(hourMs - (Date.now() % hourMs) + 60_000)
    await loseAndRestore(service, async () => {
      await mint(await service.makeSessions(5))
    })
    const [second, third, fourth] = await service.makeSessions(3)
    for (const sessionId of [second, third]) assert.equal((await verify(sessionId ?? '')).status, 200)
    assert.equal((await verify(fourth ?? '')).json.error, 'network_busy')
  } finally {
    await service.close()
  }
})

test('a payment that was bound in the lost span binds no second human', async () => {
  const service = await openRestoreHarness()
  const { harness, agent } = service
  const bind = (sessionId: string, paymentRef: string) =>
    harness.call('POST', '/api/agents/bind-transaction', {
      key: agent.apiKey,
      body: { sessionId, paymentRef },
    })
  try {
    await harness.owner.query('update agents set email_confirmed_at = pohf_now()')
    const [first = '', other = ''] = await service.makeSessions(2)
    await loseAndRestore(service, async () => {
      const bound = await bind(first, 'agentpay:visa:4815162342')
      assert.equal(bound.status, 200, bound.text)
    })
    assert.equal((await bind(other, 'agentpay:visa:4815162342')).json.error, 'payment_ref_bound')
    assert.equal((await bind(first, 'agentpay:visa:4815162342')).json.error, 'credential_lost')
    assert.equal((await bind(other, 'agentpay:visa:2342')).status, 200)
  } finally {
    await service.close()
  }
})

test('a task token of before a restore is void, used or not', async () => {
  const service = await openRestoreHarness()
  const { harness } = service
  const sandbox = await harness.register('test')
  const next = async () => (await harness.call('GET', `/api/tasks/next?site=${sandbox.agentId}`)).json.task
  const complete = (token: string) =>
    harness.call('POST', '/api/tasks/complete', { body: { token, answer: 'a' } })
  try {
    const { token } = await next()
    await loseAndRestore(service, async () => {
      assert.equal((await complete(token)).json.verified, true)
      await service.mint(await service.makeSessions(1))
    })
    assert.equal((await complete(token)).json.reason, 'token_expired')
    await harness.advance(1_000)
    assert.equal((await complete((await next()).token)).json.verified, true)
  } finally {
    await service.close()
  }
})
