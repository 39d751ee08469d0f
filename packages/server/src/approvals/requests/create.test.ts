import assert from 'node:assert/strict'
import { test } from 'node:test'
import { strictestPolicy } from '@pohf/protocol'
import { canonicalJson, envelopeHash } from '@pohf/verify/approvals'
import { startHarness } from '../../../test/fixtures/harness.ts'
import {
  easyPolicy,
  invoice,
  invoiceType,
  makeAdministration,
  ruleOf,
} from '../../../test/fixtures/people/approvals.ts'
import { mailsTo } from '../../../test/fixtures/people/console.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'
import { pendingMax } from '../rules.ts'

// Without free seals, an agent has the credits that it was given.
const harness = await startHarness({ FREE_PLANS_PER_MONTH: '0' })
const sandbox = await makeAdministration(harness, 'test')
const live = await makeAdministration(harness, 'live')
await sandbox.administer('POST', 'approval-types/invoice.pay', invoiceType)
await live.administer('POST', 'approval-types/invoice.pay', invoiceType)

let references = 0
const reference = () => {
  references += 1
  return `request-${references}`
}
const silent = { approvers: ['apv_test_silent'] }
const basic = () => ({ type: 'test.action', requestId: reference(), action: invoice, ...silent })
const askedInMinutes = (minutes: number) =>
  new Date(harness.ctx.clock.now().getTime() + minutes * 60_000).toISOString()

test('a request has the envelope that is hashed, with a salt, a type, sorted approvers and defaults', async () => {
  const first = await live.enrol()
  const second = await live.enrol()
  const approvers = [first.approver, second.approver].toSorted()
  const body = { type: 'invoice.pay', action: invoice, requestId: 'invoice 1' }
  const { status, json, text } = await live.request({ ...body, approvers: approvers.toReversed() })
  assert.equal(status, 200, text)
  const { envelope } = json
  assert.equal(json.envelopeHash, await envelopeHash(envelope))
  assert.deepEqual(envelope.approvers, approvers)
  assert.deepEqual(envelope.policy, easyPolicy)
  assert.deepEqual(
    [envelope.audience, envelope.type, envelope.typeVersion, json.status, json.mode],
    [live.agentId, 'invoice.pay', 1, 'pending', 'live'],
  )
  assert.match(envelope.salt, /^[A-Za-z0-9_-]{22}$/)
  assert.equal(Date.parse(envelope.consumeBy) - Date.parse(envelope.decideBy), 3_600_000)
  const { rows } = await harness.owner.query('select challenge from approval_turns where approval_id = $1', [
    json.approvalId,
  ])
  assert.equal(new Set(rows.map((row) => row.challenge)).size, 2)
})

test('the mail to an approver names the agent and the type, and nothing of the action', async () => {
  const { approver, email } = await live.enrol()
  const { json } = await live.request({
    type: 'invoice.pay',
    requestId: reference(),
    action: invoice,
    approvers: [approver],
    title: 'Urgent',
    summary: 'Please hurry',
  })
  const mail = (await mailsTo(harness, email)).at(-1)
  assert.match(mail?.text ?? '', new RegExp(`/approve/${json.approvalId}\\n`))
  assert.match(mail?.text ?? '', /Pay an invoice/)
  for (const secret of ['184200', 'Nordwind', 'Urgent', 'hurry'])
    assert.ok(!`${mail?.subject} ${mail?.text}`.includes(secret), secret)
  const { rows } = await harness.owner.query(
    "select data from events where type = 'approval.requested' and subject = $1",
    [json.approvalId],
  )
  assert.deepEqual(rows[0]?.data.approvers, [approver])
  assert.ok(!JSON.stringify(rows[0]?.data).includes('184200'))
})

test('the same request returns the same approval; a changed one with its reference is refused', async () => {
  const body = basic()
  const first = await sandbox.request(body)
  const reordered = await sandbox.request({
    ...body,
    action: { recipient: invoice.recipient, amount: invoice.amount },
  })
  assert.deepEqual(
    [reordered.json.approvalId, reordered.json.envelopeHash],
    [first.json.approvalId, first.json.envelopeHash],
  )
  for (const change of [
    { action: { ...invoice, amount: '184200.01' } },
    { action: { ...invoice, memo: '' } },
    { type: 'test.other' },
    { approvers: ['apv_test_approves'] },
    { audience: sandbox.agentId },
    { policy: { quorum: 1 } },
    { decideBy: askedInMinutes(30) },
    { title: 'Other words' },
  ])
    assert.equal(
      ruleOf(await sandbox.request({ ...body, ...change })),
      'approval_conflict request_id_reused',
      JSON.stringify(change),
    )
})

test('an equal action with another reference is another approval with another hash', async () => {
  const body = basic()
  const first = await sandbox.request(body)
  const second = await sandbox.request({ ...body, requestId: reference() })
  assert.notEqual(first.json.approvalId, second.json.approvalId)
  assert.notEqual(first.json.envelopeHash, second.json.envelopeHash)
  assert.notEqual(first.json.envelope.salt, second.json.envelope.salt)
})

test('equal requests at once make one approval', async () => {
  const body = basic()
  const answers = await Promise.all(Array.from({ length: 10 }, () => sandbox.request(body)))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  assert.equal(new Set(answers.map(({ json }) => json.approvalId)).size, 1)
})

const withAction = (action: string) =>
  `{"type":"test.action","requestId":"${reference()}","approvers":["apv_test_silent"],"action":${action}}`

test('a key that appears twice is refused on the text of the body, at any depth and however it is written', async () => {
  for (const action of [
    '{"amount":"1","amount":"2"}',
    '{"amount":"1","am\\u006funt":"2"}',
    '{"a":{"b":[{"c":1,"d":2,"c":1}]}}',
    '{"a":"x,{\\"b\\":1","b":1,"b":2}',
  ]) {
    const answer = await sandbox.requestText(withAction(action))
    assertRefusal(answer, 400, 'invalid_json')
    assert.equal(answer.json.details[0].code, 'duplicate_key')
  }
  const twice = `{"action":{"a":1},${withAction('{"a":2}').slice(1)}`
  assert.equal((await sandbox.requestText(twice)).json.details[0].code, 'duplicate_key')
  assert.equal(ruleOf(await sandbox.requestText(withAction('{"a":{"b":1},"c":{"b":1}}'))), 'passes')
})

test('numbers that readers round differently, and texts that they read differently, are refused', async () => {
  const number = 'approval_refused number'
  for (const [value, expected] of [
    ['1e400', number],
    ['-1e400', number],
    ['9007199254740993', number],
    ['9007199254740992', number],
    ['1.5', number],
    ['0.1', number],
    ['-0', number],
    ['-0.0', number],
    ['9007199254740991', 'passes'],
    ['-7', 'passes'],
    ['1e3', 'passes'],
    ['true', 'passes'],
    ['null', 'passes'],
  ] as const)
    assert.equal(ruleOf(await sandbox.requestText(withAction(`{"a":[${value}]}`))), expected, value)
  for (const text of ['"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"']) {
    assert.notEqual(ruleOf(await sandbox.requestText(withAction(`{"a":${text}}`))), 'passes', text)
    assert.notEqual(ruleOf(await sandbox.requestText(withAction(`{${text}:1}`))), 'passes', text)
  }
})

const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`

test('an action is an object of at most 8 levels, 500 values and 32 KB', async () => {
  for (const [action, expected] of [
    ['[]', 'approval_refused object'],
    ['"text"', 'approval_refused object'],
    ['null', 'approval_refused object'],
    ['{}', 'approval_refused empty'],
    [nested(8), 'passes'],
    [nested(9), 'approval_refused depth'],
    [JSON.stringify({ a: Array(498).fill(1) }), 'passes'],
    [JSON.stringify({ a: Array(499).fill(1) }), 'approval_refused size'],
    [JSON.stringify({ a: 'x'.repeat(32_768 - 8) }), 'passes'],
    [JSON.stringify({ a: 'é'.repeat(16_384) }), 'approval_refused size'],
  ] as const)
    assert.equal(ruleOf(await sandbox.requestText(withAction(action))), expected, action.slice(0, 40))
  const long = await sandbox.requestText(withAction(JSON.stringify({ a: 'x'.repeat(32_768) })))
  assert.equal(long.status, 400)
})

/** The rule that refuses a request in the sandbox with this change. */
const ruleWith = async (change: object) => ruleOf(await sandbox.request({ ...basic(), ...change }))
const askToPay = (action: object) => ruleWith({ type: 'invoice.pay', action })

test('an action of a registered type matches its schema', async () => {
  assert.equal(await askToPay(invoice), 'passes')
  const refused = 'approval_refused schema'
  assert.equal(await askToPay({ amount: '1' }), refused)
  assert.equal(await askToPay({ ...invoice, amount: 1 }), refused)
  assert.equal(await askToPay({ ...invoice, amount: '1'.repeat(21) }), refused)
  assert.equal(await askToPay({ ...invoice, recipiеnt: 'with a Cyrillic letter' }), refused)
  assert.equal(await askToPay({ ...invoice, lines: [{ text: 1 }] }), refused)
  assert.equal(await askToPay({ ...invoice, lines: [{}, {}, {}, {}] }), refused)
})

test('a request raises the policy of its type and never lowers it', async () => {
  const strict = { quorum: 2, minSeconds: 10, passkey: 'device_bound', delaySeconds: 60 }
  await sandbox.administer('POST', 'approval-types/wire.send', { ...invoiceType, policy: strict })
  const approvers = ['apv_test_silent', 'apv_test_approves']
  const ask = (policy: object) =>
    sandbox.request({ type: 'wire.send', requestId: reference(), action: invoice, approvers, policy })
  for (const policy of [{ quorum: 1 }, { minSeconds: 9 }, { passkey: 'any' }, { delaySeconds: 0 }]) {
    const answer = await ask(policy)
    assert.equal(ruleOf(answer), 'approval_refused policy_lowered', JSON.stringify(policy))
    assert.equal(answer.json.details[0].path, `body.policy.${Object.keys(policy)[0]}`)
  }
  assert.deepEqual((await ask({ minSeconds: 20 })).json.envelope.policy, { ...strict, minSeconds: 20 })
})

test('without a registered type the strictest policy applies; only the sandbox has a prefix without', async () => {
  const two = [(await live.enrol()).approver, (await live.enrol()).approver]
  const ask = (body: object) =>
    live.request({ action: invoice, requestId: reference(), approvers: two, ...body })
  const asked = await ask({ type: 'shell.run' })
  assert.deepEqual([asked.json.envelope.policy, asked.json.definition], [strictestPolicy, null])
  assert.deepEqual((await ask({ type: 'test.action' })).json.envelope.policy, strictestPolicy)
  assert.equal(ruleOf(await ask({ type: 'shell.run', approvers: two.slice(1) })), 'approval_refused quorum')
  assert.equal(
    ruleOf(await ask({ type: 'test.action', policy: easyPolicy })),
    'approval_refused policy_lowered',
  )
  assert.deepEqual((await sandbox.request(basic())).json.envelope.policy, easyPolicy)
})

test('approvers are enrolled people of this agent, each once, and enough for the quorum', async () => {
  const own = await live.enrol()
  const other = await makeAdministration(harness, 'live')
  const foreign = await other.enrol()
  const tested = await sandbox.enrol()
  const invited = (await live.invite('invited@people.example')).json.approver
  const removed = await live.enrol()
  await live.administer('DELETE', `approvers/${removed.approver}`)
  const ask = async (change: object) =>
    ruleOf(await live.request({ type: 'invoice.pay', action: invoice, requestId: reference(), ...change }))
  const asked = (approvers: readonly string[]) => ask({ approvers })
  assert.equal(await asked([own.approver]), 'passes')
  assert.equal(await asked(['apv_nobody']), 'approval_refused approver_unknown')
  assert.equal(await asked([own.approver, foreign.approver]), 'approval_refused approver_unknown')
  assert.equal(await asked([tested.approver]), 'approval_refused approver_unknown')
  assert.equal(await asked([removed.approver]), 'approval_refused approver_unknown')
  assert.equal(await asked(['apv_test_approves']), 'approval_refused approver_unknown')
  assert.equal(await asked([invited]), 'approval_refused approver_not_enrolled')
  assert.equal(await asked([own.approver, own.approver]), 'approval_refused approver_repeated')
  assert.equal(await ask({ approvers: [own.approver], policy: { quorum: 2 } }), 'approval_refused quorum')
  assert.equal(await ask({}), 'approval_refused approvers_or_group')
  assert.equal(await ask({ approvers: [own.approver], group: 'x' }), 'approval_refused approvers_or_group')
})

test('an audience is an agent of the same mode', async () => {
  const other = await makeAdministration(harness, 'test')
  assert.equal(await ruleWith({ audience: other.agentId }), 'passes')
  assert.equal(await ruleWith({ audience: live.agentId }), 'approval_refused audience_unknown')
  assert.equal(await ruleWith({ audience: 'agt_nobody' }), 'approval_refused audience_unknown')
})

test('decisions take 1 minute to 7 days, and what is approved is consumed within 7 more', async () => {
  const day = 1_440
  assert.equal(await ruleWith({ decideBy: askedInMinutes(0.5) }), 'approval_refused decide_by')
  assert.equal(await ruleWith({ decideBy: askedInMinutes(-5) }), 'approval_refused decide_by')
  assert.equal(await ruleWith({ decideBy: askedInMinutes(7 * day + 1) }), 'approval_refused decide_by')
  const decideBy = askedInMinutes(60)
  assert.equal(await ruleWith({ decideBy, consumeBy: askedInMinutes(59) }), 'approval_refused consume_by')
  assert.equal(
    await ruleWith({ decideBy, consumeBy: askedInMinutes(7 * day + 61) }),
    'approval_refused consume_by',
  )
  const short = { decideBy, consumeBy: askedInMinutes(61), policy: { delaySeconds: 300 } }
  assert.equal(await ruleWith(short), 'approval_refused consume_by')
  assert.equal(
    await ruleWith({ decideBy, consumeBy: askedInMinutes(66), policy: { delaySeconds: 300 } }),
    'passes',
  )
})

test('a live request without a credit is refused, because its decisions could not be paid', async () => {
  const poor = await makeAdministration(harness, 'live')
  const { approver } = await poor.enrol()
  await poor.administer('POST', 'approval-types/invoice.pay', invoiceType)
  await harness.owner.query(
    "update ledger_accounts set balance = 0 where agent_id = $1 and account = 'credits'",
    [poor.agentId],
  )
  const body = { type: 'invoice.pay', action: invoice, requestId: reference(), approvers: [approver] }
  assertRefusal(await poor.request(body), 402, 'insufficient_credits')
})

test('at most 1,000 requests of an agent wait at once', async () => {
  const busy = await makeAdministration(harness, 'test')
  const { json } = await busy.request(basic())
  await harness.owner.query(
    `insert into approvals (agent_id, mode, approval_id, request_id, audience, type, type_version, envelope,
       envelope_hash, request_hash, approvers, quorum, decide_by, consume_by)
     select agent_id, mode, approval_id || n, request_id || n, audience, type, type_version, envelope,
       envelope_hash, request_hash, approvers, quorum, decide_by, consume_by
     from approvals, generate_series(1, $2::int) n where approval_id = $1`,
    [json.approvalId, pendingMax - 2],
  )
  assert.equal(ruleOf(await busy.request(basic())), 'passes')
  assert.equal(ruleOf(await busy.request(basic())), 'approval_conflict too_many_pending')
})

const askOf = async (approvers: readonly string[]) => (await sandbox.request({ ...basic(), approvers })).json

test('simulated approvers decide at once in the sandbox', async () => {
  const approved = await askOf(['apv_test_approves'])
  assert.deepEqual([approved.status, approved.decisions[0].decision], ['approved', 'approve'])
  assert.match(approved.decisions[0].pohf_jwt, /^ey/)
  assert.equal((await askOf(['apv_test_denies'])).status, 'denied')
  const silence = await askOf(['apv_test_silent'])
  assert.deepEqual([silence.status, silence.decisions], ['pending', []])
})

test('what is stored is the canonical JSON, and nobody changes it', async () => {
  const { json } = await sandbox.request(basic())
  const { rows } = await harness.owner.query('select envelope from approvals where approval_id = $1', [
    json.approvalId,
  ])
  assert.equal(rows[0]?.envelope, canonicalJson(json.envelope))
  const changes = [
    "approvers = '{apv_x}'",
    'quorum = 2',
    "audience = 'agt_x'",
    "known_bad = 'x'",
    "envelope = '{}'",
    "type = 'test.other'",
    'type_version = 7',
    "request_id = 'another'",
  ]
  for (const change of changes)
    await assert.rejects(
      harness.owner.query(`update approvals set ${change} where approval_id = $1`, [json.approvalId]),
      /does not change/,
    )
})
