import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../server/test/fixtures/harness.ts'
import { createClient, PohfError, PohfUnreachable } from '../src/index.ts'

const harness = await startHarness()
const baseUrl = await harness.app.api.listen({ port: 0, host: '127.0.0.1' })
const { apiKey, agentId } = await harness.register()

const waits: number[] = []
const wait = async (ms: number) => void waits.push(ms)

/** Fails as often as asked, before or after the service has seen the call. */
const flaky = (failures: number, where: 'before' | 'after') => {
  const sent: Headers[] = []
  let left = failures
  const through: typeof fetch = async (input, init) => {
    sent.push(new Headers(init?.headers))
    if (left > 0 && where === 'before') {
      left -= 1
      throw new TypeError('the line is cut')
    }
    const response = await fetch(input, init)
    if (left > 0) {
      left -= 1
      throw new TypeError('the line is cut')
    }
    return response
  }
  return { through, sent }
}

test('a credential in one call, and the page of sessions by path and query', async () => {
  const client = createClient({ baseUrl, apiKey })
  const answer = await client.credentials.verify({ sessionId: 'from-the-sdk' })
  assert.equal(answer.verified, true)
  const metrics = await client.tracking.metrics({ limit: '5' })
  assert.equal(metrics.rows[0]?.sessionId, 'from-the-sdk')
  assert.equal((await client.agents.profile()).agentId, agentId)
})

test('a refusal says its code, its page and what to buy', async () => {
  const client = createClient({ baseUrl, apiKey: (await harness.register('live')).apiKey })
  await assert.rejects(client.credentials.verify({ sessionId: 'nobody' }), (error) => {
    assert.ok(error instanceof PohfError)
    assert.equal(error.code, 'insufficient_credits')
    assert.equal(error.status, 402)
    assert.match(error.buy ?? '', /\/buy$/)
    assert.match(error.docs ?? '', /insufficient_credits/)
    return true
  })
})

test('a floor of the call refuses with the ways to step up, and the table of prices is one call away', async () => {
  const client = createClient({ baseUrl, apiKey })
  await assert.rejects(
    client.credentials.verify({ sessionId: 'weak', minAssurance: 'high', minForging: 'F1' }),
    (error) => {
      assert.ok(error instanceof PohfError)
      const [detail] = error.details
      assert.deepEqual([error.code, detail?.code, detail?.stepUp], ['session_rejected', 'below_policy', []])
      return true
    },
  )
  const { table } = await client.credentials.forgingTable()
  assert.equal(table.split('.').length, 3)
})

test('a lost answer is requested again under the same key, and the call acts once', async () => {
  const before = await createClient({ baseUrl, apiKey }).credits.balance()
  const { through, sent } = flaky(2, 'after')
  const client = createClient({ baseUrl, apiKey, fetch: through, wait })
  assert.ok((await client.credits.buy({ pack: 'starter' })).checkoutUrl)
  assert.equal(sent.length, 3)
  assert.equal(waits.length, 2)
  assert.equal(new Set(sent.map((headers) => headers.get('idempotency-key'))).size, 1)
  const after = await client.credits.balance()
  const [pack] = before.packs.filter(({ pack }) => pack === 'starter')
  assert.equal(after.balance - before.balance, pack?.credits)
})

test('a public call that could act twice is sent once', async () => {
  const { through, sent } = flaky(1, 'before')
  const client = createClient({ baseUrl, fetch: through, wait })
  await assert.rejects(
    client.agents.register({ name: 'Once', contactEmail: 'once@example.com', mode: 'test' }),
    PohfUnreachable,
  )
  assert.equal(sent.length, 1)
})

test('a missing path field is reported before anything is sent', async () => {
  const { through, sent } = flaky(0, 'before')
  const client = createClient({ baseUrl, apiKey, fetch: through })
  await assert.rejects(client.vhh.series({ code: '' }), TypeError)
  assert.equal(sent.length, 0)
})

test('an answer longer than 16 MiB is refused, also where it declares no length, and is not requested again', async () => {
  let left = 20
  let calls = 0
  const chunk = new TextEncoder().encode(' '.repeat(1_048_576))
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (left === 0) return controller.close()
    left -= 1
    controller.enqueue(chunk)
  }
  const long: typeof fetch = async () => {
    calls += 1
    return new Response(new ReadableStream({ pull }))
  }
  const client = createClient({ baseUrl, apiKey, fetch: long, wait })
  await assert.rejects(client.credits.balance(), { name: 'PohfUnreachable', message: /too long/ })
  assert.equal(calls, 1)
  assert.ok(left > 0, 'the rest was read')
})

test('a refusal until the next hour is not slept through', async () => {
  let calls = 0
  const busy: typeof fetch = async () => {
    calls += 1
    const body = { error: 'network_busy', message: 'later', retryable: true }
    return Response.json(body, { status: 409, headers: { 'retry-after': '2400' } })
  }
  const client = createClient({ baseUrl, apiKey, fetch: busy, wait })
  await assert.rejects(client.credentials.verify({ sessionId: 'x' }), { code: 'network_busy' })
  assert.equal(calls, 1)
})
