import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { deflateSync, gzipSync } from 'node:zlib'
import {
  credentialKinds,
  verifyCredential,
  type Fetch,
  type Options,
  type Policy,
  type Result,
} from '../src/index.ts'
import { statusAt } from '../src/status.ts'
import { base64, makeIssuer, origin } from './issuer.ts'

const issuer = makeIssuer()
const policy: Policy = { kinds: credentialKinds, minAssurance: 'low', minQuality: 0, status: 'require' }
const jwksUrl = `${origin}/.well-known/jwks.json`
const check = (jwt: string, fetch: Fetch, more: Partial<Options> = {}) =>
  verifyCredential(jwt, { issuer: origin, policy, fetch, ...more })
const reasonOf = (result: Result) => (result.ok ? 'accepted' : result.reason)
const withStatus = (idx = 5, uri = issuer.statusUri) =>
  issuer.mint('view', { status: { status_list: { idx, uri } } })
/** The clock stands still: a second that ends between two calls would make a list one second older. */
const startedAt = Date.now()
const at = (seconds: number) => ({ clock: () => new Date(startedAt + seconds * 1_000) })
const listOf = (token: () => string | Response) => issuer.serve({ [issuer.statusUri]: token })

test('keys are fetched once, from the issuer’s own address, and cached', async () => {
  const { fetch, asked } = issuer.serve()
  const options = { policy: { ...policy, status: 'skip' } as const }
  for (const kind of credentialKinds) assert.ok((await check(issuer.mint(kind), fetch, options)).ok)
  assert.deepEqual(asked, [jwksUrl])
})

test('for an unknown kid the keys are fetched again, at most once in thirty seconds', async () => {
  mock.timers.enable({ apis: ['Date'], now: Date.now() })
  try {
    const { fetch, asked } = issuer.serve()
    const options = { policy: { ...policy, status: 'skip' } as const }
    const unknown = issuer.signAny(
      'live',
      { ...issuer.headerOf('live'), kid: 'x'.repeat(43) },
      issuer.claimsOf(),
    )
    assert.ok((await check(issuer.mint(), fetch, options)).ok)
    for (let round = 0; round < 5; round++)
      assert.equal(reasonOf(await check(unknown, fetch, options)), 'unknown_key')
    assert.equal(asked.length, 1)
    mock.timers.tick(31_000)
    for (let round = 0; round < 5; round++)
      assert.equal(reasonOf(await check(unknown, fetch, options)), 'unknown_key')
    assert.equal(asked.length, 2)
    mock.timers.tick(601_000)
    assert.ok((await check(issuer.mint(), fetch, options)).ok)
    assert.equal(asked.length, 3)
  } finally {
    mock.timers.reset()
  }
})

const badKeys: Record<string, () => string | Response> = {
  'a 500': () => new Response('', { status: 500 }),
  'a redirect': () => new Response('', { status: 302, headers: { location: 'https://evil.example' } }),
  'a page': () => '<html>',
  'a set without keys': () => '{}',
  'a set without end': () => `{"keys":[],"pad":"${'x'.repeat(70_000)}"}`,
}
for (const [name, answer] of Object.entries(badKeys)) {
  test(`keys: ${name} is keys_unavailable, not an exception`, async () => {
    const { fetch } = issuer.serve({ [jwksUrl]: answer })
    assert.equal(reasonOf(await check(issuer.mint(), fetch)), 'keys_unavailable')
  })
}

test('with pinned keys and the status skipped nothing is fetched at all', async () => {
  const { fetch, asked } = issuer.serve()
  const offline = { jwks: issuer.jwks, policy: { ...policy, status: 'skip' } as const }
  assert.ok((await check(withStatus(), fetch, offline)).ok)
  assert.deepEqual(asked, [])
})

test('requests follow no redirect, send no cookie and have a time limit', async () => {
  const seen: RequestInit[] = []
  const { fetch } = listOf(() => issuer.statusToken([]))
  const spy: Fetch = async (url, init) => {
    seen.push(init ?? {})
    return fetch(url, init)
  }
  assert.ok((await check(withStatus(), spy)).ok)
  assert.equal(seen.length, 2)
  for (const init of seen) {
    assert.equal(init.redirect, 'error')
    assert.equal(init.credentials, 'omit')
    assert.ok(init.signal instanceof AbortSignal)
  }
})

const entries = [
  [4, 3],
  [5, 0],
  [6, 1],
  [7, 2],
  [8, 3],
] as const
for (const [idx, expected] of [
  [5, 'accepted'],
  [6, 'revoked'],
  [7, 'suspended'],
  [8, 'status_invalid'],
  [1_048_575, 'accepted'],
  [1_048_576, 'status_invalid'],
  [2 ** 40, 'status_invalid'],
] as const) {
  test(`status: entry ${idx} is ${expected}`, async () => {
    const { fetch } = listOf(() => issuer.statusToken(entries))
    assert.equal(reasonOf(await check(withStatus(idx), fetch)), expected)
  })
}

test('the bits are read as the draft’s own examples write them', () => {
  const one = { bits: 1, bytes: Uint8Array.of(0xb9, 0xa3) }
  assert.deepEqual(
    Array.from({ length: 16 }, (_, index) => statusAt(one, index)),
    [1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1],
  )
  const two = { bits: 2, bytes: Uint8Array.of(0xc9, 0x44, 0xf9) }
  assert.deepEqual(
    Array.from({ length: 12 }, (_, index) => statusAt(two, index)),
    [1, 2, 0, 3, 0, 1, 0, 1, 1, 2, 3, 3],
  )
})

test('a list is cached for its ttl, then fetched again: a revocation shows', async () => {
  let revoked = false
  const { fetch, asked } = listOf(() => issuer.statusToken(revoked ? [[5, 1]] : []))
  assert.equal(reasonOf(await check(withStatus(), fetch, at(0))), 'accepted')
  revoked = true
  assert.equal(reasonOf(await check(withStatus(), fetch, at(59))), 'accepted')
  assert.equal(asked.filter((url) => url === issuer.statusUri).length, 1)
  assert.equal(reasonOf(await check(withStatus(), fetch, at(61))), 'revoked')
})

const packed = (bytes: Uint8Array) => ({ status_list: { bits: 2, lst: base64(bytes) } })
const now = Math.floor(Date.now() / 1_000)
const badLists: Record<string, readonly [() => string | Response, string]> = {
  gone: [() => new Response('', { status: 404 }), 'status_unavailable'],
  'longer than half a megabyte': [() => 'x'.repeat(600_000), 'status_unavailable'],
  'not a token': [() => 'hello', 'status_invalid'],
  'of another address': [() => issuer.statusToken([], { sub: `${origin}/status/aa/2` }), 'status_invalid'],
  'of another issuer': [() => issuer.statusToken([], { iss: 'https://evil.example' }), 'status_invalid'],
  expired: [() => issuer.statusToken([], { exp: now - 61 }), 'status_invalid'],
  'without an end': [() => issuer.statusToken([], { exp: undefined }), 'status_invalid'],
  'from the future': [() => issuer.statusToken([], { iat: now + 999 }), 'status_invalid'],
  'without a list': [() => issuer.statusToken([], { status_list: [] }), 'status_invalid'],
  'of three bits': [() => issuer.statusToken([], { status_list: { bits: 3, lst: 'AA' } }), 'status_invalid'],
  'not packed': [() => issuer.statusToken([], packed(new Uint8Array(64))), 'status_invalid'],
  'packed by gzip': [() => issuer.statusToken([], packed(gzipSync(new Uint8Array(64)))), 'status_invalid'],
  'cut off': [
    () => issuer.statusToken([], packed(deflateSync(new Uint8Array(9_999)).subarray(0, 9))),
    'status_invalid',
  ],
  'a bomb of 64 MiB': [
    () => issuer.statusToken([], packed(deflateSync(new Uint8Array(67_108_864)))),
    'status_invalid',
  ],
  'a credential in its place': [() => issuer.mint(), 'status_invalid'],
  'signed by a stranger': [() => makeIssuer().statusToken([]), 'status_invalid'],
  tampered: [() => issuer.statusToken([]).replace(/.{20}$/, 'A'.repeat(20)), 'status_invalid'],
}
for (const [name, [answer, expected]] of Object.entries(badLists)) {
  for (const demanded of ['require', 'if-present'] as const) {
    test(`status ${demanded}: a list that is ${name} refuses the credential`, async () => {
      const { fetch } = listOf(answer)
      assert.equal(
        reasonOf(await check(withStatus(), fetch, { policy: { ...policy, status: demanded } })),
        expected,
      )
    })
  }
}

for (const uri of [
  'https://evil.example/s',
  `${origin}.evil.example/s`,
  `${origin}@evil.example/s`,
  'http://proof.example/s',
  'https://u:p@proof.example/s',
  '/status/1',
  'file:///etc/passwd',
]) {
  test(`a status list at ${uri} is never fetched`, async () => {
    const { fetch, asked } = issuer.serve()
    assert.equal(reasonOf(await check(withStatus(1, uri), fetch)), 'status_invalid')
    assert.deepEqual(asked, [jwksUrl])
  })
}
