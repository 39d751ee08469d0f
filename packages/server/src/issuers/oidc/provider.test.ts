import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { Provider } from 'oidc-provider'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { companyClient } from '../../../test/fixtures/people/company.ts'
import { beginSignIn, entryOf, writeIssuersFile } from '../../../test/fixtures/people/company-issuer.ts'
import { enrolMember, openBrowser, registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'
import { returnPath } from '../rules.ts'

// The address of the provider is needed before the provider is made.
const server = createServer()
await new Promise<void>((resolve) => {
  server.listen(0, '127.0.0.1', resolve)
})
const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
after(() => {
  server.closeAllConnections()
  server.close()
})
const harness = await startHarness({ ISSUERS_FILE: writeIssuersFile([entryOf({ issuer })]) })
const { origin } = openBrowser(harness)
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: companyClient.clientId,
      client_secret: companyClient.clientSecret,
      redirect_uris: [`${origin}${returnPath}`],
      // The service of a test is at a plain address.
      application_type: 'native',
    },
  ],
  pkce: { required: () => true },
  findAccount: async (_ctx, accountId) => ({ accountId, claims: async () => ({ sub: accountId }) }),
})
server.on('request', (request, response) => void provider.callback()(request, response))

/** A browser that signs in at the pages of the provider: it follows where it is led, and keeps cookies. */
const signIn = async (address: string, login: string): Promise<Record<string, string>> => {
  const cookies = new Map<string, string>()
  let url = new URL(address)
  let form: URLSearchParams | undefined
  for (let step = 0; step < 12; step += 1) {
    if (url.href.startsWith(`${origin}${returnPath}`)) return Object.fromEntries(url.searchParams)
    const response = await fetch(url, {
      method: form ? 'POST' : 'GET',
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form ? { body: form } : {}),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    const location = response.headers.get('location')
    const text = await response.text()
    form = undefined
    if (location !== null) {
      url = new URL(location, url)
      continue
    }
    const [, action, prompt] = /action="([^"]+)"[\s\S]*name="prompt" value="(\w+)"/.exec(text) ?? []
    assert.ok(action && prompt, text)
    url = new URL(action, url)
    form = new URLSearchParams(prompt === 'login' ? { prompt, login, password: 'any' } : { prompt })
  }
  throw new Error(`the sign-in at ${address} did not end`)
}

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
