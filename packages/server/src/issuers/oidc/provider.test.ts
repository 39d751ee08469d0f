import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { beginSignIn, entryOf, writeIssuersFile } from '../../../test/fixtures/people/company-issuer.ts'
import { enrolMember, registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'
import { signInAtStock, startStockProvider } from '../../../test/fixtures/people/stock-provider.ts'
import { returnPath } from '../rules.ts'

const baseUrl = 'http://localhost:3000'
const returnAddress = `${baseUrl}${returnPath}`
const provider = await startStockProvider(returnAddress)
after(() => provider.close())
const { issuer } = provider
const harness = await startHarness({
  BASE_URL: baseUrl,
  ISSUERS_FILE: writeIssuersFile([entryOf({ issuer })]),
})
const signIn = (address: string, login: string) => signInAtStock(address, returnAddress, login)

test('an employee signs in at a stock provider, and a credential names the company', async () => {
  const live = await registerConfirmedAgent(harness, 'live', 'provider@example.com')
  const { browser, memberId } = await enrolMember(harness, live)
  const { request, state } = await beginSignIn(browser)
  const { searchParams } = new URL(request.url)
  assert.deepEqual(
    [searchParams.get('prompt'), searchParams.get('max_age'), searchParams.get('code_challenge_method')],
    ['login', '0', 'S256'],
  )
  const answer = await signIn(request.url, 'employee-1')
  const shown = await browser.post('me/proofs/finish', { state, answer })
  assert.equal(shown.status, 200, shown.text)
  assert.deepEqual(
    [shown.json.issuerId, shown.json.kind, shown.json.level, shown.json.counted],
    [issuer, 'organization', 'low', true],
  )
  const personhood = await harness.call('POST', '/api/agents/verify-personhood', {
    key: live.apiKey,
    body: { memberId },
  })
  assert.deepEqual([personhood.json.assurance, personhood.json.uniqueness], ['low', 'organization'])
  const [, payload = ''] = String(personhood.json.pohf_jwt).split('.')
  const { roots } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as {
    roots: Record<string, unknown>[]
  }
  assert.deepEqual(
    roots.map(({ kind, issuer: by, counted }) => [kind, by, counted]),
    [['organization', issuer, true]],
  )
})

test('another employee is another human, the same one is no second person, and a proof lasts a day', async () => {
  const live = await registerConfirmedAgent(harness, 'live', 'two@example.com')
  const [one, two] = [await enrolMember(harness, live), await enrolMember(harness, live)]
  const show = async ({ browser }: typeof one, login: string) => {
    const { request, state } = await beginSignIn(browser)
    return browser.post('me/proofs/finish', { state, answer: await signIn(request.url, login) })
  }
  assert.equal((await show(one, 'employee-2')).status, 200)
  assert.equal((await show(two, 'employee-2')).json.details[0].code, 'duplicate')
  assert.equal((await show(two, 'employee-3')).status, 200)
  await harness.advance(24 * 3_600_000 + 1_000)
  const later = await harness.call('POST', '/api/agents/verify-personhood', {
    key: live.apiKey,
    body: { memberId: two.memberId },
  })
  assert.equal(later.json.uniqueness, 'device', 'a day later the company has to say it again')
})
