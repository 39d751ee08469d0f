import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { enrolMember, registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'

const limit = 20
const harness = await startHarness({ BINDINGS_PER_MONTH: String(limit) })
type Agent = { readonly apiKey: string; readonly agentId: string }
const bind = (
  agent: Agent,
  memberId: string,
  body: object = { paymentRef: `agentpay:visa:${randomUUID()}` },
) => harness.call('POST', '/api/agents/bind-transaction', { key: agent.apiKey, body: { memberId, ...body } })
const balanceOf = async (agent: Agent) =>
  (await harness.call('GET', '/api/agents/credits/balance', { key: agent.apiKey })).json
const countBindings = async ({ agentId }: Agent): Promise<number> => {
  const { rows } = await harness.owner.query<{ n: number }>(
    "select count(*)::int as n from credentials where agent_id = $1 and kind = 'binding' and mode = 'live'",
    [agentId],
  )
  return rows[0]?.n ?? -1
}

test('an agent whose address is not confirmed makes no live binding', async () => {
  const stranger = await harness.register('live', 'z@nobody.example')
  const member = await enrolMember(harness, stranger)
  const answers = await Promise.all(Array.from({ length: 25 }, () => bind(stranger, member.memberId)))
  for (const answer of answers) assertRefusal(answer, 403, 'email_not_confirmed')
  assert.equal(await countBindings(stranger), 0)
  const rehearsal = await bind(stranger, member.memberId, { test: true })
  assert.equal(rehearsal.json.binding.assurance, 'test')
})

test('bindings draw on a monthly allowance: beyond it 429 until the next month, and never a credit', async () => {
  const agent = await registerConfirmedAgent(harness, 'live', 'agent@example.com')
  const { memberId } = await enrolMember(harness, agent)
  const before = await balanceOf(agent)
  const kept = { paymentRef: 'agentpay:visa:kept' }
  const first = await bind(agent, memberId, kept)
  assert.equal(first.status, 200, first.text)
  const answers = await Promise.all(Array.from({ length: limit + 30 }, () => bind(agent, memberId)))
  assert.equal(answers.filter(({ status }) => status === 200).length, limit - 1)
  const refused = answers.filter(({ status }) => status !== 200)
  const resetsAt = Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() + 1, 1)
  for (const answer of refused) {
    assertRefusal(answer, 429, 'rate_limited')
    const seconds = Number(answer.headers['retry-after'])
    assert.ok(Math.abs(seconds - (resetsAt - Date.now()) / 1_000) < 120, String(seconds))
    assert.ok(answer.json.message.includes(new Date(resetsAt).toISOString()), answer.json.message)
  }
  assert.equal(await countBindings(agent), limit)
  assert.deepEqual(await balanceOf(agent), before, 'a binding costs no credit and no free verification')

  const again = await bind(agent, memberId, kept)
  assert.equal(again.json.pohf_jwt, first.json.pohf_jwt, 'a repeat is answered and draws nothing')
  assert.equal((await bind(agent, memberId, { test: true })).status, 200, 'rehearsals are free')
  const { rows } = await harness.owner.query('select used from binding_allowances where agent_id = $1', [
    agent.agentId,
  ])
  assert.deepEqual(rows, [{ used: limit }])

  await harness.advance(resetsAt - Date.now() + 60_000)
  const renewed = await enrolMember(harness, agent)
  assert.equal((await bind(agent, renewed.memberId)).status, 200, 'the next month has its own allowance')
})

test('a refused binding draws nothing', async () => {
  const agent = await registerConfirmedAgent(harness, 'live', 'careful@example.com')
  const [ada, ben] = [await enrolMember(harness, agent), await enrolMember(harness, agent)]
  const body = { paymentRef: 'agentpay:visa:once' }
  assert.equal((await bind(agent, ada.memberId, body)).status, 200)
  assertRefusal(await bind(agent, ben.memberId, body), 409, 'payment_ref_bound')
  assertRefusal(await bind(agent, 'mem_nobody'), 404, 'not_found')
  const { rows } = await harness.owner.query('select used from binding_allowances where agent_id = $1', [
    agent.agentId,
  ])
  assert.deepEqual(rows, [{ used: 1 }])
})
