import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpoints } from '@pohf/protocol'
import { z } from 'zod'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { noCallers } from '../../../test/fixtures/no-callers.ts'
import * as accounts from '../../accounts/index.ts'
import * as agents from '../../agents/index.ts'
import type { Agent } from '../../platform/http/call.ts'
import { makeRateLimits } from '../../platform/http/rate-limits.ts'
import { makeDispatcher } from '../../platform/http/dispatch.ts'
import type { McpCall } from '../server.ts'
import { makeSurfaceParts } from '../surface-parts.ts'
import { openSurface } from '../surface.ts'
import { truncate, fieldsOf, resultFrom, type Tool } from './tool.ts'
import { readClientAddress } from '../../platform/http/client-address.ts'

const harness = await startHarness()
const { ctx } = harness
const authenticator = agents.makeAuthenticator(ctx, accounts.makeBearers(ctx))
const dispatcher = makeDispatcher({
  ctx,
  checkWrite: async () => undefined,
  endpoints,
  routes: agents.routes(ctx, authenticator, accounts.isInAccount),
  authenticate: noCallers,
  rateLimits: makeRateLimits(ctx),
})

/** A tool over a keyed operation, so that the rules for keys show here. */
const whoami: Tool = {
  name: 'whoami',
  title: 'Who am I',
  description: 'Reads the record of the agent.',
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  needs: ['agents.profile'],
  output: 'agents.profile',
  input: z.object({}),
  run: async (call) => resultFrom(call, await call.dispatch('agents.profile', {})),
}
/** A tool that offers one of the two fields of its operation. */
const rename: Tool = {
  ...whoami,
  name: 'rename',
  needs: ['agents.profile-update'],
  input: z.object(fieldsOf('agents.profile-update', 'body', ['name'])),
  run: async (call) => resultFrom(call, await call.dispatch('agents.profile-update', { body: call.input })),
}
const parts = { ctx, dispatcher, name: 'probe', title: 'Probe', instructions: '', docs: [] }
const serve = openSurface({ ...parts, tools: [whoami, rename] })

const call = async (name: string, input: object, agent?: Agent) => {
  const request: McpCall = {
    rawBody: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } },
    agent,
    address: readClientAddress('127.0.0.1'),
    requestId: 'req_probe_0001',
    idempotencyKey: undefined,
    header: () => undefined,
  }
  const { raw } = (await serve(request)).options
  return JSON.parse(raw?.text ?? '').result
}

test('a keyed tool without a key says how to get one; with one it answers as over HTTP', async () => {
  const anonymous = await call('whoami', {})
  assert.equal(anonymous.isError, true)
  assert.equal(anonymous.structuredContent.error, 'missing_api_key')
  assert.match(anonymous.structuredContent.how_to_get_a_key.over_http, /\/api\/agents\/register/)
  const { apiKey } = await harness.register('live')
  const known = await call('whoami', {}, await authenticator.authenticate(apiKey))
  assert.equal(known.isError, false)
  const { json } = await harness.call('GET', '/api/agents/me', { key: apiKey })
  assert.deepEqual(known.structuredContent, json)
})

test('a tool over an operation that nobody mounts stops the start', () => {
  const orphan: Tool = { ...whoami, name: 'orphan', needs: ['agents.profile', 'work.orders.create'] }
  assert.throws(
    () => makeSurfaceParts({ ...parts, tools: [whoami, orphan] }),
    /orphan needs operations that no module mounts: work\.orders\.create/,
  )
})

test('a key without the scope is refused in the result, with nothing about keys to get', async () => {
  const { apiKey } = await harness.register('live')
  const agent = await authenticator.authenticate(apiKey)
  const refused = await call('whoami', {}, { ...agent, scopes: ['webhooks'] })
  assert.equal(refused.structuredContent.error, 'forbidden')
  assert.equal('how_to_get_a_key' in refused.structuredContent, false)
})

test('a field that the tool does not offer never reaches the operation', async () => {
  const { apiKey } = await harness.register('live')
  const input = { name: 'Renamed', allowedOrigins: ['https://evil.example'] }
  const { structuredContent } = await call('rename', input, await authenticator.authenticate(apiKey))
  assert.equal(structuredContent.name, 'Renamed')
  assert.deepEqual(structuredContent.allowedOrigins, [])
})

test('text of third parties is cut at every depth, and a cut never leaves half a character', () => {
  const shortened = truncate({ a: ['x'.repeat(50)], b: { c: `${'y'.repeat(9)}😀z` }, d: 7, e: 'fine' }, 10)
  assert.deepEqual(shortened, {
    a: ['xxxxxxxxxx… (cut; 50 characters)'],
    b: { c: 'yyyyyyyyy\ufffd… (cut; 12 characters)' },
    d: 7,
    e: 'fine',
  })
  assert.equal((truncate(Array(500).fill(1), 10) as unknown[]).length, 100)
})
