import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefusal } from '../../test/fixtures/refusal.ts'
import { startHarness } from '../../test/fixtures/harness.ts'
import { grantLimit, registerPartner } from '../../test/fixtures/partner.ts'
import { registerConfirmedAgent } from '../../test/fixtures/people/member.ts'
import * as operators from '../operators/index.ts'

const harness = await startHarness()
const ada = await operators.create(harness.ctx, 'machine', 'Ada')
type Partner = { readonly apiKey: string; readonly agentId: string }

const convert = (partner: Partner, points: number, idempotencyKey?: string) =>
  harness.call('POST', '/api/partner/points/convert', {
    key: partner.apiKey,
    body: { userRef: 'user', points },
    headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
  })
const grant = (agentId: string, body: object) =>
  harness.callOperator('POST', `/operator/agents/${agentId}/points-limit`, {
    key: ada.operatorKey,
    body: { reference: 'contract 1', reason: 'signed contract', ...body },
  })
/** Stars that users of the partner hold or that wait for a payout. */
const starsInUse = async ({ agentId }: Partner): Promise<number> => {
  const { rows } = await harness.owner.query<{ stars: string }>(
    "select coalesce(sum(balance), 0) as stars from ledger_accounts where agent_id = $1 and unit = 'star' and (account like 'stars:%' or account like 'hold:%')",
    [agentId],
  )
  return Number(rows[0]?.stars)
}

test('an agent that only registered converts no points and gets no payout', async () => {
  const stranger = await harness.register('live', 'x@nobody.example')
  assertRefusal(await convert(stranger, 1_000_000_000), 403, 'email_not_confirmed')
  await grantLimit(harness, stranger.agentId, 10)
  assertRefusal(await convert(stranger, 1), 403, 'email_not_confirmed')
  const payout = await harness.call('POST', '/api/partner/payout/request', {
    key: stranger.apiKey,
    body: { userRef: 'user', stars: 1 },
  })
  assertRefusal(payout, 409, 'insufficient_stars')
  assert.equal(await starsInUse(stranger), 0)
})

test('a confirmed partner converts nothing without a limit, and never more than its limit', async () => {
  const partner = await registerConfirmedAgent(harness, 'live', 'partner@example.com')
  assertRefusal(await convert(partner, 1), 409, 'conversion_limit_reached')
  await grantLimit(harness, partner.agentId, 100)
  assert.equal((await convert(partner, 60)).status, 200)
  const refused = await convert(partner, 41)
  assertRefusal(refused, 409, 'conversion_limit_reached')
  assert.match(refused.json.message, /^40 Stars/)
  assert.equal((await convert(partner, 40)).status, 200)
  assertRefusal(await convert(partner, 1), 409, 'conversion_limit_reached')
  assert.equal(await starsInUse(partner), 100)
  // A refused call with a key may be sent again with the same key once the limit is raised.
  assertRefusal(await convert(partner, 5, 'later'), 409, 'conversion_limit_reached')
  await grantLimit(harness, partner.agentId, 5)
  assert.equal((await convert(partner, 5, 'later')).status, 200)
  assert.equal((await convert(partner, 5, 'later')).headers['idempotent-replayed'], 'true')
  assert.equal(await starsInUse(partner), 105)
})

test('100 conversions at once stay within the limit', async () => {
  const partner = await registerPartner(harness, 30)
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => convert(partner, 1, `${index}`)),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 30)
  assert.equal(answers.filter(({ status }) => status === 409).length, 70)
  assert.equal(await starsInUse(partner), 30)
})

test('a test key converts without a limit and without a confirmed address', async () => {
  const sandbox = await harness.register('test')
  assert.deepEqual((await convert(sandbox, 1_000_000)).json, { balance: 1_000_000 })
  assertRefusal(await grant(sandbox.agentId, { stars: 10 }), 403, 'forbidden')
})

test('an operator grants a limit once per reference, takes back what is left, and the audit log has it', async () => {
  const partner = await registerConfirmedAgent(harness, 'live', 'granted@example.com')
  const { agentId } = partner
  assert.deepEqual((await grant(agentId, { stars: 100 })).json, {
    agentId,
    stars: 100,
    limitStars: 100,
    repeated: false,
  })
  assert.deepEqual((await grant(agentId, { stars: 100 })).json, {
    agentId,
    stars: 100,
    limitStars: 100,
    repeated: true,
  })
  assertRefusal(await grant(agentId, { stars: 101 }), 422, 'idempotency_key_reused')
  assert.equal((await convert(partner, 30)).status, 200)
  const back = { reference: 'contract ended', reason: 'contract ended' }
  assertRefusal(await grant(agentId, { ...back, stars: -71 }), 409, 'conversion_limit_reached')
  assert.equal((await grant(agentId, { ...back, stars: -70 })).json.limitStars, 0)
  assertRefusal(await convert(partner, 1), 409, 'conversion_limit_reached')
  assertRefusal(await grant('agt_aa0nobody', { stars: 1 }), 404, 'not_found')
  assertRefusal(await grant(agentId, { stars: 0 }), 400, 'validation_failed')
  const { json } = await harness.callOperator('GET', '/operator/audit?limit=1000', { key: ada.operatorKey })
  assert.equal(json.intact, true)
  assert.deepEqual(
    (json.entries as { action: string; target: string; details: { stars: number } }[])
      .filter(({ action, target }) => action === 'partner.limit' && target === agentId)
      .map(({ details }) => details.stars),
    [100, -70],
  )
})

test('no agent key reaches the operator endpoint', async () => {
  const partner = await registerConfirmedAgent(harness, 'live', 'thief@example.com')
  const body = { stars: 1_000, reference: 'mine', reason: 'none' }
  const path = `/operator/agents/${partner.agentId}/points-limit`
  assert.equal((await harness.callOperator('POST', path, { key: partner.apiKey, body })).status, 401)
  assert.equal((await harness.call('POST', path, { key: partner.apiKey, body })).status, 404)
})
