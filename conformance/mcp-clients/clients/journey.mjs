// What each client does with a server that it knows nothing about but its address. `connect` returns the client's own
// object; every call below is a method of that object.
import assert from 'node:assert/strict'

const baseUrl = process.env.BASE_URL
if (!baseUrl) throw new Error('BASE_URL is not set')

const everyPage = async (read, field) => {
  const items = []
  let cursor
  do {
    const page = await read(cursor === undefined ? {} : { cursor })
    items.push(...page[field])
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return items
}

const call = (client, name, input = {}) => client.callTool({ name, arguments: input })

/** The tools that wait for people. */
const askPeople = async (buyer) => {
  const asked = await call(buyer, 'ask_human', { question: 'Is tea a soup?', budgetUsd: 1, simulate: true })
  const { questionId, resource } = asked.structuredContent
  const answered = await call(buyer, 'ask_human', { questionId })
  assert.equal(answered.structuredContent.status, 'answered')
  assert.equal(JSON.parse((await buyer.readResource({ uri: resource })).contents[0].text).status, 'answered')
  // Nobody is enrolled as an approver here: the client must get the refusal.
  const approval = await call(buyer, 'request_approval', {
    type: 'invoice.pay',
    action: { amount: '12.00' },
    requestId: 'journey-1',
    approvers: ['apv_nobody'],
  })
  assert.equal(approval.isError, true)
  assert.equal(typeof approval.structuredContent.error, 'string')
}

/** Runs the journey and prints what it did; a wrong answer ends the process with an error. */
export const runJourney = async (connect) => {
  const work = await connect(`${baseUrl}/mcp`, {})
  const tools = await everyPage((params) => work.listTools(params), 'tools')
  assert.equal(tools.length, 7)
  const resources = await everyPage((params) => work.listResources(params), 'resources')
  const { resourceTemplates } = await work.listResourceTemplates()
  assert.equal(resourceTemplates.length, 3)
  if (resources.length > 0) {
    const { contents } = await work.readResource({ uri: resources[0].uri })
    assert.ok(contents[0].text.length > 100)
  }
  const listed = await call(work, 'list_verified_work')
  assert.ok(listed.structuredContent.workflows.length > 0)
  const keys = await call(work, 'verify_credential')
  assert.ok(keys.structuredContent.keys.length > 0)
  const withoutKey = await call(work, 'commission_work', { taskType: 'custom', quantity: 1 })
  assert.equal(withoutKey.isError, true)
  assert.match(withoutKey.structuredContent.how_to_get_a_key.over_http, /register/)
  const challenge = await call(work, 'purchase_verified_human_task', { workflowId: 'wf_test_ok' })
  assert.equal(challenge.isError, true)
  assert.equal(challenge.structuredContent.x402Version, 2)
  assert.ok(challenge.structuredContent.purchase_id.startsWith('pur_'))
  await assert.rejects(call(work, 'no_such_tool'), /Unknown tool/)
  const identity = await connect(`${baseUrl}/mcp/identity`, {})
  const agent = await call(identity, 'register_agent', {
    name: 'A client of another maker',
    contactEmail: 'robot@example.com',
    mode: 'test',
  })
  const headers = { Authorization: `Bearer ${agent.structuredContent.apiKey}` }
  const keyed = await connect(`${baseUrl}/mcp/identity`, headers)
  const minted = await call(keyed, 'verify_human', { sessionId: 'ses_test_pass' })
  assert.equal(minted.structuredContent.verified, true)
  const verdict = await call(work, 'verify_credential', { credential: minted.structuredContent.pohf_jwt })
  assert.equal(verdict.structuredContent.valid, true)
  const read = await keyed.readResource({
    uri: `pohf://credentials/${minted.structuredContent.credentialId}`,
  })
  assert.ok(JSON.parse(read.contents[0].text))
  const buyer = await connect(`${baseUrl}/mcp`, headers)
  const order = { taskType: 'custom', quantity: 1, maxPriceUsd: 5 }
  const { orderId } = (await call(buyer, 'commission_work', order)).structuredContent
  assert.match(orderId, /^ord_/)
  // Without a card provider there is no checkout: the client must get the refusal, not an error of its own.
  const funded = await call(buyer, 'fund_order', { orderId })
  assert.equal(typeof (funded.structuredContent.checkoutUrl ?? funded.structuredContent.error), 'string')
  await askPeople(buyer)
  console.log(JSON.stringify({ ok: true, tools: tools.length, resources: resources.length }))
  process.exit(0)
}
