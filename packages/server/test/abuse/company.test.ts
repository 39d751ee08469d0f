import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { makeOwnIssuers } from '../../src/issuers/index.ts'
import { inTransaction } from '../../src/platform/db/db.ts'
import { startHarness } from '../fixtures/harness.ts'
import { makeAdministration } from '../fixtures/people/approvals.ts'
import { enrolMember } from '../fixtures/people/member.ts'
import {
  companyBody,
  followReturn,
  openOwnCompany,
  signInWithOwn,
  startZone,
} from '../fixtures/people/own-company.ts'

const zone = await startZone()
const harness = await startHarness({ DNS_RESOLVERS: zone.address })
const now = () => harness.ctx.clock.now()

type Administration = Awaited<ReturnType<typeof makeAdministration>>
type Answer = { status: number; json: { error: string; details?: { code: string }[] } }
const faultOf = ({ status, json }: Answer) =>
  status === 200 ? 'passes' : `${json.error} ${json.details?.[0]?.code ?? ''}`.trim()
const check = (owner: Administration, issuerId: string) =>
  owner.administer('POST', `companies/${issuerId}/verify`)

test('an owner who reads the record of another company in its zone cannot use it for their own agent', async () => {
  const domain = 'victim.localhost'
  const company = await openOwnCompany(domain, now)
  const victim = await makeAdministration(harness, 'test')
  const own = await victim.administer('POST', 'companies', companyBody(company, domain))
  zone.publish(own.json.record)
  assert.equal(faultOf(await check(victim, own.json.issuerId)), 'passes')
  const attacker = await makeAdministration(harness, 'test')
  const copied = await attacker.administer('POST', 'companies', companyBody(company, domain))
  assert.notEqual(copied.json.record.value, own.json.record.value)
  assert.equal(faultOf(await check(attacker, copied.json.issuerId)), 'company_refused record_missing')
  // Nor does the attacker's own record help, in a zone of the attacker.
  zone.publish({ ...copied.json.record, name: '_pohf-challenge.attacker.localhost' })
  await harness.advance(6_000)
  assert.equal(faultOf(await check(attacker, copied.json.issuerId)), 'company_refused record_missing')
})

test('an owner names no issuer outside the domain, and none that signs in people of many companies', async () => {
  const attacker = await makeAdministration(harness, 'test')
  const attempt = async (issuer: string) =>
    faultOf(
      await attacker.administer('POST', 'companies', {
        name: 'Victim',
        issuer,
        domain: 'attacker.example',
        clientId: 'mine',
      }),
    )
  const tenant = '11111111-2222-3333-4444-555555555555'
  const expected: Readonly<Record<string, string>> = {
    'https://login.victim.example': 'outside_domain',
    'https://victim.okta.com': 'outside_domain',
    'https://attacker.example.victim.example': 'outside_domain',
    'https://notattacker.example': 'outside_domain',
    'https://login.attacker.example.': 'outside_domain',
    'https://accounts.google.com': 'shared_issuer',
    'https://login.microsoftonline.com/common/v2.0': 'issuer_address',
    'https://login.microsoftonline.com/organizations/v2.0': 'issuer_address',
    'https://login.microsoftonline.com/victim.example/v2.0': 'shared_issuer',
    [`https://login.microsoftonline.com/${tenant}/v2.0/`]: 'shared_issuer',
    [`https://sts.windows.net/${tenant}/`]: 'shared_issuer',
    'http://login.attacker.example': 'issuer_address',
    'https://login.victim.example@login.attacker.example': 'issuer_address',
    'https://login.attacker.example?of=victim': 'issuer_address',
    'https://login.attacker.example': 'passes',
  }
  for (const [issuer, code] of Object.entries(expected))
    assert.equal(await attempt(issuer), code === 'passes' ? code : `company_refused ${code}`, issuer)
})

test('an issuer that calls itself by another address is refused, so that a credential names what signs', async () => {
  const domain = 'liar.localhost'
  const company = await openOwnCompany(domain, now)
  const owner = await makeAdministration(harness, 'test')
  const { json } = await owner.administer('POST', 'companies', companyBody(company, domain))
  zone.publish(json.record)
  company.state.metadata = { issuer: 'https://login.victim.example' }
  assert.equal(faultOf(await check(owner, json.issuerId)), 'company_refused issuer_mismatch')
  // The same address with a slash: a reader who lists the issuer compares letter by letter.
  company.state.metadata = { issuer: `${company.issuer}/` }
  await harness.advance(6_000)
  assert.equal(faultOf(await check(owner, json.issuerId)), 'company_refused issuer_mismatch')
})

test('a service on the internet calls no private address that an owner names, neither at the check nor for a sign-in', async () => {
  let hits = 0
  const inside = createServer((_, response) => {
    hits += 1
    response.end('{}')
  })
  await new Promise<void>((resolve) => {
    inside.listen(0, '127.0.0.1', resolve)
  })
  after(() => {
    inside.closeAllConnections()
    inside.close()
  })
  const { port } = inside.address() as AddressInfo
  const deployed = await startHarness({ DNS_RESOLVERS: zone.address, BASE_URL: 'https://pohf.example' })
  assert.equal(deployed.ctx.config.loopback, false)
  const { agentId } = await deployed.register()
  const issuer = `https://inside.localhost:${port}`
  await deployed.owner.query(
    `insert into company_issuers (agent_id, issuer_id, name, issuer, domain, client_id, token, changed_by, checked_at, seen_at, due_at)
     values ($1, 'iss_aa00000000000000000000000000', 'Inside', $2, 'inside.localhost', 'pohf', repeat('t', 43), 'prs_1',
       pohf_now() - interval '25 hours', pohf_now() - interval '25 hours', pohf_now() - interval '1 hour')`,
    [agentId, issuer],
  )
  zone.publish({
    name: '_pohf-challenge.inside.localhost',
    value: `pohf-domain-verification=${'t'.repeat(43)}`,
  })
  await deployed.runJobs()
  const { rows } = await deployed.owner.query('select fault from company_issuers')
  assert.deepEqual(rows, [{ fault: 'issuer_unavailable' }])
  const own = makeOwnIssuers(deployed.ctx, 'https://pohf.example')
  const [found] = await inTransaction(deployed.ctx, 'system', (tx) => own.list(tx, agentId))
  const subject = {
    personId: 'per_1',
    sessionId: null,
    jkt: null,
    act: 'a',
    signal: 's',
    origin: 'o',
    handle: 'h',
  }
  assert.deepEqual(await found?.begin(subject, AbortSignal.timeout(20_000)), {
    ok: false,
    rule: 'unavailable',
  })
  assert.ok(deployed.lines.join('').includes('not a public address'))
  assert.equal(hits, 0)
})

test('a provider of an owner that leads people on to another company does not get the code of that company', async () => {
  const [victims, attackers] = [
    await openOwnCompany('mixed.localhost', now),
    await openOwnCompany('mixer.localhost', now),
  ]
  const setUp = async (company: typeof victims, domain: string) => {
    const owner = await makeAdministration(harness, 'test')
    const { json } = await owner.administer('POST', 'companies', companyBody(company, domain))
    zone.publish(json.record)
    assert.equal(faultOf(await check(owner, json.issuerId)), 'passes')
    return { owner, issuerId: json.issuerId as string, redirectUri: json.redirectUri as string }
  }
  const victim = await setUp(victims, 'mixed.localhost')
  const attacker = await setUp(attackers, 'mixer.localhost')
  const { browser, memberId } = await enrolMember(harness, attacker.owner)
  const { json } = await browser.post('me/proofs/begin', { issuer: attacker.issuerId, memberId })
  // The company of the victim leads to its own registered address alone, and names no issuer in its answer.
  const moved = new URL(json.request.url)
  moved.searchParams.set('redirect_uri', victim.redirectUri)
  const { iss: _, ...code } = victims.signIn(moved.href, 'employee-1')
  const answer = await followReturn(harness, victim.redirectUri, code)
  const before = attackers.state.calls.length
  const finished = await browser.post('me/proofs/finish', { state: json.state, answer })
  assert.equal(faultOf(finished), 'proof_refused wrong_state')
  assert.equal(attackers.state.calls.length, before, 'no code reaches the provider of the attacker')
  // Nor does an answer that names no address, or that of the operator's issuers.
  const own = { company: attackers, issuerId: attacker.issuerId, memberId }
  assert.equal((await signInWithOwn(harness, browser, own)).status, 200)
})
