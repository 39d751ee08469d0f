import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attacksIn } from '../../../../verify/test/approvals/run-attack.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import {
  approverLink,
  easyPolicy,
  invoice,
  invoiceType,
  makeAdministration,
  ruleOf,
} from '../../../test/fixtures/people/approvals.ts'
import { makePasskey } from '../../../test/fixtures/people/authenticator.ts'
import { mailsTo } from '../../../test/fixtures/people/console.ts'
import { openBrowser } from '../../../test/fixtures/people/member.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'
import { invitationsPerDayMax } from '../rules.ts'

const attack = attacksIn(import.meta.url)
const harness = await startHarness()

test('a type is registered by versions, which never change, and the list has the newest', async () => {
  const { administer, personId, request } = await makeAdministration(harness, 'test')
  const first = await administer('POST', 'approval-types/invoice.pay', invoiceType)
  assert.equal(first.status, 200, first.text)
  assert.deepEqual([first.json.version, first.json.createdBy], [1, personId])
  const asked = await request({
    type: 'invoice.pay',
    action: invoice,
    requestId: 'a',
    approvers: ['apv_test_silent'],
  })
  const second = await administer('POST', 'approval-types/invoice.pay', { ...invoiceType, title: 'Pay' })
  assert.equal(second.json.version, 2)
  const { json } = await administer('GET', 'approval-types')
  assert.deepEqual(
    json.types.map((type: { version: number; title: string }) => [type.version, type.title]),
    [[2, 'Pay']],
  )
  const again = await request({
    type: 'invoice.pay',
    action: invoice,
    requestId: 'a',
    approvers: ['apv_test_silent'],
  })
  assert.equal(again.json.approvalId, asked.json.approvalId)
  assert.deepEqual([again.json.definition.version, again.json.definition.title], [1, 'Pay an invoice'])
})

attack('retired-type', async (refused) => {
  const { administer, request } = await makeAdministration(harness, 'test')
  await administer('POST', 'approval-types/invoice.pay', invoiceType)
  assert.equal((await administer('DELETE', 'approval-types/invoice.pay')).json.retired, true)
  assertRefusal(await administer('DELETE', 'approval-types/invoice.pay'), 404, 'not_found')
  assert.deepEqual((await administer('GET', 'approval-types')).json.types, [])
  const body = { type: 'invoice.pay', action: invoice, requestId: 'a', approvers: ['apv_test_approves'] }
  assert.equal(ruleOf(await request(body)), 'approval_refused quorum')
  refused(ruleOf(await request({ ...body, policy: easyPolicy })))
})

test('a schema with a keyword that is not supported, or a critical field that it lacks, is refused', async () => {
  const { administer } = await makeAdministration(harness, 'test')
  const write = async (change: object) =>
    ruleOf(await administer('POST', 'approval-types/invoice.pay', { ...invoiceType, ...change }))
  const text = { type: 'string' }
  const withField = (field: object) => ({
    schema: { type: 'object', properties: { amount: field, recipient: text } },
  })
  assert.equal(await write(withField({ ...text, pattern: '^(a+)+$' })), 'approval_refused schema')
  assert.equal(await write(withField({ $ref: '#/properties/recipient' })), 'approval_refused schema')
  assert.equal(await write(withField({ ...text, format: 'email' })), 'approval_refused schema')
  assert.equal(await write(withField({ type: 'number' })), 'approval_refused schema')
  assert.equal(await write(withField({ type: 'integer', minimum: 1.5 })), 'approval_refused schema')
  assert.equal(await write(withField({ type: 'string', maxLength: -1 })), 'approval_refused schema')
  assert.equal(await write({ schema: { type: 'array' } }), 'approval_refused schema')
  assert.equal(await write({ schema: 'object' }), 'approval_refused schema')
  assert.equal(await write({ critical: ['/amount', '/iban'] }), 'approval_refused field_unknown')
  assert.equal(await write({ critical: ['/toString'] }), 'approval_refused field_unknown')
  assert.equal(await write({ critical: ['/amount', '/amount'] }), 'approval_refused field_repeated')
  assert.equal(await write({ labels: { '/iban': 'IBAN' } }), 'approval_refused field_unknown')
  assert.equal(await write({ critical: ['/lines/0/text', '/amount'] }), 'passes')
})

test('an approver is enrolled once the person used the mailed link, and neither answer shows the link', async () => {
  const { administer, invite, personId } = await makeAdministration(harness, 'live')
  const email = 'ada@approvers.example'
  const invited = await invite('Ada@Approvers.example')
  assert.equal(invited.status, 200, invited.text)
  assert.deepEqual(
    [invited.json.status, invited.json.email, invited.json.createdBy],
    ['invited', email, personId],
  )
  const token = (await approverLink(harness, email)) ?? ''
  assert.match(token, /^inv_/)
  assert.ok(!invited.text.includes('/m/') && !invited.text.includes(token))
  const first = await invite(email, 'Ada Lovelace')
  assert.equal(first.json.approver, invited.json.approver)
  const renewed = (await approverLink(harness, email)) ?? ''
  assert.notEqual(renewed, token)
  assert.equal((await openBrowser(harness).agree(renewed, makePasskey())).status, 200)
  const { json } = await administer('GET', 'approvers')
  assert.deepEqual(
    json.approvers.map(({ name, status }: { name: string; status: string }) => [name, status]),
    [['Ada Lovelace', 'enrolled']],
  )
  // The first link leads to the same member, which has a person now.
  assert.equal((await openBrowser(harness).agree(token, makePasskey())).json.error, 'member_not_enrolled')
})

attack('key-reads-invitation', async (refused) => {
  for (const mode of ['live', 'test'] as const) {
    const { invite, apiKey } = await makeAdministration(harness, mode)
    await invite(`target-${mode}@approvers.example`)
    const { json } = await harness.call('GET', '/api/agents/members', { key: apiKey })
    const memberId = json.members[0].memberId as string
    const asked = await harness.call('POST', '/api/agents/members', { key: apiKey, body: { memberId } })
    refused(ruleOf(asked))
    assert.ok(!asked.text.includes('inv_'))
  }
})

attack('key-names-own-member', async (refused) => {
  const { apiKey, administer, request } = await makeAdministration(harness, 'test')
  const invited = await harness.call('POST', '/api/agents/members', { key: apiKey, body: {} })
  const token = /\/m\/(\S+)/.exec(invited.json.enrolUrl)?.[1] ?? ''
  assert.equal((await openBrowser(harness).agree(token, makePasskey())).status, 200)
  assert.deepEqual((await administer('GET', 'approvers')).json.approvers, [])
  const body = { type: 'test.x', action: invoice, requestId: 'a', approvers: [invited.json.memberId] }
  refused(ruleOf(await request(body)))
})

test('a removed approver is invited again as the same approver', async () => {
  const { enrol, administer, invite, request } = await makeAdministration(harness, 'test')
  const { approver, email } = await enrol()
  const body = { type: 'test.x', action: invoice, requestId: 'a', approvers: [approver] }
  assert.equal((await administer('DELETE', `approvers/${approver}`)).json.removed, true)
  assertRefusal(await administer('DELETE', `approvers/${approver}`), 404, 'not_found')
  assert.equal(ruleOf(await request(body)), 'approval_refused approver_unknown')
  const again = await invite(email)
  assert.deepEqual([again.json.approver, again.json.status], [approver, 'enrolled'])
  assert.equal(ruleOf(await request(body)), 'passes')
})

test('invitations have a limit for each day', async () => {
  const { invite } = await makeAdministration(harness, 'test')
  for (let n = 0; n < invitationsPerDayMax; n += 1)
    assert.equal((await invite(`person-${n}@limits.example`)).status, 200)
  assertRefusal(await invite('one-more@limits.example'), 429, 'rate_limited')
  assert.deepEqual(await mailsTo(harness, 'one-more@limits.example'), [])
})

attack('group-with-stranger', async (refused) => {
  const { enrol, administer, request } = await makeAdministration(harness, 'test')
  const other = await makeAdministration(harness, 'test')
  const [own, foreign] = [await enrol(), await other.enrol()]
  const write = (approvers: readonly string[]) => administer('POST', 'approver-groups/finance', { approvers })
  refused(ruleOf(await write([own.approver, foreign.approver])))
  assert.equal(ruleOf(await write([own.approver, own.approver])), 'approval_refused approver_repeated')
  assert.deepEqual((await write([own.approver])).json.approvers, [own.approver])
  const body = { type: 'test.x', action: invoice, requestId: 'a', group: 'finance' }
  assert.deepEqual((await request(body)).json.envelope.approvers, [own.approver])
  assert.equal(ruleOf(await other.request(body)), 'approval_refused group_unknown')
  // A repeat of the request finds its approval, whoever is in the group by now.
  await write(['apv_test_silent'])
  assert.deepEqual((await request(body)).json.envelope.approvers, [own.approver])
  assert.equal((await administer('DELETE', 'approver-groups/finance')).json.removed, true)
  assert.equal(ruleOf(await request({ ...body, requestId: 'b' })), 'approval_refused group_unknown')
})

test('the export of a person has their decisions; erasure leaves no name, no address, and no approver', async () => {
  const { enrol, agentId, request, administer } = await makeAdministration(harness, 'test')
  const { approver, email, browser } = await enrol()
  const body = { type: 'test.x', action: invoice, requestId: 'a', approvers: [approver] }
  const { json } = await request(body)
  await harness.owner.query(
    `update approval_turns set decision = 'deny', decided_at = pohf_now(), words = 'ask Berta first'
     where approval_id = $1`,
    [json.approvalId],
  )
  const exported = (await browser.get('me/export')).json.memberships[0].besides.approvals
  assert.deepEqual(
    [exported.approver, exported.email, exported.decisions[0].approvalId, exported.decisions[0].words],
    [approver, email, json.approvalId, 'ask Berta first'],
  )
  const erased = await browser.post('me/erase', { confirm: 'delete everything' })
  assert.equal(erased.status, 200, erased.text)
  const { rows } = await harness.owner.query(
    `select approvers.name, email, removed_by, words, decision from approvers
     join approval_turns using (agent_id, mode, approver_id) where agent_id = $1`,
    [agentId],
  )
  assert.deepEqual(rows, [{ name: null, email: null, removed_by: 'erasure', words: null, decision: 'deny' }])
  assert.equal((await administer('GET', 'approvers')).json.approvers[0].status, 'removed')
  assert.equal(ruleOf(await request({ ...body, requestId: 'b' })), 'approval_refused approver_unknown')
})
