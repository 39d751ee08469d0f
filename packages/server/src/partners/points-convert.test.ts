import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness, type TestResponse } from '../../test/fixtures/harness.ts'
import { registerPartner } from '../../test/fixtures/partner.ts'
import { claimOf, oneToOne, userAccountOf, worthOf } from './rules.ts'

const harness = await startHarness()
const live = await registerPartner(harness)
const other = await registerPartner(harness)
const sandbox = await harness.register('test')

type Body = { userRef: string; points: number; idempotencyKey?: string }
const convert = (body: Body, options: { key?: string; headers?: Record<string, string> } = {}) =>
  harness.call('POST', '/api/partner/points/convert', { key: live.apiKey, body, ...options })
const withHeader = (key: string) => ({ headers: { 'idempotency-key': key } })
const starsHeld = async (userRef: string, agentId: string = live.agentId): Promise<number> => {
  const { rows } = await harness.owner.query<{ balance: string }>(
    "select balance from ledger_accounts where agent_id = $1 and mode = 'live' and account = $2",
    [agentId, userAccountOf(agentId, userRef)],
  )
  return Number(rows[0]?.balance ?? 0)
}
const eventsAbout = async (userRef: string): Promise<unknown[]> => {
  const { rows } = await harness.owner.query(
    "select data from events where type = 'points.converted' and data->>'userRef' = $1 order by event_id",
    [userRef],
  )
  return rows.map((row: { data: unknown }) => row.data)
}
const bodyOf = (answer: TestResponse) => {
  assert.equal(answer.status, 200, answer.text)
  return answer.json as { balance: number; deduplicated?: boolean }
}

void test('points become Stars one to one, fractions round down, and the partner owes them', async () => {
  assert.deepEqual(bodyOf(await convert({ userRef: 'ann', points: 10.9 })), { balance: 10 })
  assert.deepEqual(bodyOf(await convert({ userRef: 'ann', points: 5 })), { balance: 15 })
  assert.equal(await starsHeld('ann'), 15)
  const { rows } = await harness.owner.query(
    "select balance from ledger_accounts where agent_id = $1 and account = 'owed:points'",
    [live.agentId],
  )
  assert.equal(Number(rows[0].balance), -15)
  assert.deepEqual(await eventsAbout('ann'), [
    { userRef: 'ann', points: 10.9, stars: 10, balance: 10 },
    { userRef: 'ann', points: 5, stars: 5, balance: 15 },
  ])
})

void test('points that make less than one Star are refused, in both modes', async () => {
  for (const { apiKey } of [live, sandbox])
    for (const points of [0, 0.5, 0.99]) {
      const { status, json } = await convert({ userRef: 'small', points }, { key: apiKey })
      assert.deepEqual([status, json.error, json.details[0].path], [400, 'validation_failed', 'body.points'])
    }
  assert.deepEqual(await eventsAbout('small'), [])
})

void test('without a key, the same user and points within a day are one call; after that they are another', async () => {
  const call = { userRef: 'daily', points: 7 }
  assert.deepEqual(bodyOf(await convert(call)), { balance: 7 })
  assert.deepEqual(bodyOf(await convert(call)), { balance: 7, deduplicated: true })
  assert.deepEqual(bodyOf(await convert({ ...call, points: 8 })), { balance: 15 })
  assert.deepEqual(bodyOf(await convert(call)), { balance: 7, deduplicated: true }, 'the stored answer')
  await harness.advance(24 * 3_600_000 + 1_000)
  assert.deepEqual(bodyOf(await convert(call)), { balance: 22 })
  assert.equal(await starsHeld('daily'), 22)
})

void test('a key in the body deduplicates calls for ever, and two keys make two conversions', async () => {
  const call = { userRef: 'keyed', points: 3 }
  assert.deepEqual(bodyOf(await convert({ ...call, idempotencyKey: 'k1' })), { balance: 3 })
  assert.deepEqual(bodyOf(await convert({ ...call, idempotencyKey: 'k2' })), { balance: 6 })
  await harness.advance(90 * 86_400_000)
  assert.deepEqual(bodyOf(await convert({ ...call, idempotencyKey: 'k1' })), {
    balance: 3,
    deduplicated: true,
  })
  assert.equal(await starsHeld('keyed'), 6)
})

void test('the header key wins over the key in the body, and its claim outlives the stored HTTP response', async () => {
  const call = { userRef: 'header', points: 4, idempotencyKey: 'ignored' }
  assert.deepEqual(bodyOf(await convert(call, withHeader('h1'))), { balance: 4 })
  const replay = await convert(call, withHeader('h1'))
  assert.equal(replay.headers['idempotent-replayed'], 'true')
  assert.deepEqual(bodyOf(await convert(call, withHeader('h2'))), { balance: 8 })
  await harness.advance(25 * 3_600_000)
  assert.deepEqual(bodyOf(await convert(call, withHeader('h1'))), { balance: 4, deduplicated: true })
  assert.equal(await starsHeld('header'), 8)
})

void test('a key that comes again with another user or number is refused and moves nothing', async () => {
  bodyOf(await convert({ userRef: 'first', points: 1, idempotencyKey: 'reused' }))
  for (const call of [
    { userRef: 'second', points: 1, idempotencyKey: 'reused' },
    { userRef: 'first', points: 2, idempotencyKey: 'reused' },
  ]) {
    const { status, json } = await convert(call)
    assert.equal(status, 422)
    assert.equal(json.error, 'idempotency_key_reused')
  }
  assert.equal(await starsHeld('second'), 0)
  assert.equal(await starsHeld('first'), 1)
})

void test('agents and modes share neither users nor keys', async () => {
  const call = { userRef: 'shared', points: 9, idempotencyKey: 'shared' }
  for (const { apiKey } of [live, other, sandbox])
    assert.deepEqual(bodyOf(await convert(call, { key: apiKey })), { balance: 9 })
  assert.notEqual(userAccountOf(live.agentId, 'x'), userAccountOf(other.agentId, 'x'))
})

void test('no text of a caller is in an account name', async () => {
  await convert({ userRef: 'mail@person.example', points: 1 })
  const { rows } = await harness.owner.query(
    "select account from ledger_accounts where account like 'stars:%'",
  )
  assert.ok(rows.length > 3)
  assert.ok(rows.every((row: { account: string }) => /^stars:user:[0-9a-f]{64}$/.test(row.account)))
})

void test('what does not fit the schema is refused', async () => {
  for (const body of [
    {},
    { userRef: 'a' },
    { userRef: '', points: 1 },
    { userRef: 'x'.repeat(257), points: 1 },
    { userRef: 'a', points: -1 },
    { userRef: 'a', points: '5' },
    { userRef: 'a', points: 1_000_000_001 },
  ]) {
    const { status, json } = await harness.call('POST', '/api/partner/points/convert', {
      key: live.apiKey,
      body,
    })
    assert.equal(status, 400)
    assert.equal(json.error, 'validation_failed')
  }
})

for (const parallel of [2, 20, 100]) {
  const many = <T>(work: () => Promise<T>) => Promise.all(Array.from({ length: parallel }, work))
  const countFresh = (answers: readonly TestResponse[]) =>
    answers.filter((answer) => bodyOf(answer).deduplicated !== true).length

  void test(`${parallel} calls at once with one key in the body convert once`, async () => {
    const userRef = `race-key-${parallel}`
    const answers = await many(() => convert({ userRef, points: 2, idempotencyKey: userRef }))
    assert.equal(countFresh(answers), 1)
    assert.ok(answers.every((answer) => answer.json.balance === 2))
    assert.equal(await starsHeld(userRef), 2)
    assert.equal((await eventsAbout(userRef)).length, 1)
  })

  void test(`${parallel} calls at once without a key convert once, and once again after a day`, async () => {
    const userRef = `race-same-${parallel}`
    const call = () => convert({ userRef, points: 2 })
    assert.equal(countFresh(await many(call)), 1)
    await harness.advance(24 * 3_600_000 + 1_000)
    assert.equal(countFresh(await many(call)), 1)
    assert.equal(await starsHeld(userRef), 4)
  })

  void test(`${parallel} calls at once with one header key convert once; the others repeat or wait`, async () => {
    const userRef = `race-header-${parallel}`
    const answers = await many(() => convert({ userRef, points: 2 }, withHeader(userRef)))
    for (const answer of answers)
      assert.ok(
        answer.status === 200 ? answer.json.balance === 2 : answer.json.error === 'idempotency_in_progress',
      )
    assert.ok(answers.some((answer) => answer.status === 200))
    assert.equal(await starsHeld(userRef), 2)
  })

  void test(`${parallel} different conversions of one user at once all count`, async () => {
    const userRef = `race-sum-${parallel}`
    await Promise.all(
      Array.from({ length: parallel }, async (_, index) =>
        bodyOf(await convert({ userRef, points: 1, idempotencyKey: `${userRef} ${index}` })),
      ),
    )
    assert.equal(await starsHeld(userRef), parallel)
  })
}

void test('the rules of claim and rounding', () => {
  assert.equal(worthOf(999_999_999.999, oneToOne).stars, 999_999_999n)
  assert.equal(claimOf({ userRef: 'a', points: 1, key: 'k' }), 'key:k')
  // Joined without care, ("a1", 2) and ("a", 12) would be one call.
  assert.notEqual(
    claimOf({ userRef: 'a1', points: 2, key: undefined }),
    claimOf({ userRef: 'a', points: 12, key: undefined }),
  )
})
