import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../fixtures/harness.ts'
import { assertRefusal } from '../fixtures/refusal.ts'

const registrations = 5
const harness = await startHarness({ ADDRESS_LIMITS: 'on', REGISTER_LIMIT_PER_HOUR: String(registrations) })
const agent = await harness.register('test')
const makeKey = async (scopes: readonly string[]) =>
  String(
    (await harness.call('POST', '/api/agents/keys', { key: agent.apiKey, body: { scopes } })).json.apiKey,
  )
const toolCall = (id: number, name: string, input: object) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: input },
})

test('a tool needs the scope of the operation that it calls, also in a batch', async () => {
  const key = await makeKey(['credits'])
  const work = await harness.call('POST', '/mcp', {
    key,
    body: [
      toolCall(1, 'commission_work', { taskType: 'wf_judge', quantity: 1 }),
      toolCall(2, 'list_verified_work', {}),
    ],
  })
  const identity = await harness.call('POST', '/mcp/identity', {
    key,
    body: toolCall(3, 'verify_human', { sessionId: 'ses_test_pass' }),
  })
  const [commissioned, listed] = work.json
  for (const { result } of [commissioned, identity.json]) {
    assert.equal(result.isError, true)
    assert.equal(result.structuredContent.error, 'forbidden')
  }
  assert.equal(listed.result.isError, false, 'the other calls of the batch are made')
})

test('a key without the scope does not get the stored answer of a key that has it', async () => {
  const narrow = await makeKey(['credits'])
  const order = (key: string) =>
    harness.call('POST', '/api/agents/order', {
      key,
      body: { taskType: 'wf_judge', quantity: 1 },
      headers: { 'idempotency-key': 'the same' },
    })
  const stored = await order(agent.apiKey)
  assert.equal(stored.status, 200, stored.text)
  assertRefusal(await order(narrow), 403, 'forbidden')
  const escalated = await harness.call('POST', '/api/agents/keys', {
    key: await makeKey(['keys']),
    body: { scopes: ['keys', 'work'] },
  })
  assertRefusal(escalated, 403, 'forbidden')
  assert.equal((await order(agent.apiKey)).json.orderId, stored.json.orderId)
})

test('registrations in a batch over MCP count one by one against the limit of the address', async () => {
  const { json } = await harness.call('POST', '/mcp/identity', {
    body: Array.from({ length: 20 }, (_, index) =>
      toolCall(index, 'register_agent', {
        name: 'One of many',
        contactEmail: `dev@batch-${index}.example`,
        mode: 'test',
      }),
    ),
  })
  const refused = json.filter(({ result }: { result: { isError: boolean } }) => result.isError)
  for (const { result } of refused) assert.equal(result.structuredContent.error, 'rate_limited')
  assert.equal(json.length - refused.length, registrations - 1, 'the other one is the agent of this file')
})
