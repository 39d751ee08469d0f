import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createRemoteJWKSet,
  customFetch,
  decodeProtectedHeader,
  jwksCache,
  jwtVerify,
  type JWKSCacheInput,
} from 'jose'
import { startHarness } from '../../test/fixtures/harness.ts'
import * as operators from '../operators/index.ts'
import { connectSigner } from './signer-client.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const harness = await startHarness()
const { apiKey: key } = await harness.register('test')
const operator = (await operators.create(harness.ctx, 'machine', 'Ada')).operatorKey
const kidOf = (jwt: string) => decodeProtectedHeader(jwt).kid ?? ''

let sessions = 0
const mint = async (): Promise<string> => {
  const answer = await harness.call('POST', '/api/agents/verify', {
    key,
    body: { sessionId: `session ${++sessions}` },
  })
  assert.equal(answer.status, 200, answer.text)
  return answer.json.pohf_jwt
}

/**
 * A relying party with jose as it comes: keys cached for 10 minutes, at most one fetch in 30 seconds. jose reads the
 * system's clock, so instead of moving that clock the time of its last fetch is moved back, by jose's own way of
 * keeping a cache elsewhere.
 */
const makeVerifier = () => {
  // jose fills it in; empty before the first fetch.
  const cache: { uat?: number } = {}
  let fetches = 0
  return {
    fetches: () => fetches,
    pass: (ms: number) => {
      if (cache.uat !== undefined) cache.uat -= ms
    },
    verify: (jwt: string) =>
      jwtVerify(
        jwt,
        createRemoteJWKSet(new URL('http://pohf.example/.well-known/jwks.json'), {
          [jwksCache]: cache as JWKSCacheInput,
          [customFetch]: async () => {
            fetches++
            const { status, text } = await harness.call('GET', '/.well-known/jwks.json')
            return new Response(text, { status, headers: { 'content-type': 'application/json' } })
          },
        }),
        { algorithms: ['ES256'], currentDate: harness.ctx.clock.now() },
      ),
  }
}

const states = async () => {
  const { json } = await harness.callOperator('GET', '/operator/keys', { key: operator })
  return (json.keys as { kid: string; purpose: string; state: string }[]).filter(
    ({ purpose }) => purpose === 'test',
  )
}

test('32 days of rotation with steady traffic: a relying party with default caching refuses nothing', async () => {
  const verifier = makeVerifier()
  const kids = new Set<string>()
  let credentials: { jwt: string; at: number }[] = []
  let verified = 0
  // Uneven steps, so that they fall differently to the hours at which keys change; short ones stay within the cache.
  const steps = [7 * hourMs, 4 * 60_000, 5 * hourMs, 20_000, 11 * hourMs]
  const startAt = harness.ctx.clock.now().getTime()
  for (let n = 0; harness.ctx.clock.now().getTime() < startAt + 32 * dayMs; n++) {
    const step = steps[n % steps.length] ?? hourMs
    await harness.advance(step)
    verifier.pass(step)
    const now = harness.ctx.clock.now().getTime()
    const jwt = await mint()
    kids.add(kidOf(jwt))
    // A test credential lives 7 days; old ones are presented again until shortly before they expire.
    credentials = [...credentials.filter(({ at }) => now - at < 6 * dayMs), { jwt, at: now }]
    for (const presented of new Set([jwt, credentials[0]?.jwt ?? jwt, credentials.at(-2)?.jwt ?? jwt])) {
      await verifier.verify(presented)
      verified++
    }
  }
  assert.ok(kids.size === 2, `${kids.size} keys have signed`)
  assert.ok(verified > 300, `${verified} verifications`)
  assert.ok(verifier.fetches() < verified, 'the cache was used')
  assert.deepEqual(
    (await states()).map(({ state }) => state),
    ['retired', 'active'],
  )
})

test('a rotation by hand waits a day, and asking twice makes one successor', async () => {
  const verifier = makeVerifier()
  const before = kidOf(await mint())
  const rotate = () =>
    harness.callOperator('POST', '/operator/keys/rotate', { key: operator, body: { purpose: 'test' } })
  const [first, second] = [await rotate(), await rotate()]
  assert.equal(first.status, 200, first.text)
  assert.equal(second.json.pendingKid, first.json.pendingKid)
  await harness.advance(23 * hourMs)
  assert.equal(kidOf(await mint()), before)
  await harness.advance(2 * hourMs)
  const jwt = await mint()
  assert.equal(kidOf(jwt), first.json.pendingKid)
  await verifier.verify(jwt)
})

test('compromise drill: one command; the key is gone from the set at once, a new one signs, what it signed is refused', async () => {
  const verifier = makeVerifier()
  const stolen = await mint()
  await verifier.verify(stolen)
  const kid = kidOf(stolen)
  const revoked = await harness.callOperator('POST', `/operator/keys/${kid}/revoke`, {
    key: operator,
    body: { reason: 'drill: the key file was copied' },
  })
  assert.deepEqual(revoked.json, { kid, revoked: true })

  const jwks = await harness.call('GET', '/.well-known/jwks.json')
  assert.ok(!jwks.json.keys.some((jwk: { kid: string }) => jwk.kid === kid))
  const fresh = await mint()
  assert.notEqual(kidOf(fresh), kid)

  // A verifier that knows the old set keeps it for 30 s; then the unknown key makes it fetch the new set.
  await verifier.verify(stolen)
  verifier.pass(31_000)
  await verifier.verify(fresh)
  await assert.rejects(verifier.verify(stolen), { code: 'ERR_JWKS_NO_MATCHING_KEY' })
  // One that meets no new key drops the old set after 10 minutes.
  const quiet = makeVerifier()
  await assert.rejects(quiet.verify(stolen), { code: 'ERR_JWKS_NO_MATCHING_KEY' })

  const audit = await harness.callOperator('GET', '/operator/audit?limit=1000', { key: operator })
  const entry = audit.json.entries.find((each: { action: string }) => each.action === 'key.revoke')
  assert.deepEqual(entry.details, { reason: 'drill: the key file was copied' })
  const again = await harness.callOperator('POST', `/operator/keys/${kid}/revoke`, {
    key: operator,
    body: { reason: 'twice' },
  })
  assert.equal(again.json.error, 'not_found')
})

test('the checker finds every stored credential in the journal, and tells what is missing or changed', async () => {
  const check = (query = '') => harness.callOperator('GET', `/operator/keys/check${query}`, { key: operator })
  const jwt = await mint()
  const good = await check()
  assert.equal(good.status, 200, good.text)
  assert.ok(good.json.ok && good.json.stored > 0 && good.json.signed >= good.json.stored, good.text)
  assert.deepEqual(good.json.differences, [])

  const [head = '', body = '', signature = ''] = jwt.split('.')
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as { jti: string }
  const store = async (credentialId: string, changed: object) =>
    harness.owner.query(
      `insert into credentials (agent_id, credential_id, at, mode, kind, expires_at, jwt, answer, status_list, status_idx)
       select agent_id, $1, pohf_now(), mode, kind, expires_at, $2, answer, status_list, status_idx from credentials where credential_id = $3`,
      [
        credentialId,
        `${head}.${Buffer.from(JSON.stringify(changed)).toString('base64url')}.${signature}`,
        claims.jti,
      ],
    )
  await store('crd_never_signed', { ...claims, jti: 'crd_never_signed' })
  await store(claims.jti, { ...claims, quality: 1 })
  const bad = await check()
  assert.equal(bad.json.ok, false)
  assert.deepEqual(bad.json.differences.map((each: { fault: string }) => each.fault).toSorted(), [
    'another_payload',
    'not_journaled',
  ])
  const earlier = new Date(harness.ctx.clock.now().getTime() - 3 * dayMs).toISOString()
  assert.equal((await check(`?to=${earlier}`)).json.ok, true)
})

test('a revocation is exchanged at once by the process that is told of it', async (t) => {
  const signer = connectSigner(harness.ctx)
  t.after(() => signer.close())
  const kid = kidOf(await mint())
  const isPublished = async () => (await signer.publicKeys()).some((jwk) => jwk.kid === kid)
  assert.equal(await isPublished(), true)
  await harness.revokeKey(kid)
  await signer.syncManifests()
  assert.equal(await isPublished(), false)
})
