import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { enrolMember, registerConfirmedAgent } from '../../test/fixtures/people/member.ts'
import { inTransaction } from '../platform/db/db.ts'
import { eraseEvidence } from './erase.ts'

const harness = await startHarness()
const { apiKey: key } = await harness.register('test')
const live = await registerConfirmedAgent(harness, 'live', 'presence@agents.example')
const submit = (body: Record<string, unknown>, by = key) =>
  harness.call('POST', '/api/kinetic/submit', { key: by, body })
const place = (lat: number, lng: number) => ({ memberId: 'walker', source: 'geo_photo', lat, lng })

test('presence of a test key is scored into a session that verify turns into a presence credential', async () => {
  const scored = await submit({ memberId: 'm1', source: 'geo_photo', lat: 52.5, lng: 13.4, photoHash: 'p1' })
  assert.equal(scored.status, 200, scored.text)
  assert.equal(scored.json.verified, true)
  assert.equal(scored.json.quality, 0.55)
  const minted = await harness.call('POST', '/api/agents/verify', {
    key,
    body: { sessionId: scored.json.sessionId },
  })
  assert.equal(minted.status, 200, minted.text)
  assert.equal(minted.json.kind, 'presence')
  assert.equal((await submit({ memberId: 'm1', source: 'receipt' })).json.verified, true)
})

test('presence of a member that does not exist or is not enrolled is refused with the reason and uses up no photo', async () => {
  const photo = { source: 'geo_photo', lat: 52.5, lng: 13.4, photoHash: 'not used up' }
  const unknown = await submit({ memberId: 'nobody', ...photo }, live.apiKey)
  assert.deepEqual([unknown.status, unknown.json.error], [404, 'not_found'], unknown.text)
  const invited = await harness.call('POST', '/api/agents/members', { key: live.apiKey, body: {} })
  const early = await submit({ memberId: invited.json.memberId, ...photo }, live.apiKey)
  assert.deepEqual([early.status, early.json.error], [409, 'member_not_enrolled'], early.text)
  assert.equal(early.json.details[0].code, 'invited')
  for (const memberId of ['mem_test_duplicate', 'mem_test_banned'])
    assert.equal((await submit({ memberId, ...photo })).json.error, 'member_not_enrolled')
  assert.equal((await submit({ memberId: 'mem_test_typo', ...photo })).status, 404)
  const { rows } = await harness.owner.query(
    `select (select count(*) from presences where member_ref in ('nobody', 'mem_test_typo'))::int as places,
       (select count(*) from sessions where member_ref in ('nobody', 'mem_test_typo'))::int as sessions`,
  )
  assert.deepEqual(rows, [{ places: 0, sessions: 0 }])
  assert.equal((await submit({ memberId: 'm1', ...photo })).status, 200)
  const { memberId } = await enrolMember(harness, live)
  assert.equal((await submit({ memberId, ...photo }, live.apiKey)).status, 200)
  const empty = await submit({ memberId, source: 'receipt' }, live.apiKey)
  assert.deepEqual([empty.json.verified, empty.json.reasons], [false, ['evidence_missing']], empty.text)
})

test('half a location is refused and uses up no photo', async () => {
  for (const [half, missing] of [
    [{ lat: 52.5 }, 'body.lng'],
    [{ lng: 13.4 }, 'body.lat'],
  ] as const) {
    const refused = await submit({ memberId: 'm1', source: 'geo_photo', photoHash: 'half', ...half })
    assert.deepEqual([refused.status, refused.json.error], [400, 'validation_failed'], refused.text)
    assert.equal(refused.json.details[0].path, missing)
  }
  assert.equal((await submit({ memberId: 'm1', source: 'geo_photo', photoHash: 'half' })).status, 200)
})

for (const parallel of [2, 20, 100]) {
  test(`${parallel} submissions of one photo at once: exactly one counts`, async () => {
    const answers = await Promise.all(
      Array.from({ length: parallel }, (_, n) =>
        submit({ memberId: `m${n}`, source: 'geo_photo', photoHash: `race ${parallel}` }),
      ),
    )
    assert.equal(answers.filter((answer) => answer.status === 200).length, 1)
    assert.ok(answers.every((answer) => answer.status === 200 || answer.json.error === 'photo_hash_used'))
  })
}

test('a photo counts once per deployment in live and once per agent in test', async () => {
  const secondLive = await registerConfirmedAgent(harness, 'live', 'second@agents.example')
  const photo = { source: 'receipt', photoHash: 'shared' }
  const first = await enrolMember(harness, live)
  assert.equal((await submit({ memberId: first.memberId, ...photo }, live.apiKey)).status, 200)
  const second = await enrolMember(harness, secondLive)
  assert.equal(
    (await submit({ memberId: second.memberId, ...photo }, secondLive.apiKey)).json.error,
    'photo_hash_used',
  )
  const secondTest = await harness.register('test')
  assert.equal((await submit({ memberId: 'a', source: 'receipt', photoHash: 'shared' })).status, 200)
  assert.equal(
    (await submit({ memberId: 'a', source: 'receipt', photoHash: 'shared' }, secondTest.apiKey)).status,
    200,
  )
})

test('an impossible move is flagged, not verified, and not stored as the last location', async () => {
  assert.deepEqual((await submit(place(52.52, 13.4))).json.flags, [])
  for (const _ of ['first', 'again']) {
    const leap = await submit(place(40.71, -74))
    assert.deepEqual(leap.json.flags, ['geo_mismatch'])
    assert.equal(leap.json.verified, false)
  }
  assert.deepEqual((await submit(place(52.53, 13.41))).json.flags, [])
  await harness.advance(9 * 3_600_000)
  assert.deepEqual((await submit(place(40.71, -74))).json.flags, [], 'nine hours are enough to fly')
})

for (const parallel of [2, 20]) {
  test(`${parallel} concurrent distant locations of a new member: one is stored, the others are flagged`, async () => {
    const answers = await Promise.all(
      Array.from({ length: parallel }, (_, n) =>
        submit({
          memberId: `everywhere ${parallel}`,
          source: 'geo_photo',
          lat: 0,
          lng: n * (360 / parallel) - 180,
        }),
      ),
    )
    assert.equal(answers.filter((answer) => answer.json.flags.length === 0).length, 1)
  })
}

/** Submissions of an enrolled member by a live key, and the reasons why they are not verified. */
const submissions: readonly (readonly [string, Record<string, unknown>, readonly string[]])[] = [
  ['a receipt alone', { source: 'receipt' }, ['evidence_missing']],
  ['a place', { source: 'geo_photo', lat: 1, lng: 2 }, []],
  [
    'a place on the other side of the earth',
    { source: 'geo_photo', lat: 1, lng: -178 },
    ['flag_geo_mismatch'],
  ],
  ['a photo', { source: 'geo_photo', photoHash: 'live-photo' }, []],
]
test('live presence names the reasons why it is not verified', async () => {
  const { memberId } = await enrolMember(harness, live)
  for (const [name, body, reasons] of submissions) {
    const { json } = await submit({ memberId, ...body }, live.apiKey)
    assert.deepEqual([json.verified, json.reasons], [reasons.length === 0, reasons], name)
    const { rows } = await harness.owner.query('select reasons from sessions where session_id = $1', [
      json.sessionId,
    ])
    assert.deepEqual(rows, [{ reasons }])
  }
})

test('a photo counts once, however its hash is spelled', async () => {
  const hash = 'ab'.repeat(32)
  assert.equal((await submit({ memberId: 'm', source: 'receipt', photoHash: hash })).status, 200)
  for (const photoHash of [
    hash.toUpperCase(),
    `0x${hash}`,
    ` ${hash} `,
    Buffer.from(hash, 'hex').toString('base64'),
  ])
    assert.equal(
      (await submit({ memberId: 'm', source: 'receipt', photoHash })).json.error,
      'photo_hash_used',
      photoHash,
    )
})

const challenge = async (by = key) =>
  (await harness.call('POST', '/api/agents/attest/challenge', { key: by })).json as {
    nonce: string
    challengeB64url: string
  }
const attest = (nonce: string, more: Record<string, unknown> = {}, by = key) =>
  harness.call('POST', '/api/agents/attest/verify', {
    key: by,
    body: { method: 'webauthn', nonce, subjectRef: 'm1', ...more },
  })

test('an attestation nonce works once, for its own agent, for five minutes', async () => {
  const { nonce, challengeB64url } = await challenge()
  assert.equal(Buffer.from(challengeB64url, 'base64url').length, 32)
  assert.equal((await attest(nonce, {}, live.apiKey)).json.error, 'nonce_expired')
  const first = await attest(nonce)
  assert.deepEqual(first.json, { attested: false, assurance: 'none', reason: 'evidence_missing' })
  assert.equal((await attest(nonce)).json.error, 'nonce_used')
  assert.equal((await attest('made-up')).json.error, 'nonce_expired')
  const late = await challenge()
  await harness.advance(5 * 60_000 + 1_000)
  assert.equal((await attest(late.nonce)).json.error, 'nonce_expired')
})

test('erasure deletes the nonces of a member and of its sessions, and no others', async () => {
  const { agentId, apiKey } = await harness.register('test')
  for (const subjectRef of ['erased', 'erased session', 'kept session'])
    await harness.call('POST', '/api/agents/attest/challenge', { key: apiKey, body: { subjectRef } })
  const erased = { agentId, mode: 'test', memberId: 'erased', sessionIds: ['erased session'] } as const
  await inTransaction(harness.ctx, 'system', (tx) => eraseEvidence(tx, erased))
  const { rows } = await harness.owner.query('select member_ref from nonces where agent_id = $1', [agentId])
  assert.deepEqual(rows, [{ member_ref: 'kept session' }])
})

test('unreadable evidence is not attested', async () => {
  const { nonce } = await challenge()
  assert.deepEqual((await attest(nonce, { evidence: { attestationObject: 'x' } })).json, {
    attested: false,
    assurance: 'none',
    reason: 'evidence_malformed',
  })
})

for (const parallel of [2, 20, 100]) {
  test(`${parallel} uses of one attestation nonce at once: exactly one`, async () => {
    const { nonce } = await challenge()
    const answers = await Promise.all(Array.from({ length: parallel }, () => attest(nonce)))
    assert.equal(answers.filter((answer) => answer.status === 200).length, 1)
  })
}

test('the database refuses an illegal step of a session and a second score', async () => {
  const { json } = await submit({ memberId: 'm2', source: 'receipt' })
  await assert.rejects(
    harness.owner.query("update sessions set status = 'open' where session_id = $1", [json.sessionId]),
    /cannot go from scored to open/,
  )
  await assert.rejects(
    harness.owner.query('update sessions set quality = 1 where session_id = $1', [json.sessionId]),
    /scored once/,
  )
  // The step that a mint makes.
  const seal = "update sessions set status = 'sealed', credential_id = 'crd_x'"
  await assert.rejects(
    harness.owner.query(`${seal}, quality = 1 where session_id = $1`, [json.sessionId]),
    /scored once/,
  )
})

const makeSession = (body: Record<string, unknown>, by = key) =>
  harness.call('POST', '/api/test/sessions', { key: by, body })
const outcomes: readonly (readonly [string, number, string | undefined])[] = [
  ['human', 200, undefined],
  ['bot', 409, 'session_rejected'],
  ['replay', 409, 'session_rejected'],
  ['idle', 409, 'session_rejected'],
]
for (const [profile, status, error] of outcomes) {
  test(`a simulated ${profile} is stored as scored, and verify answers ${status}`, async () => {
    const made = await makeSession({ profile })
    assert.equal(made.status, 200, made.text)
    assert.equal(made.headers['x-sandbox'], 'simulated')
    assert.equal(made.json.profile, profile)
    assert.equal(made.json.verified, status === 200)
    assert.equal(made.json.verified, made.json.reasons.length === 0)
    const { rows } = await harness.owner.query(
      'select quality, verified, simulated, scoring, flags from sessions where session_id = $1',
      [made.json.sessionId],
    )
    const { quality, verified, scoring, flags } = made.json
    assert.deepEqual(rows, [{ quality, verified, simulated: true, scoring, flags }])
    const answer = await harness.call('POST', '/api/agents/verify', {
      key,
      body: { sessionId: made.json.sessionId },
    })
    assert.equal(answer.status, status, answer.text)
    assert.equal(answer.json.error, error)
    if (status === 200) assert.equal(answer.json.quality, quality)
  })
}

test('a simulated session accepts a challenge, and only that one matches', async () => {
  const { sessionId } = (await makeSession({ challenge: 'n-1' })).json
  const ask = (challenge: string) =>
    harness.call('POST', '/api/agents/verify', { key, body: { sessionId, challenge } })
  assert.equal((await ask('n-2')).status, 400)
  assert.equal((await ask('n-1')).status, 200)
})

test('a live key cannot create a simulated session, and another agent cannot use one', async () => {
  assert.equal((await makeSession({}, live.apiKey)).json.error, 'forbidden')
  assert.equal((await makeSession({ profile: 'genius' })).json.error, 'validation_failed')
  const { sessionId } = (await makeSession({ profile: 'bot' })).json
  const other = await harness.register('test')
  // To another test key this id is unknown, and so a simulated person of its own.
  const answer = await harness.call('POST', '/api/agents/verify', { key: other.apiKey, body: { sessionId } })
  assert.equal(answer.status, 200)
})
