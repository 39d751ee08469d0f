import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../fixtures/harness.ts'
import { invoice, invoiceType, makeAdministration } from '../fixtures/people/approvals.ts'
import { enrolApprover } from '../fixtures/people/approver.ts'
import { mailsTo } from '../fixtures/people/console.ts'

const harness = await startHarness()
type Browser = Awaited<ReturnType<typeof enrolApprover>>['browser']
const erase = async (browser: Browser) => {
  const { status, text } = await browser.post('me/erase', { confirm: 'delete everything' })
  assert.equal(status, 200, text)
}

test('an agent that repeats its call reads neither name nor words of an approver who was erased', async () => {
  const { administer, ...agent } = await makeAdministration(harness, 'test')
  await administer('POST', 'approval-types/invoice.pay', invoiceType)
  const person = await enrolApprover(harness, agent)
  const ask = (call: string) =>
    harness.call('POST', '/api/agents/approvals', {
      key: agent.apiKey,
      headers: { 'idempotency-key': call },
      body: {
        type: 'invoice.pay',
        action: invoice,
        requestId: 'invoice 1',
        approvers: [person.approver],
      },
    })
  const asked = await ask('first')
  assert.equal(asked.status, 200, asked.text)
  const words = 'I never ordered that'
  const denied = await person.decideWhole(asked.json.approvalId, { decision: 'deny' }, words)
  assert.equal(denied.status, 200, denied.text)
  const [before] = (await ask('second')).json.decisions
  assert.deepEqual([before.name, before.words], ['Ada', words])
  await erase(person.browser)
  const [after] = (await ask('second')).json.decisions
  assert.deepEqual([after.name, after.words], ['', null])
})

test('a person who is erased gets no mail that waited, and no stored answer has their address', async () => {
  const { bearer, enrol } = await makeAdministration(harness, 'live')
  const { email, browser } = await enrol()
  const invited = await harness.call('POST', '/api/agents/approvers', {
    key: bearer,
    headers: { 'idempotency-key': 'invite' },
    body: { name: 'Ada', email },
  })
  assert.equal(invited.json.email, email, invited.text)
  const countStored = async () =>
    (await harness.owner.query('select from idempotency_keys where position($1 in body) > 0', [email]))
      .rowCount
  assert.deepEqual([(await mailsTo(harness, email)).length, await countStored()], [2, 1])
  await erase(browser)
  assert.deepEqual([(await mailsTo(harness, email)).length, await countStored()], [0, 0])
})
