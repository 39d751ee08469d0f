import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startHarness, type Harness } from '../../../test/fixtures/harness.ts'
import { readForgingFile } from '../../credentials/forging/prices.ts'
import type { Agent } from '../../platform/http/call.ts'
import { rewardWarningsOf, type ForgingPriceUsd } from '../rules.ts'
import { workflowsAvailable } from '../workflows/available.ts'
import { order } from './create.ts'
import { ordersList } from './list.ts'
import { orderRead } from './read.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-warnings-'))
after(() => rmSync(folder, { recursive: true, force: true }))
/** The table of this version under the date of today, so that the test does not depend on the day on which it runs. */
const file = join(folder, 'table.json')
writeFileSync(file, JSON.stringify({ ...readForgingFile(''), date: new Date().toISOString().slice(0, 10) }))
const harness = await startHarness()
const buyer = await harness.register('test')
const agent: Agent = { ...buyer, keyId: 'key_x', scopes: [], ratePerMinute: null, policy: {} }
/** wf_judge pays 50 Stars, which are 0.5 USD. */
const body = { taskType: 'wf_judge', quantity: 1, items: ['Is it?'] }
const priceOf =
  (usd: number): ForgingPriceUsd =>
  () =>
    usd

test('a reward above the price of forging what every worker has shown is flagged, one that is not is not', () => {
  for (const [price, isFlagged] of [
    [0.001, true],
    [0.49, true],
    [0.5, false],
    [2, false],
  ] as const)
    assert.equal(rewardWarningsOf(priceOf(price), 50).length, isFlagged ? 1 : 0, String(price))
  assert.deepEqual(
    rewardWarningsOf(() => undefined, 50),
    [],
    'no price is known',
  )
  assert.deepEqual(rewardWarningsOf(priceOf(0.001), undefined), [], 'no reward is set yet')
})

test('a buyer sees the warning before ordering, in the answer to the order, and on the order', async () => {
  const deps = { ctx: harness.ctx, forgingPriceUsd: priceOf(0.001) }
  const placed = await order(deps, agent, body, async (_tx, result) => result)
  const [warning] = placed.warnings
  assert.deepEqual(
    { ...warning, message: '' },
    {
      code: 'reward_above_forging_price',
      message: '',
      rewardUsd: 0.5,
      forgingPriceUsd: 0.001,
      root: 'network',
      assurance: 'low',
    },
  )
  assert.match(warning?.message ?? '', /0\.5 USD.*0\.001 USD/)
  const { workflows } = await workflowsAvailable(deps)
  assert.deepEqual(workflows.find(({ id }) => id === 'wf_judge')?.warnings, [warning])
  const free = workflows.filter(({ rewardStars }) => rewardStars === 0)
  assert.ok(free.every(({ warnings }) => warnings.length === 0))
  assert.deepEqual((await orderRead(deps, agent, placed.orderId)).warnings, [warning])
  assert.deepEqual((await ordersList(deps, agent, {})).orders[0]?.warnings, [warning])
})

/** The answer to an order, and the list of workflows, of a server with such a table. */
const warningsOf = async (of: Harness, apiKey: string) => {
  const placed = await of.call('POST', '/api/agents/order', { key: apiKey, body })
  const listed = await of.call('GET', '/api/workflows/available')
  const workflows: { id: string; warnings: { code: string }[] }[] = listed.json.workflows
  return {
    placed: placed.json.warnings,
    listed: workflows.find(({ id }) => id === 'wf_judge')?.warnings,
    all: workflows.flatMap(({ warnings }) => warnings),
  }
}

test('with the table of this version a reward above its price is flagged, and 90 days later nothing is', async () => {
  const of = await startHarness({ FORGING_FILE: file })
  const { apiKey } = await of.register('test')
  const { placed, listed } = await warningsOf(of, apiKey)
  assert.deepEqual([placed.length, placed[0]?.code], [1, 'reward_above_forging_price'])
  assert.deepEqual(listed, placed)
  await of.advance(90 * 86_400_000)
  assert.deepEqual(await warningsOf(of, apiKey), { placed: [], listed: [], all: [] })
})
