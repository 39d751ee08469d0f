import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { startHarness } from '../../server/test/fixtures/harness.ts'
import { makeX402Clients, startPurchaseHarness } from '../../server/test/fixtures/payments/purchases.ts'
import { checkRecipient } from '../src/server/doctor/chain.ts'

const fixture = await startPurchaseHarness()
if (!fixture) test('recipient of payments', { skip: 'no chain runs on this system' }, () => undefined)
else {
  const check = async ({ config }: typeof fixture.harness.ctx, change: Partial<typeof config> = {}) => {
    const database = new Client({ connectionString: config.DATABASE_URL })
    await database.connect()
    try {
      return await checkRecipient({ ...config, ...change }, database)
    } finally {
      await database.end()
    }
  }

  test('doctor finds that two deployments share the recipient of payments', async () => {
    const { chain, harness, settings, makeFundedPayer, buy } = fixture
    assert.equal((await buy(await makeFundedPayer())).answer.status, 200)
    // A transfer that is no payment, such as one by the operator.
    await chain.mint(chain.payTo.address, 5n)
    const alone = await check(harness.ctx)
    assert.equal(alone?.level, 'ok', alone?.note)
    assert.match(alone.note, /one recipient for one deployment/)
    const other = await startHarness(settings)
    const theirs = await makeX402Clients(chain, other).buy(await makeFundedPayer())
    assert.equal(theirs.answer.status, 200, theirs.answer.text)
    const shared = await check(harness.ctx)
    assert.equal(shared?.level, 'problem')
    assert.match(shared.note, /^1 recent payments .* Another deployment uses this recipient/)
  })

  test('doctor says that the node does not answer, and nothing where nothing is paid on a chain', async () => {
    const { ctx } = fixture.harness
    const away = await check(ctx, { X402_CHAIN_RPC: 'http://127.0.0.1:9' })
    assert.equal(away?.level, 'problem')
    assert.match(away.note, /does not answer/)
    assert.equal(await check(ctx, { X402_CHAIN_RPC: undefined }), undefined)
  })
}
