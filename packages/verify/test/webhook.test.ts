import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { test } from 'node:test'
import { verifyWebhook, type WebhookInput } from '../src/index.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
const body = '{"id":"evt_1","type":"credential.issued","data":{"name":"Zoë"}}'
const sentAt = 1_800_000_000
const clock = () => new Date(sentAt * 1_000)
const signatureBy = (key: string, text = body) =>
  `v1,${createHmac('sha256', Buffer.from(key.slice(6), 'base64'))
    .update(`msg_1.${sentAt}.${text}`)
    .digest('base64')}`
const headers = (signature = signatureBy(secret)) => ({
  'webhook-id': 'msg_1',
  'webhook-timestamp': String(sentAt),
  'webhook-signature': signature,
})
const digested = {
  ...headers(),
  'content-digest': `sha-256=:${createHash('sha256').update(body).digest('base64')}:`,
}
const check = async (more: Partial<WebhookInput> = {}) => {
  const result = await verifyWebhook({ secret, headers: headers(), body, clock, ...more })
  return result.ok ? 'accepted' : result.reason
}

test('a delivery is accepted as text and as bytes, under either header name, in any letter case', async () => {
  const result = await verifyWebhook({ secret, headers: headers(), body, clock })
  assert.deepEqual(result, { ok: true, id: 'msg_1', timestamp: clock() })
  assert.equal(await check({ body: Buffer.from(body) }), 'accepted')
  assert.equal(await check({ headers: new Headers(headers()) }), 'accepted')
  const { 'webhook-signature': signature, ...rest } = headers()
  assert.equal(await check({ headers: { ...rest, 'X-Service-Signature': signature } }), 'accepted')
  assert.equal(await check({ headers: { ...rest, 'Webhook-Signature': [signature] } }), 'accepted')
})

test('the published example of Standard Webhooks is accepted', async () => {
  const result = await verifyWebhook({
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    headers: {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
    body: '{"test": 2432232314}',
    clock: () => new Date(1_614_265_330_000),
  })
  assert.ok(result.ok)
})

test('during a rotation either secret is enough', async () => {
  const both = headers(`${signatureBy(other)} v2,ignored ${signatureBy(secret)}`)
  assert.equal(await check({ headers: both }), 'accepted')
  assert.equal(await check({ headers: both, secret: other }), 'accepted')
})

const faults: readonly (readonly [string, Partial<WebhookInput>, string])[] = [
  ['another secret', { secret: other }, 'wrong_secret'],
  ['a changed body', { body: body.replace('evt_1', 'evt_2') }, 'wrong_secret'],
  [
    'a changed body beside its digest',
    { body: body.replace('evt_1', 'evt_2'), headers: digested },
    'changed_body',
  ],
  ['another secret beside the right digest', { secret: other, headers: digested }, 'wrong_secret'],
  [
    'a digest that is none',
    { secret: other, headers: { ...headers(), 'content-digest': 'md5=:x:' } },
    'wrong_secret',
  ],
  ['a body written again', { body: JSON.stringify(JSON.parse(body), null, 2) }, 'parsed_body'],
  ['a body with a space behind it', { body: Buffer.from(`${body} `) }, 'parsed_body'],
  ['a signature of zeros', { headers: headers(`v1,${Buffer.alloc(32).toString('base64')}`) }, 'wrong_secret'],
  ['a signature cut short', { headers: headers(signatureBy(secret).slice(0, 23)) }, 'wrong_secret'],
  ['another id', { headers: { ...headers(), 'webhook-id': 'msg_2' } }, 'wrong_secret'],
  ['another time', { headers: { ...headers(), 'webhook-timestamp': String(sentAt + 1) } }, 'wrong_secret'],
  ['301 s too late', { clock: () => new Date((sentAt + 301) * 1_000) }, 'stale_timestamp'],
  ['301 s too early', { clock: () => new Date((sentAt - 301) * 1_000) }, 'stale_timestamp'],
  ['300 s late', { clock: () => new Date((sentAt + 300) * 1_000) }, 'accepted'],
  [
    '11 s late where 10 are allowed',
    { clock: () => new Date((sentAt + 11) * 1_000), toleranceSeconds: 10 },
    'stale_timestamp',
  ],
  ['no headers', { headers: {} }, 'missing_header'],
  ['no signature', { headers: { ...headers(), 'webhook-signature': undefined } }, 'missing_header'],
  ['no timestamp', { headers: { ...headers(), 'webhook-timestamp': undefined } }, 'missing_header'],
  ['no id', { headers: { ...headers(), 'webhook-id': undefined } }, 'missing_header'],
  [
    'a timestamp that is a date',
    { headers: { ...headers(), 'webhook-timestamp': '2026-11-15' } },
    'missing_header',
  ],
  ['a secret without its prefix', { secret: secret.slice(6) }, 'bad_prefix'],
  ['an empty secret', { secret: 'whsec_' }, 'bad_prefix'],
  ['a secret that is not base64', { secret: 'whsec_???' }, 'bad_prefix'],
  ['a signature without its version', { headers: headers(signatureBy(secret).slice(3)) }, 'bad_prefix'],
  [
    'a signature in hexadecimal with sha256=',
    { headers: headers(`sha256=${'ab'.repeat(32)}`) },
    'bad_prefix',
  ],
  ['a parsed body', { body: JSON.parse(body) as string }, 'parsed_body'],
  ['no body', { body: undefined as unknown as string }, 'parsed_body'],
]
for (const [name, more, expected] of faults) {
  test(`${name} is ${expected}`, async () => assert.equal(await check(more), expected))
}
