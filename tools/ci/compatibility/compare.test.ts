import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findBreaks } from './compare.ts'
import { currentInterface, printInterface, readReleased, type Interface } from './interface.ts'

// Through JSON, as the file is read: rows of the table share lists, and a change of one must not change the others.
const current = JSON.parse(JSON.stringify(currentInterface())) as Interface

/** A copy of the real interface in which something was changed. */
// Copies are changed freely, so they have no types.
// oxlint-disable-next-line typescript/no-explicit-any
const changed = (operation: string, change: (row: any) => void): Interface => {
  const copy = structuredClone(current)
  const row = copy.operations.find((each) => each.operation === operation)
  assert.ok(row, operation)
  change(row)
  return copy
}

const json = 'application/json'
const register = 'POST /api/agents/register'
const verify = 'POST /api/agents/verify'
const metrics = 'GET /api/agents/metrics'
const buy = 'GET /api/agent/tasks/{workflowId}/buy'
const available = 'GET /api/workflows/available'
const series = 'GET /api/index/{code}'
const checkout = 'POST /api/agents/credits/buy'
const balance = 'GET /api/agents/credits/balance'
// oxlint-disable-next-line typescript/no-explicit-any
type Change = (row: any) => void
// oxlint-disable-next-line typescript/no-explicit-any
const bodyOf = (row: any) => row.request[json]
// oxlint-disable-next-line typescript/no-explicit-any
const responseOf = (row: any, status = '200') => row.responses[status][json]
// oxlint-disable-next-line typescript/no-explicit-any
const queryOf = (row: any, name: string) => row.parameters.find((each: any) => each.name === name)

/** One breaking change of each kind, and the lines that must come of it. */
const breaking: readonly (readonly [
  name: string,
  operation: string,
  change: Change,
  lines: readonly string[],
])[] = [
  [
    'a public id',
    verify,
    (row) => (row.publicId = 'credentials.mint'),
    [`${verify}: its id is credentials.mint instead of credentials.verify`],
  ],
  [
    'access',
    available,
    (row) => (row.auth = 'bearer'),
    [`${available}: its access is bearer instead of optional`],
  ],
  [
    'a scope',
    available,
    (row) => (row.scope = 'work'),
    [`${available}: it needs the scope work instead of none`],
  ],
  [
    'another scope',
    verify,
    (row) => (row.scope = 'evidence'),
    [`${verify}: it needs the scope evidence instead of verify`],
  ],
  ['browsers', buy, (row) => delete row.cors, [`${buy}: pages of other sites: none instead of any`]],
  [
    'a header of browsers',
    buy,
    (row) => row.allowedHeaders.shift(),
    [`${buy}: pages of other sites may not send X-PAYMENT`],
  ],
  [
    'a header for browsers',
    buy,
    (row) => row.exposedHeaders.shift(),
    [`${buy}: pages of other sites may not read PAYMENT-REQUIRED`],
  ],
  [
    'the size of a body',
    verify,
    (row) => (row.bodyLimitBytes = 1_024),
    [`${verify}: bodies have at most 1024 bytes instead of 262144`],
  ],
  [
    'a removed query parameter',
    metrics,
    (row) => row.parameters.shift(),
    [`${metrics}: query parameter format is removed`],
  ],
  [
    'a new required query parameter',
    metrics,
    (row) => row.parameters.push({ name: 'site', in: 'query', required: true, schema: {} }),
    [`${metrics}: query parameter site is required`],
  ],
  [
    'a query parameter that becomes required',
    metrics,
    (row) => (queryOf(row, 'since').required = true),
    [`${metrics}: query parameter since is required`],
  ],
  [
    'a narrower enum of a query',
    metrics,
    (row) => (queryOf(row, 'format').schema.enum = ['json']),
    [`${metrics}: query parameter format no longer accepts "csv"`],
  ],
  [
    'a removed request field',
    register,
    (row) => delete bodyOf(row).properties.name,
    [`${register}: body.name is removed`],
  ],
  [
    'a new required field',
    register,
    (row) => ((bodyOf(row).properties.phone = { type: 'string' }), bodyOf(row).required.push('phone')),
    [`${register}: body.phone is required`],
  ],
  [
    'a field that becomes required',
    verify,
    (row) => bodyOf(row).required.push('challenge'),
    [`${verify}: body.challenge is required`],
  ],
  [
    'a narrower type of a request',
    register,
    (row) => (bodyOf(row).properties.name = { type: 'integer' }),
    [`${register}: body.name no longer accepts string`],
  ],
  [
    'a shorter limit',
    verify,
    (row) => (bodyOf(row).properties.sessionId.maxLength = 64),
    [`${verify}: body.sessionId has maxLength 64 instead of 128`],
  ],
  [
    'a new limit',
    register,
    (row) => (bodyOf(row).properties.name.minLength = 40),
    [`${register}: body.name has minLength 40 instead of 1`],
  ],
  [
    'an enum of a request',
    register,
    (row) => (bodyOf(row).properties.mode.enum = ['test']),
    [`${register}: body.mode no longer accepts "live"`],
  ],
  [
    'a default',
    register,
    (row) => (bodyOf(row).properties.mode.default = 'test'),
    [`${register}: body.mode has the default "test" instead of "live"`],
  ],
  [
    'a new pattern',
    verify,
    (row) => (bodyOf(row).properties.challenge.pattern = '^a'),
    [`${verify}: body.challenge has pattern "^a" instead of none`],
  ],
  [
    'unknown fields refused',
    verify,
    (row) => (bodyOf(row).additionalProperties = false),
    [`${verify}: body refuses other fields`],
  ],
  [
    'a removed media type of a request',
    register,
    (row) => (row.request = { 'text/plain': bodyOf(row) }),
    [`${register}: bodies as application/json are removed`],
  ],
  [
    'a removed body',
    register,
    (row) => delete row.request,
    [`${register}: bodies as application/json are removed`],
  ],
  [
    'a body where there was none',
    balance,
    (row) => (row.request = { [json]: { type: 'object', properties: { at: {} }, required: ['at'] } }),
    [`${balance}: body.at is required`],
  ],
  ['a removed status', verify, (row) => delete row.responses['402'], [`${verify}: status 402 is removed`]],
  ['a new success status', verify, (row) => (row.responses['202'] = {}), [`${verify}: status 202 is new`]],
  [
    'a removed media type of a response',
    metrics,
    (row) => delete row.responses['200']['text/csv'],
    [`${metrics}: status 200 as text/csv is removed`],
  ],
  [
    'a removed response field',
    verify,
    (row) => delete responseOf(row).properties.quality,
    [`${verify}: response 200.quality is removed`],
  ],
  [
    'a removed field of a list',
    available,
    (row) => delete responseOf(row).properties.workflows.items.properties.title,
    [`${available}: response 200.workflows[].title is removed`],
  ],
  [
    'a response field that may be absent',
    verify,
    (row) => (responseOf(row).required = ['verified']),
    ['pohf_jwt', 'quality', 'credentialId'].map((name) => `${verify}: response 200.${name} may be absent`),
  ],
  [
    'a wider enum of a response',
    register,
    (row) => responseOf(row).properties.mode.enum.push('trial'),
    [`${register}: response 200.mode may be "trial"`],
  ],
  [
    'an enum of a response that opens',
    register,
    (row) => (responseOf(row).properties.mode = { type: 'string' }),
    [`${register}: response 200.mode may be any string`],
  ],
  [
    'a wider type of a response',
    verify,
    (row) => (responseOf(row).properties.quality.type = ['number', 'null']),
    [`${verify}: response 200.quality may be null`],
  ],
  [
    'a number for an integer',
    balance,
    (row) => (responseOf(row).properties.balance = { type: 'number' }),
    [`${balance}: response 200.balance may be number`],
  ],
  [
    'a response that loses one of its objects',
    buy,
    (row) => (row.responses['402'][json] = { $ref: '#/components/schemas/Error' }),
    [`${buy}: response 402.x402Version is removed`, `${buy}: response 402.purchase_id is removed`],
  ],
  [
    'an object that becomes null',
    verify,
    (row) => (responseOf(row).properties.telemetry = { type: 'null' }),
    [`${verify}: response 200.telemetry is never an object`],
  ],
  [
    'another format of a response',
    checkout,
    (row) => (responseOf(row).properties.checkoutUrl = { type: 'string' }),
    [`${checkout}: response 200.checkoutUrl has format none instead of "uri"`],
  ],
]

for (const [name, operation, change, lines] of breaking)
  test(`breaking: ${name}`, () => {
    const found = findBreaks(current, changed(operation, change))
    for (const line of lines) assert.ok(found.includes(line), `${line}\nfound:\n${found.join('\n')}`)
    assert.deepEqual(
      found.filter((line) => !line.startsWith(operation)),
      [],
    )
  })

test('breaking: a removed operation, a removed method and a removed field of every error', () => {
  const without = (gone: string) => ({
    ...current,
    operations: current.operations.filter(({ operation }) => operation !== gone),
  })
  assert.deepEqual(findBreaks(current, without(series)), [`${series}: it is removed`])
  const post = 'POST /api/agent/tasks/{workflowId}/buy'
  assert.deepEqual(findBreaks(current, without(post)), [`${post}: it is removed`])
  const copy = structuredClone(current) as {
    schemas: { Error: { properties: { docs?: unknown } } }
  } & Interface
  delete copy.schemas.Error.properties.docs
  const found = findBreaks(current, copy)
  assert.ok(found.length > 500 && found.every((line) => line.includes('.docs is removed')), `${found.length}`)
})

const compatible: readonly (readonly [name: string, operation: string, change: Change])[] = [
  [
    'a new optional field of a request',
    register,
    (row) => (bodyOf(row).properties.website = { type: 'string' }),
  ],
  ['a field that is no longer required', register, (row) => (bodyOf(row).required = ['name'])],
  ['a longer limit', verify, (row) => (bodyOf(row).properties.sessionId.maxLength = 256)],
  ['no limit', verify, (row) => delete bodyOf(row).properties.sessionId.maxLength],
  ['a wider enum of a request', register, (row) => bodyOf(row).properties.mode.enum.push('trial')],
  [
    'an enum of a request that opens',
    register,
    (row) => (bodyOf(row).properties.mode = { type: 'string', default: 'live' }),
  ],
  ['a wider type of a request', register, (row) => (bodyOf(row).properties.name.type = ['string', 'null'])],
  ['any value', register, (row) => (bodyOf(row).properties.name = {})],
  [
    'a new optional query parameter',
    metrics,
    (row) => row.parameters.push({ name: 'x', in: 'query', required: false, schema: {} }),
  ],
  [
    'a new field of a response',
    verify,
    (row) => ((responseOf(row).properties.note = { type: 'string' }), responseOf(row).required.push('note')),
  ],
  ['a narrower enum of a response', register, (row) => (responseOf(row).properties.mode.enum = ['test'])],
  ['an integer for a number', verify, (row) => (responseOf(row).properties.quality = { type: 'integer' })],
  [
    'a longer list in a response',
    available,
    (row) => (responseOf(row).properties.workflows.maxItems = 9_999),
  ],
  [
    'a new error status',
    verify,
    (row) => (row.responses['418'] = { [json]: { $ref: '#/components/schemas/Error' } }),
  ],
  [
    'a new media type of a response',
    verify,
    (row) => (row.responses['200']['text/csv'] = { type: 'string' }),
  ],
  ['a new media type of a request', verify, (row) => (row.request['text/csv'] = { type: 'string' })],
  ['a key that is no longer needed', verify, (row) => ((row.auth = 'optional'), delete row.scope)],
  ['an agent credential beside the key', verify, (row) => (row.auth = 'order')],
  ['pages of other sites', verify, (row) => (row.cors = 'any')],
  ['longer bodies', verify, (row) => (row.bodyLimitBytes = 1_000_000)],
]

for (const [name, operation, change] of compatible)
  test(`compatible: ${name}`, () => {
    assert.notDeepEqual(changed(operation, change), current)
    assert.deepEqual(findBreaks(current, changed(operation, change)), [])
  })

test('compatible: a new operation', () => {
  const [row] = current.operations
  assert.ok(row)
  const added = { ...row, operation: 'GET /api/new', publicId: 'new' }
  assert.deepEqual(findBreaks(current, { ...current, operations: [...current.operations, added] }), [])
})

test('an enum that becomes an open type is held against the limits of that type', () => {
  const tight = changed(
    register,
    (row) => (bodyOf(row).properties.mode = { type: 'string', maxLength: 3, default: 'live' }),
  )
  assert.deepEqual(findBreaks(current, tight), [`${register}: body.mode has maxLength 3 instead of none`])
})

test('a keyword that the comparison does not know is refused, so that no change of it passes unseen', () => {
  const strange = changed(verify, (row) => (bodyOf(row).properties.sessionId.not = { const: 'x' }))
  assert.throws(() => findBreaks(current, strange), /does not know the keywords not/)
})

test('annotations are not part of the interface, and fields of their names are', () => {
  const printed = printInterface(current)
  assert.equal(/"examples":\[/.test(printed), false)
  const row = current.operations.find(({ operation }) => operation === available)
  assert.match(JSON.stringify(row), /"description":\{"type":"string"/)
})

test('the released interface is read as it was written', (t) => {
  const released = readReleased()
  t.diagnostic(`${released.operations.length} operations of ${released.release ?? 'the first baseline'}`)
  assert.ok(released.operations.length >= 130)
  assert.deepEqual(findBreaks(released, released), [])
})
