import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { makeWorker } from '../../../test/fixtures/people/worker.ts'

const harness = await startHarness()
const agent = await harness.register('test')
const stranger = await harness.register('test')

const rpc = async (method: string, params: object, key?: string) => {
  const { json } = await harness.call('POST', '/mcp', {
    body: { jsonrpc: '2.0', id: 1, method, params },
    ...(key === undefined ? {} : { key }),
  })
  return json
}
const callTool = async (input: object, key?: string) =>
  (await rpc('tools/call', { name: 'ask_human', arguments: input }, key)).result
const question = { question: 'Is the word “lovely” friendly?', budgetUsd: 1 }

test('ask_human returns at once; the tool and the resource then give the answer of a person', async () => {
  const asked = (await callTool({ ...question, answerSchema: { type: 'boolean' } }, agent.apiKey))
    .structuredContent
  assert.equal(asked.status, 'queued')
  const { questionId, resource } = asked
  assert.equal(resource, `pohf://questions/${questionId}`)
  const worker = await makeWorker(harness, stranger)
  const delivered = await worker.work('wf_ask_human', { single_answer: true })
  assert.equal(delivered.status, 200, delivered.text)
  const read = (await callTool({ questionId }, agent.apiKey)).structuredContent
  assert.equal(read.status, 'answered')
  assert.equal(read.answer, true)
  const { result } = await rpc('resources/read', { uri: resource }, agent.apiKey)
  assert.deepEqual(JSON.parse(result.contents[0].text), read)
})

test('without a chain an unpaid question has no payUrl: a payment would be refused', async () => {
  const live = await harness.register('live')
  const asked = (await callTool(question, live.apiKey)).structuredContent
  assert.deepEqual([asked.status, asked.payUrl], ['unpaid', null])
  const { result } = await rpc('resources/read', { uri: asked.resource }, live.apiKey)
  assert.equal(JSON.parse(result.contents[0].text).payUrl, null)
})

test('the text of a worker reaches a model without invisible characters, and shortened', async () => {
  const asked = (await callTool(question, agent.apiKey)).structuredContent
  const worker = await makeWorker(harness, stranger)
  const text = `Yes.\u202E${'a'.repeat(1_000)}`
  assert.equal((await worker.work('wf_ask_human', { single_answer: text })).status, 200)
  const read = (await callTool({ questionId: asked.questionId }, agent.apiKey)).structuredContent
  assert.equal(read.answer, `Yes.${'a'.repeat(1_000)}`)
})

test('only the agent that asked reads a question, and only with a key', async () => {
  const { questionId, resource } = (await callTool({ ...question, simulate: true }, agent.apiKey))
    .structuredContent
  const foreign = await callTool({ questionId }, stranger.apiKey)
  assert.equal(foreign.isError, true)
  assert.equal(foreign.structuredContent.error, 'not_found')
  assert.ok((await rpc('resources/read', { uri: resource }, stranger.apiKey)).error)
  assert.equal((await callTool(question)).structuredContent.error, 'missing_api_key')
  assert.equal((await rpc('resources/read', { uri: resource })).error.data.error, 'missing_api_key')
  for (const uri of ['pohf://constructor/a', 'pohf://questions/../orders', 'pohf://orders/ord_1'])
    assert.ok((await rpc('resources/read', { uri }, agent.apiKey)).error, uri)
})

test('a refusal names the rule that the question breaks', async () => {
  const refused = await callTool({ ...question, question: 'What is your home address?' }, agent.apiKey)
  assert.equal(refused.isError, true)
  assert.equal(refused.structuredContent.details[0].code, 'asks_personal_data')
})
