import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, sign, verify } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { keyPurposes } from '@pohf/protocol'
import * as fc from 'fast-check'
import { decodeProtectedHeader } from 'jose'
import { fileBackend, type Backend } from './backend.ts'
import { openKeyring } from './keyring.ts'
import { derSignature, publishAheadMs, rawSignature, type KeyRecord } from './rules.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const start = Date.UTC(2026, 0, 1)
const epoch = { iss: 'https://example.com', iat: 1, code: 'VHH', epoch: '2026-01' }

const makeFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-keyring-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
const recordsIn = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'keyring.json'), 'utf8')) as KeyRecord[]

/** Keys that are only numbers: the states do not depend on what signs. */
const countingBackend = (): Backend & { readonly destroyed: Set<string> } => {
  const destroyed = new Set<string>()
  let made = 0
  return {
    name: 'counting',
    generate: () => {
      const x = createHash('sha256').update(String(made++)).digest('base64url')
      return { ref: x, x, y: x }
    },
    sign: () => {
      throw new Error('this one only counts')
    },
    destroy: (ref) => void destroyed.add(ref),
    close: () => undefined,
    destroyed,
  }
}

type Step =
  | { readonly act: 'wait'; readonly hours: number }
  | { readonly act: 'rotate'; readonly purpose: number }
  | { readonly act: 'revoke'; readonly pick: number }
  | { readonly act: 'restart' }
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ act: fc.constant('wait' as const), hours: fc.integer({ min: 1, max: 900 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ act: fc.constant('rotate' as const), purpose: fc.nat(keyPurposes.length - 1) }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('revoke' as const), pick: fc.nat(50) }) },
  { weight: 1, arbitrary: fc.constant({ act: 'restart' as const }) },
)

const assertInvariants = (
  keys: readonly KeyRecord[],
  previous: Map<string, KeyRecord>,
  now: number,
  revokedNow: boolean,
) => {
  for (const purpose of keyPurposes) {
    const own = keys.filter((key) => key.purpose === purpose)
    assert.equal(own.filter((key) => key.state === 'active').length, 1, `one active key for ${purpose}`)
    assert.ok(own.filter((key) => key.state === 'pending').length <= 1, 'one successor at most')
  }
  assert.equal(new Set(keys.map((key) => key.kid)).size, keys.length, 'no kid twice')
  for (const [kid, before] of previous) {
    const key = keys.find((each) => each.kid === kid)
    assert.ok(key, 'a key is never forgotten')
    if (before.state === 'removed' || before.state === 'revoked') assert.equal(key.state, before.state)
    if (before.state === 'retired') assert.ok(!['pending', 'active'].includes(key.state), 'no way back')
    if (before.state === 'pending' && key.state === 'active' && !revokedNow)
      assert.ok(now - key.createdAt >= publishAheadMs(key.purpose), 'published long enough before it signs')
    // A list follows every change, so it retired when it was first listed as retired.
    if (before.state === 'active' && key.state === 'retired')
      assert.equal(key.removeAt, now + (365 + 30) * dayMs, 'verifies as long as a credential may live')
    if (before.state === 'retired') {
      assert.equal(key.removeAt, before.removeAt)
      if (key.state === 'removed') assert.ok(now >= key.removeAt)
    }
  }
  const fresh = keys.filter((key) => !previous.has(key.kid))
  if (previous.size > 0 && !revokedNow) assert.ok(fresh.every((key) => key.state === 'pending'))
}

test('whatever happens when: one key signs per purpose, is known long enough before, and no kid returns', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 25 }), (steps) => {
      const folder = mkdtempSync(join(tmpdir(), 'pohf-keyring-'))
      try {
        let now = start
        const backend = countingBackend()
        const open = () => openKeyring({ folder, backend, clock: { now: () => new Date(now) }, cell: 'aa' })
        let keyring = open()
        const previous = new Map<string, KeyRecord>()
        const look = (revokedNow: boolean) => {
          keyring.list()
          const keys = recordsIn(folder)
          assertInvariants(keys, previous, now, revokedNow)
          for (const key of keys) {
            previous.set(key.kid, key)
            const usable = key.state === 'active' || key.state === 'pending'
            assert.equal(backend.destroyed.has(key.ref), !usable, 'private parts go with their use')
          }
          const publishedKids = keyring.publicKeys().map((jwk) => jwk.kid)
          const due = keys.filter((key) => !['removed', 'revoked'].includes(key.state)).map((key) => key.kid)
          assert.deepEqual(publishedKids, due)
        }
        look(false)
        for (const each of steps) {
          if (each.act === 'wait') now += each.hours * hourMs
          if (each.act === 'rotate') keyring.rotate(keyPurposes[each.purpose] ?? 'live')
          if (each.act === 'restart') keyring = open()
          const keys = recordsIn(folder)
          if (each.act === 'revoke') keyring.revoke(keys[each.pick % keys.length]?.kid ?? '')
          look(each.act === 'revoke')
        }
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }),
    { numRuns: 60 },
  )
})

const openAt = (folder: string, clock: { now: () => Date }) =>
  openKeyring({ folder, backend: fileBackend(join(folder, 'private')), clock, cell: 'aa' })

test('the first key of a purpose signs at once; its successor is published a day before and signs on day 30', () => {
  let now = start
  const keyring = openAt(makeFolder(), { now: () => new Date(now) })
  const kidNow = () => decodeProtectedHeader(keyring.signTyped('vhh-epoch+jwt', epoch)).kid
  const first = kidNow()
  const keyCount = () => keyring.list().filter((key) => key.purpose === 'epoch').length
  now = start + 28 * dayMs
  assert.deepEqual([kidNow(), keyCount()], [first, 1])
  now = start + 29 * dayMs
  assert.deepEqual([kidNow(), keyCount()], [first, 2])
  now = start + 30 * dayMs
  assert.notEqual(kidNow(), first)
})

test('the key for chains signs for a year, and its successor is published a month before', () => {
  let now = start
  const keyring = openAt(makeFolder(), { now: () => new Date(now) })
  const kidNow = () => {
    const iat = Math.floor(now / 1_000)
    return decodeProtectedHeader(
      keyring.signTyped('pohf-onchain+jwt', {
        wallet: `0x${'ab'.repeat(20)}`,
        nul: `0x${'cd'.repeat(32)}`,
        iat,
        exp: iat + 90 * 86_400,
        registry: `0x${'ef'.repeat(20)}`,
        chain: 8_453,
        iss: 'https://example.com',
      }),
    ).kid
  }
  const first = kidNow()
  const keyCount = () => keyring.list().filter((key) => key.purpose === 'onchain').length
  now = start + 334 * dayMs
  assert.deepEqual([kidNow(), keyCount()], [first, 1])
  now = start + 335 * dayMs
  assert.deepEqual([kidNow(), keyCount()], [first, 2])
  now = start + 364 * dayMs
  assert.deepEqual([kidNow(), keyCount()], [first, 2])
  now = start + 365 * dayMs
  assert.notEqual(kidNow(), first)
})

test('revoking the signing key while its successor waits leaves no gap', () => {
  const keyring = openAt(makeFolder(), { now: () => new Date(start) })
  const first = decodeProtectedHeader(keyring.signTyped('vhh-epoch+jwt', epoch)).kid ?? ''
  const pending = keyring.rotate('epoch')
  assert.ok(keyring.revoke(first))
  assert.equal(decodeProtectedHeader(keyring.signTyped('vhh-epoch+jwt', epoch)).kid, pending)
  assert.equal(keyring.revoke(first), false)
  assert.equal(keyring.revoke('unknown'), false)
})

test('a signer that crashed after it wrote a state destroys the private key when it starts again', () => {
  const folder = makeFolder()
  const backend = fileBackend(join(folder, 'private'))
  const clock = { now: () => new Date(start) }
  const first = openKeyring({ folder, backend: { ...backend, destroy: () => undefined }, clock, cell: 'aa' })
  const kid = first.list().find((key) => key.purpose === 'live')?.kid ?? ''
  first.revoke(kid)
  const { ref } = recordsIn(folder).find((key) => key.kid === kid) ?? assert.fail()
  const path = join(folder, 'private', `${ref}.json`)
  assert.ok(readFileSync(path).length > 0)
  openKeyring({ folder, backend, clock, cell: 'aa' })
  assert.throws(() => readFileSync(path), /ENOENT/)
})

test('the self-test fails where a private part is lost, and revoking that key mends it', () => {
  const folder = makeFolder()
  const clock = { now: () => new Date(start) }
  openAt(folder, clock).close()
  const { ref, kid } = recordsIn(folder).find((key) => key.purpose === 'live') ?? assert.fail()
  rmSync(join(folder, 'private', `${ref}.json`))
  const keyring = openAt(folder, clock)
  assert.throws(
    () => keyring.selfTest(),
    (error: Error) =>
      error.message === `live key ${kid} cannot sign with the file back end` &&
      /ENOENT/.test(String(error.cause)),
  )
  assert.ok(keyring.revoke(kid))
  assert.equal(keyring.selfTest(), true)
})

test('a private part that was exchanged for another signs nothing', () => {
  const folder = makeFolder()
  const clock = { now: () => new Date(start) }
  openAt(folder, clock).close()
  const keys = recordsIn(folder)
  const file = (purpose: string) =>
    join(folder, 'private', `${keys.find((key) => key.purpose === purpose)?.ref ?? ''}.json`)
  writeFileSync(file('epoch'), readFileSync(file('test')))
  const keyring = openAt(folder, clock)
  assert.throws(() => keyring.signTyped('vhh-epoch+jwt', epoch), /signature by epoch key \S+ does not verify/)
})

const unchanged = (signature: Buffer) => signature

test('a signature with a fault in any byte, or of another length, never leaves the signer', () => {
  const folder = makeFolder()
  const clock = { now: () => new Date(start) }
  const backend = fileBackend(join(folder, 'private'))
  let spoil = unchanged
  const faulty: Backend = { ...backend, sign: (ref, data) => spoil(backend.sign(ref, data)) }
  const keyring = openKeyring({ folder, backend: faulty, clock, cell: 'aa' })
  assert.equal(keyring.signTyped('vhh-epoch+jwt', epoch).split('.').length, 3)
  const faults = [
    ...Array.from({ length: 64 }, (_, at) => (signature: Buffer) => {
      signature.writeUInt8(signature.readUInt8(at) ^ (1 << (at % 8)), at)
      return signature
    }),
    (signature: Buffer) => signature.subarray(0, 63),
    (signature: Buffer) => Buffer.concat([signature, Buffer.alloc(1)]),
    () => Buffer.alloc(64),
  ]
  for (const fault of faults) {
    spoil = fault
    assert.throws(
      () => keyring.signTyped('vhh-epoch+jwt', epoch),
      /signature by epoch key \S+ does not verify/,
    )
  }
  keyring.close()
})

test('both forms of a signature have the same numbers, whatever their first bytes', () => {
  const part = fc
    .tuple(fc.nat(31), fc.uint8Array({ minLength: 32, maxLength: 32 }))
    .map(([zeros, bytes]) => Buffer.from(bytes).fill(0, 0, zeros))
  fc.assert(
    fc.property(part, part, (r, s) => {
      const raw = Buffer.concat([r, s])
      assert.deepEqual(rawSignature(derSignature(raw)), raw)
    }),
  )
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  for (let n = 0; n < 500; n++) {
    const der = sign('sha256', Buffer.from(`message ${n}`), privateKey)
    assert.deepEqual(derSignature(rawSignature(der)), der)
    assert.ok(verify('sha256', Buffer.from(`message ${n}`), publicKey, derSignature(rawSignature(der))))
  }
})
