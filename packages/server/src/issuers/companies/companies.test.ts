import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { makeAdministration } from '../../../test/fixtures/people/approvals.ts'
import { companyClient } from '../../../test/fixtures/people/company.ts'
import { enter, makeColleague } from '../../../test/fixtures/people/console.ts'
import { enrolMember } from '../../../test/fixtures/people/member.ts'
import {
  companyBody,
  openOwnCompany,
  signInWithOwn,
  startZone,
} from '../../../test/fixtures/people/own-company.ts'
import { listenStockProvider, signInAtStock } from '../../../test/fixtures/people/stock-provider.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'

const domain = 'nordwind.localhost'
const zone = await startZone()
const harness = await startHarness({ DNS_RESOLVERS: zone.address })
const now = () => harness.ctx.clock.now()
const company = await openOwnCompany(domain, now)

type Administration = Awaited<ReturnType<typeof makeAdministration>>
const setUp = async (owner: Administration, body: object = companyBody(company, domain)) => {
  const created = await owner.administer('POST', 'companies', body)
  assert.equal(created.status, 200, created.text)
  return created.json
}
const faultOf = ({
  status,
  json,
}: {
  status: number
  json: { error: string; details?: { code: string }[] }
}) => (status === 200 ? 'passes' : `${json.error} ${json.details?.[0]?.code ?? ''}`.trim())
const check = (owner: Administration, issuerId: string) =>
  owner.administer('POST', `companies/${issuerId}/verify`)
/** An owner whose company is ready. */
const makeReady = async () => {
  const owner = await makeAdministration(harness, 'test')
  const { issuerId, record } = await setUp(owner)
  zone.publish(record)
  const verified = await check(owner, issuerId)
  assert.equal(verified.json.state, 'ready', verified.text)
  return { owner, issuerId: issuerId as string, record }
}

test('the company of an owner vouches for a member once its record is seen, and the credential names the issuer', async () => {
  const owner = await makeAdministration(harness, 'live')
  const { issuerId, record, redirectUri, state, hasSecret } = await setUp(owner)
  assert.deepEqual([state, hasSecret], ['waiting', true])
  assert.equal(record.name, `_pohf-challenge.${domain}`)
  assert.match(record.value, /^pohf-domain-verification=[\w-]{43}$/)
  assert.match(redirectUri, new RegExp(`/issuers/return/${issuerId}$`))
  const { browser, memberId } = await enrolMember(harness, owner)
  const own = { company, issuerId, memberId }
  assertRefusal(await signInWithOwn(harness, browser, own), 404, 'not_found')
  assert.equal(faultOf(await check(owner, issuerId)), 'company_refused record_missing')
  assertRefusal(await check(owner, issuerId), 429, 'rate_limited')
  zone.publish(record)
  await harness.advance(6_000)
  assert.equal((await check(owner, issuerId)).json.state, 'ready')
  const shown = await signInWithOwn(harness, browser, own)
  assert.equal(shown.status, 200, shown.text)
  const offered = await harness.call('GET', '/api/agents/issuers', { key: owner.apiKey })
  assert.deepEqual(
    offered.json.issuers.map((one: { name: string; isOwn: boolean }) => [one.name, one.isOwn]),
    [[issuerId, true]],
  )
  assert.deepEqual([shown.json.issuer, shown.json.issuerId], [issuerId, company.issuer])
  const personhood = await harness.call('POST', '/api/agents/verify-personhood', {
    key: owner.apiKey,
    body: { memberId },
  })
  assert.equal(personhood.json.uniqueness, 'organization', personhood.text)
  const [, payload = ''] = String(personhood.json.pohf_jwt).split('.')
  const { roots } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as {
    roots: { kind: string; issuer: string }[]
  }
  assert.deepEqual(
    roots.map(({ kind, issuer }) => [kind, issuer]),
    [['organization', company.issuer]],
  )
})

test('a stock provider below the domain serves with the redirect address that the console shows, and an employee is one human', async () => {
  const stock = 'stock.localhost'
  const provider = await listenStockProvider(`login.${stock}`)
  after(() => provider.close())
  const owner = await makeAdministration(harness, 'test')
  const { issuerId, record, redirectUri } = await setUp(owner, companyBody(provider, stock))
  provider.serve(redirectUri)
  zone.publish(record)
  assert.equal((await check(owner, issuerId)).json.state, 'ready')
  const [one, two] = [await enrolMember(harness, owner), await enrolMember(harness, owner)]
  // Browsers know where names below localhost lead; fetch asks a resolver.
  const signIn = (address: string, login: string) =>
    signInAtStock(address.replace(`login.${stock}`, '127.0.0.1'), redirectUri, login)
  const show = ({ browser, memberId }: typeof one, sub: string) =>
    signInWithOwn(harness, browser, { company: { signIn }, issuerId, memberId, sub })
  const shown = await show(one, 'employee-1')
  assert.deepEqual([shown.status, shown.json.issuerId], [200, provider.issuer], shown.text)
  assert.equal((await show(two, 'employee-1')).json.details[0].code, 'duplicate')
  assert.equal((await show(two, 'employee-2')).status, 200)
})

test('the address of a company leads on to the page of all issuers, and another address to nothing', async () => {
  const { issuerId } = await makeReady()
  const at = await harness.call('GET', `/issuers/return/${issuerId}?code=c&state=s&issuer=other`)
  assert.deepEqual([at.status, at.headers['cache-control']], [303, 'no-store'])
  const location = at.headers['location'] ?? ''
  assert.equal(location, `/issuers/return?code=c&state=s&issuer=${issuerId}`)
  assert.equal((await harness.call('GET', location)).status, 200)
  for (const path of ['iss_', 'acme', `${issuerId}x`, encodeURIComponent('//evil.example')])
    assert.equal((await harness.call('GET', `/issuers/return/${path}?code=c`)).status, 404, path)
})

test('a person of two agents cannot show the company of one agent to the other', async () => {
  const { owner, issuerId } = await makeReady()
  const other = await makeAdministration(harness, 'test')
  const { browser, memberId } = await enrolMember(harness, owner)
  const elsewhere = await enrolMember(harness, other, { browser })
  const begin = (member?: string) => browser.post('me/proofs/begin', { issuer: issuerId, memberId: member })
  assertRefusal(await begin(elsewhere.memberId), 404, 'not_found')
  assertRefusal(await begin(), 404, 'not_found')
  assert.equal(
    (await signInWithOwn(harness, browser, { company, issuerId, memberId, sub: 'two' })).status,
    200,
  )
  const ask = (key: string, member: string) =>
    harness.call('POST', '/api/agents/verify-personhood', { key, body: { memberId: member } })
  assert.equal((await ask(owner.apiKey, memberId)).json.uniqueness, 'organization')
  assert.notEqual((await ask(other.apiKey, elsewhere.memberId)).json.uniqueness, 'organization')
})

test('an owner of another account neither sees, changes, checks nor removes a company', async () => {
  const { owner, issuerId } = await makeReady()
  const stranger = await makeAdministration(harness, 'test')
  assert.deepEqual((await stranger.administer('GET', 'companies')).json.companies, [])
  assertRefusal(await check(stranger, issuerId), 404, 'not_found')
  assertRefusal(
    await stranger.administer('PATCH', `companies/${issuerId}`, { clientId: 'mine' }),
    404,
    'not_found',
  )
  assertRefusal(await stranger.administer('DELETE', `companies/${issuerId}`), 404, 'not_found')
  const [kept] = (await owner.administer('GET', 'companies')).json.companies
  assert.deepEqual([kept.clientId, kept.state], [companyClient.clientId, 'ready'])
})

test('a developer and an API key set up no company', async () => {
  const owner = await makeAdministration(harness, 'test')
  const { browser } = await makeColleague(harness, owner, 'developer')
  const body = companyBody(company, domain)
  for (const key of [await browser.bearer('test'), owner.apiKey])
    assertRefusal(await harness.call('POST', '/api/agents/companies', { key, body }), 403, 'forbidden')
})

test('a secret is in no answer and in no line of the log, is stored sealed, and can be changed', async () => {
  const { owner, issuerId } = await makeReady()
  const secret = 'another secret of the company'
  const changed = await owner.administer('PATCH', `companies/${issuerId}`, {
    clientSecret: secret,
    name: 'North',
  })
  assert.deepEqual([changed.json.name, changed.json.hasSecret, changed.json.state], ['North', true, 'ready'])
  const listed = await owner.administer('GET', 'companies')
  const { rows } = await harness.owner.query('select * from company_issuers where issuer_id = $1', [issuerId])
  for (const text of [changed.text, listed.text, JSON.stringify(rows), harness.lines.join('')]) {
    assert.ok(!text.includes(secret))
    assert.ok(!text.includes(companyClient.clientSecret))
  }
  const { browser, memberId } = await enrolMember(harness, owner)
  const own = { company, issuerId, memberId, sub: 'three' }
  assert.notEqual(
    (await signInWithOwn(harness, browser, own)).status,
    200,
    'the company knows the old secret alone',
  )
  await owner.administer('PATCH', `companies/${issuerId}`, { clientSecret: companyClient.clientSecret })
  assert.equal((await signInWithOwn(harness, browser, own)).status, 200)
  const cleared = await owner.administer('PATCH', `companies/${issuerId}`, { clientSecret: null })
  assert.equal(cleared.json.hasSecret, false)
})

test('three days after its record was last seen a company stops, and a record that comes back starts it again', async () => {
  const { owner, issuerId, record } = await makeReady()
  const signIn = async (sub: string) => {
    const { browser, memberId } = await enrolMember(harness, owner)
    return signInWithOwn(harness, browser, { company, issuerId, memberId, sub })
  }
  const read = async () => (await (await makeAgain(owner)).administer('GET', 'companies')).json.companies[0]
  zone.clear()
  const hour = 3_600_000
  await harness.advance(25 * hour)
  await harness.runJobs()
  const missing = await read()
  assert.deepEqual([missing.state, missing.fault], ['missing', 'record_missing'])
  assert.equal(Date.parse(missing.stopsAt) - Date.parse(missing.seenAt), 72 * hour)
  assert.equal((await signIn('four')).status, 200)
  await harness.advance(46 * hour)
  assert.equal((await read()).state, 'missing')
  await harness.advance(hour + 60_000)
  await harness.runJobs()
  assert.equal((await read()).state, 'stopped')
  assertRefusal(await signIn('five'), 404, 'not_found')
  zone.publish(record)
  await harness.advance(2 * hour)
  await harness.runJobs()
  assert.equal((await read()).state, 'ready')
  assert.equal((await signIn('six')).status, 200)
})
/** The same owner, signed in again days later. */
const makeAgain = async (owner: Administration): Promise<Administration> => {
  await enter(harness, owner.owner, owner.email)
  const bearer = await owner.owner.bearer('test')
  return {
    ...owner,
    bearer,
    administer: (method, path, body) =>
      harness.call(method, `/api/agents/${path}`, { key: bearer, ...(body === undefined ? {} : { body }) }),
  }
}

test('name servers that do not answer do not prove a domain', async () => {
  const owner = await makeAdministration(harness, 'test')
  const { issuerId, record } = await setUp(owner)
  zone.publish(record)
  zone.state.isDown = true
  assert.equal(faultOf(await check(owner, issuerId)), 'company_refused dns_unavailable')
  zone.state.isDown = false
  await harness.advance(6_000)
  assert.equal(faultOf(await check(owner, issuerId)), 'passes')
})

test('what a removed company vouched for counts no more, from the moment of the removal', async () => {
  const { owner, issuerId } = await makeReady()
  const { browser, memberId } = await enrolMember(harness, owner)
  const own = { company, issuerId, memberId, sub: 'seven' }
  assert.equal((await signInWithOwn(harness, browser, own)).status, 200)
  assert.deepEqual((await owner.administer('DELETE', `companies/${issuerId}`)).json, {
    issuerId,
    removed: true,
  })
  const personhood = await harness.call('POST', '/api/agents/verify-personhood', {
    key: owner.apiKey,
    body: { memberId },
  })
  assert.equal(personhood.json.uniqueness, 'device', personhood.text)
  assertRefusal(await signInWithOwn(harness, browser, own), 404, 'not_found')
  assertRefusal(await owner.administer('DELETE', `companies/${issuerId}`), 404, 'not_found')
})

test('an agent has at most three companies and each issuer once', async () => {
  const owner = await makeAdministration(harness, 'test')
  const add = (host: string) =>
    owner.administer('POST', 'companies', {
      name: host,
      issuer: `https://${host}.nordwind.example`,
      domain: 'nordwind.example',
      clientId: 'pohf',
    })
  const at = await Promise.all(['a', 'b', 'c', 'd'].map(add))
  assert.deepEqual(at.map(faultOf).toSorted(), ['company_refused too_many', 'passes', 'passes', 'passes'])
  const [first] = (await owner.administer('GET', 'companies')).json.companies
  await owner.administer('DELETE', `companies/${first.issuerId}`)
  const [kept] = (await owner.administer('GET', 'companies')).json.companies
  assert.equal(faultOf(await add(kept.name)), 'company_refused duplicate')
})
