import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createLocalJWKSet,
  decodeProtectedHeader,
  jwtVerify,
  type JSONWebKeySet,
  type JWTPayload,
} from 'jose'
import { privateKeyToAccount, generatePrivateKey } from 'viem/accounts'
import { startHarness } from '../../test/fixtures/harness.ts'

const harness = await startHarness()
const { ctx } = harness
const { apiKey: key, agentId } = await harness.register('test')
const live = await harness.register('live')

const keys = async () =>
  createLocalJWKSet((await harness.call('GET', '/.well-known/jwks.json')).json as JSONWebKeySet)
const claimsOf = async (jwt: string): Promise<JWTPayload & Record<string, unknown>> =>
  (await jwtVerify(jwt, await keys(), { algorithms: ['ES256'] })).payload
const verify = (sessionId: string, more: Record<string, unknown> = {}) =>
  harness.call('POST', '/api/agents/verify', { key, body: { sessionId, ...more } })
const personhood = (body: Record<string, unknown>) =>
  harness.call('POST', '/api/agents/verify-personhood', { key, body })
const bind = (body: Record<string, unknown>, by = key) =>
  harness.call('POST', '/api/agents/bind-transaction', { key: by, body })
const eventTypes = async () =>
  (
    await harness.owner.query<{ type: string }>(
      'select type from events where agent_id = $1 order by at, event_id',
      [agentId],
    )
  ).rows.map((row) => row.type)

test('an unknown session of a test key is a simulated person, and any JWT library accepts the credential', async () => {
  const answer = await verify('whatever I like')
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['x-sandbox'], 'simulated')
  const { pohf_jwt: jwt, quality, credentialId, verified, kind, vt } = answer.json
  assert.ok(verified && quality > 0.6 && kind === 'view' && vt.startsWith('vt_'))
  assert.deepEqual(Object.keys(decodeProtectedHeader(jwt)).toSorted(), ['alg', 'kid', 'typ'])
  const claims = await claimsOf(jwt)
  assert.equal(claims['test'], true)
  assert.equal(claims.iss, `${ctx.config.BASE_URL}/test`)
  assert.equal(claims.jti, credentialId)
  assert.equal(claims['agent'], agentId)
  assert.equal(claims['quality'], quality)
  assert.deepEqual(
    (claims['evidence'] as { type: string }[]).map((item) => item.type),
    ['simulated'],
  )
  assert.equal((claims['view'] as { session: string }).session, 'whatever I like')
  assert.deepEqual(claims['telemetry'], answer.json.telemetry)
  assert.equal((claims.exp ?? 0) - (claims.iat ?? 0), 7 * 86_400)
})

test('a repeat returns the same bytes and says so', async () => {
  const first = await verify('repeat me')
  const second = await verify('repeat me')
  assert.equal(second.headers['idempotent-replayed'], 'true')
  assert.equal(second.json.pohf_jwt, first.json.pohf_jwt)
  assert.deepEqual(second.json, first.json)
})

for (const parallel of [2, 20, 100]) {
  test(`${parallel} calls at once for one session mint one credential`, async () => {
    const answers = await Promise.all(Array.from({ length: parallel }, () => verify(`race ${parallel}`)))
    assert.deepEqual([...new Set(answers.map((answer) => answer.status))], [200])
    assert.equal(new Set(answers.map((answer) => answer.json.pohf_jwt)).size, 1)
    const { rows } = await harness.owner.query(
      "select count(*)::int as n from credentials where answer->>'credentialId' = $1",
      [answers[0]?.json.credentialId],
    )
    assert.equal(rows[0].n, 1)
  })
}

const magic: readonly (readonly [string, number, string])[] = [
  ['ses_test_low_quality', 409, 'session_rejected'],
  ['ses_test_fraud', 409, 'session_rejected'],
  ['ses_test_expired', 409, 'session_expired'],
  ['ses_test_pending', 409, 'session_not_ready'],
  ['ses_test_unknown', 404, 'not_found'],
  ['ses_test_fail', 404, 'not_found'],
  ['ses_test_', 404, 'not_found'],
]
for (const [sessionId, status, code] of magic) {
  test(`${sessionId} answers ${status} ${code}, again and again, and mints nothing`, async () => {
    for (const _ of [1, 2]) {
      const answer = await verify(sessionId)
      assert.equal(answer.status, status)
      assert.equal(answer.json.error, code)
    }
    if (code === 'session_rejected') assert.ok((await verify(sessionId)).json.details.length > 0)
  })
}

test('ses_test_pass is 200', async () => assert.equal((await verify('ses_test_pass')).status, 200))

test('a live key learns nothing about sessions while it has no credits', async () => {
  for (const sessionId of ['ses_test_pass', 'ses_test_expired', 'nothing']) {
    const answer = await harness.call('POST', '/api/agents/verify', { key: live.apiKey, body: { sessionId } })
    assert.equal(answer.status, 402)
    assert.equal(answer.json.error, 'insufficient_credits')
    assert.equal(answer.json.buy, `${ctx.config.BASE_URL}/buy`)
  }
})

test("the relying party's challenge is in the credential, and another one is refused", async () => {
  const answer = await verify('with challenge', { challenge: 'n-0S6' })
  assert.equal((await claimsOf(answer.json.pohf_jwt))['challenge'], 'n-0S6')
  const other = await verify('with challenge', { challenge: 'another' })
  assert.equal(other.json.error, 'validation_failed')
})

test('a credential that has expired is minted anew; a revoked one is not', async () => {
  const first = await verify('to expire')
  await harness.advance(8 * 86_400_000)
  const second = await verify('to expire')
  assert.notEqual(second.json.credentialId, first.json.credentialId)
  assert.equal(second.headers['idempotent-replayed'], undefined)
  await harness.owner.query(
    "insert into credential_states (agent_id, credential_id, seq, state, reason) values ($1, $2, 2, 'revoked', 'test')",
    [agentId, second.json.credentialId],
  )
  assert.equal((await verify('to expire')).json.error, 'credential_revoked')
})

test('the database refuses illegal states and any change of a credential', async () => {
  const { json } = await verify('states')
  const add = (seq: number, state: string) =>
    harness.owner.query(
      'insert into credential_states (agent_id, credential_id, seq, state, reason) values ($1, $2, $3, $4, $5)',
      [agentId, json.credentialId, seq, state, 'test'],
    )
  await assert.rejects(add(1, 'issued'), /credential_states_pkey/)
  await assert.rejects(add(1, 'revoked'), /cannot go from issued to revoked/)
  await assert.rejects(add(3, 'suspended'), /cannot go from issued to suspended/)
  await assert.rejects(add(2, 'issued'), /cannot go from issued to issued/)
  await add(2, 'suspended')
  await add(3, 'issued')
  await add(4, 'revoked')
  await assert.rejects(add(5, 'issued'), /cannot go from revoked/)
  await assert.rejects(harness.owner.query("update credentials set jwt = 'x'"), /append-only/)
  await assert.rejects(harness.owner.query('delete from credential_states'), /append-only/)
})

test('personhood: any member is simulated, a repeat is free, the reserved ids are refused with their reason', async () => {
  const first = await personhood({ memberId: 'alice' })
  assert.equal(first.status, 200)
  assert.equal(first.json.uniqueness, 'none')
  const again = await personhood({ memberId: 'alice' })
  assert.equal(again.json.pohf_jwt, first.json.pohf_jwt)
  assert.equal((await personhood({ memberId: 'mem_test_human' })).status, 200)
  for (const reason of ['duplicate', 'banned']) {
    const refused = await personhood({ memberId: `mem_test_${reason}` })
    assert.equal(refused.status, 409)
    assert.equal(refused.json.error, 'member_not_enrolled')
    assert.equal(refused.json.details[0].code, reason)
  }
  const guessed = await personhood({ memberId: 'mem_test_bot' })
  assert.deepEqual([guessed.status, guessed.json.error], [404, 'not_found'])
})

test('personhood is minted anew after two thirds of its life', async () => {
  const first = await personhood({ memberId: 'bob' })
  await harness.advance(4 * 86_400_000)
  assert.equal((await personhood({ memberId: 'bob' })).json.credentialId, first.json.credentialId)
  await harness.advance(86_400_000)
  assert.notEqual((await personhood({ memberId: 'bob' })).json.credentialId, first.json.credentialId)
})

const account = privateKeyToAccount(generatePrivateKey())
const challenge = async (body: Record<string, unknown> = {}) =>
  (await harness.call('POST', '/api/agents/wallet/challenge', { key, body })).json as {
    nonce: string
    message: string
  }

test('a wallet that signed the stored message is in the claim, and the event says so', async () => {
  for (const body of [{}, { wallet: account.address, chainId: 8453, memberId: 'carol' }]) {
    const { nonce, message } = await challenge(body)
    const walletSig = await account.signMessage({ message })
    const answer = await personhood({
      memberId: 'carol',
      wallet: account.address,
      walletSig,
      walletNonce: nonce,
    })
    assert.equal(answer.status, 200, answer.text)
    assert.equal((await claimsOf(answer.json.pohf_jwt))['wallet'], account.address)
    const reused = await personhood({
      memberId: 'carol',
      wallet: account.address,
      walletSig,
      walletNonce: nonce,
    })
    assert.equal(reused.json.error, 'nonce_used')
  }
  assert.ok((await eventTypes()).includes('personhood.wallet_bound'))
})

test('a wallet proof fails by wrong signer, changed text, foreign agent, other member, time, and missing fields', async () => {
  const stranger = privateKeyToAccount(generatePrivateKey())
  const { nonce, message } = await challenge({ memberId: 'dave' })
  const body = {
    memberId: 'dave',
    wallet: account.address,
    walletSig: await account.signMessage({ message }),
    walletNonce: nonce,
  }
  assert.equal(
    (await personhood({ ...body, walletSig: await stranger.signMessage({ message }) })).json.error,
    'wallet_signature_invalid',
  )
  assert.equal(
    (await personhood({ ...body, walletSig: await account.signMessage({ message: `${message} ` }) })).json
      .error,
    'wallet_signature_invalid',
  )
  assert.equal((await personhood({ ...body, memberId: 'eve' })).json.error, 'wallet_signature_invalid')
  assert.equal((await personhood({ ...body, walletSig: '0x00' })).json.error, 'wallet_signature_invalid')
  assert.equal((await personhood({ ...body, walletNonce: 'made-up' })).json.error, 'nonce_expired')
  assert.equal(
    (await personhood({ memberId: 'dave', wallet: account.address })).json.error,
    'validation_failed',
  )
  const other = await harness.register('test')
  const foreign = await harness.call('POST', '/api/agents/verify-personhood', { key: other.apiKey, body })
  assert.equal(foreign.json.error, 'nonce_expired')
  await harness.advance(5 * 60_000 + 1_000)
  assert.equal((await personhood(body)).json.error, 'nonce_expired')
})

for (const parallel of [2, 20]) {
  test(`${parallel} uses of one wallet nonce at once: exactly one succeeds`, async () => {
    const { nonce, message } = await challenge()
    const walletSig = await account.signMessage({ message })
    const answers = await Promise.all(
      Array.from({ length: parallel }, (_, n) =>
        personhood({
          memberId: `racer ${parallel} ${n}`,
          wallet: account.address,
          walletSig,
          walletNonce: nonce,
        }),
      ),
    )
    assert.equal(answers.filter((answer) => answer.status === 200).length, 1)
    assert.ok(answers.every((answer) => answer.status === 200 || answer.json.error === 'nonce_used'))
  })
}

test('a binding needs a payment and a human', async () => {
  assert.equal((await bind({})).json.error, 'missing_payment_anchor')
  assert.equal((await bind({ paymentRef: 'pi_12345678' })).json.error, 'missing_human_anchor')
  assert.equal((await bind({ sessionId: 's1' })).json.error, 'missing_payment_anchor')
  assert.equal((await bind({ test: true })).json.error, 'missing_human_anchor')
})

test('a binding credential names payment, rail and human, and a repeat is the same', async () => {
  const answer = await bind({ paymentRef: 'pi_12345678', sessionId: 'bind me' })
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(answer.json.binding, {
    paymentRef: 'card:stripe:pi_12345678',
    rail: 'card',
    assurance: 'test',
  })
  const claims = await claimsOf(answer.json.pohf_jwt)
  assert.equal((claims['binding'] as { human_ref: string }).human_ref, 'bind me')
  const again = await bind({ paymentRef: 'card:stripe:pi_12345678', sessionId: 'bind me' })
  assert.equal(again.json.pohf_jwt, answer.json.pohf_jwt)
  assert.equal(
    (await bind({ paymentRef: 'any text at all', memberId: 'm', workRef: 'w', sessionId: 's' })).json.binding
      .rail,
    'other',
  )
})

test('test:true on a live key writes that one binding as test and nothing live', async () => {
  const answer = await bind({ sessionId: 'x', test: true }, live.apiKey)
  assert.equal(answer.status, 200, answer.text)
  const claims = await claimsOf(answer.json.pohf_jwt)
  assert.equal(claims['test'], true)
  assert.equal(claims.iss, `${ctx.config.BASE_URL}/test`)
  const { rows } = await harness.owner.query(
    "select count(*)::int as n from credentials where agent_id = $1 and mode = 'live'",
    [live.agentId],
  )
  assert.equal(rows[0].n, 0)
  assert.equal((await bind({ paymentRef: 'p', sessionId: 'x' }, live.apiKey)).json.error, 'not_found')
})

test('a mint that fails half-way stores nothing, and the next try succeeds', async () => {
  const before = await harness.owner.query('select count(*)::int as n from credentials')
  await harness.owner.query('alter table credential_states rename to hidden')
  const answer = await verify('fails half-way')
  await harness.owner.query('alter table hidden rename to credential_states')
  assert.equal(answer.status, 500)
  const after = await harness.owner.query('select count(*)::int as n from credentials')
  assert.equal(after.rows[0].n, before.rows[0].n)
  assert.equal((await verify('fails half-way')).status, 200)
})

test('the JWKS is cacheable and holds only public parts', async () => {
  const answer = await harness.call('GET', '/.well-known/jwks.json')
  assert.equal(answer.headers['cache-control'], 'public, max-age=300, stale-if-error=86400')
  for (const jwk of answer.json.keys)
    assert.deepEqual(Object.keys(jwk).toSorted(), [
      'alg',
      'crv',
      'kid',
      'kty',
      'pohf_purpose',
      'use',
      'x',
      'y',
    ])
  const cached = await harness.call('GET', '/.well-known/jwks.json', {
    headers: { 'if-none-match': answer.headers['etag'] ?? '' },
  })
  assert.equal(cached.status, 304)
})
