import assert from 'node:assert/strict'
import { test } from 'node:test'
import { consoleCookie, endpoints, operatorCookie, operatorEndpoints, type Endpoint } from '@pohf/protocol'
import { readChunk } from '@pohf/protocol/telemetry'
import { z } from 'zod'
import * as operators from '../../src/operators/index.ts'
import { makeSignedInOperator } from '../fixtures/people/operator-page.ts'
import { isNestedTooDeep, nestingMax } from '../../src/platform/http/json-depth.ts'
import { startHarness } from '../fixtures/harness.ts'
import { makeAccount } from '../fixtures/people/console.ts'
import { makeWorker } from '../fixtures/people/worker.ts'
import { openBrowser } from '../fixtures/people/member.ts'
import { assertRefusal } from '../fixtures/refusal.ts'

const harness = await startHarness({ KEY_LIMIT_PER_MINUTE: '1000000' })
const agent = await harness.register('test')
const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
const { cookie } = await makeWorker(harness, agent)
const { origin } = openBrowser(harness)
const { owner } = await makeAccount(harness)
const ownerBearer = await owner.bearer('test')

const { page } = await makeSignedInOperator(harness)
const operatorRows: readonly Endpoint[] = operatorEndpoints
const rows: readonly Endpoint[] = [...endpoints, ...operatorEndpoints].filter(
  (row: Endpoint) => row.method !== 'GET' && row.auth !== 'secret',
)

const arrays = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
const objects = (depth: number): string => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth)
/** Bodies that nest `depth` levels: as a whole, in a field that nobody knows, and in each field of the schema. */
const bodiesOf = (row: Endpoint, depth: number): string[] => {
  const fields = row.body instanceof z.ZodObject ? Object.keys(row.body.shape) : []
  return [
    arrays(depth),
    objects(depth),
    ...['unknown', ...fields].map((field) => `{"${field}":${arrays(depth - 1)}}`),
    ...fields.map((field) => `{"${field}":${objects(depth - 1)}}`),
  ]
}

/** Sends a body as somebody whom the row lets in. */
const send = (row: Endpoint, raw: string, contentType = 'application/json') => {
  const path = row.path.replaceAll(/\{\w+\}/g, 'none')
  const headers = { origin, 'content-type': contentType }
  if (row.auth === 'operator')
    return harness.callOperator(row.method, path, { key: operatorKey, raw, headers })
  if (row.auth === 'operatorSession' || operatorRows.includes(row))
    return harness.callOperator(row.method, path, {
      raw,
      headers: {
        'content-type': contentType,
        origin: page.origin,
        cookie: `${operatorCookie}=${page.session()}`,
      },
    })
  if (row.auth === 'console')
    return harness.call(row.method, path, {
      raw,
      headers: { ...headers, cookie: `${consoleCookie}=${owner.session()}` },
    })
  if (row.auth === 'member') return harness.call(row.method, path, { raw, headers: { ...headers, cookie } })
  return harness.call(row.method, path, {
    raw,
    headers,
    ...(row.auth === 'public' ? {} : { key: row.administratorOnly ? ownerBearer : agent.apiKey }),
  })
}
const failures = (): string[] => harness.lines.filter((line) => line.includes('request failed'))

test('every row that takes a body refuses deep nesting with 400, whoever sends it', async () => {
  assert.ok(rows.length >= 70, `saw ${rows.length} rows`)
  let sent = 0
  for (const row of rows) {
    // 10 KB and 60 KB of brackets, and one level too many.
    for (const depth of [nestingMax + 1, 5_000])
      for (const body of bodiesOf(row, depth)) {
        assertRefusal(await send(row, body), 400, 'invalid_json')
        sent += 1
      }
    assertRefusal(await send(row, arrays(30_000)), 400, 'invalid_json')
  }
  assert.ok(sent >= 1_000, `sent ${sent} bodies`)
  assert.deepEqual(failures(), [])
})

test('siteverify, which refuses with 200, refuses deep nesting too', async () => {
  const nested = endpoints.filter(({ auth }) => auth === 'secret')
  assert.equal(nested.length, 3)
  for (const row of nested)
    for (const depth of [nestingMax + 1, 2_000])
      for (const body of bodiesOf(row, depth)) {
        const { status, text } = await send(row, body)
        assert.equal(status, 200)
        assert.match(text, /"bad-request".*"invalid_json"/)
      }
  assert.deepEqual(failures(), [])
})

test('pages that send JSON as plain text are refused the same way', async () => {
  for (const row of rows.filter(({ limit }) => limit === 'beacon' || limit === 'sessions'))
    assertRefusal(await send(row, arrays(5_000), 'text/plain'), 400, 'invalid_json')
})

test('a body as deep as the limit reaches the schema of its row and never fails inside', async () => {
  for (const row of rows.filter(({ body }) => body !== undefined)) {
    for (const body of bodiesOf(row, nestingMax)) {
      const { status, text } = await send(row, body)
      assert.ok(status < 500 || text.includes('not_configured'), `${row.id}: ${status} ${text}`)
    }
  }
  assert.deepEqual(failures(), [])
})

test('a payment header with deep nesting is refused as malformed', async () => {
  for (const header of ['x-payment', 'payment-signature'])
    for (const nested of [arrays(4_000), `{"x402Version":1,"payload":${arrays(4_000)}}`, objects(1_400)]) {
      const answer = await harness.call('GET', '/api/agent/tasks/wf_test_ok/buy', {
        headers: { [header]: Buffer.from(nested).toString('base64') },
      })
      assert.ok(answer.status >= 400 && answer.status < 500, `${answer.status} ${answer.text}`)
    }
  assert.deepEqual(failures(), [])
})

test('attestation evidence with deeply nested CBOR is malformed evidence', async () => {
  const attestationObject = Buffer.alloc(30_000, 0x81).toString('base64url')
  const credential = { id: 'AAAA', rawId: 'AAAA', type: 'public-key', response: { attestationObject } }
  for (const method of ['webauthn', 'app_attest']) {
    const challenge = await harness.call('POST', '/api/agents/attest/challenge', { key: agent.apiKey })
    const { status } = await harness.call('POST', '/api/agents/attest/verify', {
      key: agent.apiKey,
      body: {
        method,
        nonce: challenge.json.nonce,
        subjectRef: 'ses_1',
        evidence: { credential, keyId: 'AAAA', attestationObject },
      },
    })
    assert.ok(status < 500, `${method}: ${status}`)
  }
  assert.deepEqual(failures(), [])
})

test('a telemetry chunk with deep nesting is no chunk', () => {
  const header = `"v":1,"seq":1,"receipt":"${'a'.repeat(22)}","t0":0,"t1":1`
  for (const field of ['ev', 'env', 'last'])
    assert.equal(readChunk(`{${header},"ev":[],"${field}":${arrays(100_000)}}`), undefined)
})

test('brackets inside of strings do not count, and closed levels do not add up', () => {
  assert.equal(isNestedTooDeep(JSON.stringify({ text: '[{'.repeat(1_000), more: '\\"[[[' })), false)
  assert.equal(isNestedTooDeep(`"\\"${'['.repeat(100)}"`), false)
  assert.equal(isNestedTooDeep(`[${'[],'.repeat(1_000)}[]]`), false)
  assert.equal(isNestedTooDeep(arrays(nestingMax)), false)
  assert.equal(isNestedTooDeep(`["\\\\",${arrays(nestingMax)}]`), true)
})
