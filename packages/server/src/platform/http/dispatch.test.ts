import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpoints } from '@pohf/protocol'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { noCallers } from '../../../test/fixtures/no-callers.ts'
import * as accounts from '../../accounts/index.ts'
import * as agents from '../../agents/index.ts'
import { makeRateLimits } from './rate-limits.ts'
import { ApiResponse, type Agent, type Route } from './call.ts'
import { makeDispatcher, type InternalCall } from './dispatch.ts'
import { readClientAddress } from './client-address.ts'

const harness = await startHarness({ KEY_LIMIT_PER_MINUTE: '30' })
const { ctx } = harness
const authenticator = agents.makeAuthenticator(ctx, accounts.makeBearers(ctx))
const routes = agents.routes(ctx, authenticator, accounts.isInAccount)
const serve = (served: readonly Route[]) =>
  makeDispatcher({
    ctx,
    endpoints,
    routes: served,
    authenticate: noCallers,
    rateLimits: makeRateLimits(ctx),
    checkWrite: async () => undefined,
  })
const { dispatch, has } = serve(routes)

const from = (agent?: Agent, parts: Partial<InternalCall> = {}): InternalCall => ({
  agent,
  address: readClientAddress('127.0.0.1'),
  requestId: 'req_inner_0001',
  ...parts,
})
const newAgent = async () => {
  const { apiKey } = await harness.register('live')
  return { apiKey, agent: await authenticator.authenticate(apiKey) }
}

test('the answer is that of HTTP', async () => {
  const { apiKey, agent } = await newAgent()
  const over = await harness.call('GET', '/api/agents/me', { key: apiKey })
  const inner = await dispatch('agents.profile', from(agent))
  assert.equal(inner.status, 200)
  assert.deepEqual(inner.body, over.json)
})

test('JSON that an operation has serialized itself is parsed, as over HTTP', async () => {
  const { agent } = await newAgent()
  const raw = { mediaType: 'application/json; charset=utf-8', text: '{"answer":{"text":"yes"}}' }
  const stored = serve([{ id: 'agents.profile', handler: async () => new ApiResponse(undefined, { raw }) }])
  const { body } = await stored.dispatch('agents.profile', from(agent))
  assert.deepEqual(body, { answer: { text: 'yes' } })
})

const codeOf = async (call: InternalCall) => {
  const { status, body } = await dispatch('agents.profile-update', call)
  return [status, (body as { error: string }).error]
}

test('the refusals are those of HTTP: no key, no scope, a field that does not fit', async () => {
  const { agent } = await newAgent()
  assert.deepEqual(await codeOf(from()), [401, 'missing_api_key'])
  assert.deepEqual(await codeOf(from({ ...agent, scopes: ['work'] })), [403, 'forbidden'])
  assert.deepEqual(await codeOf(from(agent, { body: { name: 5 } })), [400, 'validation_failed'])
  // The key is checked before the body.
  assert.deepEqual(await codeOf(from(undefined, { body: { name: 5 } })), [401, 'missing_api_key'])
})

test('a public operation does not learn who calls, and stores no replay', async () => {
  const { agent } = await newAgent()
  const body = { name: 'A', contactEmail: 'a@example.com' }
  const call = from(agent, { body, headers: { 'idempotency-key': 'one' } })
  const first = (await dispatch('agents.register', call)).body as { agentId: string }
  const second = (await dispatch('agents.register', call)).body as { agentId: string }
  assert.notEqual(first.agentId, second.agentId)
  const { rows } = await harness.owner.query('select 1 from idempotency_keys where agent_id = $1', [
    agent.agentId,
  ])
  assert.equal(rows.length, 0)
})

test('one Idempotency-Key holds across HTTP and dispatch', async () => {
  const { apiKey, agent } = await newAgent()
  const body = { name: 'Renamed' }
  const headers = { 'idempotency-key': 'rename' }
  const first = await harness.call('PATCH', '/api/agents/me', { key: apiKey, body, headers })
  const again = await dispatch('agents.profile-update', from(agent, { body, headers }))
  assert.equal(again.headers['idempotent-replayed'], 'true')
  assert.deepEqual(again.body, first.json)
  const other = await dispatch('agents.profile-update', from(agent, { body: { name: 'Other' }, headers }))
  assert.equal(other.status, 422)
})

test('calls count against the limit of the key', async () => {
  const { agent } = await newAgent()
  for (let index = 0; index < 30; index++)
    assert.equal((await dispatch('agents.profile', from(agent))).status, 200)
  const refused = await dispatch('agents.profile', from(agent))
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers['retry-after']) > 0)
})

test('what is not mounted, is for a person, or shows a secret to a key is never dispatched', async () => {
  const { agent } = await newAgent()
  const empty = serve([])
  assert.equal(has('agents.profile'), true)
  assert.equal(empty.has('agents.profile'), false)
  await assert.rejects(empty.dispatch('agents.profile', from(agent)), /not mounted/)
  const person = serve([{ id: 'members.people.me', handler: async () => assert.fail() }])
  await assert.rejects(
    person.dispatch('members.people.me', from(agent)),
    /members\.people\.me .* needs a person who is signed in/,
  )
  await assert.rejects(dispatch('agents.keys.create', from(agent, { body: { scopes: ['work'] } })), /secret/)
})

test('an internal error is logged under the request id of the answer, and not returned', async () => {
  const { agent } = await newAgent()
  const broken = serve([
    { id: 'agents.profile', handler: async () => Promise.reject(new Error('the cellar is flooded')) },
  ])
  const { status, body } = await broken.dispatch('agents.profile', from(agent))
  assert.equal(status, 500)
  assert.equal(JSON.stringify(body).includes('cellar'), false)
  assert.ok(harness.lines.some((line) => line.includes('cellar') && line.includes('req_inner_0001')))
})
