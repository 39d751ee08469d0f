import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { decodeProtectedHeader } from 'jose'
import { fileBackend } from '../backend.ts'
import { generateStatementKey, type StatementKey } from './key-pair.ts'
import { openKeyring } from '../keyring.ts'
import { readJws, signJws } from './jws.ts'
import { ManifestRefused, openManifestFiles } from './files.ts'
import { admitOffline } from './offline.ts'
import { manifestTyp, signRequest, verifyManifest, type Manifest } from './rules.ts'
import { loadSignerIdentity } from '../signer-id.ts'

const dayMs = 86_400_000
const start = Date.UTC(2026, 0, 1)
const epoch = { iss: 'https://example.com', iat: 1, code: 'VHH', epoch: '2026-01' }

const makeFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-manifest-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
const time = { now: start }
const clock = { now: () => new Date(time.now) }
const openSigner = (folder: string, admissionKey?: string) =>
  openKeyring({ folder, backend: fileBackend(join(folder, 'private')), clock, cell: 'aa', admissionKey })
const kidNow = (keyring: ReturnType<typeof openSigner>) =>
  decodeProtectedHeader(keyring.signTyped('vhh-epoch+jwt', epoch)).kid ?? ''

const manifestOf = (key: StatementKey, change: Partial<Manifest> = {}): Manifest => ({
  version: 1,
  previous: null,
  issuedAt: start,
  admission: key.point,
  signers: [],
  keys: [],
  revocations: [],
  ...change,
})
const signed = (key: StatementKey, change: Partial<Manifest> = {}) =>
  signJws(key, manifestTyp, manifestOf(key, change))
const hashOf = (jws: string) => readJws(jws, manifestTyp).hash

test('a manifest of a lower version, of the same version or with another previous hash is refused, also after a restart', () => {
  const key = generateStatementKey()
  const folder = makeFolder()
  const open = () => openManifestFiles(folder, key.kid)
  const files = open()
  const first = signed(key)
  const second = signed(key, { version: 2, previous: hashOf(first) })
  assert.equal(files.offer(first), true)
  assert.equal(files.offer(first), false)
  assert.throws(() => files.offer(signed(key, { version: 2, previous: 'a'.repeat(43) })), ManifestRefused)
  assert.equal(files.offer(second), true)
  for (const holder of [files, open()]) {
    assert.equal(holder.current()?.manifest.version, 2)
    assert.throws(() => holder.offer(first), /version 1 is older than version 2/)
    const other = signed(key, { version: 2, previous: hashOf(first), issuedAt: start + 1 })
    assert.throws(() => holder.offer(other), /two different key manifests of version 2/)
    const jump = signed(key, { version: 4, previous: hashOf(second) })
    assert.throws(() => holder.offer(jump), /version 4 does not follow version 2/)
  }
  assert.equal(readdirSync(folder).filter((name) => name.endsWith('.jws')).length, 2)
})

test('only the pinned admission key signs a manifest, and a folder never changes the key that is pinned in it', () => {
  const [key, stranger] = [generateStatementKey(), generateStatementKey()]
  const folder = makeFolder()
  const files = openManifestFiles(folder, key.kid)
  assert.throws(() => files.offer(signed(stranger)), /expected/)
  // A stranger who names the true key in header and payload lacks its signature.
  const payload = manifestOf(key)
  const forged = signJws({ ...stranger, kid: key.kid }, manifestTyp, payload)
  assert.throws(() => files.offer(forged), /does not verify/)
  assert.throws(() => verifyManifest(signJws(key, 'JWT', payload), key.kid), /header/)
  assert.throws(() => openManifestFiles(folder, stranger.kid), /belongs to the deployment of/)
})

test('a second signature of the same manifest, which anybody can make, is the same manifest', () => {
  const key = generateStatementKey()
  const files = openManifestFiles(makeFolder(), key.kid)
  const jws = signed(key)
  const [head = '', body = '', signature = ''] = jws.split('.')
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
  const raw = Buffer.from(signature, 'base64url')
  const s = order - BigInt(`0x${raw.subarray(32).toString('hex')}`)
  const twin = Buffer.concat([raw.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex')])
  files.offer(jws)
  assert.equal(files.offer(`${head}.${body}.${twin.toString('base64url')}`), false)
})

const atOnce = (signer: ReturnType<typeof openSigner>) =>
  ({ signFrom: 'at-once', newIdentities: [signer.keys.identity] }) as const

/** Two signers, of which the first holds the admission key. */
const makePair = (joiningFolder = makeFolder()) => {
  const first = openSigner(makeFolder())
  const joining = openSigner(joiningFolder, first.keys.manifests.admission())
  const share = () => {
    const [from, to] = [first.keys.manifests, joining.keys.manifests]
    joining.keys.offer({
      manifests: from.after(to.current()?.manifest.version),
      revocations: from.openRevocations().map(({ jws }) => jws),
    })
    first.keys.offer({ manifests: [], revocations: to.openRevocations().map(({ jws }) => jws) })
  }
  return { first, joining, share }
}

test('a signer that joins signs nothing until it is admitted and its keys were published for a day', () => {
  time.now = start
  const { first, joining, share } = makePair()
  assert.throws(() => kidNow(joining), /no active epoch key/)
  const request = joining.keys.request(2)
  assert.throws(() => kidNow(joining), /no active epoch key/)
  assert.throws(() => joining.keys.admit(request, atOnce(joining)), /has no admission key/)
  const terms = { signFrom: 'published-ahead', newIdentities: [joining.keys.identity] } as const
  assert.throws(() => first.keys.admit(request, { ...terms, newIdentities: [first.keys.identity] }), /is new/)
  first.keys.admit(request, terms)
  share()
  const own = joining.list().map(({ kid }) => kid)
  const published = first.publicKeys().map(({ kid }) => kid)
  assert.ok(
    own.every((kid) => published.includes(kid)),
    'published before they sign',
  )
  assert.deepEqual(joining.publicKeys(), first.publicKeys(), 'the same set in the same order')
  assert.throws(() => kidNow(joining), /no active epoch key/)
  time.now = start + dayMs
  assert.ok(own.includes(kidNow(joining)))
})

test('any signer revokes any key; only an admitted signer does', () => {
  time.now = start
  const { first, joining, share } = makePair()
  first.keys.admit(joining.keys.request(2), atOnce(joining))
  share()
  const kid = kidNow(first)
  assert.equal(joining.revoke(kid), true)
  assert.equal(joining.revoke(kid), false)
  const statement = joining.keys.manifests.openRevocations().map(({ jws }) => jws)
  share()
  assert.notEqual(kidNow(first), kid)
  assert.ok(!first.publicKeys().some((jwk) => jwk.kid === kid))
  share()
  assert.equal(joining.keys.manifests.openRevocations().length, 0, 'the manifest holds it now')
  assert.deepEqual(joining.publicKeys(), first.publicKeys())

  const alone = openSigner(makeFolder())
  assert.throws(
    () => alone.keys.offer({ manifests: [], revocations: statement }),
    /is not admitted and revokes nothing/,
  )
})

test('a refused manifest keeps no revocation from a signer', () => {
  time.now = start
  const { first, joining, share } = makePair()
  first.keys.admit(joining.keys.request(2), atOnce(joining))
  share()
  const kid = kidNow(first)
  assert.ok(joining.revoke(kid))
  const revocations = joining.keys.manifests.openRevocations().map(({ jws }) => jws)
  const foreign = openSigner(makeFolder()).keys.manifests.current()?.jws ?? assert.fail()
  assert.throws(() => first.keys.offer({ manifests: [foreign], revocations }))
  assert.ok(first.keys.manifests.isRevoked(kid))
})

test('a revoked key is not published again, also where its thief asks for it once the manifest has forgotten the revocation', () => {
  time.now = start
  const folder = makeFolder()
  const { first, joining, share } = makePair(folder)
  first.keys.admit(joining.keys.request(2), atOnce(joining))
  share()
  const kid = kidNow(joining)
  const stolen = first.publicKeys().find((jwk) => jwk.kid === kid) ?? assert.fail()
  assert.ok(first.revoke(kid))
  share()
  const { revocations } = first.keys.manifests.current()?.manifest ?? assert.fail()
  time.now = (revocations.find((each) => each.kid === kid)?.until ?? assert.fail()) + 1
  first.keys.admit(joining.keys.request(2), atOnce(joining))
  assert.ok(!first.keys.manifests.current()?.manifest.revocations.some((each) => each.kid === kid))
  const { signer, key } = loadSignerIdentity(folder)
  const { x, y } = stolen
  const again = { kid, x, y, purpose: 'epoch', publishUntil: time.now + 400 * dayMs } as const
  first.keys.admit(signRequest(key, { signer, cell: 'aa', at: time.now, keys: [again] }), atOnce(joining))
  share()
  for (const holder of [first, joining]) assert.ok(!holder.publicKeys().some((jwk) => jwk.kid === kid))
})

test('while the admission key is away, keys rotate and revoked keys are replaced from the reserve, until it is empty', () => {
  time.now = start
  const folder = makeFolder()
  const keyring = openSigner(folder)
  keyring.keys.request(2)
  const admission = keyring.keys.admission.key() ?? assert.fail()
  keyring.keys.admission.forget()
  assert.ok(!readdirSync(folder).includes('admission.json'))
  const version = () => keyring.keys.manifests.current()?.manifest.version
  const before = version()
  const first = kidNow(keyring)
  // The successor is chosen a day before, and then takes over.
  time.now = start + 29 * dayMs
  assert.equal(kidNow(keyring), first)
  time.now = start + 31 * dayMs
  const second = kidNow(keyring)
  assert.ok(keyring.revoke(second))
  const third = kidNow(keyring)
  assert.equal(new Set([first, second, third]).size, 3)
  assert.equal(version(), before, 'no manifest without the admission key')
  assert.ok(keyring.publicKeys().some(({ kid }) => kid === third))
  assert.throws(() => keyring.rotate('epoch'), /no epoch key is in reserve/)
  // The last key signs on until credentials would outlive it in the published set.
  time.now = start + 364 * dayMs
  assert.equal(kidNow(keyring), third)
  time.now = start + 366 * dayMs
  assert.throws(() => kidNow(keyring), /no active epoch key/)

  const file = {
    request: keyring.keys.request(3),
    manifest: keyring.keys.manifests.current()?.jws ?? null,
    revocations: [],
  }
  const issued = admitOffline(admission, [file], {
    now: time.now,
    signFrom: 'published-ahead',
    newIdentities: [],
  })
  for (const jws of issued) keyring.keys.install(jws, false)
  assert.ok(keyring.rotate('epoch'))
  time.now += 2 * dayMs
  assert.notEqual(kidNow(keyring), third)
  assert.throws(
    () => admitOffline(admission, [{ ...file, manifest: null }], { now: time.now, ...atOnce(keyring) }),
    /present manifest/,
  )
})

test('the holder of the admission key follows versions that it signed before its folder was restored', () => {
  time.now = start
  const folder = makeFolder()
  const keyring = openSigner(folder)
  const admission = keyring.keys.admission.key() ?? assert.fail()
  const base = keyring.keys.manifests.current() ?? assert.fail()
  const lost = signJws(admission, manifestTyp, { ...base.manifest, version: 2, previous: base.hash })
  // After the restore it signs a version 2 of its own.
  keyring.rotate('live')
  assert.notEqual(keyring.keys.manifests.current()?.hash, hashOf(lost))
  keyring.keys.offer({ manifests: [lost], revocations: [] })
  const now = keyring.keys.manifests.current()
  assert.deepEqual([now?.manifest.version, now?.manifest.previous], [3, hashOf(lost)])
})
