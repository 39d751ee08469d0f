// The statements about tasks, partners, the index and forwards against a service whose index has a value: on a new deployment
// many of them hold because there is nothing to check.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readApi } from '../../../conformance/src/api.ts'
import { makeHttp } from '../../../conformance/src/http.ts'
import { runStatement } from '../../../conformance/src/runner.ts'
import { microTasks } from '../../../conformance/src/sections/services/microtasks.ts'
import { payouts, pointsConversion } from '../../../conformance/src/sections/services/partners.ts'
import { capacity, rateIndex } from '../../../conformance/src/sections/services/vhh.ts'
import * as operators from '../../../packages/server/src/operators/index.ts'
import { startHarness } from '../../../packages/server/test/fixtures/harness.ts'
import {
  insertBuyers,
  insertSettledUnits,
  makeSettledUnits,
} from '../../../packages/server/test/fixtures/payments/settled-work.ts'

const harness = await startHarness()

/** Work of last month, which the start of the service closed without any: an operator restates it. */
const fillIndex = async (): Promise<void> => {
  const now = harness.ctx.clock.now()
  const from = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1))
  const buyers = await insertBuyers(harness.owner, 14)
  const market = { buyers, workers: 40, unitsPerBuyer: 60, from, usdPerHour: 18 }
  await insertSettledUnits(harness.owner, makeSettledUnits(market))
  const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
  const { status, text } = await harness.callOperator('POST', '/operator/index/close', {
    key: operatorKey,
    body: { month: from.toISOString().slice(0, 7), reason: 'work was missing' },
  })
  assert.equal(status, 200, text)
}

test('every statement about tasks, partners, the index and forwards holds with a value behind it', async () => {
  await fillIndex()
  await harness.app.api.listen({ host: '127.0.0.1', port: 0 })
  const [address] = harness.app.api.addresses()
  const baseUrl = `http://127.0.0.1:${typeof address === 'object' ? address.port : 0}`
  const end = AbortSignal.timeout(100_000)
  const http = makeHttp(baseUrl, end)
  const { body } = await http.get('/api/index/vhh')
  assert.equal(typeof (body as { value: unknown }).value, 'number')
  const world = {
    baseUrl,
    isLoopback: true,
    http,
    end,
    api: await readApi(http),
    payerKey: undefined,
    closers: [],
  }
  const failed: unknown[] = []
  let passed = 0
  for (const { statements } of [microTasks, pointsConversion, payouts, rateIndex, capacity])
    for (const statement of statements) {
      const outcome = await runStatement(world, statement)
      if (outcome.state === 'passed') passed += 1
      else failed.push([statement.id, outcome])
    }
  assert.deepEqual(failed, [])
  assert.ok(passed >= 60, `${passed} statements`)
})
