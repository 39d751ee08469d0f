import assert from 'node:assert/strict'
import { approvalView, viewHash, type Envelope } from '@pohf/verify/approvals'
import { attacksIn } from '../../../../verify/test/approvals/run-attack.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { invoice, invoiceType, makeAdministration, ruleOf } from '../../../test/fixtures/people/approvals.ts'
import { makePasskey } from '../../../test/fixtures/people/authenticator.ts'
import { makeAccount } from '../../../test/fixtures/people/console.ts'
import { enrolApprover, makeApproval, makeAttackTools } from '../../../test/fixtures/people/approver.ts'
import { grantCredits } from '../../../test/fixtures/payments/ledger.ts'

const attack = attacksIn(import.meta.url)
const harness = await startHarness()
const sandbox = await makeAdministration(harness, 'test')
const live = await makeAdministration(harness, 'live')
const agent = await harness.register('live')
await grantCredits(harness, agent, 100n)
const ada = await enrolApprover(harness, agent)
const { attend, askToApprove, assertRefused, stateOf } = makeAttackTools(harness, agent)

const byKey = async (path: string, body: object) =>
  ruleOf(await harness.call('POST', `/api/agents/${path}`, { key: live.apiKey, body }))

attack('key-enrols-approver', async (refused) => {
  refused(await byKey('approvers', { name: 'Me', email: 'agent@example.com' }))
  assert.deepEqual((await live.administer('GET', 'approvers')).json.approvers, [])
})

attack('key-registers-type', async (refused) => {
  refused(await byKey('approval-types/invoice.pay', invoiceType))
  assert.deepEqual((await live.administer('GET', 'approval-types')).json.types, [])
})

attack('key-writes-group', async (refused) => {
  refused(await byKey('approver-groups/finance', { approvers: ['apv_x'] }))
  assert.deepEqual((await live.administer('GET', 'approver-groups')).json.groups, [])
})

attack('key-lifts-hourly-limit', async (refused) =>
  refused(await byKey('approval-settings', { decisionsPerHour: 1_000 })),
)

attack('owner-of-yesterday', async (refused) => {
  const { owner, personId } = await makeAccount(harness)
  const passkey = makePasskey()
  await owner.addPasskey(passkey)
  await owner.usePasskey(passkey)
  await harness.owner.query(
    "update account_sessions set created_at = pohf_now() - interval '61 minutes' where person_id = $1",
    [personId],
  )
  const body = { name: 'Me', email: 'late@people.example' }
  const key = await owner.bearer('live')
  refused(ruleOf(await harness.call('POST', '/api/agents/approvers', { key, body })))
})

let references = 0
const askText = async (action: string) => {
  references += 1
  const raw = `{"type":"test.action","requestId":"text-${references}","approvers":["apv_test_silent"],"action":${action}}`
  return ruleOf(await sandbox.requestText(raw))
}

attack('lone-surrogate', async (refused) => {
  for (const text of ['"\\ud800"', '"\\udc00\\ud800"', '"a\\udfff"']) {
    refused(await askText(`{"a":${text}}`))
    refused(await askText(`{${text}:1}`))
  }
})

attack('nul-character', async (refused) => {
  refused(await askText('{"a":"184200\\u0000.00"}'))
  refused(await askText('{"a\\u0000":1}'))
})

/** Refused at the request, by path and code point: as a value of this field and as a key. */
const assertNotPermitted = async (refused: (rule: string) => void, values: Record<string, string>) => {
  for (const [text, codePoint] of Object.entries(values)) {
    for (const [action, path] of [
      [{ pay: [{ account: text }] }, '/pay/0/account'],
      [{ [text]: 1 }, `/${text}`],
    ] as const) {
      references += 1
      const answer = await sandbox.request({
        type: 'test.action',
        requestId: `text-${references}`,
        approvers: ['apv_test_silent'],
        action,
      })
      refused(ruleOf(answer))
      const [detail] = answer.json.details as { path: string; message: string }[]
      assert.equal(detail?.path, `body.action${path}`)
      assert.ok(detail?.message.startsWith(`has ${codePoint}, which`), detail?.message)
    }
  }
}

attack('moved-digits', async (refused) =>
  assertNotPermitted(refused, {
    '12\u05be5555\u05be7890\u05be3456': 'U+05BE',
    '15\u05f300': 'U+05F3',
    'DE89\u05be3704\u05be0044': 'U+05BE',
    '10 \u05d0 200 EUR': 'U+05D0',
    '01\u05be02\u05be2027': 'U+05BE',
    '1\u05be9000': 'U+05BE',
  }),
)

attack('struck-out-digits', async (refused) =>
  assertNotPermitted(refused, { '9\u03369\u03369\u0336 10': 'U+0336', '1\u20e3': 'U+20E3' }),
)

attack('imitated-characters', async (refused) =>
  assertNotPermitted(refused, {
    '\u{1d40f}aypal': 'U+1D40F',
    '1\u2460': 'U+2460',
    '\u2776': 'U+2776',
    'Henry \u2167': 'U+2167',
  }),
)

attack('stored-value', async (refused) => {
  const made = await makeApproval(harness, agent, [ada], { action: { account: '12\u05be5555' } })
  await assertRefused(made, await askToApprove(ada, made), refused)
  const denied = await ada.decideWhole(made.approvalId, { decision: 'deny' })
  assert.equal(denied.json.status, 'denied', denied.text)
})

/** Approves with the view of another action: the one that the real one looks like. */
const approveByView = async (action: Envelope['action'], looksLike: Envelope['action']) => {
  const made = await makeApproval(harness, agent, [ada], { action })
  const pretended = await viewHash(approvalView({ ...made.envelope, action: looksLike }, undefined))
  const answer = await ada.options(made.approvalId, {
    decision: 'approve',
    sessionId: await attend(ada, made),
    viewHash: pretended,
  })
  return { made, answer }
}

attack('bidi-text', async (refused) => {
  const { made, answer } = await approveByView(
    { amount: '\u202e00.1', recipient: 'Nordwind' },
    { amount: '1.00', recipient: 'Nordwind' },
  )
  await assertRefused(made, answer, refused)
  const [amount] = approvalView(made.envelope, undefined).critical
  assert.match(amount?.text ?? '', /U\+202E/)
})

attack('look-alike-value', async (refused) => {
  const { made, answer } = await approveByView({ recipient: 'N\u043erdwind' }, { recipient: 'Nordwind' })
  await assertRefused(made, answer, refused)
  const [recipient] = approvalView(made.envelope, undefined).critical
  assert.deepEqual(recipient?.notes, ['mixed_scripts'])
})

attack('look-alike-separator', async (refused) => {
  const { made, answer } = await approveByView({ amount: '1\u201a000' }, { amount: '1,000' })
  await assertRefused(made, answer, refused)
  const [amount] = approvalView(made.envelope, undefined).critical
  assert.deepEqual(amount?.notes, ['look_alikes'])
})

attack('look-alike-word', async (refused) => {
  const cyrillic = '\u0440\u0430\u0443\u0440\u0430\u04cf'
  const { made, answer } = await approveByView({ recipient: cyrillic }, { recipient: 'paypal' })
  await assertRefused(made, answer, refused)
  const [recipient] = approvalView(made.envelope, undefined).critical
  assert.deepEqual(recipient?.notes, ['look_alikes'])
})

/** Changes the action of a stored envelope, as nobody but the owner of the database can. */
const changeEnvelope = (approvalId: string) =>
  harness.owner.query(
    `alter table approvals disable trigger transition;
     update approvals set envelope = replace(envelope, 'Nordwind', 'Sudwind') where approval_id = '${approvalId}';
     alter table approvals enable trigger transition`,
  )

attack('changed-in-database', async (refused) => {
  const made = await makeApproval(harness, agent, [ada])
  const sessionId = await attend(ada, made)
  const asked = await askToApprove(ada, made)
  await changeEnvelope(made.approvalId)
  await assertRefused(made, await ada.read(made.approvalId), refused)
  const options = await ada.options(made.approvalId, { decision: 'approve', sessionId })
  await assertRefused(made, options, refused)
  await assertRefused(made, await ada.decide(made.approvalId, asked, ada.sign(asked)), refused)
})

attack('changed-before-consume', async (refused) => {
  references += 1
  const { json } = await sandbox.request({
    type: 'test.action',
    requestId: `text-${references}`,
    action: invoice,
    approvers: ['apv_test_approves'],
  })
  await changeEnvelope(json.approvalId)
  refused(ruleOf(await sandbox.consume(json.approvalId, json.envelopeHash)))
  refused(ruleOf(await sandbox.read(json.approvalId)))
  const { rows } = await harness.owner.query('select status from approvals where approval_id = $1', [
    json.approvalId,
  ])
  assert.deepEqual(rows, [{ status: 'approved' }])
})

attack('limit-in-parallel', async (refused) => {
  const person = await enrolApprover(harness, agent)
  await harness.owner.query(
    "insert into approval_settings (agent_id, mode, decisions_per_hour, changed_by) values ($1, 'live', 5, 'x')",
    [agent.agentId],
  )
  const ready = []
  for (let n = 0; n < 20; n += 1) {
    const made = await makeApproval(harness, agent, [person])
    const asked = await askToApprove(person, made)
    assert.equal(asked.status, 200, asked.text)
    ready.push({ made, asked, credential: person.sign(asked, { counter: 0 }) })
  }
  const answers = await Promise.all(
    ready.map(({ made, asked, credential }) => person.decide(made.approvalId, asked, credential)),
  )
  const rules = answers.map(ruleOf)
  assert.equal(rules.filter((rule) => rule === 'passes').length, 5, rules.join())
  for (const rule of rules.filter((one) => one !== 'passes')) refused(rule)
  const states = await Promise.all(ready.map(({ made }) => stateOf(made)))
  assert.equal(states.filter((state) => state?.status === 'approved').length, 5)
})
