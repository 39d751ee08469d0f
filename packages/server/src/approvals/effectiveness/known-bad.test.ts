import assert from 'node:assert/strict'
import { test } from 'node:test'
import { platformAgentId } from '../../agents/index.ts'
import { startHarness, type TestResponse } from '../../../test/fixtures/harness.ts'
import {
  easyPolicy,
  invoice,
  invoiceType,
  makeAdministration,
  ruleOf,
} from '../../../test/fixtures/people/approvals.ts'
import { enrolApprover, recordDecision } from '../../../test/fixtures/people/approver.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import { mailsTo } from '../../../test/fixtures/people/console.ts'

const harness = await startHarness()
const owner = await makeAdministration(harness, 'live')
assert.equal((await owner.administer('POST', 'approval-types/invoice.pay', invoiceType)).status, 200)
const quick = { ...invoiceType, policy: { ...easyPolicy, quorum: 2 } }
assert.equal((await owner.administer('POST', 'approval-types/invoice.double', quick)).status, 200)
const ada = await enrolApprover(harness, owner)
const bob = await enrolApprover(harness, owner)
const reason = 'Nordwind has another account'
const send = (more: object = {}): Promise<TestResponse> =>
  owner.administer('POST', 'approval-known-bad', {
    type: 'invoice.pay',
    action: invoice,
    approvers: [ada.approver],
    reason,
    requestId: 'inv-4711',
    title: 'Pay Nordwind',
    summary: 'For October',
    ...more,
  })
/** Recordings of known-bad requests belong to the agent of the platform. */
const record = (shown: TestResponse): Promise<string> =>
  recordDecision(
    harness,
    { agentId: platformAgentId(harness.ctx.config, 'live'), mode: 'live' },
    shown.json.challenge,
  )
const request = () =>
  owner.request({
    type: 'invoice.pay',
    action: invoice,
    approvers: [ada.approver],
    requestId: 'inv-4711',
    title: 'Pay Nordwind',
    summary: 'For October',
  })

/** What is the same in every answer about two equal requests. */
const comparable = ({ json }: TestResponse) => {
  const { approvalId, envelopeHash, challenge, createdAt, decideBy, envelope, ...rest } = json
  const { salt, decideBy: _decideBy, consumeBy: _consumeBy, ...fields } = envelope
  for (const random of [approvalId, envelopeHash, challenge, createdAt, decideBy, salt])
    assert.equal(typeof random, 'string')
  assert.equal(salt.length, 22)
  return { ...rest, envelope: fields }
}

test('a key reads neither in the list of requests that its owner sent one, nor the addresses of approvers', async () => {
  assert.equal((await send({ requestId: 'unseen' })).status, 200)
  const read = (path: string) => harness.call('GET', `/api/agents/${path}`, { key: owner.apiKey })
  // Requests are written in their order, so the sent one would be there before the one that was read afterwards.
  assert.equal((await read('approval-types')).status, 200)
  const listed = await pollUntil('the list of requests', async () => {
    const { requests } = (await read('requests?limit=100')).json
    return requests.some(({ endpoint }: { endpoint: string }) => endpoint === 'approvals.types-list')
      ? (requests as { endpoint: string }[])
      : undefined
  })
  assert.deepEqual(
    listed.filter(({ endpoint }) => endpoint.includes('known-bad')),
    [],
  )
  const { approvers } = (await read('approvers')).json
  assert.equal(approvers.length, 2)
  assert.ok(approvers.every(({ email }: { email: unknown }) => email === null))
  const { json } = await owner.administer('GET', 'approvers')
  assert.ok(json.approvers.every(({ email }: { email: unknown }) => typeof email === 'string'))
})

test('an approver sees nothing that tells a known-bad request from the real one that it imitates', async () => {
  const bad = await send()
  assert.equal(bad.status, 200, bad.text)
  // The agent's own request with the same reference meets nothing of it.
  const real = await request()
  assert.equal(real.status, 200, real.text)
  const [shown, shownBad] = [await ada.read(real.json.approvalId), await ada.read(bad.json.approvalId)]
  assert.equal(shownBad.status, 200, shownBad.text)
  assert.deepEqual(comparable(shownBad), comparable(shown))
  const mails = await mailsTo(harness, `${ada.approver}@example.com`)
  const [first, second] = mails
    .slice(-2)
    .map(({ subject, text }) => ({ subject, text: text.replaceAll(/apl_\w+/g, 'ID') }))
  assert.ok(first && second)
  assert.deepEqual(second, first, 'both mails say the same')
})

test('no key of the agent lists, reads or consumes a known-bad request, and no event names it', async () => {
  const { json: bad } = await send({ requestId: 'inv-5000' })
  const key = { key: owner.apiKey }
  const listed = await harness.call('GET', '/api/agents/approvals?limit=100', key)
  assert.ok(!listed.text.includes(bad.approvalId))
  assert.equal((await owner.read(bad.approvalId)).status, 404)
  const shown = await ada.read(bad.approvalId)
  const hash = shown.json.envelopeHash
  assert.equal((await owner.consume(bad.approvalId, hash)).status, 404)
  const decided = await ada.decideWhole(bad.approvalId, {
    decision: 'approve',
    sessionId: await record(shown),
  })
  assert.deepEqual([decided.json.status, decided.json.credentialId], ['approved', null], decided.text)
  assert.equal((await owner.consume(bad.approvalId, hash)).status, 404, 'also once a person approved it')
  const { rowCount } = await harness.owner.query('select from events where subject = $1', [bad.approvalId])
  assert.equal(rowCount, 0)
  for (const path of ['approval-known-bad', 'approval-report', 'approval-settings'])
    assert.equal((await harness.call('GET', `/api/agents/${path}`, key)).status, 403)
})

test('a decided known-bad request counts in list and report, and the person who decided reads the reason', async () => {
  const before = (await owner.administer('GET', 'approval-report')).json.team.caught
  const own = async () => {
    const cookie = ada.browser.cookie() ?? ''
    return (await harness.call('GET', '/api/approve/figures', { headers: { cookie } })).json
  }
  const ownBefore = await own()
  const { json: bad } = await send({ requestId: 'inv-6000' })
  const pending = (await owner.administer('GET', 'approval-report')).json.team.caught
  assert.deepEqual(pending, before, 'a request that waits counts for nothing')
  assert.ok(!JSON.stringify(await own()).includes(bad.approvalId))
  assert.equal((await ada.decideWhole(bad.approvalId, { decision: 'deny' })).json.status, 'denied')
  const { n, of } = (await owner.administer('GET', 'approval-report')).json.team.caught
  assert.deepEqual([n, of], [before.n + 1, before.of + 1])
  const { figures, knownBad } = await own()
  assert.equal(figures.caught.n, ownBefore.figures.caught.n + 1)
  assert.deepEqual(
    { ...knownBad[0], decidedAt: '' },
    { approvalId: bad.approvalId, title: 'Pay an invoice', decision: 'deny', reason, decidedAt: '' },
  )
  const { items } = (await owner.administer('GET', 'approval-known-bad')).json
  assert.deepEqual(items[0], {
    approvalId: bad.approvalId,
    type: 'invoice.pay',
    reason,
    approvers: [ada.approver],
    createdAt: items[0].createdAt,
    outcomes: [
      { decision: 'approve', n: 0 },
      { decision: 'deny', n: 1 },
    ],
  })
})

test('the person who decides first learns nothing while another person can still decide', async () => {
  const { json: bad } = await send({
    type: 'invoice.double',
    approvers: [ada.approver, bob.approver],
    requestId: 'inv-7000',
  })
  const sessionId = await record(await ada.read(bad.approvalId))
  const first = await ada.decideWhole(bad.approvalId, { decision: 'approve', sessionId })
  assert.equal(first.json.status, 'pending', first.text)
  const cookie = ada.browser.cookie() ?? ''
  const own = () => harness.call('GET', '/api/approve/figures', { headers: { cookie } })
  const waiting = await own()
  assert.ok(!waiting.text.includes(bad.approvalId), waiting.text)
  await bob.decideWhole(bad.approvalId, { decision: 'deny' })
  const over = await own()
  assert.ok(over.text.includes(bad.approvalId))
  assert.equal(over.json.figures.caught.of, waiting.json.figures.caught.of + 1)
})

test('a person who approved a known-bad request learns nothing while another person can still deny it', async () => {
  const delayed = { ...invoiceType, policy: { ...easyPolicy, delaySeconds: 300 } }
  assert.equal((await owner.administer('POST', 'approval-types/invoice.later', delayed)).status, 200)
  const approvers = [ada.approver, bob.approver]
  const { json: bad } = await send({ type: 'invoice.later', approvers, requestId: 'inv-8000' })
  const sessionId = await record(await ada.read(bad.approvalId))
  const approved = await ada.decideWhole(bad.approvalId, { decision: 'approve', sessionId })
  assert.equal(approved.json.status, 'approved', approved.text)
  const cookie = ada.browser.cookie() ?? ''
  const own = () => harness.call('GET', '/api/approve/figures', { headers: { cookie } })
  const inDelay = await own()
  assert.ok(!inDelay.text.includes(bad.approvalId), inDelay.text)
  await harness.advance(301_000)
  const over = await own()
  assert.ok(over.text.includes(bad.approvalId), over.text)
  assert.equal(over.json.figures.caught.of, inDelay.json.figures.caught.of + 1)
})

test('the values of a known-bad request that somebody approved stay new to them', async () => {
  const action = { ...invoice, recipient: 'Known-bad GmbH' }
  const { json: bad } = await send({ action, requestId: 'inv-9000' })
  const shown = await ada.read(bad.approvalId)
  assert.ok(shown.json.newValues.includes('/recipient'), shown.text)
  const sessionId = await record(shown)
  assert.equal((await ada.decideWhole(bad.approvalId, { decision: 'approve', sessionId })).status, 200)
  const { json: again } = await send({ action, requestId: 'inv-9001' })
  assert.ok((await ada.read(again.approvalId)).json.newValues.includes('/recipient'))
})

test('a known-bad request obeys the rules of real requests', async () => {
  assert.equal(ruleOf(await send({ action: { amount: 12.5, recipient: 'x' } })), 'approval_refused number')
  assert.equal(ruleOf(await send({ action: { amount: '1' } })), 'approval_refused schema')
  assert.equal(ruleOf(await send({ type: 'invoice.double' })), 'approval_refused quorum')
  assert.match(ruleOf(await send({ approvers: ['apv_unknown'] })), /^approval_refused/)
  const sandbox = await makeAdministration(harness, 'test')
  const simulated = await sandbox.administer('POST', 'approval-known-bad', {
    type: 'test.pay',
    action: invoice,
    approvers: ['apv_test_approves'],
    reason,
  })
  assert.equal(ruleOf(simulated), 'approval_refused approver_simulated')
})
