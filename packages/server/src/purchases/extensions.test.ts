import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { startHarness } from '../../test/fixtures/harness.ts'
import { decode } from '../../test/fixtures/payments/payer.ts'

const harness = await startHarness()

test('the challenge describes itself to directories of paid services, over HTTP and over MCP', async () => {
  const answer = await harness.call('GET', '/api/agent/tasks/wf_test_ok/buy')
  assert.equal(answer.status, 402)
  const http = decode(answer.headers['payment-required'])
  // Clients send it back with their payment, and Node accepts 16 KB of headers.
  assert.ok((answer.headers['payment-required'] ?? '').length < 6_000)
  const params = { name: 'purchase_verified_human_task', arguments: { workflowId: 'wf_test_ok' } }
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  const mcp = (await harness.call('POST', '/mcp', { body })).json.result.structuredContent
  assert.deepEqual(http.extensions.bazaar.info.input, {
    type: 'http',
    method: 'GET',
    pathParams: { workflowId: 'wf_test_ok' },
  })
  assert.equal(http.extensions.bazaar.routeTemplate, '/api/agent/tasks/:workflowId/buy')
  assert.equal(mcp.extensions.bazaar.info.input.toolName, 'purchase_verified_human_task')
  assert.equal(mcp.resource.url, `${harness.ctx.config.BASE_URL}/mcp`)
  const listed = await harness.call('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } })
  const tool = listed.json.result.tools.find(({ name }: { name: string }) => name === params.name)
  assert.deepEqual(mcp.extensions.bazaar.info.input.inputSchema, tool.inputSchema)
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  for (const { x402Version, accepts, extensions } of [http, mcp]) {
    assert.equal(x402Version, 2)
    assert.match(accepts[0].amount, /^[1-9]\d*$/)
    for (const { info, schema } of Object.values<{ info: object; schema: object }>(extensions))
      assert.ok(ajv.validate(schema, info), ajv.errorsText())
    assert.ok(extensions.bazaar.schema.properties.output.properties.example.required.includes('pohf_jwt'))
    assert.ok(!ajv.validate(extensions.bazaar.schema, { input: { type: 'other' } }))
    assert.deepEqual(extensions['payment-identifier'].info, { required: false })
  }
})
