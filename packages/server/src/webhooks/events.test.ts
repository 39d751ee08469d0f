import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { eventCatalogue, events, type EventType } from '@pohf/protocol'
import { readSources } from '../../test/architecture/import-rules.ts'
import { startHarness } from '../../test/fixtures/harness.ts'
import { startReceiver } from '../../test/fixtures/webhook-receiver.ts'
import {
  publishEvent,
  registerIdleAgent,
  secondMs,
  subscribe,
  type Agent,
} from '../../test/fixtures/webhooks.ts'
import { inTransaction } from '../platform/db/db.ts'
import { publish } from '../platform/queue/outbox.ts'

const harness = await startHarness()

test('the catalogue has a JSON Schema for every event, and its example fits it', async () => {
  const { status, headers, json } = await harness.call('GET', '/api/events/catalog')
  assert.equal(status, 200)
  assert.equal(headers['access-control-allow-origin'], '*')
  assert.deepEqual(
    json.events.map(({ type }: { type: string }) => type),
    Object.keys(events),
  )
  assert.ok(json.events.length >= 30)
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  for (const { type, summary, schema, example } of json.events) {
    assert.match(type, /^[a-z]+\.[a-z_]+$/)
    assert.ok(summary.endsWith('.'), type)
    const fits = ajv.compile(schema)
    assert.ok(fits(example), `${type}: ${ajv.errorsText(fits.errors)}`)
    assert.ok(!fits({}), `${type}: its schema takes anything`)
  }
  assert.ok(ajv.validateSchema(json.envelope))
})

test('something publishes each event of the catalogue', () => {
  const sources = readSources().filter(({ path }) => path !== 'webhooks/trigger.ts')
  // The mint publishes from its one statement in the database.
  const folder = new URL('../../migrations/', import.meta.url)
  const statements = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8'))
  const text = [...sources.map((file) => file.text), ...statements].join('\n')
  assert.ok(sources.length > 100 && statements.length > 20)
  for (const [type] of eventCatalogue) assert.ok(text.includes(`'${type}'`), `nothing publishes ${type}`)
})

const read = async (agent: Agent, query = '') =>
  (await harness.call('GET', `/api/agents/events${query}`, { key: agent.apiKey })).json as {
    events: { id: string; type: string; data: unknown }[]
    nextCursor: string
    hasMore: boolean
  }

test('polling gives the same envelopes as a delivery, in order, and goes on where it stopped', async () => {
  const agent = await registerIdleAgent(harness)
  const receiver = await startReceiver()
  await subscribe(harness, agent, receiver.url)
  const ids: string[] = []
  for (let n = 0; n < 5; n++) {
    ids.push(await publishEvent(harness, agent, `key_${n}`))
    await harness.advance(10)
  }
  await harness.runJobs()
  await harness.advance(3 * secondMs)
  const start = await read(agent, '?limit=1')
  assert.equal(start.events[0]?.type, 'agent.registered')
  const first = await read(agent, `?limit=3&cursor=${start.nextCursor}`)
  assert.equal(first.hasMore, true)
  const second = await read(agent, `?limit=3&cursor=${first.nextCursor}`)
  assert.equal(second.hasMore, false)
  const polled = [...first.events, ...second.events]
  assert.deepEqual(
    polled.map(({ id }) => id),
    ids,
  )
  const pushed = new Map(
    receiver.received.map(({ headers, body }) => [headers['webhook-id'], JSON.parse(body)]),
  )
  for (const event of polled) assert.deepEqual(event, pushed.get(event.id))
  const nothing = await read(agent, `?cursor=${second.nextCursor}`)
  assert.deepEqual(nothing, { events: [], nextCursor: second.nextCursor, hasMore: false })
  const late = await publishEvent(harness, agent)
  await harness.advance(3 * secondMs)
  assert.deepEqual(
    (await read(agent, `?cursor=${nothing.nextCursor}`)).events.map(({ id }) => id),
    [late],
  )
  const stranger = await registerIdleAgent(harness)
  await harness.advance(3 * secondMs)
  assert.equal(
    (await read(stranger, `?cursor=${start.nextCursor}`)).events.some(({ id }) => ids.includes(id)),
    false,
  )
  for (const query of [
    '?cursor=x',
    '?limit=0',
    '?limit=1001',
    '?since=yesterday',
    `?cursor=${Buffer.from('["2026","a"]').toString('base64url')}`,
  ])
    assert.equal(
      (await harness.call('GET', `/api/agents/events${query}`, { key: agent.apiKey })).status,
      400,
      query,
    )
})

test('an event that commits late is not passed over: the list ends before what may still appear', async () => {
  const agent = await registerIdleAgent(harness)
  await harness.advance(3 * secondMs)
  const { nextCursor: start } = await read(agent)
  const begun = Promise.withResolvers<void>()
  const commit = Promise.withResolvers<void>()
  const publishKey = (keyId: string, hold?: Promise<void>) =>
    inTransaction(harness.ctx, agent.agentId, async (tx) => {
      const id = await publish(tx, {
        agentId: agent.agentId,
        mode: agent.mode,
        type: 'key.revoked',
        subject: keyId,
        data: { keyId },
      })
      begun.resolve()
      await hold
      return id
    })
  const slow = publishKey('key_slow', commit.promise)
  await begun.promise
  const quick = await publishKey('key_quick')
  // Past the margin of 2 s: without a check of open transactions, the quick event would be listed alone. The margin is
  // measured by PostgreSQL's own start times of transactions, which a test cannot move.
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  const between = await read(agent, `?cursor=${start}`)
  assert.deepEqual(between.events, [])
  commit.resolve()
  const slowId = await slow
  const after = await read(agent, `?cursor=${between.nextCursor}`)
  assert.deepEqual(
    after.events.map(({ id }) => id),
    [slowId, quick],
  )
})

test('with a test key every event can be made to happen, with a live key none', async () => {
  const agent = await registerIdleAgent(harness)
  const receiver = await startReceiver()
  await subscribe(harness, agent, receiver.url)
  const trigger = (key: string, type: string) =>
    harness.call('POST', '/api/test/events', { key, body: { type } })
  for (const type of Object.keys(events) as EventType[]) {
    const { status, json } = await trigger(agent.apiKey, type)
    assert.equal(status, 200, type)
    assert.equal(json.type, type)
  }
  await harness.runJobs()
  const bodies = receiver.received.map(({ body }) => JSON.parse(body))
  assert.deepEqual(bodies.map(({ type }) => String(type)).toSorted(), Object.keys(events).toSorted())
  assert.ok(bodies.every(({ test }) => test === true))
  assert.equal((await trigger(agent.apiKey, 'no.such')).status, 400)
  const live = await registerIdleAgent(harness, 'live')
  assert.equal((await trigger(live.apiKey, 'key.revoked')).json.error, 'forbidden')
})
