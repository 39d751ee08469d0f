import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { verifyWebhook, type WebhookReason } from '@pohf/verify'
import { startHarness } from '../../test/fixtures/harness.ts'
import { startReceiver, type ReceivedRequest } from '../../test/fixtures/webhook-receiver.ts'
import {
  publishEvent,
  signatureHeaders,
  hourMs,
  registerIdleAgent,
  subscribe,
  type Agent,
} from '../../test/fixtures/webhooks.ts'

const harness = await startHarness()

/** Three programs that know nothing of each other's verdict. */
const verifiers: Readonly<Record<string, (secret: string, received: ReceivedRequest) => Promise<boolean>>> = {
  standardwebhooks: async (secret, received) => {
    try {
      new StandardWebhook(secret).verify(received.body, signatureHeaders(received))
      return true
    } catch {
      return false
    }
  },
  svix: async (secret, received) => {
    try {
      new SvixWebhook(secret).verify(received.body, signatureHeaders(received))
      return true
    } catch {
      return false
    }
  },
  '@pohf/verify': async (secret, { headers, body }) => (await verifyWebhook({ secret, headers, body })).ok,
}
const verdicts = async (secret: string, received: ReceivedRequest) =>
  Object.fromEntries(
    await Promise.all(
      Object.entries(verifiers).map(
        async ([name, verify]) => [name, await verify(secret, received)] as const,
      ),
    ),
  )
const all = (value: boolean) => Object.fromEntries(Object.keys(verifiers).map((name) => [name, value]))

const rotate = (agent: Agent, id: string, body: unknown = {}) =>
  harness.call('POST', `/api/agents/webhooks/${id}/rotate`, { key: agent.apiKey, body })

test('before, during and after a rotation every verifier accepts exactly the secrets that sign', async () => {
  const agent = await registerIdleAgent(harness)
  const receiver = await startReceiver()
  const { id, signingSecret: first } = await subscribe(harness, agent, receiver.url)
  const next = async (): Promise<ReceivedRequest> => {
    await publishEvent(harness, agent)
    await harness.runJobs()
    const received = receiver.received.at(-1)
    assert.ok(received)
    return received
  }
  const before = await next()
  assert.deepEqual(await verdicts(first, before), all(true))

  const { json } = await rotate(agent, id)
  const second: string = json.signingSecret
  assert.match(second, /^whsec_[A-Za-z0-9+/]{43}=$/)
  const overlap = Date.parse(json.previousSecretUntil) - harness.ctx.clock.now().getTime()
  assert.ok(Math.abs(overlap - 24 * hourMs) < 60_000)
  const during = await next()
  assert.deepEqual(await verdicts(first, during), all(true))
  assert.deepEqual(await verdicts(second, during), all(true))
  assert.deepEqual(await verdicts(second, before), all(false))
  assert.equal(during.headers['x-service-signature'], during.headers['webhook-signature'])
  assert.match(String(during.headers['webhook-signature']), /^v1,\S+ v1,\S+$/)

  // A third secret would cut the first one's time short.
  const early = await rotate(agent, id)
  assert.deepEqual([early.status, early.json.error], [403, 'forbidden'])
  assert.match(early.json.message, /overlapSeconds 0/)
})

test('after the overlap, or with none, only the new secret signs', async () => {
  const agent = await registerIdleAgent(harness)
  const receiver = await startReceiver()
  const { id, signingSecret: first } = await subscribe(harness, agent, receiver.url)
  const { json } = await rotate(agent, id, { overlapSeconds: 0 })
  assert.equal(json.previousSecretUntil, null)
  const second: string = json.signingSecret
  const third: string = (await rotate(agent, id)).json.signingSecret
  const send = async () => {
    await publishEvent(harness, agent)
    await harness.runJobs()
    return String(receiver.received.at(-1)?.headers['webhook-signature']).split(' ').length
  }
  assert.equal(await send(), 2)
  const [received] = receiver.received
  assert.ok(received)
  assert.deepEqual(await verdicts(first, received), all(false))
  assert.deepEqual(await verdicts(second, received), all(true))
  assert.deepEqual(await verdicts(third, received), all(true))
  await harness.advance(24 * hourMs + 1)
  assert.equal(await send(), 1)
})

test('what is wrong with a delivery is refused by our SDK, each with its own reason', async () => {
  const agent = await registerIdleAgent(harness)
  const receiver = await startReceiver()
  const { signingSecret: secret } = await subscribe(harness, agent, receiver.url)
  await publishEvent(harness, agent)
  await harness.runJobs()
  const [received] = receiver.received
  assert.ok(received)
  const clock = () => harness.ctx.clock.now()
  const reasonFor = async (change: Partial<Parameters<typeof verifyWebhook>[0]>) => {
    const { headers, body } = received
    const result = await verifyWebhook({ secret, headers, body, clock, ...change })
    return result.ok ? undefined : result.reason
  }
  assert.equal(await reasonFor({}), undefined)
  const parsed = JSON.parse(received.body) as { data: unknown }
  const { 'webhook-id': _, ...withoutId } = received.headers
  const hourLater = () => new Date(clock().getTime() + hourMs)
  const faults: readonly (readonly [WebhookReason, Partial<Parameters<typeof verifyWebhook>[0]>])[] = [
    ['wrong_secret', { secret: `whsec_${Buffer.alloc(32).toString('base64')}` }],
    ['changed_body', { body: received.body.replace('key_x', 'key_y') }],
    ['parsed_body', { body: parsed as unknown as string }],
    ['parsed_body', { body: JSON.stringify(parsed, null, 2) }],
    ['stale_timestamp', { clock: hourLater }],
    ['bad_prefix', { secret: secret.slice(6) }],
    ['missing_header', { headers: withoutId }],
  ]
  for (const [reason, change] of faults) assert.equal(await reasonFor(change), reason)
})
