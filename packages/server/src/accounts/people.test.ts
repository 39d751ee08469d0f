import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpoints } from '@pohf/protocol'
import { startHarness, type TestResponse } from '../../test/fixtures/harness.ts'
import { makePasskey } from '../../test/fixtures/people/authenticator.ts'
import {
  enter,
  linkTo,
  mailsTo,
  makeAccount,
  makeColleague,
  openConsole,
} from '../../test/fixtures/people/console.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'

const harness = await startHarness()

test('a viewer reads only: every write of the API and of the account is refused', async () => {
  const account = await makeAccount(harness)
  const { browser, personId } = await makeColleague(harness, account, 'viewer')
  for (const mode of ['live', 'test'] as const) {
    const key = await browser.bearer(mode)
    assert.equal((await harness.call('GET', '/api/agents/me', { key })).status, 200)
    assert.equal((await harness.call('GET', '/api/agents/credits/balance', { key })).status, 200)
    let refused = 0
    for (const row of endpoints) {
      if (row.scope === undefined && row.auth !== 'optional') continue
      if (row.method === 'GET' && !row.writes) continue
      const path = row.path.replaceAll(/\{\w+\}/g, 'none')
      const answer = await (row.auth === 'secret'
        ? harness.call(row.method, path, { body: { secret: key } })
        : harness.call(row.method, path, { key, ...(row.method === 'GET' ? {} : { body: {} }) }))
      const code = answer.json?.error ?? answer.json?.pohf?.error
      assert.equal(code, 'forbidden', `${row.method} ${row.path}: ${answer.text}`)
      refused += 1
    }
    assert.ok(refused > 25, `${refused} writes`)
  }
  assertRefusal(await browser.post('people', { email: 'x@example.com', role: 'viewer' }), 403, 'forbidden')
  assertRefusal(await browser.patch(`people/${personId}`, { role: 'owner' }), 403, 'forbidden')
  assertRefusal(await browser.remove(`people/${account.personId}`), 403, 'forbidden')
  assertRefusal(await browser.post('claim', { agentId: account.agents.live }), 403, 'forbidden')
})

test('a developer makes keys in test mode, and in live mode neither keys nor payments', async () => {
  const account = await makeAccount(harness)
  const { browser, personId } = await makeColleague(harness, account, 'developer')
  const live = await browser.bearer('live')
  const owned = endpoints.filter((row) => row.ownerInLive)
  assert.deepEqual(owned.map((row) => row.publicId).toSorted(), [
    'agents.keys-create',
    'agents.keys-revoke',
    'agents.keys-rotate',
    'credits.buy',
    'partners.payout-request',
    'partners.points-convert',
    'questions.ask',
    'questions.pay',
    'tasks.campaign-create',
    'work.order-fund',
  ])
  for (const row of owned)
    assertRefusal(await harness.call(row.method, row.path, { key: live, body: {} }), 403, 'forbidden')
  const changed = await harness.call('PATCH', '/api/agents/me', { key: live, body: { name: 'Renamed' } })
  assert.equal(changed.status, 200)
  const key = await browser.bearer('test')
  const made = await harness.call('POST', '/api/agents/keys', { key, body: { scopes: ['verify', 'keys'] } })
  assert.match(made.json.apiKey, /^svc_test_/)
  const read = await harness.call('GET', '/api/agents/me', { key: made.json.apiKey })
  assert.deepEqual([read.json.agentId, read.json.mode], [account.agents.test, 'test'])
  // A bearer of one mode is never one of the other, and no field can ask for it.
  const sneaky = await browser.post('token', { mode: 'test', agentId: account.agents.live, role: 'owner' })
  assert.deepEqual([sneaky.json.agentId, sneaky.json.role], [account.agents.test, 'developer'])
  assertRefusal(await browser.patch(`people/${personId}`, { role: 'owner' }), 403, 'forbidden')
  assertRefusal(await browser.post('people', { email: 'x@example.com', role: 'owner' }), 403, 'forbidden')
})

test('an owner makes, names and replaces live keys', async () => {
  const { owner } = await makeAccount(harness)
  const key = await owner.bearer('live')
  const made = await harness.call('POST', '/api/agents/keys', { key, body: { scopes: ['verify'] } })
  assert.match(made.json.apiKey, /^svc_live_/)
  assertRefusal(await harness.call('POST', '/api/agents/keys/rotate', { key, body: {} }), 404, 'not_found')
  const { keyId } = made.json
  const rotated = await harness.call('POST', '/api/agents/keys/rotate', { key, body: { keyId } })
  assert.deepEqual([rotated.status, rotated.json.replacedKeyId], [200, keyId], rotated.text)
  const { keys } = (await harness.call('GET', '/api/agents/keys', { key })).json
  assert.deepEqual(
    keys.map((row: { scopes: string[] }) => row.scopes),
    [['verify'], ['verify']],
  )
})

test('a key replaces no key with a scope that it lacks', async () => {
  const { owner } = await makeAccount(harness)
  const key = await owner.bearer('test')
  const create = async (scopes: readonly string[]) =>
    (await harness.call('POST', '/api/agents/keys', { key, body: { scopes } })).json
  const strong = await create(['keys', 'verify'])
  const weak = await create(['keys'])
  const body = { keyId: strong.keyId }
  assertRefusal(
    await harness.call('POST', '/api/agents/keys/rotate', { key: weak.apiKey, body }),
    403,
    'forbidden',
  )
})

test('a removed person loses session, bearer, passkey and open invitations at once', async () => {
  const account = await makeAccount(harness)
  const { browser, email, personId } = await makeColleague(harness, account, 'owner')
  const passkey = makePasskey()
  await browser.addPasskey(passkey)
  const key = await browser.bearer('live')
  assert.equal((await harness.call('GET', '/api/agents/me', { key })).status, 200)
  await browser.post('people', { email: 'back-door@evil.example', role: 'owner' })
  assert.equal((await account.owner.remove(`people/${personId}`)).status, 200)
  assertRefusal(await harness.call('GET', '/api/agents/me', { key }), 401, 'invalid_api_key')
  assertRefusal(await browser.get('account'), 401, 'sign_in_required')
  assertRefusal(await browser.post('token', { mode: 'test' }), 401, 'sign_in_required')
  assertRefusal(await openConsole(harness).usePasskey(passkey), 400, 'passkey_refused')
  const backDoor = openConsole(harness)
  await backDoor.post('sign-in', { email: 'back-door@evil.example' })
  assert.equal(await linkTo(harness, 'back-door@evil.example'), undefined)
  const again = openConsole(harness)
  await again.post('sign-in', { email })
  assert.match((await mailsTo(harness, email)).at(-1)?.text ?? '', /which no account has/)
  const { rows } = await harness.owner.query(
    'select from account_people where person_id = $1 union all select from account_sessions where person_id = $1 union all select from account_passkeys where person_id = $1',
    [personId],
  )
  assert.equal(rows.length, 0)
})

test('a person who is removed leaves no way back, also where they have another account', async () => {
  const account = await makeAccount(harness)
  const other = await makeAccount(harness)
  const { accountId } = account
  await account.owner.post('people', { email: other.email, role: 'owner' })
  await other.owner.post('join', { accountId })
  await other.owner.post('switch', { accountId })
  const invited = await other.owner.post('people', { email: 'way-back@evil.example', role: 'owner' })
  assert.equal(invited.status, 200)
  assert.equal((await account.owner.remove(`people/${other.personId}`)).status, 200)
  assert.deepEqual((await account.owner.get('people')).json.invitations, [])
  assertRefusal(await other.owner.get('account'), 401, 'sign_in_required')
  await enter(harness, other.owner, other.email)
  assertRefusal(await other.owner.post('switch', { accountId }), 404, 'not_found')
  assert.equal((await other.owner.get('account')).json.account.id, other.accountId)
})

/** Starts calls while a transaction holds rows, lets all of them wait for it, and then ends it. */
const whileHeld = async (
  hold: readonly [text: string, ...values: readonly string[]],
  calls: readonly (() => Promise<TestResponse>)[],
  before: readonly [text: string, ...values: readonly string[]] = ['select'],
): Promise<TestResponse[]> => {
  const client = await harness.owner.connect()
  try {
    await client.query('begin')
    await client.query(hold[0], hold.slice(1))
    const waiting = calls.map((call) => call())
    for (let waiters = 0; waiters < calls.length;) {
      const { rows } = await harness.owner.query<{ count: number }>(
        "select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      )
      waiters = rows[0]?.count ?? 0
    }
    await client.query(before[0], before.slice(1))
    await client.query('commit')
    return await Promise.all(waiting)
  } finally {
    client.release()
  }
}

test('a person who is removed while their call waits changes nothing', async () => {
  const account = await makeAccount(harness)
  const { browser, personId } = await makeColleague(harness, account, 'owner')
  const [answer] = await whileHeld(
    ['select from accounts where account_id = $1 for update', account.accountId],
    [() => browser.post('people', { email: 'late@evil.example', role: 'owner' })],
    ['delete from account_roles where person_id = $1', personId],
  )
  assert.ok(answer)
  assertRefusal(answer, 403, 'forbidden')
  assert.equal((await account.owner.get('people')).json.invitations.length, 0)
})

test('a demoted owner has the rights of the new role with the next call, and their invitations end', async () => {
  const account = await makeAccount(harness)
  const { browser, personId } = await makeColleague(harness, account, 'owner')
  const key = await browser.bearer('live')
  await browser.post('people', { email: 'friend@evil.example', role: 'owner' })
  const create = () => harness.call('POST', '/api/agents/keys', { key, body: { scopes: ['verify'] } })
  assert.equal((await create()).status, 200)
  assert.equal((await account.owner.patch(`people/${personId}`, { role: 'viewer' })).status, 200)
  assertRefusal(await create(), 403, 'forbidden')
  assert.deepEqual((await account.owner.get('people')).json.invitations, [])
})

test('the last owner neither leaves nor steps down, also when two try at the same time', async () => {
  const account = await makeAccount(harness)
  assertRefusal(await account.owner.remove(`people/${account.personId}`), 403, 'forbidden')
  assertRefusal(
    await account.owner.patch(`people/${account.personId}`, { role: 'developer' }),
    403,
    'forbidden',
  )
  const second = await makeColleague(harness, account, 'owner')
  const answers = await whileHeld(
    ['select from account_roles where account_id = $1 for update', account.accountId],
    [
      () => account.owner.patch(`people/${account.personId}`, { role: 'viewer' }),
      () => second.browser.patch(`people/${second.personId}`, { role: 'viewer' }),
    ],
  )
  assert.equal(answers.map(({ status }) => status).join(), answers[0]?.status === 200 ? '200,403' : '403,200')
  const viewer = answers[0]?.status === 200 ? account.owner : second.browser
  const own = (await viewer.get('account')).json.person.id
  assert.equal((await viewer.remove(`people/${own}`)).status, 200, 'everybody else may leave')
})

test('an invitation to an address with an account looks like any other, and is accepted by its person alone', async () => {
  const inviting = await makeAccount(harness)
  const existing = await makeAccount(harness)
  const known = await inviting.owner.post('people', { email: existing.email, role: 'developer' })
  const unknown = await inviting.owner.post('people', { email: 'nobody@nowhere.example', role: 'developer' })
  assert.deepEqual(Object.keys(known.json), Object.keys(unknown.json))
  const texts = await Promise.all(
    [existing.email, 'nobody@nowhere.example'].map(async (to) => (await mailsTo(harness, to)).at(-1)?.text),
  )
  assert.equal(texts[0], texts[1])
  assert.doesNotMatch(texts[0] ?? '', /token=/)
  const stranger = await makeAccount(harness)
  const joining = { accountId: inviting.accountId }
  assertRefusal(await stranger.owner.post('join', joining), 404, 'not_found')
  const { json } = await existing.owner.get('account')
  assert.deepEqual(json.invitations, [
    {
      accountId: inviting.accountId,
      accountName: json.invitations[0].accountName,
      invitedBy: inviting.email,
      role: 'developer',
    },
  ])
  assertRefusal(await existing.owner.post('switch', joining), 404, 'not_found')
  assert.equal((await existing.owner.post('join', joining)).json.role, 'developer')
  assertRefusal(await existing.owner.post('join', joining), 404, 'not_found')
  const key = await existing.owner.bearer('test')
  assert.deepEqual((await existing.owner.post('switch', joining)).json, { ...joining, role: 'developer' })
  assertRefusal(await harness.call('GET', '/api/agents/me', { key }), 401, 'invalid_api_key')
  assert.equal((await existing.owner.post('token', { mode: 'live' })).json.agentId, inviting.agents.live)
  assertRefusal(
    await existing.owner.post('people', { email: 'x@example.com', role: 'viewer' }),
    403,
    'forbidden',
  )
})

test('a link joins the account that its mail named, also when another one invites later', async () => {
  const named = await makeAccount(harness)
  const later = await makeAccount(harness)
  const email = 'invited-twice@example.com'
  assert.equal((await named.owner.post('people', { email, role: 'viewer' })).status, 200)
  const browser = openConsole(harness)
  assert.equal((await browser.post('sign-in', { email })).status, 202)
  await harness.advance(1_000)
  assert.equal((await later.owner.post('people', { email, role: 'owner' })).status, 200)
  assert.equal((await browser.post('link', { token: await linkTo(harness, email) })).status, 200)
  const { json } = await browser.get('account')
  assert.deepEqual([json.account.id, json.person.role], [named.accountId, 'viewer'])
})

test('a withdrawn or expired invitation lets nobody in', async () => {
  const { owner } = await makeAccount(harness)
  const { json } = await owner.post('people', { email: 'withdrawn@example.com', role: 'viewer' })
  const browser = openConsole(harness)
  await browser.post('sign-in', { email: 'withdrawn@example.com' })
  const token = await linkTo(harness, 'withdrawn@example.com')
  assert.ok(token)
  assert.equal((await owner.remove(`invitations/${json.id}`)).status, 200)
  assertRefusal(await browser.post('link', { token }), 404, 'not_found')
  await owner.post('people', { email: 'expired@example.com', role: 'viewer' })
  await harness.advance(7 * 86_400_000 + 1_000)
  await openConsole(harness).post('sign-in', { email: 'expired@example.com' })
  assert.equal(await linkTo(harness, 'expired@example.com'), undefined)
})

test('people and invitations of an account are bounded, and so are its mails to strangers', async () => {
  const { owner, accountId, email } = await makeAccount(harness)
  for (let n = 0; n < 20; n++)
    assert.equal((await owner.post('people', { email: `p${n}@many.example`, role: 'viewer' })).status, 200)
  assertRefusal(
    await owner.post('people', { email: 'p20@many.example', role: 'viewer' }),
    429,
    'rate_limited',
  )
  await harness.owner.query(
    `insert into account_invitations (invitation_id, account_id, email, role, invited_by, expires_at)
     select 'ivt_' || n, $1, n || '@full.example', 'viewer', person_id, pohf_now() + interval '7 days'
     from generate_series(1, 29) n, account_people where email = $2`,
    [accountId, email],
  )
  await harness.advance(86_400_000)
  await enter(harness, owner, email)
  const { people, invitations } = (await owner.get('people')).json
  assert.equal(people.length + invitations.length, 50)
  assertRefusal(await owner.post('people', { email: 'p20@many.example', role: 'viewer' }), 403, 'forbidden')
})

test('a page that shows another account than that of the session gets no bearer and changes no people', async () => {
  const shown = await makeAccount(harness)
  const other = await makeAccount(harness)
  await other.owner.post('people', { email: shown.email, role: 'owner' })
  const invited = (await shown.owner.post('people', { email: 'shown@example.com', role: 'viewer' })).json
  const { owner, accountId, personId } = shown
  assert.equal((await owner.post('token', { mode: 'live', accountId })).json.agentId, shown.agents.live)
  await owner.post('join', { accountId: other.accountId })
  await owner.post('switch', { accountId: other.accountId })
  const refused = [
    await owner.post('token', { mode: 'live', accountId }),
    await owner.post('people', { email: 'stray@example.com', role: 'viewer', accountId }),
    await owner.patch(`people/${other.personId}`, { role: 'viewer', accountId }),
    await owner.remove(`people/${personId}?accountId=${accountId}`),
    await owner.remove(`invitations/${invited.id}?accountId=${accountId}`),
  ]
  for (const answer of refused) assertRefusal(answer, 409, 'other_account')
  const named = await owner.post('token', { mode: 'live', accountId: other.accountId })
  assert.equal(named.json.agentId, other.agents.live)
  const { people, invitations } = (await owner.get('people')).json
  assert.deepEqual([people.length, invitations.length], [2, 0])
})
