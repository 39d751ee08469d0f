import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  accountRoles,
  consoleCookie,
  endpoints,
  operatorEndpoints,
  scopes,
  type AccountRole,
  type Endpoint,
} from '@pohf/protocol'
import { makeKey } from '../../src/platform/ops/keys.ts'
import * as operators from '../../src/operators/index.ts'
import { workTools } from '../../src/discovery/mcp.ts'
import { identityTools } from '../../src/discovery/mcp-identity.ts'
import type { Tool } from '../../src/discovery/tools/tool.ts'
import { makeRateLimits } from '../../src/platform/http/rate-limits.ts'
import type { EndpointId } from '../../src/platform/http/call.ts'
import { Refusal } from '../../src/platform/http/errors.ts'
import { buildListener, type ListenerOptions } from '../../src/platform/http/http.ts'
import * as accounts from '../../src/accounts/index.ts'
import * as members from '../../src/members/index.ts'
import { noCallers } from '../fixtures/no-callers.ts'
import { startHarness, type TestResponse } from '../fixtures/harness.ts'
import { makeAccount, makeColleague } from '../fixtures/people/console.ts'
import { makeSignedInOperator } from '../fixtures/people/operator-page.ts'
import { makeConsoleVisitors } from './console-matrix.ts'
import { makeOperatorVisitors } from './operator-matrix.ts'
import { makeVisitors, memberFaults, type Visitor } from './member-matrix.ts'

const harness = await startHarness()
const live = await harness.register('live')
const sandbox = await harness.register('test')

const createKey = async (scope: readonly string[]) => {
  const { json } = await harness.call('POST', '/api/agents/keys', {
    key: live.apiKey,
    body: { scopes: scope },
  })
  return json as { apiKey: string; keyId: string }
}
const revoked = await createKey([...scopes])
await harness.call('POST', '/api/agents/keys/revoke', { key: live.apiKey, body: { keyId: revoked.keyId } })
const rotatedOut = await createKey([...scopes])
await harness.call('POST', '/api/agents/keys/rotate', { key: rotatedOut.apiKey, body: { overlapSeconds: 0 } })
const operator = await operators.create(harness.ctx, 'machine', 'Ada')

/** A key of one scope, and the scope it lacks is whichever the operation wants. */
const singleScopeKeys = { keys: await createKey(['keys']), webhooks: await createKey(['webhooks']) }

type Principal = {
  readonly name: string
  readonly key: (endpoint: Endpoint) => string | undefined
  readonly expect: (endpoint: Endpoint) => string
}
const passes = 'passes'
/** Nobody is signed in and no page of ours calls: a key is nothing to a row that is for a person. */
const unsigned = (endpoint: Endpoint) => (endpoint.method === 'GET' ? 'sign_in_required' : 'forbidden')
const refusedAs = (code: string) => (endpoint: Endpoint) =>
  endpoint.auth === 'directory'
    ? 'invalid_api_key'
    : endpoint.auth === 'public'
      ? passes
      : endpoint.auth === 'licensed'
        ? 'license_required'
        : code
const agentOnly = (endpoint: Endpoint) =>
  endpoint.auth === 'directory'
    ? 'invalid_api_key'
    : endpoint.auth === 'operator'
      ? 'malformed_api_key'
      : endpoint.administratorOnly
        ? 'forbidden'
        : passes
const badChecksum = `${live.apiKey.slice(0, -1)}${live.apiKey.endsWith('0') ? '1' : '0'}`

const principals: readonly Principal[] = [
  {
    name: 'no key',
    key: () => undefined,
    expect: (endpoint) =>
      ({
        public: passes,
        optional: passes,
        bearer: 'missing_api_key',
        operator: 'missing_api_key',
        licensed: 'license_required',
        order: 'auth_required',
        member: unsigned(endpoint),
        console: unsigned(endpoint),
        operatorSession: unsigned(endpoint),
        secret: 'missing_api_key',
        directory: 'invalid_api_key',
      })[endpoint.auth],
  },
  { name: 'malformed', key: () => 'hello', expect: refusedAs('malformed_api_key') },
  { name: 'bad checksum', key: () => badChecksum, expect: refusedAs('malformed_api_key') },
  {
    name: 'unknown',
    key: (endpoint) => makeKey(endpoint.auth === 'operator' ? 'svc_op_' : 'svc_live_', 'aa'),
    expect: refusedAs('invalid_api_key'),
  },
  {
    name: 'revoked',
    key: () => revoked.apiKey,
    expect: (endpoint) =>
      endpoint.auth === 'operator' ? 'malformed_api_key' : refusedAs('invalid_api_key')(endpoint),
  },
  {
    name: 'rotated out',
    key: () => rotatedOut.apiKey,
    expect: (endpoint) =>
      endpoint.auth === 'operator' ? 'malformed_api_key' : refusedAs('invalid_api_key')(endpoint),
  },
  {
    name: 'wrong scope',
    key: (endpoint) =>
      endpoint.scope === 'keys' ? singleScopeKeys.webhooks.apiKey : singleScopeKeys.keys.apiKey,
    expect: (endpoint) =>
      endpoint.auth === 'directory'
        ? 'invalid_api_key'
        : endpoint.auth === 'operator'
          ? 'malformed_api_key'
          : endpoint.scope || endpoint.administratorOnly
            ? 'forbidden'
            : passes,
  },
  { name: 'test', key: () => sandbox.apiKey, expect: agentOnly },
  { name: 'live', key: () => live.apiKey, expect: agentOnly },
  {
    name: 'operator',
    key: () => operator.operatorKey,
    expect: (endpoint) => (endpoint.auth === 'operator' ? passes : refusedAs('malformed_api_key')(endpoint)),
  },
]

const account = await makeAccount(harness)
const bearers: Readonly<Record<AccountRole, string>> = {
  owner: await account.owner.bearer('live'),
  developer: await (await makeColleague(harness, account, 'developer')).browser.bearer('live'),
  viewer: await (await makeColleague(harness, account, 'viewer')).browser.bearer('live'),
}
/** Console tokens in live mode, by the role of their person. */
const consolePrincipals = accountRoles.map((role): Principal => ({
  name: `console ${role}`,
  key: () => bearers[role],
  expect: (endpoint) => {
    if (endpoint.auth === 'public') return passes
    if (endpoint.auth === 'directory') return 'invalid_api_key'
    if (endpoint.auth === 'operator') return 'malformed_api_key'
    const isRefused =
      (role === 'viewer' && (endpoint.method !== 'GET' || endpoint.writes === true)) ||
      (role !== 'owner' && (endpoint.ownerInLive === true || endpoint.administratorOnly === true))
    if (isRefused) return 'forbidden'
    // They signed in with a mailed link, and these rows need a passkey in live mode.
    return endpoint.administratorOnly ? 'sign_in_again' : passes
  },
}))

const signedInOperator = await makeSignedInOperator(harness)
const staleOperator = await makeSignedInOperator(harness)
await harness.owner.query(
  "update operator_sessions set created_at = pohf_now() - interval '16 minutes' where operator_id = $1",
  [staleOperator.operatorId],
)
const operatorBearers = {
  recent: await signedInOperator.page.bearer(),
  stale: await staleOperator.page.bearer(),
}
/** Bearers of operators who signed in, by the age of the sign-in. */
const operatorPrincipals = (['recent', 'stale'] as const).map((age): Principal => ({
  name: `operator who signed in, ${age}`,
  key: () => operatorBearers[age],
  expect: (endpoint) => {
    if (endpoint.auth !== 'operator') return refusedAs('malformed_api_key')(endpoint)
    return age === 'stale' && endpoint.needsRecentSignIn ? 'operator_sign_in_again' : passes
  },
}))

const authCodes = [
  'operator_sign_in_again',
  'sign_in_again',
  'sign_in_required',
  'missing_api_key',
  'malformed_api_key',
  'invalid_api_key',
  'auth_required',
  'license_required',
  'forbidden',
  'untrusted_agent',
]
const outcome = ({ json }: TestResponse): string => {
  const code = String(json?.error ?? json?.pohf?.error)
  return authCodes.includes(code) ? code : passes
}

/** A body that fails validation: an allowed caller gets past the key and changes nothing. */
const invalidBody = { body: ['not an object'] }

let cases = 0
const operatorRows: readonly Endpoint[] = operatorEndpoints
for (const endpoint of [...endpoints, ...operatorRows]) {
  test(`${endpoint.method} ${endpoint.path} permits exactly the callers that the table permits`, async () => {
    for (const principal of [...principals, ...consolePrincipals, ...operatorPrincipals]) {
      const key = principal.key(endpoint)
      const isForPerson = ['member', 'console', 'operatorSession'].includes(endpoint.auth)
      const expected = isForPerson ? unsigned(endpoint) : principal.expect(endpoint)
      const path = endpoint.path.replaceAll(/\{\w+\}/g, 'none')
      const request =
        endpoint.auth === 'secret'
          ? { body: { secret: key } }
          : {
              ...(key === undefined ? {} : { key }),
              ...(endpoint.method === 'GET' || !endpoint.body ? {} : invalidBody),
            }
      // Without a body schema there is nothing to fail on, so whoever may pass would act: only refusals are tried.
      if (!endpoint.body && endpoint.method !== 'GET' && expected === passes) continue
      const answer = await (operatorRows.includes(endpoint)
        ? harness.callOperator(endpoint.method, path, request)
        : harness.call(endpoint.method, path, request))
      assert.equal(outcome(answer), expected, `${principal.name}: ${answer.status} ${answer.text}`)
      cases += 1
    }
  })
}

/** Tools let in whom the row of their operation lets in. A key that is none is refused before any tool is looked at. */
const expectedOfTool = (principal: Principal, row: Endpoint): string => {
  const atTheDoor = principal.expect({ ...row, auth: 'optional' })
  return atTheDoor === passes || atTheDoor === 'forbidden' ? principal.expect(row) : atTheDoor
}

/** How a call of a tool ended: refused by HTTP, or in the tool by a result that is an error. */
const outcomeOfTool = (answer: TestResponse): string => {
  if (answer.status !== 200) return outcome(answer)
  const { isError, structuredContent } = answer.json.result
  const code = String(structuredContent.error)
  if (isError && ['missing_api_key', 'auth_required'].includes(code))
    assert.ok(structuredContent.how_to_get_a_key, 'does not say how to get a key')
  return isError && authCodes.includes(code) ? code : passes
}

let toolCases = 0
const surfaces: readonly (readonly [string, readonly Tool[]])[] = [
  ['/mcp', workTools],
  ['/api/mcp', workTools],
  ['/mcp/identity', identityTools],
  ['/api/mcp/identity', identityTools],
]
for (const [path, tools] of surfaces) {
  for (const tool of tools) {
    const row = endpoints.find(({ id }) => id === tool.needs[0])
    assert.ok(row)
    test(`${tool.name} at ${path} permits exactly the callers that ${row.id} permits`, async () => {
      for (const principal of principals) {
        const key = principal.key(row)
        const answer = await harness.call('POST', path, {
          ...(key === undefined ? {} : { key }),
          // No arguments: an allowed caller gets as far as the operation's schema, or reads.
          body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool.name, arguments: {} } },
        })
        assert.equal(
          outcomeOfTool(answer),
          expectedOfTool(principal, row),
          `${principal.name}: ${answer.status} ${answer.text}`,
        )
        toolCases += 1
      }
    })
  }
}

const memberRows = endpoints.filter((row) => row.auth === 'member')
const visitors = await makeVisitors(harness, live)
const consoleRows = endpoints.filter((row) => row.auth === 'console')
const signedInMember = visitors.find(({ name }) => name === 'signed in')
const consoleVisitors = await makeConsoleVisitors(harness, {
  cookie: signedInMember?.headers['cookie'] ?? '',
  apiKey: live.apiKey,
})

test('a row for a person lets in who is signed in, before anything of the body is read, and nobody else', async (t) => {
  t.diagnostic(`${memberRows.length} rows, ${visitors.length} visitors`)
  assert.ok(memberRows.length >= 24)
  assert.deepEqual(await memberFaults(harness.app.api, memberRows, visitors), [])
})

test('a row of the console lets in who is signed in to the console, and nobody else', async (t) => {
  t.diagnostic(`${consoleRows.length} rows, ${consoleVisitors.length} visitors`)
  assert.ok(consoleRows.length >= 16)
  assert.deepEqual(await memberFaults(harness.app.api, consoleRows, consoleVisitors), [])
})

const sessionRows = operatorRows.filter((row) => row.auth === 'operatorSession')
const operatorVisitors = await makeOperatorVisitors(harness, {
  memberCookie: signedInMember?.headers['cookie'] ?? '',
  consoleCookie: `${consoleCookie}=${account.owner.session()}`,
  apiKey: live.apiKey,
})

test('the row for the session of an operator lets in who signed in with a passkey, and nobody else', async () => {
  assert.equal(sessionRows.length, 1)
  assert.deepEqual(await memberFaults(harness.app.operator, sessionRows, operatorVisitors), [])
  const open = edgeOver(sessionRows, {
    operatorSession: async () => ({ operatorId: 'opr_any', name: 'Any' }),
  })
  const faults = await memberFaults(open, sessionRows, operatorVisitors)
  assert.equal(faults.length, operatorVisitors.length - 1, 'the matrix finds an edge that is off')
})

/** The edge over operations that refuse on their own account: what they see was let in. */
const edgeOver = (rows: readonly Endpoint[], authenticate: Partial<ListenerOptions['authenticate']>) =>
  buildListener({
    ctx: harness.ctx,
    rateLimits: makeRateLimits(harness.ctx),
    checkWrite: async () => undefined,
    noteRequest: () => undefined,
    endpoints: rows,
    pages: [],
    routes: rows.map(({ id }) => ({
      id: id as EndpointId,
      handler: async () => Promise.reject(new Refusal('not_found')),
    })),
    authenticate: { ...noCallers, ...authenticate },
  })

const kinds = {
  member: {
    rows: memberRows,
    visitors,
    real: { member: (browser) => members.authenticate(harness.ctx, browser) },
    open: { member: async () => ({ personId: 'anybody' }) },
  },
  console: {
    rows: consoleRows,
    visitors: consoleVisitors,
    real: {
      console: (request) => accounts.authenticate(harness.ctx, members.originOf(harness.ctx.config), request),
    },
    open: {
      console: async () => ({
        sessionId: 'csn_any',
        personId: 'prs_any',
        accountId: 'acc_any',
        email: 'anybody@example.com',
        role: 'owner',
        isRecent: true,
        signedInBy: 'link',
      }),
    },
  },
} satisfies Record<
  string,
  {
    readonly rows: readonly Endpoint[]
    readonly visitors: readonly Visitor[]
    readonly real: Partial<ListenerOptions['authenticate']>
    readonly open: Partial<ListenerOptions['authenticate']>
  }
>

for (const [kind, { rows, visitors: callers, real, open }] of Object.entries(kinds)) {
  test(`a row of ${kind} whose check at the edge is off fails the matrix`, async () => {
    assert.deepEqual(await memberFaults(edgeOver(rows, real), rows, callers), [])
    const openFaults = await memberFaults(edgeOver(rows, open), rows, callers)
    for (const [index, off] of rows.entries()) {
      const name = `${off.method} ${off.path}`
      assert.ok(
        openFaults.some((fault) => fault.startsWith(`${name} for anonymous:`)),
        `${name} let everybody in unnoticed`,
      )
      // Beside one other row, which is found to be as it should be.
      const other = rows.at(index - 1)
      assert.ok(other && other !== off)
      const edge = edgeOver([{ ...off, auth: 'public' }, other], real)
      const faults = await memberFaults(edge, [off, other], callers)
      assert.ok(faults.length > 0 && faults.every((fault) => fault.startsWith(`${name} for `)), name)
    }
  })
}

test('the matrix saw enough', (t) => {
  t.diagnostic(`${cases} cases of operations, ${toolCases} of tools`)
  assert.ok(cases >= 300)
  assert.ok(toolCases >= 100)
})
