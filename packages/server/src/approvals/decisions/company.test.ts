import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import type { Claims } from '@pohf/verify'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { grantCredits } from '../../../test/fixtures/payments/ledger.ts'
import { makeAdministration, approverLink, ruleOf } from '../../../test/fixtures/people/approvals.ts'
import { enrolApprover, makeApproval, makeAttackTools } from '../../../test/fixtures/people/approver.ts'
import { makePasskey } from '../../../test/fixtures/people/authenticator.ts'
import {
  entryOf,
  openCompany,
  signInWithCompany,
  writeIssuersFile,
} from '../../../test/fixtures/people/company-issuer.ts'
import { openBrowser } from '../../../test/fixtures/people/member.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'

let timeOf = (): Date => new Date()
const company = await openCompany(() => timeOf())
const harness = await startHarness({
  ISSUERS_FILE: writeIssuersFile([
    entryOf(company),
    entryOf(company, { name: 'elsewhere', agents: ['agt_aa01k2golden0000000000000'] }),
  ]),
})
timeOf = () => harness.ctx.clock.now()
const agent = await harness.register('live')
await grantCredits(harness, agent, 100n)
const { attend, approve } = makeAttackTools(harness, agent)

/** An approver whom an owner invited by the sign-in of the company. */
const enrolByCompany = async () => {
  const person = await enrolApprover(harness, agent)
  await harness.owner.query("update members set required_issuer = 'acme' where member_id = $1", [
    person.memberId,
  ])
  await harness.owner.query("update approvers set enrolled_way = 'organization' where approver_id = $1", [
    person.approver,
  ])
  return person
}

test('an approver of a company decides only after its sign-in, and the credential says who enrolled and vouches', async () => {
  const person = await enrolByCompany()
  const made = await makeApproval(harness, agent, [person])
  assert.equal(ruleOf(await approve(person, made)), 'approval_refused company_sign_in_needed')
  const denied = await person.decideWhole(made.approvalId, { decision: 'deny' })
  assert.equal(ruleOf(denied), 'approval_refused company_sign_in_needed')
  const shown = (await person.read(made.approvalId)).json.company
  assert.deepEqual([shown.issuerId, shown.state, shown.lifeHours], [company.issuer, 'needed', 24])

  const signedIn = await signInWithCompany(person.browser, company, 'employee-1')
  assert.equal(signedIn.status, 200, signedIn.text)
  const approved = await approve(person, made)
  assert.equal(approved.status, 200, approved.text)
  const stored = await harness.call('GET', `/api/agents/credentials/${approved.json.credentialId}`, {
    key: agent.apiKey,
  })
  const claims = decodeJwt(stored.json.pohf_jwt) as unknown as Claims
  assert.equal(claims.approver?.enrolled.way, 'organization')
  assert.equal(claims.assurance, 'low')
  assert.deepEqual(
    claims.roots?.map(({ kind, issuer, counted, fresh }) => [kind, issuer, counted, fresh]),
    [['organization', company.issuer, true, true]],
  )
})

test('an employee who left loses the turn at once, one whose day is over signs in again', async () => {
  const person = await enrolByCompany()
  const [first, second] = [
    await makeApproval(harness, agent, [person]),
    await makeApproval(harness, agent, [person], { decideMinutes: 3_000, consumeMinutes: 4_000 }),
  ]
  assert.equal((await signInWithCompany(person.browser, company, 'employee-2')).status, 200)
  const sessionId = await attend(person, first)
  const asked = await person.options(first.approvalId, { decision: 'approve', sessionId })
  assert.equal(asked.status, 200, asked.text)
  await harness.owner.query(
    `update person_proofs set withdrawn_at = pohf_now()
     where person_id = (select person_id from members where member_id = $1)`,
    [person.memberId],
  )
  const decided = await person.decide(first.approvalId, asked, person.sign(asked))
  assert.equal(ruleOf(decided), 'approval_refused company_withdrawn')
  assert.equal((await person.read(first.approvalId)).json.company.state, 'withdrawn')

  assert.equal((await signInWithCompany(person.browser, company, 'employee-2')).status, 200)
  await harness.advance(24 * 3_600_000 + 1_000)
  await person.browser.signIn(person.passkey, 5, 2)
  assert.equal(ruleOf(await approve(person, second)), 'approval_refused company_sign_in_needed')
})

test('an owner invites by a company that serves the agent, and may change it; the mail leads to its sign-in', async () => {
  const team = await makeAdministration(harness, 'test')
  const listed = await harness.call('GET', '/api/agents/issuers', { key: team.apiKey })
  assert.deepEqual(
    listed.json.issuers.map((issuer: Record<string, unknown>) => [issuer['name'], issuer['isOwn']]),
    [['acme', false]],
  )
  const body = { name: 'Ada', email: 'ada@acme.example', issuer: 'acme' }
  assertRefusal(
    await team.administer('POST', 'approvers', { ...body, issuer: 'elsewhere' }),
    404,
    'not_found',
  )
  assertRefusal(await team.administer('POST', 'approvers', { ...body, issuer: 'nobody' }), 404, 'not_found')
  const invited = await team.administer('POST', 'approvers', body)
  assert.deepEqual([invited.json.way, invited.json.issuer], ['organization', 'acme'], invited.text)

  const token = (await approverLink(harness, body.email)) ?? ''
  const page = await harness.call('GET', `/m/${token}?lang=en`)
  assert.match(page.text, /id="step-company"/)
  assert.match(page.text, /data-issuer="acme"/)
  assert.match(page.text, new RegExp(`${new URL(company.issuer).host} learns that you signed in`))
  const german = await harness.call('GET', `/m/${token}?lang=de`)
  assert.match(german.text, /Mit Ihrer Firma anmelden/)

  const browser = openBrowser(harness)
  assert.equal((await browser.agree(token, makePasskey())).status, 200)
  const asked = await team.request({
    type: 'test.invoice',
    action: { a: '1' },
    approvers: [invited.json.approver],
    requestId: 'by-company',
  })
  assert.equal(asked.json.status, 'pending', asked.text)
  const readOwn = () =>
    harness.call('GET', `/api/approve/approvals/${asked.json.approvalId}`, {
      headers: { cookie: browser.cookie() ?? '' },
    })
  assert.equal((await readOwn()).json.company.state, 'needed')
  assert.equal((await signInWithCompany(browser, company, 'employee-3')).status, 200)
  assert.equal((await readOwn()).json.company.state, 'valid')

  const changed = await team.administer('POST', 'approvers', { name: 'Ada', email: body.email })
  assert.deepEqual([changed.json.way, changed.json.issuer], ['mail_link', null])
  assert.equal((await readOwn()).json.company, null)
})

test('the page of the return is the same for everybody and names no check', async () => {
  const page = await harness.call('GET', '/issuers/return?code=secret&state=x')
  assert.equal(page.status, 200)
  assert.ok(!page.text.includes('secret'))
  const script = await harness.call('GET', '/assets/issuer-return.js')
  assert.equal(script.status, 200)
})
