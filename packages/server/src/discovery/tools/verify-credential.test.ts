import assert from 'node:assert/strict'
import { createPrivateKey, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { credentialKinds, decodeUnverified, verifyCredential, type Fetch } from '@pohf/verify'
import { startHarness } from '../../../test/fixtures/harness.ts'
import * as operators from '../../operators/index.ts'
import * as signing from '../../signing/index.ts'

const harness = await startHarness()
const { ctx } = harness
const issuer = ctx.config.BASE_URL
const { apiKey: key } = await harness.register('test')
const { operatorKey } = await operators.create(ctx, 'machine', 'Ada')

const callTool = async (input: object) => {
  const { json } = await harness.call('POST', '/mcp', {
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'verify_credential', arguments: input },
    },
  })
  return json.result
}
const check = async (credential: string) => (await callTool({ credential })).structuredContent

const mint = async (sessionId: string) => {
  const { json } = await harness.call('POST', '/api/agents/verify', { key, body: { sessionId } })
  return { jwt: String(json.pohf_jwt), credentialId: String(json.credentialId) }
}
const changeState = async (credentialId: string, step: 'revoke' | 'suspend' | 'reinstate') => {
  const { status } = await harness.callOperator('POST', `/operator/credentials/${credentialId}/${step}`, {
    key: operatorKey,
    body: { reason: 'reported' },
  })
  assert.equal(status, 200)
  // The maximum delay until a change is published.
  await harness.advance(25_000)
  await harness.runJobs()
}

/** The server's own answers, without a port; a new function for each call, so that no list is kept. */
const inProcess = (): Fetch => async (url) => {
  const answer = await harness.call('GET', new URL(url).pathname)
  return new Response(answer.text, { status: answer.status })
}
/** The reason of the published verifier for the same credential. */
const reasonOfVerifier = async (jwt: string): Promise<string> => {
  const result = await verifyCredential(jwt, {
    issuer,
    policy: {
      kinds: credentialKinds,
      minAssurance: 'low',
      minQuality: 0,
      status: 'if-present',
      allowTest: true,
    },
    fetch: inProcess(),
    clock: () => ctx.clock.now(),
  })
  return result.ok ? 'valid' : `${result.reason}: ${result.message}`
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
type KeyRecord = { readonly purpose: string; readonly kid: string; readonly ref: string }
/** Signs any claims with a private key of the service, as somebody who holds that key could. */
const signWith = (purpose: string, claims: object): string => {
  const folder = ctx.config.KEYS_DIR
  const keyring = JSON.parse(readFileSync(join(folder, 'keyring.json'), 'utf8')) as KeyRecord[]
  const found = keyring.find((record) => record.purpose === purpose) ?? assert.fail(`no key for ${purpose}`)
  const jwk = JSON.parse(readFileSync(join(folder, 'private', `${found.ref}.json`), 'utf8'))
  const input = `${encode({ alg: 'ES256', typ: 'JWT', kid: found.kid })}.${encode(claims)}`
  const privateKey = createPrivateKey({ key: jwk, format: 'jwk' })
  const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}
const claimsOf = (jwt: string): Record<string, unknown> => decodeUnverified(jwt) ?? assert.fail()

test('without input it is the JWKS', async () => {
  const { json } = await harness.call('GET', '/.well-known/jwks.json')
  assert.deepEqual((await callTool({})).structuredContent, json)
})

test('a good credential is valid, and its claims are returned', async () => {
  const { jwt } = await mint('good')
  const result = await callTool({ credential: jwt })
  assert.equal(result.isError, false)
  assert.equal(result.structuredContent.valid, true)
  assert.equal(result.structuredContent.test, true)
  assert.deepEqual(result.structuredContent.claims, claimsOf(jwt))
})

test('a suspended credential is not valid until it is reinstated, and a revoked one never again', async () => {
  const { jwt, credentialId } = await mint('recalled')
  await changeState(credentialId, 'suspend')
  assert.equal((await check(jwt)).reason, 'suspended')
  await changeState(credentialId, 'reinstate')
  assert.equal((await check(jwt)).valid, true)
  await changeState(credentialId, 'revoke')
  const revoked = await check(jwt)
  assert.equal(revoked.valid, false)
  assert.equal(revoked.reason, 'revoked')
  assert.equal(revoked.claims.jti, credentialId)
})

test('live claims are not valid under the test key, nor test claims under the live or the status key', async () => {
  const claims = claimsOf((await mint('purpose')).jwt)
  assert.equal((await check(signWith('test', claims))).valid, true)
  const { test: _, ...rest } = claims
  const live = { ...rest, iss: issuer, assurance: 'high' }
  for (const forged of [signWith('test', live), signWith('live', claims), signWith('status', claims)]) {
    const refused = await check(forged)
    assert.equal(refused.valid, false)
    assert.equal(refused.reason, 'bad_signature')
    assert.equal('claims' in refused, false)
  }
})

test('the reasons and messages are those of @pohf/verify', async () => {
  const { jwt } = await mint('compared')
  const claims = claimsOf(jwt)
  const [head = '', , signature = ''] = jwt.split('.')
  const folder = `${harness.dataDir}/stranger`
  const stranger = signing.openKeyring({
    folder,
    backend: signing.fileBackend(folder),
    clock: ctx.clock,
    cell: 'aa',
  })
  const act = { key: 'a'.repeat(22), charged: false }
  const [foreign = ''] = stranger.sign({ batch: [{ claims, act }] }).jwts
  const signer = signing.connectSigner(ctx)
  const nowS = Math.floor(ctx.clock.now().getTime() / 1_000)
  const expired = { iat: nowS - 90 * 86_400, exp: nowS - 60 * 86_400 }
  const cases: readonly (readonly [string, string])[] = [
    [jwt, 'valid'],
    [`${head}.${encode({ ...claims, jti: 'crd_2' })}.${signature}`, 'bad_signature'],
    [foreign, 'unknown_key'],
    [await signer.signTyped('vhh-epoch+jwt', { ...claims, code: 'VHH', epoch: '2026-01' }), 'header_refused'],
    [`${encode({ alg: 'none', typ: 'JWT' })}.${encode(claims)}.`, 'malformed'],
    ['hello', 'malformed'],
    ['', 'malformed'],
    ['x'.repeat(8_193), 'too_large'],
    [signWith('test', { ...claims, ...expired }), 'expired'],
    [signWith('test', { ...claims, iat: nowS + 3_600 }), 'issued_in_future'],
    [signWith('test', { ...claims, iss: 'https://other.example/test' }), 'wrong_issuer'],
    [signWith('test', { ...claims, kind: 'work' }), 'wrong_kind'],
    [signWith('test', { ...claims, verified: false }), 'not_verified'],
    [signWith('test', { ...claims, sub: 5 }), 'claims_malformed'],
    [
      signWith('test', { ...claims, status: { status_list: { idx: 0, uri: `${issuer}/status/none` } } }),
      'status_unavailable',
    ],
    [
      signWith('test', {
        ...claims,
        status: { status_list: { idx: 0, uri: 'https://other.example/status/aa-test-1' } },
      }),
      'status_invalid',
    ],
  ]
  for (const [credential, reason] of cases) {
    const found = await check(credential)
    assert.equal(found.valid ? 'valid' : found.reason, reason)
    const line = found.valid ? 'valid' : `${found.reason}: ${found.message}`
    assert.equal(line, await reasonOfVerifier(credential))
  }
})

test('claims are returned for an expired credential, and never without a valid signature', async () => {
  const { jwt } = await mint('claims')
  const claims = claimsOf(jwt)
  const expired = await check(signWith('test', { ...claims, iat: 1, exp: 2 }))
  assert.equal(expired.claims.jti, claims['jti'])
  const [head, , signature] = jwt.split('.')
  assert.equal('claims' in (await check(`${head}.${encode(claims)}A.${signature}`)), false)
})

test('a credential that is no text, or too long, is refused', async () => {
  for (const credential of [5, {}, 'x'.repeat(16_385)]) {
    const { isError, structuredContent } = await callTool({ credential })
    assert.equal(isError, true)
    assert.equal(structuredContent.error, 'validation_failed')
  }
})
