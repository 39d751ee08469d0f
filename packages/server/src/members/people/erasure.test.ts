import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rootClasses, rootKinds } from '@pohf/protocol'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { verifyCredential, type Fetch } from '@pohf/verify'
import * as operators from '../../operators/index.ts'
import { consentVersion } from '../rules.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { addOutsideProof, officeIssuer } from '../../../test/fixtures/people/outside-proof.ts'
import {
  enrolMember,
  invite,
  openBrowser,
  registerConfirmedAgent,
} from '../../../test/fixtures/people/member.ts'
import {
  findTablesHolding,
  findFilesHolding,
  tablesWithoutErasureEffect,
} from '../../../test/architecture/personal-data.ts'
import { createPasskey, makePasskey } from '../../../test/fixtures/people/authenticator.ts'
import { makeStrokes } from '../../../test/fixtures/people/play-session.ts'
import { startReceiver } from '../../../test/fixtures/webhook-receiver.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'
import { subscribe } from '../../../test/fixtures/webhooks.ts'

/** Where wallets are registered: the same for everybody. */
const registry = `0x${'5e'.repeat(20)}`
const harness = await startHarness({ ONCHAIN_REGISTRIES: `8453=${registry}` }, [officeIssuer])
const receiver = await startReceiver()
const live = await registerConfirmedAgent(harness, 'live', 'first@example.com')
const other = await registerConfirmedAgent(harness, 'live', 'second@example.com')
await subscribe(harness, live, receiver.url)
const otherReceiver = await startReceiver()
await subscribe(harness, other, otherReceiver.url)
const post = (path: string, body: unknown, key = live.apiKey) => harness.call('POST', path, { key, body })

const inProcess: Fetch = async (url) => {
  const answer = await harness.call('GET', new URL(url).pathname)
  return new Response(answer.text, { status: answer.status })
}
const policy = {
  kinds: ['personhood', 'presence', 'view', 'binding'],
  minAssurance: 'low',
  minQuality: 0,
  status: 'require',
  allowTest: false,
} as const
const verifies = async (jwt: string): Promise<boolean> =>
  (
    await verifyCredential(jwt, {
      issuer: harness.ctx.config.BASE_URL,
      policy,
      fetch: inProcess,
      clock: () => harness.ctx.clock.now(),
    })
  ).ok

let invoices = 0
const claimsOf = (jwt: string) => JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString())

/** Attests a device for this member. */
const attestDevice = async (memberId: string) => {
  const { nonce, challengeB64url } = (await post('/api/agents/attest/challenge', {})).json
  const device = makePasskey()
  const origin = new URL(harness.ctx.config.BASE_URL).origin
  const credential = createPasskey(device, { challenge: challengeB64url, origin }, { fmt: 'none' })
  await post('/api/agents/attest/verify', {
    method: 'webauthn',
    nonce,
    subjectRef: memberId,
    evidence: { credential },
  })
  return device
}

/** A person with all kinds of data: two agents, a check, a presence with a location, a device, credentials, a payment. */
const createPersonWithHistory = async (externalRef: string, lat = 12.34) => {
  const strokes = makeStrokes(100 + invoices)
  const first = await enrolMember(harness, live, { externalRef, strokes })
  // Real acts are minutes apart; time is moved, so that no two share a second by chance.
  await harness.advance(60_000)
  const second = await enrolMember(harness, other, { browser: first.browser })
  const { memberId } = first
  await harness.advance(60_000)
  const device = await attestDevice(memberId)
  const place = { source: 'geo_photo', lat, lng: 56.78, photoHash: `photo ${externalRef}` }
  const presence = (await post('/api/kinetic/submit', { memberId, ...place })).json
  await harness.advance(60_000)
  const own = (await post('/api/agents/verify-personhood', { memberId })).json.pohf_jwt
  await harness.advance(60_000)
  const jwts = [
    own,
    (await post('/api/agents/verify-personhood', { memberId: second.memberId }, other.apiKey)).json.pohf_jwt,
    (await post('/api/agents/verify', { sessionId: presence.sessionId })).json.pohf_jwt,
    (await post('/api/agents/bind-transaction', { memberId, paymentRef: `invoice ${(invoices += 1)}` })).json
      .pohf_jwt,
  ] as string[]
  for (const jwt of jwts) assert.ok(jwt)
  await harness.runJobs()
  const read = async (text: string) =>
    (await harness.owner.query(text, [memberId])).rows[0] as Record<string, unknown>
  const { person_id: personId } = await read('select person_id from members where member_id = $1')
  const { salt } = await read('select salt from sessions where member_ref = $1')
  const { sealed } = await read(
    'select sealed from session_keys k join members m on m.attention_session = k.session_id where m.member_id = $1',
  )
  const { ciphertext } = await read(
    'select ciphertext from session_chunks c join members m on m.attention_session = c.session_id where m.member_id = $1',
  )
  const { sketch } = await read(
    'select sketch from stroke_sketches s join members m on m.attention_session = s.session_id where m.member_id = $1',
  )
  const traces: Record<string, string | Buffer> = {
    person: String(personId),
    'passkey id': first.passkey.id.toString('base64url'),
    'passkey key': Buffer.from(first.passkey.publicKey.export({ format: 'jwk' }).x ?? '', 'base64url'),
    'device id': device.id.toString('base64url'),
    reference: externalRef,
    'session salt': salt as Buffer,
    'session key': String(sealed),
    recording: (ciphertext as Buffer).subarray(0, 64),
    'shape of a stroke': sketch as Buffer,
    cookie: first.browser.cookie() ?? '',
    // As a row stores it; the number alone would also match in timestamps.
    place: `${lat},56.78`,
  }
  return { first, second, jwts, traces, memberIds: [first.memberId, second.memberId] }
}

test('every table declares its personal data', async () => {
  assert.deepEqual(await tablesWithoutErasureEffect(harness.owner), [])
  await harness.owner.query('create table planted (id int)')
  assert.deepEqual(await tablesWithoutErasureEffect(harness.owner), ['planted'])
  await harness.owner.query('drop table planted')
})

/** The erasure runs a second time ten minutes after the first. */
const secondErasureMs = 601_000

type PersonWithHistory = Awaited<ReturnType<typeof createPersonWithHistory>>

/** The search finds every trace before the erasure, so that it is not blind. */
const assertFoundBefore = async ({ jwts, traces, memberIds }: PersonWithHistory): Promise<void> => {
  for (const [name, trace] of Object.entries(traces))
    if (name !== 'cookie')
      assert.notDeepEqual(
        await findTablesHolding(harness.owner, trace),
        [],
        `${name} is not found before: a blind search`,
      )
  const [ownId = ''] = memberIds
  assert.deepEqual(
    (await findTablesHolding(harness.owner, ownId)).filter((table) =>
      /^(members|events|webhook_)/.test(table),
    ),
    ['events', 'members', 'webhook_deliveries'],
  )
  assert.ok(
    receiver.received.some(({ body }) => body.includes(ownId)),
    'nothing was delivered',
  )
  // The search covers tokens and files too: claims of the credentials are found there.
  const claims = jwts.map(claimsOf)
  const binding = claims.find(({ kind }) => kind === 'binding')
  for (const known of [binding.sub, binding.binding.payment_ref])
    assert.ok(
      (await findTablesHolding(harness.owner, known)).includes('credentials'),
      `${known} is not found`,
    )
  assert.notDeepEqual(findFilesHolding(harness.dataDir, binding.jti), [])
  // A binding names the member by the code of its agent, never by the id that is erased.
  assert.deepEqual([binding.binding.human, binding.binding.human_ref], ['member', claims[0].sub])
  assert.ok(!(await findTablesHolding(harness.owner, ownId)).includes('credentials'))
}

/** No trace is left in tables, files or the log, but for the notice to each agent. */
const assertErased = async ({ traces, memberIds }: PersonWithHistory): Promise<void> => {
  for (const [name, trace] of Object.entries(traces)) {
    assert.deepEqual(await findTablesHolding(harness.owner, trace), [], name)
    assert.deepEqual(findFilesHolding(harness.dataDir, trace), [], name)
  }
  for (const memberId of memberIds) {
    assert.deepEqual(findFilesHolding(harness.dataDir, memberId), [])
    assert.ok(!harness.lines.some((line) => line.includes(memberId)), 'the log names a member')
  }
  // Each agent is notified by its own member id. Those events expire.
  for (const memberId of memberIds) {
    assert.deepEqual(await findTablesHolding(harness.owner, memberId), ['events', 'webhook_deliveries'])
    const { rows: notices } = await harness.owner.query(
      "select body::jsonb ->> 'type' as type, state from webhook_deliveries where body like '%' || $1 || '%'",
      [memberId],
    )
    assert.deepEqual(notices, [{ type: 'member.erased', state: 'delivered' }])
  }
}

test('after a person has deleted everything, a search of the whole database finds nothing, and every credential verifies', async () => {
  const person = await createPersonWithHistory('customer-erased-by-self', 34.56)
  const { first, jwts, memberIds } = person
  await assertFoundBefore(person)
  const before = await Promise.all(jwts.map(verifies))
  assert.deepEqual(
    before,
    jwts.map(() => true),
  )

  assertRefusal(await first.browser.post('me/erase', { confirm: 'yes' }), 400, 'validation_failed')
  const erased = await first.browser.post('me/erase', { confirm: 'delete everything' })
  assert.deepEqual([erased.status, erased.json], [200, { erased: true, memberships: 2 }])
  assert.match(String(erased.headers['set-cookie']), /Max-Age=0/)
  await harness.runJobs()
  await harness.advance(secondErasureMs)
  await harness.runJobs()

  await assertErased(person)
  assert.deepEqual(await Promise.all(jwts.map(verifies)), before)

  assertRefusal(await post('/api/agents/verify-personhood', { memberId: memberIds[0] }), 404, 'not_found')
  assertRefusal(await first.browser.get('me'), 401, 'sign_in_required')
  const challenge = (await first.browser.post('passkey-options', { purpose: 'sign_in' })).json
  assert.ok(challenge.publicKey)
  assertRefusal(await first.browser.signIn(first.passkey), 400, 'passkey_refused')

  await harness.advance(150 * 86_400_000)
  await harness.owner.query('select pohf_maintain_partitions()')
  await harness.runJobs()
  for (const memberId of memberIds) assert.deepEqual(await findTablesHolding(harness.owner, memberId), [])
})

test('an operator erases the person behind a member; the audit log does not name them', async () => {
  const { traces, memberIds, jwts } = await createPersonWithHistory('customer-erased-by-operator', 23.45)
  const { operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
  const path = `/operator/agents/${live.agentId}/members/${memberIds[0]}/erase`
  const body = { mode: 'live', reason: 'asked by letter' }
  const done = await harness.callOperator('POST', path, { key: operatorKey, body })
  assert.deepEqual([done.status, done.json], [200, { erased: true, memberships: 2 }])
  assertRefusal(await harness.callOperator('POST', path, { key: operatorKey, body }), 404, 'not_found')
  for (const [name, trace] of Object.entries(traces))
    assert.deepEqual(await findTablesHolding(harness.owner, trace), [], name)
  assert.deepEqual(
    await Promise.all(jwts.map(verifies)),
    jwts.map(() => true),
  )
  const { rows } = await harness.owner.query(
    "select target, details from operator_audit where action = 'member.erase'",
  )
  assert.deepEqual(rows, [
    { target: live.agentId, details: { mode: 'live', memberships: 2, reason: 'asked by letter' } },
  ])
})

test('a person sees and exports all of their data, and nothing of others', async () => {
  const stranger = await enrolMember(harness, live, { externalRef: 'somebody else' })
  const { first, second, memberIds } = await createPersonWithHistory('customer-export')
  const { json } = await first.browser.get('me')
  assert.deepEqual(
    json.memberships.map((one: { memberId: string }) => one.memberId).toSorted(),
    memberIds.toSorted(),
  )
  assert.equal(json.passkeys.length, 1)
  assert.equal(json.recoveryCodesLeft, 8)
  const file = await first.browser.get('me/export')
  assert.match(String(file.headers['content-disposition']), /attachment; filename="pohf-my-data.json"/)
  const ids = file.json.recordings.map((one: { sessionId: string }) => one.sessionId)
  assert.deepEqual(ids.toSorted(), [first.sessionId, second.sessionId].toSorted())
  assert.ok(file.json.recordings[0].records[0].chunk.includes('"seq":1'))
  const { besides } = file.json.memberships.find(
    (one: { memberId: string }) => one.memberId === first.memberId,
  )
  assert.equal(file.json.sessions.length, 3)
  assert.deepEqual([besides.places.length, besides.devices.length, besides.deviceKeys.length], [1, 1, 1])
  for (const foreign of [stranger.memberId, stranger.sessionId, 'somebody else'])
    assert.ok(!file.text.includes(foreign), foreign)
})

test('consent is withdrawn from one agent alone, is never rewritten, and can be given again', async () => {
  const { first, second } = await createPersonWithHistory('customer-withdraws')
  const body = { memberId: first.memberId, language: 'de' }
  assert.equal((await first.browser.post('me/withdraw', body)).json.status, 'withdrawn')
  assert.equal((await first.browser.post('me/withdraw', body)).json.status, 'withdrawn')
  await harness.advance(70 * 86_400_000)
  const refused = await post('/api/agents/verify-personhood', { memberId: first.memberId })
  assert.equal(refused.json.details[0].code, 'withdrawn')
  assert.equal(
    (await post('/api/agents/verify-personhood', { memberId: second.memberId }, other.apiKey)).status,
    200,
  )
  const { token } = await invite(harness, live.apiKey, 'customer-withdraws')
  await first.browser.signIn(first.passkey)
  const again = await first.browser.post('enrol', { token, consentVersion, language: 'en' })
  assert.equal(again.json.status, 'enrolled')
  const { json } = await first.browser.get('me')
  const mine = json.memberships.find((one: { memberId: string }) => one.memberId === first.memberId)
  assert.deepEqual(
    mine.consents.map((one: { act: string }) => one.act),
    ['given', 'withdrawn', 'given'],
  )
  await assert.rejects(harness.owner.query("update consents set act = 'given'"), /append-only/)
  const unknown = { memberId: 'mem_none', language: 'en' }
  assertRefusal(await first.browser.post('me/withdraw', unknown), 404, 'not_found')
})

test('a second passkey signs in the same person', async () => {
  const { browser, memberId } = await enrolMember(harness, live)
  const secondPasskey = makePasskey()
  const { challenge } = (await browser.post('passkey-options', { purpose: 'create' })).json.publicKey
  const credential = createPasskey(secondPasskey, { challenge, origin: browser.origin }, { fmt: 'none' })
  assert.equal((await browser.post('me/passkeys', { credential })).status, 200)
  assertRefusal(await browser.post('me/passkeys', { credential }), 400, 'passkey_refused')
  const phone = openBrowser(harness)
  assert.equal((await phone.signIn(secondPasskey)).status, 200)
  assert.equal((await phone.get('me')).json.memberships[0].memberId, memberId)
})

/** Every long text and number that could identify somebody; short ones are shared by many. */
const valuesOf = (value: unknown): string[] => {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(valuesOf)
  return typeof value === 'string' || typeof value === 'number' ? [String(value)] : []
}
// Values shared by thousands: vocabulary, the issuers and the status list, short numbers.
const common =
  /^(personhood|low|high|network|external(?::[a-z]+)?|enrolled|device|passkey|attention|webauthn|software|sha-256|telemetry|eoa|eip155:1|[a-z]+\.[a-z_.]+|[\d.]{1,5}|rules-[\w.+-]+|https?:.*)$/
const rootWords: readonly string[] = [...rootKinds, ...rootClasses]
const sharedValues = (a: readonly string[], b: readonly string[]) => [
  ...new Set(
    a.filter(
      (value) =>
        b.includes(value) && !common.test(value) && !rootWords.includes(value) && value !== officeIssuer.name,
    ),
  ),
]

test('two agents cannot tell that they have the same person, until the person shows both the same wallet', async () => {
  const heard = { live: receiver.received.length, other: otherReceiver.received.length }
  const { first, second } = await createPersonWithHistory('customer-two-agents')
  const parties = [
    { agent: live, memberId: first.memberId, hooks: () => receiver.received.slice(heard.live) },
    { agent: other, memberId: second.memberId, hooks: () => otherReceiver.received.slice(heard.other) },
  ] as const
  /** Responses, claims and deliveries of one agent; `extra` is added to the request. */
  const seenBy = async ({ agent, memberId, hooks }: (typeof parties)[number], extra: object = {}) => {
    const answers = [
      await harness.call('GET', `/api/agents/members/${memberId}`, { key: agent.apiKey }),
      await post('/api/agents/verify-personhood', { memberId, ...extra }, agent.apiKey),
    ]
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
      answers[1]?.text,
    )
    await harness.runJobs()
    const bodies = hooks()
      .map(({ body }) => JSON.parse(body) as { type: string })
      // Public, about nobody, and the same for every agent.
      .filter(({ type }) => type !== 'index.epoch_published')
    assert.ok(bodies.length >= 3, `only ${bodies.length} deliveries`)
    const { onchain, ...told } = answers[1]?.json ?? {}
    // The on-chain signing key is shared by everybody; the signed payload is searched.
    const onChain = onchain === undefined ? {} : claimsOf(`.${onchain.payload}`)
    return valuesOf([claimsOf(told.pohf_jwt), bodies, told, answers[0]?.json, onChain])
  }
  const [one, two] = [await seenBy(parties[0]), await seenBy(parties[1])]
  assert.ok(one.length > 40 && two.length > 40, 'saw nothing to compare')
  assert.deepEqual(sharedValues(one, two), [])
  assert.deepEqual(sharedValues([...one, 'psu_planted'], [...two, 'psu_planted']), ['psu_planted'])

  // A token for a chain needs the proof of an outside issuer.
  await addOutsideProof(first.browser)
  const wallet = privateKeyToAccount(generatePrivateKey())
  const shown: string[][] = []
  for (const party of parties) {
    const { memberId, agent } = party
    await harness.advance(60_000)
    const { nonce, message } = (
      await post('/api/agents/wallet/challenge', { wallet: wallet.address, memberId }, agent.apiKey)
    ).json
    const walletSig = await wallet.signMessage({ message })
    shown.push(await seenBy(party, { wallet: wallet.address, walletSig, walletNonce: nonce }))
  }
  const shared = new Set(sharedValues(shown[0] ?? [], shown[1] ?? []).map((value) => value.toLowerCase()))
  assert.ok(shared.delete(wallet.address.toLowerCase()))
  assert.ok(shared.delete(registry))
  // When the issuer was asked is said by its month alone.
  const isMonth = (value: string) =>
    /^\d{4}-\d\d-01T00:00:00\.000Z$/.test(new Date(Number(value) * 1_000).toISOString())
  assert.equal(
    [...shared].filter((value) => /^\d{10}$/.test(value) && isMonth(value) && shared.delete(value)).length,
    1,
  )
  // The on-chain nullifier is searched too: it differs at each agent.
  assert.deepEqual([...shared], [])
})
