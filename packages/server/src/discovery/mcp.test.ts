import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { workTools } from './mcp.ts'
import { identityTools } from './mcp-identity.ts'
import { inputSchemaOf, outputSchemaOf, type Tool } from './tools/tool.ts'

const harness = await startHarness()
const surfaces = ['/mcp', '/api/mcp', '/mcp/identity', '/api/mcp/identity']
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  harness.call('POST', path, { body, headers })
const callTool = (name: string, input: unknown, extra: object = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: input, ...extra },
})
const registration = { name: 'Robot', contactEmail: 'robot@example.com', mode: 'test' }
const countAgents = async () =>
  Number((await harness.owner.query('select count(*) from agents')).rows[0].count)

const listedAt = (path: string) => (path.endsWith('identity') ? identityTools : workTools)

for (const path of surfaces) {
  test(`${path} answers a bare tools/list in plain JSON, whatever Accept says`, async () => {
    const accepts = [
      undefined,
      '*/*',
      'application/json',
      'application/*;q=0.5',
      'text/html',
      'application/json, text/event-stream',
      'text/event-stream;q=0.9, */*;q=0.1',
      ';;,',
    ]
    for (const accept of accepts) {
      const answer = await post(path, list, accept === undefined ? {} : { accept })
      assert.equal(answer.status, 200, accept)
      assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8', accept)
      assert.deepEqual(
        answer.json.result.tools.map((tool: { name: string }) => tool.name),
        listedAt(path).map((tool) => tool.name),
      )
    }
  })
}

test('a client that accepts only an event stream gets one', async () => {
  const answer = await post('/mcp/identity', list, { accept: 'text/event-stream' })
  assert.equal(answer.headers['content-type'], 'text/event-stream; charset=utf-8')
  const data = /^event: message\ndata: (.+)\n\n$/.exec(answer.text)?.[1] ?? ''
  assert.equal(JSON.parse(data).id, 1)
})

test('the identity surface has register_agent and verify_human', async () => {
  const { json } = await post('/mcp/identity', list)
  const names = json.result.tools.map((tool: { name: string }) => tool.name)
  assert.deepEqual(names, ['register_agent', 'verify_human'])
})

const fields = (tool: Tool) => Object.keys(inputSchemaOf(tool)['properties'] as object)

test('a tool offers the fields of the specification, with the schemas of its row', () => {
  const offered = Object.fromEntries(
    [...workTools, ...identityTools].map((tool) => [tool.name, fields(tool)]),
  )
  assert.deepEqual(offered, {
    list_verified_work: ['cursor'],
    commission_work: ['taskType', 'quantity', 'maxPriceUsd'],
    fund_order: ['orderId'],
    verify_credential: ['credential'],
    purchase_verified_human_task: ['workflowId', 'purchaseId'],
    ask_human: ['question', 'answerSchema', 'budgetUsd', 'deadline', 'simulate', 'payWith', 'questionId'],
    request_approval: [
      'type',
      'action',
      'requestId',
      'audience',
      'approvers',
      'group',
      'decideBy',
      'approvalId',
    ],
    register_agent: ['name', 'contactEmail', 'mode'],
    verify_human: ['sessionId', 'memberId', 'wallet', 'walletSig', 'walletNonce'],
  })
  const commission = workTools.find((tool) => tool.name === 'commission_work')
  assert.ok(commission)
  const schema = inputSchemaOf(commission)
  assert.deepEqual(schema['required'], ['taskType', 'quantity'])
  const { quantity } = schema['properties'] as Record<string, unknown>
  assert.deepEqual(quantity, { type: 'integer', minimum: 1, maximum: 10_000 })
})

/** A model reads the whole list before it does anything. docs/guides/mcp.md states the size. */
const listCharactersMax = 12_000
test('the list of tools stays small', async () => {
  const { text } = await post('/mcp', list)
  assert.ok(text.length <= listCharactersMax, `${text.length} characters`)
})

test('every tool has an output schema, which errors and the payment challenge match too', async () => {
  const { json } = await post('/mcp/identity', callTool('register_agent', registration))
  for (const tool of [...workTools, ...identityTools]) {
    const schema = outputSchemaOf(tool)
    assert.equal(schema['type'], 'object', tool.name)
    assert.ok(Object.keys(schema['properties'] as object).length > 0, tool.name)
    // Clients of SDK 1.x check errors against the schema too.
    assert.equal('required' in schema || 'additionalProperties' in schema, false, tool.name)
    if (tool.name === 'register_agent')
      assert.deepEqual(
        Object.keys(json.result.structuredContent),
        Object.keys(schema['properties'] as object),
      )
  }
})

test('a client of 2025 is served by initialize, initialized and list', async () => {
  for (const [asked, given] of [
    ['2024-11-05', '2024-11-05'],
    ['2025-06-18', '2025-06-18'],
    ['2025-11-25', '2025-11-25'],
    ['2099-01-01', '2025-11-25'],
  ]) {
    const { json } = await post('/mcp', {
      jsonrpc: '2.0',
      id: 'a',
      method: 'initialize',
      params: { protocolVersion: asked, capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    })
    assert.equal(json.id, 'a')
    assert.equal(json.result.protocolVersion, given)
    assert.deepEqual(json.result.capabilities, {
      tools: { listChanged: false },
      resources: { listChanged: false },
    })
    assert.equal(json.result.serverInfo.name, 'pohf')
  }
  const initialized = await post('/mcp', { jsonrpc: '2.0', method: 'notifications/initialized' })
  assert.equal(initialized.status, 202)
  assert.equal(initialized.text, '')
  const listed = await post('/mcp', list, { 'mcp-protocol-version': '2025-11-25', 'mcp-session-id': 'any' })
  assert.equal(listed.status, 200)
  assert.equal('resultType' in listed.json.result, false)
  assert.deepEqual((await post('/mcp', { ...list, method: 'ping' })).json.result, {})
})

const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}
const modern = (method: string, params: object = {}) => ({
  jsonrpc: '2.0',
  id: 7,
  method,
  params: { ...params, _meta: modernMeta },
})
const modernHeaders = (method: string, name?: string) => ({
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': method,
  ...(name === undefined ? {} : { 'mcp-name': name }),
})

test('a client of 2026-07-28 needs no handshake, and its results say that they are complete', async () => {
  const discovered = await post('/mcp', modern('server/discover'), modernHeaders('server/discover'))
  assert.deepEqual(discovered.json.result.supportedVersions, ['2026-07-28'])
  assert.equal(discovered.json.result.resultType, 'complete')
  const bare = await post('/mcp', { ...list, method: 'server/discover' })
  assert.deepEqual(bare.json.result, discovered.json.result)
  const listed = await post('/mcp', modern('tools/list'), modernHeaders('tools/list'))
  assert.equal(listed.json.result.resultType, 'complete')
  assert.equal(listed.json.result.cacheScope, 'public')
  assert.ok(listed.json.result.ttlMs > 0)
  const headerOnly = await post('/mcp', list, { 'mcp-protocol-version': '2026-07-28' })
  assert.equal(headerOnly.json.result.resultType, 'complete')
})

test('headers that contradict the body are refused, and so are those a modern client leaves out', async () => {
  const call = modern('tools/call', { name: 'register_agent', arguments: registration })
  const before = await countAgents()
  for (const headers of [
    { ...modernHeaders('tools/call', 'register_agent'), 'mcp-protocol-version': '2025-11-25' },
    modernHeaders('tools/list', 'register_agent'),
    modernHeaders('tools/call', 'verify_human'),
    modernHeaders('tools/call'),
    {},
  ]) {
    const answer = await post('/mcp/identity', call, headers)
    assert.equal(answer.status, 400, answer.text)
    assert.equal(answer.json.error.code, -32_020)
    assert.equal(answer.json.id, 7)
  }
  assert.equal(await countAgents(), before)
  const encoded = `=?base64?${Buffer.from('register_agent').toString('base64')}?=`
  const agreed = await post('/mcp/identity', call, modernHeaders('tools/call', encoded))
  assert.equal(agreed.json.result.isError, false)
  assert.equal(await countAgents(), before + 1)
})

test('an unknown version is refused with the list of the known ones', async () => {
  const answer = await post('/mcp', list, { 'mcp-protocol-version': '1900-01-01' })
  assert.equal(answer.status, 400)
  assert.equal(answer.json.error.code, -32_022)
  assert.equal(answer.json.error.data.requested, '1900-01-01')
  assert.ok(answer.json.error.data.supported.includes('2026-07-28'))
})

test('an unknown method is an error of JSON-RPC, with 404 only for clients of 2026-07-28', async () => {
  const old = await post('/mcp', { ...list, method: 'prompts/list' })
  assert.equal(old.status, 200)
  assert.equal(old.json.error.code, -32_601)
  const recent = await post('/mcp', modern('prompts/list'), modernHeaders('prompts/list'))
  assert.equal(recent.status, 404)
  assert.equal(recent.json.error.code, -32_601)
})

test('an unknown tool, a tool of the other surface and a wrong form of arguments are invalid params', async () => {
  for (const params of [
    { name: 'no_such_tool' },
    { name: 'constructor' },
    { name: 'list_verified_work' },
    { name: ['register_agent'] },
    {},
    { name: 'register_agent', arguments: 'text' },
    { name: 'register_agent', arguments: [1] },
    { name: 'register_agent', arguments: null },
  ]) {
    const { status, json } = await post('/mcp/identity', { ...list, method: 'tools/call', params })
    assert.equal(status, 200)
    assert.equal(json.error.code, -32_602, JSON.stringify(params))
  }
  const paged = await post('/mcp', { ...list, params: { cursor: 'x' } })
  assert.equal(paged.json.error.code, -32_602)
})

test('what is no JSON-RPC request is refused with 400', async () => {
  for (const body of [
    {},
    [],
    7,
    { id: 1, method: 'tools/list' },
    { ...list, id: null },
    { ...list, id: {} },
    { ...list, method: 5 },
    { ...list, params: [] },
    { jsonrpc: '2.0', id: 1 },
  ]) {
    const answer = await post('/mcp', body)
    assert.equal(answer.status, 400, JSON.stringify(body))
    assert.equal(answer.json.error.code, -32_600)
    assert.equal(answer.json.id, null)
  }
  const broken = await harness.call('POST', '/mcp', { raw: '{"jsonrpc"' })
  assert.equal(broken.status, 400)
  assert.equal(broken.json.error, 'invalid_json')
})

test('a response of the client is taken and not answered', async () => {
  const answer = await post('/mcp', { jsonrpc: '2.0', id: 1, result: {} })
  assert.equal(answer.status, 202)
})

test('a batch is answered in order, without its notifications', async () => {
  const { status, json } = await post('/mcp', [
    { ...list, id: 'first' },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { ...list, id: 2, method: 'nope' },
    'not a message',
    { ...list, id: 3, method: 'ping' },
  ])
  assert.equal(status, 200)
  assert.deepEqual(
    json.map((reply: { id: unknown }) => reply.id),
    ['first', 2, null, 3],
  )
  assert.equal(json[1].error.code, -32_601)
  assert.equal(json[2].error.code, -32_600)
  const silent = await post('/mcp', [{ jsonrpc: '2.0', method: 'notifications/initialized' }])
  assert.equal(silent.status, 202)
})

const pings = (count: number) => Array.from({ length: count }, (_, id) => ({ ...list, id, method: 'ping' }))

test('a batch of 20 runs; of one of 21 nothing runs', async () => {
  assert.equal((await post('/mcp', pings(20))).json.length, 20)
  const before = await countAgents()
  const tooMany = await post('/mcp/identity', [...pings(20), callTool('register_agent', registration)])
  assert.equal(tooMany.status, 400)
  assert.equal(tooMany.json.error.code, -32_600)
  assert.equal(await countAgents(), before)
})

test('a body over the limit is 413', async () => {
  const answer = await post('/mcp', { ...list, params: { filler: 'x'.repeat(270_000) } })
  assert.equal(answer.status, 413)
  assert.equal(answer.json.error, 'body_too_large')
})

test('only POST is taken', async () => {
  for (const path of surfaces) {
    for (const method of ['GET', 'DELETE']) {
      const answer = await harness.call(method, path)
      assert.equal(answer.status, 405, `${method} ${path}`)
      assert.equal(answer.headers['allow'], 'POST')
    }
  }
})

test('register_agent gives a key that works', async () => {
  const { json } = await post('/mcp/identity', callTool('register_agent', { ...registration, admin: true }))
  const { isError, structuredContent, content } = json.result
  assert.equal(isError, false)
  assert.deepEqual(Object.keys(structuredContent).toSorted(), ['agentId', 'apiKey', 'mode', 'next'])
  assert.deepEqual(JSON.parse(content[0].text), structuredContent)
  const me = await harness.call('GET', '/api/agents/me', { key: structuredContent.apiKey })
  assert.equal(me.json.agentId, structuredContent.agentId)
  assert.equal(me.json.name, 'Robot')
})

test('arguments that do not fit are a result that says why', async () => {
  const { json } = await post('/mcp/identity', callTool('register_agent', { name: 5 }))
  assert.equal(json.result.isError, true)
  assert.equal(json.result.structuredContent.error, 'validation_failed')
  const paths = json.result.structuredContent.details.map((detail: { path: string }) => detail.path)
  assert.deepEqual(paths, ['body.name', 'body.contactEmail'])
})

test('a bad key is HTTP 401 before any tool is looked at', async () => {
  for (const path of surfaces) {
    const answer = await harness.call('POST', path, { body: list, key: 'svc_live_wrong' })
    assert.equal(answer.status, 401)
    assert.equal(answer.json.error, 'malformed_api_key')
  }
})

test('an Idempotency-Key never stores the key that register_agent shows', async () => {
  const agent = await harness.register('live')
  const before = await countAgents()
  const request = {
    key: agent.apiKey,
    body: callTool('register_agent', registration),
    headers: { 'idempotency-key': 'again' },
  }
  const { json } = await harness.call('POST', '/mcp/identity', request)
  assert.equal(json.result.isError, false)
  await harness.call('POST', '/mcp/identity', request)
  assert.equal(await countAgents(), before + 2)
  const { rows } = await harness.owner.query('select body from idempotency_keys where agent_id = $1', [
    agent.agentId,
  ])
  assert.deepEqual(rows, [])
})
