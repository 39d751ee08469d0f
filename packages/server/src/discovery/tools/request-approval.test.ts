import assert from 'node:assert/strict'
import { test } from 'node:test'
import { envelopeHash } from '@pohf/verify/approvals'
import { startHarness } from '../../../test/fixtures/harness.ts'

const harness = await startHarness()
const agent = await harness.register('test')
const stranger = await harness.register('test')

const message = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })
const rpc = async (method: string, params: object, key?: string) =>
  (
    await harness.call('POST', '/mcp', {
      body: message(method, params),
      ...(key === undefined ? {} : { key }),
    })
  ).json
const callTool = async (input: object, key?: string) =>
  (await rpc('tools/call', { name: 'request_approval', arguments: input }, key)).result
const action = { amount: '120.00', currency: 'EUR', recipient: 'Example Ltd' }
const request = { type: 'test.action', action, approvers: ['apv_test_silent'] }

test('request_approval returns at once with the id, the page and the resource of the approval', async () => {
  const asked = await callTool({ ...request, requestId: 'mcp-1' }, agent.apiKey)
  assert.equal(asked.isError, false, JSON.stringify(asked))
  const approval = asked.structuredContent
  assert.equal(approval.status, 'pending')
  assert.deepEqual(approval.envelope.action, action)
  assert.equal(approval.envelopeHash, await envelopeHash(approval.envelope))
  assert.equal(approval.approveUrl, `${harness.ctx.config.BASE_URL}/approve/${approval.approvalId}`)
  assert.equal(approval.resource, `pohf://approvals/${approval.approvalId}`)
  const again = await callTool({ ...request, requestId: 'mcp-1' }, agent.apiKey)
  assert.equal(again.structuredContent.approvalId, approval.approvalId)
  const read = await callTool({ approvalId: approval.approvalId }, agent.apiKey)
  const { result } = await rpc('resources/read', { uri: approval.resource }, agent.apiKey)
  assert.deepEqual(JSON.parse(result.contents[0].text), read.structuredContent)
  assert.equal(read.structuredContent.envelopeHash, approval.envelopeHash)
  const foreign = await callTool({ approvalId: approval.approvalId }, stranger.apiKey)
  assert.equal(foreign.structuredContent.error, 'not_found')
  assert.ok((await rpc('resources/read', { uri: approval.resource }, stranger.apiKey)).error)
})

test('a key needs the scope approvals, and nobody approves without a key', async () => {
  const created = await harness.call('POST', '/api/agents/keys', {
    key: agent.apiKey,
    body: { scopes: ['work'] },
  })
  assert.equal(created.status, 200, created.text)
  const refused = await callTool({ ...request, requestId: 'mcp-2' }, created.json.apiKey)
  assert.equal(refused.structuredContent.error, 'forbidden')
  assert.equal((await callTool(request)).structuredContent.error, 'missing_api_key')
})

test('an action in which a key appears twice is refused over MCP as over HTTP', async () => {
  const whole = JSON.stringify(
    message('tools/call', {
      name: 'request_approval',
      arguments: { ...request, requestId: 'mcp-3' },
    }),
  )
  const twice = whole.replace('"amount":"120.00"', '"amount":"1.00","amount":"120.00"')
  assert.notEqual(twice, whole)
  const answer = await harness.app.api.inject({
    method: 'POST',
    url: '/mcp',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${agent.apiKey}` },
    payload: twice,
  })
  assert.equal(answer.statusCode, 400, answer.body)
  const { rows } = await harness.owner.query(
    "select count(*)::int as count from approvals where request_id = 'mcp-3'",
  )
  assert.deepEqual(rows, [{ count: 0 }])
})
