import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findTablesHolding } from '../../../test/architecture/personal-data.ts'
import { startHarness, type TestResponse } from '../../../test/fixtures/harness.ts'
import { companyClient } from '../../../test/fixtures/people/company.ts'
import {
  beginSignIn,
  entryOf,
  openCompany,
  signInWithCompany,
  writeIssuersFile,
} from '../../../test/fixtures/people/company-issuer.ts'
import { enrolMember, registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'

const company = await openCompany()
const token = 'the token of the directory'.replaceAll(' ', '-')
const harness = await startHarness({
  ISSUERS_FILE: writeIssuersFile(
    [
      entryOf(company, { scim: { tokenFile: 'scim.token' } }),
      entryOf(company, { name: 'by-name', scim: { tokenFile: 'other.token', subject: 'userName' } }),
      entryOf(company, { name: 'without' }),
    ],
    {
      'client.secret': companyClient.clientSecret,
      'scim.token': token,
      'other.token': 'another-token',
    },
  ),
})
const live = await registerConfirmedAgent(harness, 'live', 'scim@example.com')

type Sent = { readonly issuer?: string; readonly token?: string | undefined; readonly body?: unknown }
const scim = (
  method: string,
  path: string,
  { issuer = 'acme', ...sent }: Sent = {},
): Promise<TestResponse> => {
  const bearer = 'token' in sent ? sent.token : token
  return harness.call(method, `/api/scim/${issuer}${path}`, {
    ...(sent.body === undefined ? {} : { body: sent.body }),
    headers: {
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      ...(sent.body === undefined ? {} : { 'content-type': 'application/scim+json' }),
    },
  })
}
const create = async (sub: string, more: object = {}): Promise<string> => {
  const created = await scim('POST', '/Users', {
    body: {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
      userName: `${sub}@acme.example`,
      externalId: sub,
      active: true,
      name: { familyName: 'Lovelace' },
      emails: [{ value: `${sub}@acme.example`, primary: true }],
      ...more,
    },
  })
  assert.equal(created.status, 201, created.text)
  assert.equal(created.headers['content-type'], 'application/scim+json; charset=utf-8')
  return created.json.id as string
}
const deactivations: readonly (readonly [
  name: string,
  run: (id: string, sub: string) => Promise<TestResponse>,
])[] = [
  [
    'a patch with a path and a text, as one directory writes it',
    (id) =>
      scim('PATCH', `/Users/${id}`, {
        body: { Operations: [{ op: 'Replace', path: 'active', value: 'False' }] },
      }),
  ],
  [
    'a patch with an object, as another does',
    (id) =>
      scim('PATCH', `/Users/${id}`, { body: { Operations: [{ op: 'replace', value: { active: false } }] } }),
  ],
  [
    'a replacement',
    (id, sub) =>
      scim('PUT', `/Users/${id}`, {
        body: { userName: `${sub}@acme.example`, externalId: sub, active: false },
      }),
  ],
  ['a deletion', (id) => scim('DELETE', `/Users/${id}`)],
]
const proofOf = async ({ browser }: Awaited<ReturnType<typeof enrolMember>>) =>
  (await browser.get('me')).json.proofs[0] as { countsNow: boolean; withdrawn: boolean }

test('whom a directory deactivates or deletes is withdrawn at once, and gets in again once it says so', async () => {
  for (const [index, [name, deactivate]] of deactivations.entries()) {
    const sub = `leaver-${index}`
    const person = await enrolMember(harness, live)
    const id = await create(sub)
    assert.equal((await signInWithCompany(person.browser, company, sub)).status, 200, name)
    assert.deepEqual(await proofOf(person).then(({ countsNow }) => countsNow), true, name)
    const { request, state } = await beginSignIn(person.browser)
    const ended = await deactivate(id, sub)
    assert.ok(ended.status === 200 || ended.status === 204, `${name} ${ended.text}`)
    assert.deepEqual(await proofOf(person).then(({ withdrawn }) => withdrawn), true, name)
    const later = await person.browser.post('me/proofs/finish', {
      state,
      answer: company.signIn(request.url, sub),
    })
    assertRefusal(later, 400, 'proof_refused')
    assert.equal(later.json.details[0].code, 'withdrawn', name)
    const { json } = await harness.call('GET', `/api/agents/members/${person.memberId}`, { key: live.apiKey })
    assert.equal(json.uniqueness, 'device', name)

    if (name === 'a deletion') {
      assertRefusal(await scim('GET', `/Users/${id}`), 404, 'not_found')
      assert.equal(await create(sub), id, 'the same person comes back')
    } else
      await scim('PATCH', `/Users/${id}`, {
        body: { Operations: [{ op: 'replace', path: 'active', value: true }] },
      })
    assert.equal((await signInWithCompany(person.browser, company, sub)).status, 200, name)
    assert.deepEqual(await proofOf(person).then(({ countsNow }) => countsNow), true, name)
  }
})

test('a person is found by the name or the number, and nobody else is listed', async () => {
  const id = await create('found-1')
  const find = async (filter: string) =>
    (await scim('GET', `/Users?filter=${encodeURIComponent(filter)}`)).json
  for (const filter of [
    'userName eq "Found-1@acme.example"',
    'externalId eq "found-1"',
    'username EQ "found-1@acme.example"',
  ]) {
    const { totalResults, Resources } = await find(filter)
    assert.deepEqual([totalResults, Resources[0]?.id, Resources[0]?.active], [1, id, true], filter)
  }
  assert.equal((await find('userName eq "nobody@acme.example"')).totalResults, 0)
  assert.equal((await scim('GET', '/Users')).json.totalResults, 0)
  assertRefusal(await scim('GET', '/Users?filter=active%20eq%20true'), 400, 'validation_failed')
  assertRefusal(
    await scim('POST', '/Users', { body: { userName: 'x', externalId: 'found-1' } }),
    409,
    'scim_conflict',
  )
  const moved = { userName: 'found-1@acme.example', externalId: 'found-2', active: true }
  assertRefusal(await scim('PUT', `/Users/${id}`, { body: moved }), 409, 'scim_conflict')
  assertRefusal(await scim('POST', '/Users', { body: { userName: 'no-number' } }), 400, 'validation_failed')
  assertRefusal(
    await scim('PATCH', `/Users/${id}`, {
      body: { Operations: [{ op: 'replace', path: 'active', value: 7 }] },
    }),
    400,
    'validation_failed',
  )
  assert.equal((await scim('GET', '/ServiceProviderConfig')).json.patch.supported, true)
  for (const trace of ['found-1', 'Lovelace', 'acme.example'])
    assert.deepEqual(
      (await findTablesHolding(harness.owner, trace)).filter((table) => table !== 'agents'),
      [],
      `${trace} is stored nowhere`,
    )
})

test('only the token of the issuer itself speaks for its people', async () => {
  const id = await create('guarded')
  for (const [issuer, given] of [
    ['acme', undefined],
    ['acme', 'wrong'],
    ['acme', 'another-token'],
    ['by-name', token],
    ['without', token],
    ['nobody', token],
  ] as const)
    for (const [method, path] of [
      ['GET', '/Users'],
      ['GET', `/Users/${id}`],
      ['DELETE', `/Users/${id}`],
      ['GET', '/ServiceProviderConfig'],
    ] as const)
      assertRefusal(await scim(method, path, { issuer, token: given }), 401, 'invalid_api_key')
  assertRefusal(
    await scim('DELETE', `/Users/${id}`, { issuer: 'by-name', token: 'another-token' }),
    404,
    'not_found',
  )
  assert.equal((await scim('GET', `/Users/${id}`)).json.active, true)
})

test('a directory whose people are known by their names withdraws by the name', async () => {
  const person = await enrolMember(harness, live)
  const body = { userName: 'name-1', active: true }
  const created = await scim('POST', '/Users', { issuer: 'by-name', token: 'another-token', body })
  assert.equal(created.status, 201, created.text)
  assert.equal((await signInWithCompany(person.browser, company, 'name-1', 'by-name')).status, 200)
  await scim('DELETE', `/Users/${created.json.id}`, { issuer: 'by-name', token: 'another-token' })
  assert.equal((await proofOf(person)).withdrawn, true)
})
