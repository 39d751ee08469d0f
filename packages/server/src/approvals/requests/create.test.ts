import assert from 'node:assert/strict'
import { test } from 'node:test'
import { strictestPolicy } from '@pohf/protocol'
import { canonicalJson, envelopeHash } from '@pohf/verify/approvals'
import { attacksIn } from '../../../../verify/test/approvals/run-attack.ts'
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
import { pendingMax, requestMailsPerHourMax } from '../rules.ts'

const attack = attacksIn(import.meta.url)
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

test('an agent sends an approver at most 3 mails an hour and half of the daily limit; every request is listed', async () => {
  const flooding = await makeAdministration(harness, 'live')
  await flooding.administer('POST', 'approval-types/invoice.pay', invoiceType)
  const { approver, email, browser } = await flooding.enrol()
  const mails = async () => (await mailsTo(harness, email)).filter((mail) => mail.text.includes('/approve/'))
  const ask = async (count: number) => {
    const body = { type: 'invoice.pay', action: invoice, approvers: [approver] }
    for (let n = 0; n < count; n += 1)
      assert.equal(ruleOf(await flooding.request({ ...body, requestId: reference() })), 'passes')
  }
  // Not over the end of an hour.
  if (harness.ctx.clock.now().getUTCMinutes() === 59) await harness.advance(60_000)
  await ask(requestMailsPerHourMax + 2)
  assert.equal((await mails()).length, requestMailsPerHourMax)
  const { rowCount } = await harness.owner.query(
    "update mail_counts set kind = 'an earlier hour' where recipient_tag = $1 and kind like '% hour %'",
    [approver],
  )
  assert.equal(rowCount, 1)
  await ask(4)
  const half = Math.ceil(harness.ctx.config.MAILS_PER_RECIPIENT_PER_DAY / 2)
  assert.equal((await mails()).length, Math.min(half, 2 * requestMailsPerHourMax))
  const listed = await harness.call('GET', '/api/approve/approvals', {
    headers: { origin: browser.origin, cookie: browser.cookie() ?? '' },
  })
  assert.equal(listed.json.waiting.length, requestMailsPerHourMax + 6)
})

attack('reordered-keys', async (refused) => {
  const body = basic()
  const first = await sandbox.request(body)
  const reordered = await sandbox.request({
    ...body,
    action: { recipient: invoice.recipient, amount: invoice.amount },
  })
  assert.equal(reordered.json.envelopeHash, first.json.envelopeHash)
  const isSame = reordered.json.approvalId === first.json.approvalId
  refused(isSame ? 'equal hash, same approval' : reordered.text)
})

attack('changed-argument', async (refused) => {
  const body = basic()
  await sandbox.request(body)
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
    refused(ruleOf(await sandbox.request({ ...body, ...change })))
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

attack('duplicated-keys', async (refused) => {
  for (const action of [
    '{"amount":"1","amount":"2"}',
    '{"amount":"1","am\\u006funt":"2"}',
    '{"a":{"b":[{"c":1,"d":2,"c":1}]}}',
    '{"a":"x,{\\"b\\":1","b":1,"b":2}',
  ]) {
    const answer = await sandbox.requestText(withAction(action))
    assertRefusal(answer, 400, 'invalid_json')
    refused(ruleOf(answer))
  }
  const twice = `{"action":{"a":1},${withAction('{"a":2}').slice(1)}`
  refused(ruleOf(await sandbox.requestText(twice)))
  assert.equal(ruleOf(await sandbox.requestText(withAction('{"a":{"b":1},"c":{"b":1}}'))), 'passes')
})

const askText = async (action: string) => ruleOf(await sandbox.requestText(withAction(action)))

attack('number-forms', async (refused) => {
  for (const value of ['9007199254740992', '100000000000000000000', '1.5', '0.1', '-0', '-0.0'])
    refused(await askText(`{"a":[${value}]}`))
  for (const value of ['9007199254740991', '-7', '1e3', '1.0', 'true', 'null'])
    assert.equal(await askText(`{"a":[${value}]}`), 'passes', value)
})

attack('altered-numbers', async (refused) => {
  for (const value of [
    '9007199254740990.6',
    '0.99999999999999999',
    '9007199254740993',
    '1e400',
    '-1e400',
    '1e-400',
    '184200.000000000000000001',
  ]) {
    const answer = await sandbox.requestText(withAction(`{"a":[{"b":${value}}]}`))
    assertRefusal(answer, 400, 'invalid_json')
    refused(ruleOf(answer))
  }
  // Beside the action too, and where an administrator sends the request.
  const outside = withAction('{"a":1}').replace('{', '{"policy":{"minSeconds":0.99999999999999999},')
  refused(ruleOf(await sandbox.requestText(outside)))
  const raw = withAction('{"a":9007199254740990.6}').replace('{', '{"reason":"x",')
  refused(ruleOf(await harness.call('POST', '/api/agents/approval-known-bad', { key: sandbox.bearer, raw })))
})

const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`

test('an action is an object with a field', async () => {
  for (const action of ['[]', '"text"', 'null'])
    assert.equal(await askText(action), 'approval_refused object')
  assert.equal(await askText('{}'), 'approval_refused empty')
})

attack('deep-action', async (refused) => {
  assert.equal(await askText(nested(8)), 'passes')
  refused(await askText(nested(9)))
})

attack('long-value', async (refused) => {
  for (const action of [{ a: Array(498).fill(1) }, { a: 'x'.repeat(32_768 - 8) }])
    assert.equal(await askText(JSON.stringify(action)), 'passes')
  for (const action of [{ a: Array(499).fill(1) }, { a: 'x'.repeat(32_768) }, { a: 'é'.repeat(16_384) }])
    refused(await askText(JSON.stringify(action)))
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
  assert.equal(await askToPay({ ...invoice, lines: [{ text: 1 }] }), refused)
  assert.equal(await askToPay({ ...invoice, lines: [{}, {}, {}, {}] }), refused)
})

attack('look-alike-field', async (refused) =>
  refused(await askToPay({ ...invoice, 'recipi\u0435nt': 'with a Cyrillic letter' })),
)

attack('policy-lowered', async (refused) => {
  const strict = { quorum: 2, minSeconds: 10, passkey: 'device_bound', delaySeconds: 60 }
  await sandbox.administer('POST', 'approval-types/wire.send', { ...invoiceType, policy: strict })
  const approvers = ['apv_test_silent', 'apv_test_approves']
  const ask = (policy: object) =>
    sandbox.request({ type: 'wire.send', requestId: reference(), action: invoice, approvers, policy })
  for (const policy of [{ quorum: 1 }, { minSeconds: 9 }, { passkey: 'any' }, { delaySeconds: 0 }]) {
    const answer = await ask(policy)
    refused(ruleOf(answer))
    assert.equal(answer.json.details[0].path, `body.policy.${Object.keys(policy)[0]}`)
  }
  assert.deepEqual((await ask({ minSeconds: 20 })).json.envelope.policy, { ...strict, minSeconds: 20 })
})

attack('unregistered-type', async (refused) => {
  const two = [(await live.enrol()).approver, (await live.enrol()).approver]
  const ask = (body: object) =>
    live.request({ action: invoice, requestId: reference(), approvers: two, ...body })
  const asked = await ask({ type: 'shell.run' })
  assert.deepEqual([asked.json.envelope.policy, asked.json.definition], [strictestPolicy, null])
  assert.deepEqual((await ask({ type: 'test.action' })).json.envelope.policy, strictestPolicy)
  assert.equal(ruleOf(await ask({ type: 'shell.run', approvers: two.slice(1) })), 'approval_refused quorum')
  refused(ruleOf(await ask({ type: 'test.action', policy: easyPolicy })))
  assert.deepEqual((await sandbox.request(basic())).json.envelope.policy, easyPolicy)
})

const askLive = async (change: object) =>
  ruleOf(await live.request({ type: 'invoice.pay', action: invoice, requestId: reference(), ...change }))

attack('unknown-approver', async (refused) => {
  const own = await live.enrol()
  const foreign = await (await makeAdministration(harness, 'live')).enrol()
  const tested = await sandbox.enrol()
  const removed = await live.enrol()
  await live.administer('DELETE', `approvers/${removed.approver}`)
  assert.equal(await askLive({ approvers: [own.approver] }), 'passes')
  for (const approver of [foreign, tested, removed].map((one) => one.approver))
    refused(await askLive({ approvers: [own.approver, approver] }))
  for (const approver of ['apv_nobody', 'apv_test_approves'])
    refused(await askLive({ approvers: [approver] }))
})

attack('approver-named-twice', async (refused) => {
  const own = await live.enrol()
  refused(await askLive({ approvers: [own.approver, own.approver], policy: { quorum: 2 } }))
})

test('approvers have enrolled, are enough for the quorum, and are named or a group', async () => {
  const own = await live.enrol()
  const invited = (await live.invite('invited@people.example')).json.approver
  assert.equal(await askLive({ approvers: [invited] }), 'approval_refused approver_not_enrolled')
  assert.equal(await askLive({ approvers: [own.approver], policy: { quorum: 2 } }), 'approval_refused quorum')
  assert.equal(await askLive({}), 'approval_refused approvers_or_group')
  const both = { approvers: [own.approver], group: 'x' }
  assert.equal(await askLive(both), 'approval_refused approvers_or_group')
})

test('an audience is an agent of the same mode', async () => {
  const other = await makeAdministration(harness, 'test')
  assert.equal(await ruleWith({ audience: other.agentId }), 'passes')
  assert.equal(await ruleWith({ audience: live.agentId }), 'approval_refused audience_unknown')
  assert.equal(await ruleWith({ audience: 'agt_nobody' }), 'approval_refused audience_unknown')
})

attack('endless-approval', async (refused) => {
  const day = 1_440
  refused(await ruleWith({ decideBy: askedInMinutes(0.5) }))
  refused(await ruleWith({ decideBy: askedInMinutes(-5) }))
  refused(await ruleWith({ decideBy: askedInMinutes(7 * day + 1) }))
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
