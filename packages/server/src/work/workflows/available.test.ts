import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inTransaction } from '../../platform/db/db.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { listWorkflows, seedWorkflows } from '../index.ts'

const harness = await startHarness()

test('on loopback there are always workflows of at most 1 USD, in the form of the specification', async () => {
  const { status, json, headers } = await harness.call('GET', '/api/workflows/available')
  assert.equal(status, 200)
  assert.equal(headers['access-control-allow-origin'], '*')
  assert.equal(json.count, json.workflows.length)
  assert.ok(json.workflows.length >= 3)
  assert.ok(json.workflows.some(({ id }: { id: string }) => id === 'wf_test_ok'))
  for (const workflow of json.workflows) {
    assert.ok(workflow.priceUsd > 0 && workflow.priceUsd <= 1)
    // Besides the shape: what a unit takes and gives. Known answers are not among it.
    assert.deepEqual(Object.keys(workflow).toSorted(), [
      'answerForm',
      'category',
      'datasetOptin',
      'description',
      'estMinutes',
      'id',
      'inputForm',
      'priceUsd',
      'rewardStars',
      'steps',
      'title',
      'warnings',
      'webcamBonus',
    ])
  }
  assert.deepEqual(Object.keys(json.how_to_buy.autonomous), ['method', 'url', 'auth', 'flow', 'verify'])
  assert.deepEqual(Object.keys(json.how_to_buy.with_a_human), ['method', 'url', 'note'])
})

test('every address in how_to_buy is one that this server has', async () => {
  const { json } = await harness.call('GET', '/api/workflows/available')
  const { autonomous, with_a_human: human } = json.how_to_buy
  const pathOf = (url: string) => url.replace(harness.ctx.config.BASE_URL, '')
  const buy = await harness.call(
    autonomous.method,
    pathOf(autonomous.url).replace('{workflowId}', 'wf_test_ok'),
  )
  assert.equal(buy.status, 402)
  assert.equal((await harness.call(human.method, pathOf(human.url))).status, 401)
})

test('starting again, also twice at the same time, changes nothing', async () => {
  const before = await inTransaction(harness.ctx, 'system', listWorkflows)
  await Promise.all([seedWorkflows(harness.ctx), seedWorkflows(harness.ctx), seedWorkflows(harness.ctx)])
  assert.deepEqual(await inTransaction(harness.ctx, 'system', listWorkflows), before)
})

test('a retired workflow is not listed', async () => {
  await harness.owner.query("update workflows set active = false where workflow_id = 'wf_text_review'")
  const { json } = await harness.call('GET', '/api/workflows/available')
  assert.ok(!json.workflows.some(({ id }: { id: string }) => id === 'wf_text_review'))
})

test('a public deployment begins with an empty list, and that is a 200', async () => {
  const elsewhere = await startHarness({ BASE_URL: 'https://pohf.example' })
  const { status, json } = await elsewhere.call('GET', '/api/workflows/available')
  assert.equal(status, 200)
  assert.deepEqual(json.workflows, [])
  assert.equal(json.count, 0)
})
