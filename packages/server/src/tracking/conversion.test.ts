import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { makeScoredSession } from '../../test/fixtures/scored-session.ts'

const harness = await startHarness()
const agent = await harness.register('live')
const stranger = await harness.register('live')
const dayMs = 86_400_000

const convert = (body: unknown, idempotencyKey?: string, key = agent.apiKey) =>
  harness.call('POST', '/api/agents/track/conversion', {
    key,
    body,
    headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
  })
const storedOf = async (sessionId: string) => {
  const { rows } = await harness.owner.query(
    'select name, value, currency, event_id from conversions where session_id = $1 order by at',
    [sessionId],
  )
  return rows
}
const eventsOf = async (sessionId: string) => {
  const { rows } = await harness.owner.query(
    "select event_id, data from events where subject = $1 and type = 'conversion.attributed'",
    [sessionId],
  )
  return rows
}

test('a conversion of a verified view is attributed, stored and announced together', async () => {
  const { vt, sessionId } = await makeScoredSession(harness, agent)
  const answer = await convert({ vt, name: 'purchase', value: 19.9, currency: 'usd' })
  assert.equal(answer.status, 200)
  assert.deepEqual(answer.json, { attributed: true })
  const [row] = await storedOf(sessionId)
  const [event] = await eventsOf(sessionId)
  assert.deepEqual(row, { name: 'purchase', value: 19.9, currency: 'USD', event_id: event.event_id })
  assert.deepEqual(event.data, { sessionId, name: 'purchase', value: 19.9, currency: 'USD' })
})

test('value and currency may be left out', async () => {
  const { vt, sessionId } = await makeScoredSession(harness, agent)
  assert.deepEqual((await convert({ vt, name: 'signup' })).json, { attributed: true })
  assert.deepEqual((await eventsOf(sessionId))[0].data, {
    sessionId,
    name: 'signup',
    value: null,
    currency: null,
  })
})

test("the response to an unknown token and to another tenant's token is the same: not attributed", async () => {
  const { vt, sessionId } = await makeScoredSession(harness, agent)
  const foreign = await convert({ vt, name: 'x' }, undefined, stranger.apiKey)
  const unknown = await convert({ vt: 'anything', name: 'x' }, undefined, stranger.apiKey)
  assert.equal(foreign.status, 200)
  assert.equal(foreign.text, unknown.text)
  assert.deepEqual(foreign.json, { attributed: false })
  assert.deepEqual(await storedOf(sessionId), [])
})

test('a view that was rejected attributes nothing', async () => {
  const { vt } = await makeScoredSession(harness, agent, { verified: false, quality: 0.2 })
  assert.deepEqual((await convert({ vt, name: 'x' })).json, { attributed: false })
})

test('fields of the wrong form are 400', async () => {
  const { vt } = await makeScoredSession(harness, agent)
  for (const body of [
    { vt },
    { name: 'x' },
    { vt, name: 'x', value: '5' },
    { vt, name: 'x', currency: 'dollars' },
  ]) {
    const answer = await convert(body)
    assert.equal(answer.status, 400)
    assert.equal(answer.json.error, 'validation_failed')
  }
})

test('without an Idempotency-Key every call counts', async () => {
  const { vt, sessionId } = await makeScoredSession(harness, agent)
  for (let n = 0; n < 3; n++) await convert({ vt, name: 'click', value: 1 })
  assert.equal((await storedOf(sessionId)).length, 3)
})

test('an Idempotency-Key counts once, from 20 calls at once', async () => {
  const { vt, sessionId } = await makeScoredSession(harness, agent)
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => convert({ vt, name: 'purchase', value: 5, currency: 'EUR' }, 'order-1')),
  )
  assert.ok(answers.every(({ status }) => status === 200 || status === 409))
  assert.ok(answers.some(({ json }) => json.attributed === true))
  assert.equal((await storedOf(sessionId)).length, 1)
  assert.equal((await eventsOf(sessionId)).length, 1)
})

test('the database still counts a key once after the stored answers of a day are gone', async () => {
  const { vt, sessionId } = await makeScoredSession(harness, agent)
  await convert({ vt, name: 'purchase', value: 5 }, 'order-2')
  await harness.advance(2 * dayMs)
  const again = await convert({ vt, name: 'purchase', value: 5 }, 'order-2')
  assert.equal(again.headers['idempotent-replayed'], undefined)
  assert.deepEqual(again.json, { attributed: true })
  assert.equal((await storedOf(sessionId)).length, 1)
  await convert({ vt, name: 'refund', value: -5 }, 'order-3')
  assert.equal((await storedOf(sessionId)).length, 2)
})

test('the longest session id still makes a valid token', async () => {
  const { vt } = await makeScoredSession(harness, agent, { sessionId: '\uffee'.repeat(128) })
  assert.deepEqual((await convert({ vt, name: 'x' })).json, { attributed: true })
})

test('a conversion is attributed for 30 days after the view and not a moment longer', async () => {
  const { vt } = await makeScoredSession(harness, agent)
  await harness.advance(30 * dayMs - 60_000)
  assert.deepEqual((await convert({ vt, name: 'x' })).json, { attributed: true })
  await harness.advance(62_000)
  assert.deepEqual((await convert({ vt, name: 'x' })).json, { attributed: false })
})
