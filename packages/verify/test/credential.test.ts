import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { importJWK, type CryptoKey } from 'jose'
import type { CredentialClaims } from '@pohf/protocol'
import {
  assurances as protocolAssurances,
  credentialKinds as protocolKinds,
  forgingClasses as protocolClasses,
  rootClasses as protocolRootClasses,
  rootKinds as protocolRoots,
} from '@pohf/protocol'
import {
  assurances,
  checkNames,
  credentialKinds,
  decodeUnverified,
  forgingClasses,
  rootClasses,
  rootKinds,
  verifyCredential,
  type Claims,
  type Options,
  type Policy,
  type Result,
} from '../src/index.ts'
import { checkByNode, checkByWebCrypto } from '../src/jws.ts'
import { hostileTokens, malleate } from './corpus.ts'
import { makeIssuer, origin } from './issuer.ts'

const issuer = makeIssuer()
const stranger = makeIssuer()
const policy: Policy = { kinds: credentialKinds, minAssurance: 'low', minQuality: 0.5, status: 'if-present' }
const offline = (more: Partial<Policy> = {}, options: Partial<Options> = {}): Options => ({
  issuer: origin,
  policy: { ...policy, ...more },
  jwks: issuer.jwks,
  fetch: async () => Promise.reject(new Error('no network in this test')),
  ...options,
})
const asClaims = (claims: CredentialClaims): Claims => claims
const reasonOf = (result: Result) => (result.ok ? 'accepted' : result.reason)

for (const kind of credentialKinds) {
  test(`a ${kind} credential passes every check, in order`, async () => {
    const result = await verifyCredential(issuer.mint(kind), offline())
    assert.ok(result.ok)
    assert.equal(result.claims.kind, kind)
    assert.deepEqual(
      result.checks.map((check) => check.name),
      checkNames,
    )
  })
}

const corpus = hostileTokens(issuer, stranger)

test(`of ${corpus.length} hostile tokens none is accepted, and each names its reason`, async () => {
  assert.ok(corpus.length >= 100)
  const wrong: string[] = []
  for (const { name, token, reason } of corpus) {
    const found = reasonOf(await verifyCredential(token, offline()))
    if (found !== reason) wrong.push(`${name}: ${found}, expected ${reason}`)
  }
  assert.deepEqual(wrong, [])
})

test('the corpus is not refused by its policy: without the hostile part each would pass', async () => {
  assert.equal(reasonOf(await verifyCredential(issuer.mint(), offline())), 'accepted')
})

test('Node’s crypto and WebCrypto agree on every token that gets as far as its signature', async () => {
  assert.ok(checkByNode)
  const tokens = [...corpus.map(({ token }) => token), issuer.mint(), malleate(issuer.mint())].filter(
    (token) =>
      token.length < 9_000 &&
      decodeUnverified(token) !== undefined &&
      Buffer.from(token.split('.')[0] ?? '', 'base64url')
        .toString()
        .includes('"alg":"ES256","typ":"JWT","kid"') &&
      !Buffer.from(token.split('.')[0] ?? '', 'base64url')
        .toString()
        .includes('crit'),
  )
  const found = { good: 0, bad: 0 }
  for (const jwk of issuer.jwks.keys) {
    const key = (await importJWK(jwk, 'ES256')) as CryptoKey
    for (const token of tokens) {
      const byNode: boolean = await checkByNode(token, key)
      assert.equal(await checkByWebCrypto(token, key), byNode, token)
      found[byNode ? 'good' : 'bad'] += 1
    }
  }
  assert.ok(found.good > 50 && found.bad > 200, JSON.stringify(found))
})

test('a malleated signature verifies, so uniqueness rests on jti: it is the same', async () => {
  const token = issuer.mint()
  const twin = malleate(token)
  assert.notEqual(twin, token)
  const [first, second] = await Promise.all([token, twin].map((jwt) => verifyCredential(jwt, offline())))
  assert.ok(first?.ok && second?.ok)
  assert.equal(first.claims.jti, second.claims.jti)
})

test('no single changed character is accepted', async () => {
  const token = issuer.mint('binding')
  for (let index = 0; index < token.length; index++) {
    const other = token[index] === 'A' ? 'B' : 'A'
    const changed = token.slice(0, index) + other + token.slice(index + 1)
    assert.notEqual(reasonOf(await verifyCredential(changed, offline())), 'accepted', `at ${index}`)
  }
})

test('for any input the answer is a result and never an exception', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.anything(),
        fc.array(fc.base64String(), { maxLength: 5 }).map((parts) => parts.join('.')),
      ),
      async (value) => {
        assert.equal((await verifyCredential(value as string, offline())).ok, false)
      },
    ),
    { numRuns: 2_000 },
  )
})

const refusals: readonly (readonly [string, Record<string, unknown>, Partial<Policy>, string])[] = [
  ['a kind that was not asked for', {}, { kinds: ['work', 'personhood'] }, 'wrong_kind'],
  ['assurance low where substantial is wanted', {}, { minAssurance: 'substantial' }, 'assurance_too_low'],
  [
    'assurance substantial where high is wanted',
    { assurance: 'substantial' },
    { minAssurance: 'high' },
    'assurance_too_low',
  ],
  [
    'assurance high where substantial is wanted',
    { assurance: 'high' },
    { minAssurance: 'substantial' },
    'accepted',
  ],
  ['quality just below', { quality: 0.699 }, { minQuality: 0.7 }, 'quality_too_low'],
  ['quality just there', { quality: 0.7 }, { minQuality: 0.7 }, 'accepted'],
  ['no quality where some is wanted', { quality: undefined }, { minQuality: 0.1 }, 'quality_too_low'],
  ['no quality where none is wanted', { quality: undefined }, { minQuality: 0 }, 'accepted'],
  ['no challenge where one is wanted', {}, { challenge: 'n-1' }, 'wrong_challenge'],
  ['another challenge', { challenge: 'n-2' }, { challenge: 'n-1' }, 'wrong_challenge'],
  ['the right challenge', { challenge: 'n-1' }, { challenge: 'n-1' }, 'accepted'],
  ['an act too long ago', {}, { maxAgeSeconds: 40 }, 'too_old'],
  ['an act recent enough', {}, { maxAgeSeconds: 60 }, 'accepted'],
  ['no status where one is required', {}, { status: 'require' }, 'status_missing'],
  ['no status where it may be absent', {}, { status: 'if-present' }, 'accepted'],
]
for (const [name, claims, more, expected] of refusals) {
  test(`policy: ${name} is ${expected}`, async () => {
    assert.equal(reasonOf(await verifyCredential(issuer.mint('view', claims), offline(more))), expected)
  })
}

test('a test credential passes only where tests are allowed, and then says that it is one', async () => {
  const result = await verifyCredential(issuer.mintTest(), offline({ allowTest: true }))
  assert.ok(result.ok)
  assert.equal(result.claims.test, true)
  assert.match(result.checks.find((check) => check.name === 'mode')?.note ?? '', /test/)
  for (const hostile of [
    issuer.mintTest('view', { iss: origin }),
    issuer.mint('view', { iss: `${origin}/test` }),
  ])
    assert.equal(reasonOf(await verifyCredential(hostile, offline({ allowTest: true }))), 'test_credential')
})

test('sixty seconds of clock difference are forgiven at both ends, sixty-one are not', async () => {
  const now = 1_800_000_000
  const clock = () => new Date(now * 1_000)
  const at = async (iat: number, exp: number) =>
    reasonOf(await verifyCredential(issuer.mint('view', { iat, exp, event_at: iat }), offline({}, { clock })))
  assert.equal(await at(now + 60, now + 90), 'accepted')
  assert.equal(await at(now + 61, now + 90), 'issued_in_future')
  assert.equal(await at(now - 90, now - 59), 'accepted')
  assert.equal(await at(now - 90, now - 60), 'expired')
})

const misuses: readonly (readonly [string, unknown])[] = [
  ['no options', undefined],
  ['no policy', { issuer: origin, jwks: issuer.jwks }],
  ...(['kinds', 'minAssurance', 'minQuality', 'status'] as const).map(
    (name) => [`a policy without ${name}`, offline({ [name]: undefined })] as const,
  ),
  ['no kinds', offline({ kinds: [] })],
  ['an unknown kind', offline({ kinds: ['human' as 'view'] })],
  ['a quality of percents', offline({ minQuality: 60 })],
  ['an empty challenge', offline({ challenge: '' })],
  ['an unknown class of forging', offline({ minForging: 'F9' as 'F1' })],
  ['an age of nothing', offline({ maxAgeSeconds: 0 })],
  ['an issuer with a slash', offline({}, { issuer: `${origin}/` })],
  ['an issuer that is no address', offline({}, { issuer: 'proof.example' })],
  ['an issuer with a query', offline({}, { issuer: `${origin}?x` })],
  ['a key set that is none', offline({}, { jwks: [] as unknown as { keys: [] } })],
  ['keys over plain http', { issuer: 'http://proof.example', policy }],
]
for (const [name, options] of misuses) {
  test(`misuse throws: ${name}`, async () => {
    await assert.rejects(verifyCredential(issuer.mint(), options as Options), TypeError)
  })
}

test('decodeUnverified reads a refused token, and nothing from other text', () => {
  assert.equal(decodeUnverified(issuer.mint('work'))?.['kind'], 'work')
  assert.equal(decodeUnverified('nonsense'), undefined)
})

test('kinds, assurances, roots, classes and claims are those of the protocol', () => {
  assert.deepEqual(credentialKinds, protocolKinds)
  assert.deepEqual(rootKinds, protocolRoots)
  assert.deepEqual(rootClasses, protocolRootClasses)
  assert.deepEqual(forgingClasses, protocolClasses)
  assert.deepEqual(assurances, protocolAssurances)
  // The compiler checks the rest: the claims that the protocol can sign are those that this package reads.
  assert.equal(asClaims.length, 1)
})
