import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { enrolMember, registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'
import { makeScoredSession } from '../../../test/fixtures/scored-session.ts'

const harness = await startHarness()
const live = await registerConfirmedAgent(harness, 'live', 'agent@example.com')
const sandbox = await harness.register('test')
/** A member with a session of the agent's own: the session of the enrolment is no anchor of the agent. */
const enrolWithSession = async () => {
  const member = await enrolMember(harness, live)
  return { ...member, ...(await makeScoredSession(harness, live, { memberRef: member.memberId })) }
}
const ada = await enrolWithSession()
const ben = await enrolWithSession()
const { json: minted } = await harness.call('POST', '/api/agents/verify', {
  key: live.apiKey,
  body: { sessionId: ada.sessionId },
})

const bind = (key: string, body: object) =>
  harness.call('POST', '/api/agents/bind-transaction', { key, body })
const claimsOf = (jwt: string) =>
  decodeJwt(jwt) as { iss: string; sub: string; test?: true; binding: Record<string, unknown> }
const order = async (key: string, paid: boolean) => {
  const { json } = await harness.call('POST', '/api/agents/order', {
    key,
    body: { taskType: 'wf_photo_label', quantity: 1 },
  })
  if (paid)
    await harness.owner.query(
      "update orders set status = 'funded', funded_at = pohf_now() where order_id = $1",
      [json.orderId],
    )
  return String(json.orderId)
}

type Case = {
  readonly key: 'live' | 'test'
  readonly flag: boolean
  readonly payment: boolean
  readonly session: 'none' | 'ada' | 'ben' | 'unknown'
  readonly member: 'none' | 'ada' | 'unknown'
  readonly work: 'none' | 'paid' | 'unpaid' | 'credential of ada' | 'unknown'
}
const cases: readonly Case[] = (['live', 'test'] as const).flatMap((key) =>
  [false, true].flatMap((flag) =>
    [false, true].flatMap((payment) =>
      (['none', 'ada', 'ben', 'unknown'] as const).flatMap((session) =>
        (['none', 'ada', 'unknown'] as const).flatMap((member) =>
          (['none', 'paid', 'unpaid', 'credential of ada', 'unknown'] as const).map((work) => ({
            key,
            flag,
            payment,
            session,
            member,
            work,
          })),
        ),
      ),
    ),
  ),
)
const nameOf = (one: Case): string =>
  [
    `${one.key} key`,
    one.flag ? 'test:true' : '',
    one.payment ? 'a payment' : '',
    one.session === 'none' ? '' : `session ${one.session}`,
    one.member === 'none' ? '' : `member ${one.member}`,
    one.work === 'none' ? '' : `work ${one.work}`,
  ]
    .filter((part) => part !== '')
    .join(', ')

/** The expected outcome of each combination, written independently of the code. */
const expected = (one: Case): readonly [status: number, code: string, assurance: string] => {
  const isTest = one.key === 'test' || one.flag
  const names = [one.session, one.member, one.work]
  if (names.every((name) => name === 'none'))
    return [400, one.payment || one.flag ? 'missing_human_anchor' : 'missing_payment_anchor', '']
  // An order is known in the mode that it was placed in.
  const workPays = one.work === 'paid' && (one.key === 'test') === isTest
  if (!one.payment && !workPays && !one.flag) return [400, 'missing_payment_anchor', '']
  if (isTest) return [200, '', 'test']
  if (names.includes('unknown')) return [404, 'not_found', '']
  const humans = [one.session, one.member, one.work === 'credential of ada' ? 'ada' : 'none'].filter(
    (name) => name !== 'none',
  )
  if (humans.length === 0) return [400, 'missing_human_anchor', '']
  if (new Set(humans).size > 1) return [400, 'anchor_mismatch', '']
  return [200, '', one.payment ? 'asserted' : 'verified']
}

test('every combination of anchors and keys, one row each', async (t) => {
  const sessions = { none: undefined, ada: ada.sessionId, ben: ben.sessionId, unknown: 'ses_nobody' }
  const members = { none: undefined, ada: ada.memberId, unknown: 'mem_nobody' }
  const rows: string[] = []
  const wanted: string[] = []
  for (const [index, one] of cases.entries()) {
    const key = one.key === 'live' ? live.apiKey : sandbox.apiKey
    const works = {
      none: async () => undefined,
      paid: () => order(key, true),
      unpaid: () => order(key, false),
      'credential of ada': async () => String(minted.credentialId),
      unknown: async () => 'ord_nothing',
    }
    const { status, json } = await bind(key, {
      paymentRef: one.payment ? `invoice ${index}` : undefined,
      sessionId: sessions[one.session],
      memberId: members[one.member],
      workRef: await works[one.work](),
      ...(one.flag ? { test: true } : {}),
    })
    const row = [status, json.error ?? '', json.binding?.assurance ?? '']
    rows.push(`${nameOf(one)}: ${row.join(' ')}`)
    wanted.push(`${nameOf(one)}: ${expected(one).join(' ')}`)
    if (status !== 200) continue
    const claims = claimsOf(json.pohf_jwt)
    assert.equal(claims.binding['assurance'], json.binding.assurance, nameOf(one))
    assert.equal(claims.test === true, json.binding.assurance === 'test', nameOf(one))
    assert.equal(claims.iss.endsWith('/test'), json.binding.assurance === 'test', nameOf(one))
    assert.equal('checked_at' in claims.binding, json.binding.assurance === 'verified', nameOf(one))
  }
  t.diagnostic(`${rows.length} combinations`)
  assert.equal(rows.length, 480)
  assert.deepEqual(rows, wanted)
})

test('a live payment binds one human of an agent, the first one; a test payment binds any number', async () => {
  const body = { paymentRef: `usdc:eip155:8453/tx:0x${'ab'.repeat(32)}` }
  const both = await Promise.all(
    [ada.memberId, ben.memberId].map((memberId) => bind(live.apiKey, { ...body, memberId })),
  )
  assert.deepEqual(
    both.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 409],
  )
  assert.equal(both.find(({ status }) => status === 409)?.json.error, 'payment_ref_bound')
  const [first, second] = both[0]?.status === 200 ? [ada, ben] : [ben, ada]
  const upper = `USDC:eip155:8453/tx:0x${'AB'.repeat(32)}`
  assert.equal((await bind(live.apiKey, { paymentRef: upper, memberId: second.memberId })).status, 409)
  const sameHuman = await bind(live.apiKey, { paymentRef: upper, sessionId: first.sessionId })
  assert.equal(sameHuman.status, 200, 'by another anchor of the same person')
  for (const memberId of ['one', 'two']) {
    assert.equal((await bind(sandbox.apiKey, { ...body, memberId })).status, 200)
    assert.equal((await bind(live.apiKey, { ...body, memberId, test: true })).status, 200)
  }
  const other = await registerConfirmedAgent(harness, 'live', 'other@example.com')
  const cleo = await enrolMember(harness, other)
  assert.equal((await bind(other.apiKey, { ...body, memberId: cleo.memberId })).status, 200, 'per agent')
})

test('the same binding again returns the same bytes, also for a hundred calls at once, with one event', async () => {
  const body = { paymentRef: 'agentpay:visa:4815162342', memberId: ada.memberId }
  const answers = await Promise.all(Array.from({ length: 100 }, () => bind(live.apiKey, body)))
  assert.ok(answers.every(({ status }) => status === 200))
  assert.equal(new Set(answers.map(({ json }) => json.pohf_jwt)).size, 1)
  const again = await bind(live.apiKey, body)
  assert.equal(again.headers['idempotent-replayed'], 'true')
  assert.equal(again.json.pohf_jwt, answers[0]?.json.pohf_jwt)
  const { rows } = await harness.owner.query(
    "select count(*)::int as n from events where type = 'transaction.bound' and subject = $1",
    [again.json.credentialId],
  )
  assert.equal(rows[0].n, 1)
})

test('an order of this service is verified once it is paid, and 422 before, or when it is another agent’s', async () => {
  const memberId = ada.memberId
  const unpaid = await order(live.apiKey, false)
  const paid = await order(live.apiKey, true)
  const refused = await bind(live.apiKey, { paymentRef: `card:${unpaid}`, memberId })
  assert.deepEqual([refused.status, refused.json.error], [422, 'payment_not_settled'])
  assert.equal(refused.json.details[0].code, 'unpaid')
  const answer = await bind(live.apiKey, { paymentRef: `card:${paid}`, memberId })
  assert.deepEqual(answer.json.binding, { paymentRef: `card:${paid}`, rail: 'card', assurance: 'verified' })
  const foreign = await bind(live.apiKey, {
    paymentRef: `card:${await order(sandbox.apiKey, true)}`,
    memberId,
  })
  const unknown = await bind(live.apiKey, { paymentRef: 'card:ord_aa01h2xcejqtf2', memberId })
  assert.equal(foreign.status, 422)
  assert.equal(unknown.json.message, foreign.json.message, 'foreign is like unknown')
  assert.equal((await bind(live.apiKey, { paymentRef: 'x402:pur_aa01h2xcejqtf2', memberId })).status, 422)
})

test('a payment without a lookup is asserted, with no amount or payee', async () => {
  const refs = [
    `usdc:eip155:8453/tx:0x${'cd'.repeat(32)}`,
    'mpp:lightning:77',
    'agentpay:visa:99999',
    'pi_0000aaaa',
    'any text',
  ]
  for (const paymentRef of refs) {
    const { json, text } = await bind(live.apiKey, { paymentRef, memberId: ada.memberId })
    assert.equal(json.binding?.assurance, 'asserted', text)
    assert.deepEqual(
      Object.keys(claimsOf(json.pohf_jwt).binding).toSorted(),
      ['assurance', 'human', 'human_ref', 'payment_ref', 'rail'],
      'nothing of a look-up that never was',
    )
  }
})

test('a payee is for a transaction on a chain', async () => {
  const payee = `0x${'11'.repeat(20)}`
  const memberId = ada.memberId
  const { status, json } = await bind(live.apiKey, { paymentRef: 'pi_0000bbbb', payee, memberId })
  assert.deepEqual([status, json.details[0].code], [400, 'no_chain'])
  assert.equal((await bind(live.apiKey, { paymentRef: 'x', payee: '0x11', memberId })).status, 400)
})
