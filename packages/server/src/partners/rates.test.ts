import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { registerPartner } from '../../test/fixtures/partner.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'
import * as operators from '../operators/index.ts'
import { oneToOne, userAccountOf, worthOf } from './rules.ts'

const harness = await startHarness()
const ada = await operators.create(harness.ctx, 'machine', 'Ada')
type Partner = { readonly agentId: string; readonly apiKey: string }

const setRate = (agentId: string, stars: number, points: number) =>
  harness.callOperator('POST', `/operator/agents/${agentId}/points-rate`, {
    key: ada.operatorKey,
    body: { stars, points, reason: 'contract 2' },
  })
const convert = (partner: Partner, userRef: string, points: number, idempotencyKey?: string) =>
  harness.call('POST', '/api/partner/points/convert', {
    key: partner.apiKey,
    body: { userRef, points, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) },
  })
const starsOf = async ({ agentId }: Partner, userRef: string): Promise<number> => {
  const { rows } = await harness.owner.query(
    'select balance from ledger_accounts where agent_id = $1 and account = $2',
    [agentId, userAccountOf(agentId, userRef)],
  )
  return Number(rows[0]?.balance ?? 0)
}
const statement = (partner: Partner, query: string) =>
  harness.call('GET', `/api/partner/statement?${query}`, { key: partner.apiKey })
const windowOf = (days: number) => {
  const now = harness.ctx.clock.now().getTime()
  const at = (ms: number) => encodeURIComponent(new Date(now + ms).toISOString())
  return `since=${at(-days * 86_400_000)}&until=${at(60_000)}`
}

const rate = (stars: bigint, points: bigint) => ({ stars, points })

test('points are worth an exact fraction, rounded down, with what is dropped', () => {
  for (const [points, at, stars, dropped] of [
    [10, oneToOne, 10n, '0'],
    [2.9, oneToOne, 2n, '9/10'],
    [10, rate(1n, 3n), 3n, '1/3'],
    [0.1, rate(30n, 1n), 3n, '0'],
    // By floating point, 1.1 * 30 is 33.00000000000001 and 0.7 * 10 is 7.000000000000001 or less.
    [1.1, rate(30n, 1n), 33n, '0'],
    [0.7, rate(10n, 1n), 7n, '0'],
    [999_999_999.999, rate(1_000_000n, 1n), 999_999_999_999_000n, '0'],
    [1, rate(1n, 1_000_000n), 0n, '1/1000000'],
  ] as const)
    assert.deepEqual(worthOf(points, at), { stars, dropped }, `${points}`)
})

test('an operator sets the rate of a partner; earlier conversions keep theirs, and the audit log has it', async () => {
  const partner = await registerPartner(harness)
  assert.deepEqual((await convert(partner, 'u', 10, 'before')).json, { balance: 10 })
  const set = await setRate(partner.agentId, 2, 3)
  assert.deepEqual(set.json, {
    agentId: partner.agentId,
    stars: 2,
    points: 3,
    before: { stars: 1, points: 1 },
  })
  assert.deepEqual((await convert(partner, 'u', 10, 'after')).json, {
    balance: 16,
    stars: 6,
    rate: { stars: 2, points: 3 },
    dropped: '2/3',
  })
  const again = await convert(partner, 'u', 10, 'after')
  assert.deepEqual([again.json.balance, again.json.stars, again.json.deduplicated], [16, 6, true])
  assert.deepEqual((await convert(partner, 'u', 10, 'before')).json, { balance: 10, deduplicated: true })
  assertRefusal(await convert(partner, 'u', 1), 400, 'validation_failed')
  assertRefusal(await setRate('agt_aa0nobody', 1, 1), 404, 'not_found')
  for (const [stars, points] of [
    [0, 1],
    [1, 0],
    [1.5, 1],
    [1_000_001, 1],
  ] as const)
    assertRefusal(await setRate(partner.agentId, stars, points), 400, 'validation_failed')
  const { json } = await harness.callOperator('GET', '/operator/audit?limit=1000', { key: ada.operatorKey })
  assert.equal(json.intact, true)
  assert.equal(json.entries.filter(({ action }: { action: string }) => action === 'partner.rate').length, 1)
})

test('a repeated call gets its first balance, also at a rate at which the points are worth nothing', async () => {
  const partner = await registerPartner(harness)
  assert.deepEqual((await convert(partner, 'u', 3, 'once')).json, { balance: 3 })
  assert.deepEqual((await convert(partner, 'v', 3)).json, { balance: 3 })
  await setRate(partner.agentId, 1, 10)
  const again = await convert(partner, 'u', 3, 'once')
  assert.equal(again.status, 200, again.text)
  assert.deepEqual(again.json, { balance: 3, deduplicated: true })
  assert.deepEqual((await convert(partner, 'v', 3)).json, { balance: 3, deduplicated: true })
  assertRefusal(await convert(partner, 'u', 3, 'twice'), 400, 'validation_failed')
  assert.equal(await starsOf(partner, 'u'), 3)
})

test('a statement has every conversion and payout of the window once, with running totals, as safe CSV', async () => {
  const partner = await registerPartner(harness)
  await convert(partner, '=HYPERLINK("http://x")', 1.5, 'one')
  await setRate(partner.agentId, 3, 2)
  await convert(partner, 'user, "two"', 2, 'two')
  await convert(partner, 'same', 4)
  await harness.advance(25 * 3_600_000)
  await convert(partner, 'same', 4)
  await harness.call('POST', '/api/partner/payout/request', {
    key: partner.apiKey,
    body: { userRef: 'same', stars: 5 },
  })
  const { status, text, headers } = await statement(partner, windowOf(3))
  assert.equal(status, 200, text)
  assert.match(String(headers['content-type']), /^text\/csv/)
  const [head, ...lines] = text.trimEnd().split('\r\n')
  assert.match(head ?? '', /^at,kind,reference,userRef,points,rateStars,ratePoints,stars,dropped/)
  assert.equal(lines.length, 5)
  assert.ok(lines[0]?.includes(`"'=HYPERLINK(""http://x"")"`), lines[0])
  const ends = lines.map((line) => line.split(',').slice(-4).join(','))
  assert.deepEqual(ends, ['1.5,1,0,0', '3.5,4,0,0', '7.5,10,0,0', '11.5,16,0,0', '11.5,16,5,0'])
  for (const query of [
    '',
    'since=2026-01-01',
    'since=2026-01-02&until=2026-01-01',
    'since=2026-01-01&until=2026-06-01',
  ])
    assertRefusal(await statement(partner, query), 400, 'validation_failed')
  const other = await registerPartner(harness)
  assert.equal((await statement(other, windowOf(1))).text.trimEnd().split('\r\n').length, 1)
})

test('a statement of more lines than a page has each once, also where many have one time', async () => {
  const partner = await registerPartner(harness)
  await harness.owner.query(
    `insert into partner_conversions (agent_id, mode, claim, claimed_at, user_ref, points, stars)
     select $1, 'live', 'key:' || i, date_trunc('hour', pohf_now()) + (i / 300) * interval '1 millisecond', 'u', 1, 1 from generate_series(1, 1300) i`,
    [partner.agentId],
  )
  const lines = (await statement(partner, windowOf(1))).text.trimEnd().split('\r\n').slice(1)
  assert.equal(lines.length, 1_300)
  assert.equal(new Set(lines.map((line) => line.split(',')[2])).size, 1_300)
  assert.match(lines.at(-1) ?? '', /,1300,1300,0,0$/)
})

test('the reviewer of a payout sees how fast the user gains and withdraws', async () => {
  const partner = await registerPartner(harness)
  await convert(partner, 'fast', 10, 'a')
  await convert(partner, 'fast', 20, 'b')
  const { json } = await harness.call('POST', '/api/partner/payout/request', {
    key: partner.apiKey,
    body: { userRef: 'fast', stars: 30 },
  })
  const list = await harness.callOperator('GET', '/operator/payouts?status=queued&limit=200', {
    key: ada.operatorKey,
  })
  const shown = list.json.payouts.find(({ requestId }: { requestId: string }) => requestId === json.requestId)
  const { firstSeenAt, ...activity } = shown.activity
  assert.deepEqual(activity, {
    conversionsDay: 2,
    starsDay: 30,
    conversionsWeek: 2,
    starsWeek: 30,
    payoutsWeek: 1,
    partnerPayoutsDay: 1,
  })
  assert.ok(Date.parse(firstSeenAt) > 0)
  assert.equal(shown.risk, null)
})

test('connections that are cut at any moment, and retries: the balance is exact', async () => {
  const partner = await registerPartner(harness)
  await harness.app.api.listen({ host: '127.0.0.1', port: 0 })
  const [address] = harness.app.api.addresses()
  const port = typeof address === 'object' ? address.port : 0
  /** Sends the call and cuts the connection after so many milliseconds; true where the answer arrived before. */
  const send = (body: string, cutMs: number): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1')
      let text = ''
      const timer = setTimeout(() => {
        socket.resetAndDestroy()
        resolve(false)
      }, cutMs)
      socket.on('error', () => undefined)
      socket.on('data', (chunk) => {
        text += chunk.toString()
        if (!text.includes('"balance"')) return
        clearTimeout(timer)
        socket.destroy()
        resolve(true)
      })
      socket.write(
        `POST /api/partner/points/convert HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${partner.apiKey}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      )
    })
  let [cut, total] = [0, 0]
  const convertUntilAnswered = async (index: number): Promise<void> => {
    const points = 1 + (index % 7)
    const body = JSON.stringify({ userRef: 'cut', points, idempotencyKey: `cut ${index}` })
    for (
      let attempt = 0;
      !(await send(body, attempt < 4 ? 1 + ((index * 7 + attempt * 5) % 25) : 20_000));
      attempt++
    )
      cut += 1
    total += points
  }
  for (let from = 0; from < 120; from += 12)
    await Promise.all(Array.from({ length: 12 }, (_, index) => convertUntilAnswered(from + index)))
  assert.ok(cut >= 50, `${cut} connections were cut`)
  assert.equal(await starsOf(partner, 'cut'), total)
  const last = await convert(partner, 'cut', 1, 'cut 0')
  assert.equal(last.json.deduplicated, true)
})
