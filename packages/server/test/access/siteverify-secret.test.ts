import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeKey } from '../../src/platform/ops/keys.ts'
import { startHarness, type TestResponse } from '../fixtures/harness.ts'
import { assertRefusal } from '../fixtures/refusal.ts'
import {
  assertFailure,
  assertSuccess,
  formType,
  type Fields,
  type SiteverifyCode,
} from '../fixtures/siteverify/answers.ts'
import { dumpTables, findLeakedSecrets } from './secret-leaks.ts'

const harness = await startHarness()
const sandbox = await harness.register('test')
const live = await harness.register('live')

const postRaw = (raw: string, type: string) =>
  harness.call('POST', '/siteverify', { raw, headers: { 'content-type': type } })
const post = (fields: Fields) => postRaw(String(new URLSearchParams(fields)), formType)
const check = (agent: { readonly apiKey: string }, response: string, more: Fields = {}) =>
  post({ secret: agent.apiKey, response, ...more })

test('every fault of a call has a code that clients know', async () => {
  const { apiKey } = sandbox
  const json = (body: unknown) => postRaw(JSON.stringify(body), 'application/json')
  const { json: keys } = await harness.call('POST', '/api/agents/keys', {
    key: apiKey,
    body: { scopes: ['webhooks'] },
  })
  const cases: readonly (readonly [Promise<TestResponse>, SiteverifyCode, string])[] = [
    [post({}), 'missing-input-secret', 'missing_api_key'],
    [post({ secret: '', response: 'x' }), 'missing-input-secret', 'missing_api_key'],
    [json(['secret']), 'missing-input-secret', 'missing_api_key'],
    [json({ secret: 5, response: 'x' }), 'invalid-input-secret', 'malformed_api_key'],
    [post({ secret: 'hello', response: 'x' }), 'invalid-input-secret', 'malformed_api_key'],
    [post({ secret: makeKey('svc_live_', 'aa'), response: 'x' }), 'invalid-input-secret', 'invalid_api_key'],
    [post({ secret: keys.apiKey, response: 'x' }), 'invalid-input-secret', 'forbidden'],
    [post({ secret: apiKey }), 'missing-input-response', 'validation_failed'],
    [post({ secret: apiKey, response: '' }), 'missing-input-response', 'validation_failed'],
    [post({ secret: apiKey, response: 'x'.repeat(129) }), 'invalid-input-response', 'validation_failed'],
    [post({ secret: apiKey, response: 'nul\u0000' }), 'invalid-input-response', 'validation_failed'],
    [json({ secret: apiKey, response: { toString: 'x' } }), 'invalid-input-response', 'validation_failed'],
    [check(sandbox, 'one', { sitekey: 'agt_other' }), 'sitekey-secret-mismatch', 'validation_failed'],
    [check(sandbox, 'one', { sitekey: '__proto__' }), 'sitekey-secret-mismatch', 'validation_failed'],
    [check(sandbox, 'one', { idempotency_key: 'again' }), 'bad-request', 'validation_failed'],
    [postRaw('{', 'application/json'), 'bad-request', 'invalid_json'],
    [postRaw('{"__proto__":{"secret":"x"}}', 'application/json'), 'bad-request', 'invalid_json'],
    [postRaw('secret=x', 'text/plain'), 'bad-request', 'unsupported_media_type'],
    [postRaw('not multipart', 'multipart/form-data; boundary=x'), 'bad-request', 'invalid_json'],
    [postRaw('secret=x', 'multipart/form-data'), 'bad-request', 'invalid_json'],
    [
      postRaw(
        '--x\r\ncontent-disposition: form-data; name="secret"; filename="a"\r\n\r\nx\r\n--x--\r\n',
        'multipart/form-data; boundary=x',
      ),
      'bad-request',
      'invalid_json',
    ],
    [postRaw(`secret=${apiKey}&response=a&response=b`, formType), 'bad-request', 'invalid_json'],
    [postRaw(`secret=a&secret=${apiKey}&response=a`, formType), 'bad-request', 'invalid_json'],
    [
      postRaw(Array.from({ length: 33 }, (_, n) => `f${n}=1`).join('&'), formType),
      'bad-request',
      'invalid_json',
    ],
  ]
  for (const [sent, theirs, ours] of cases) assertFailure(await sent, theirs, ours)
  // Names of prototypes are names like others.
  for (const name of ['__proto__', 'constructor', 'hasOwnProperty'])
    assertSuccess(await check(sandbox, `with ${name}`, { [name]: 'x' }))
  for (const raw of [`__proto__=${apiKey}&response=x`, `constructor=${apiKey}`])
    assertFailure(await postRaw(raw, formType), 'missing-input-secret', 'missing_api_key')
})

test('a body above 16 KB is 413, whatever is in it, and a key over its limit is 429', async () => {
  for (const bytes of [17_000, 5_000_000])
    assertRefusal(await check(sandbox, 'x'.repeat(bytes)), 413, 'body_too_large')
  const limited = await startHarness({ KEY_LIMIT_PER_MINUTE: '2' })
  const { apiKey } = await limited.register('test')
  const send = () =>
    limited.call('POST', '/siteverify', { body: { secret: apiKey, response: 'ses_test_pass' } })
  assertSuccess(await send())
  assertSuccess(await send())
  const refused = await send()
  assertRefusal(refused, 429, 'rate_limited')
  assert.ok(Number(refused.headers['retry-after']) > 0)
})

test('secrets that do not exist are limited by address, as keys in a header are', async () => {
  const limited = await startHarness({ ADDRESS_LIMITS: 'on' })
  const guess = () =>
    limited.call('POST', '/siteverify', { body: { secret: makeKey('svc_live_', 'aa'), response: 'x' } })
  const answers = await Promise.all(Array.from({ length: 60 }, guess))
  for (const answer of answers) assertFailure(answer, 'invalid-input-secret', 'invalid_api_key')
  assertRefusal(await guess(), 429, 'rate_limited')
  const byHeader = await limited.call('GET', '/api/agents/me', { key: makeKey('svc_live_', 'aa') })
  assertRefusal(byHeader, 429, 'rate_limited')
})

test('the secret is in no log line, table, metric or answer', async () => {
  const secrets = { live: live.apiKey, sandbox: sandbox.apiKey, unknown: makeKey('svc_live_', 'aa') }
  const texts: string[] = []
  for (const secret of Object.values(secrets))
    for (const raw of [
      `secret=${secret}&response=canary`,
      `secret=${secret}`,
      `secret=${secret}&secret=${secret}`,
      `secret=x${secret}&response=canary`,
      `secret=${secret}&response=canary&idempotency_key=${secret}`,
      `secret=${secret}&response=canary&sitekey=${secret}`,
    ])
      texts.push((await postRaw(raw, formType)).text)
  await harness.owner.query('alter table agents rename to gone')
  try {
    for (const secret of Object.values(secrets)) texts.push((await post({ secret, response: 'canary' })).text)
  } finally {
    await harness.owner.query('alter table gone rename to agents')
  }
  const metrics = await harness.ctx.metrics.registry.metrics()
  const { text: tables } = await dumpTables(harness.owner)
  for (const text of [...texts, harness.lines.join(''), metrics, tables])
    assert.deepEqual(findLeakedSecrets(text, secrets), [])
  assert.match(harness.lines.join(''), /"endpoint":"credentials\.siteverify","status":200/)
  assert.match(metrics, /credentials\.siteverify/)
})
