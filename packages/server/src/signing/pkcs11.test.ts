import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type * as Pkcs11 from 'pkcs11js'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, type JSONWebKeySet } from 'jose'
import { startHarness } from '../../test/fixtures/harness.ts'
import * as operators from '../operators/index.ts'
import { fileBackend } from './backend.ts'
import { withPreviousBackend } from './open-backend.ts'
import { openKeyring } from './keyring.ts'
import { pkcs11Backend } from './pkcs11.ts'

const modulePath = [
  '/usr/lib/softhsm/libsofthsm2.so',
  '/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so',
  '/opt/homebrew/lib/softhsm/libsofthsm2.so',
].find((path) => existsSync(path))
const binding = (): typeof Pkcs11 | undefined => {
  try {
    return createRequire(import.meta.url)('pkcs11js') as typeof Pkcs11
  } catch {
    return undefined
  }
}
const library = binding()
const missing =
  modulePath === undefined
    ? 'SoftHSM 2 is not installed (apt-get install softhsm2)'
    : library === undefined
      ? 'the package pkcs11js was not built (it needs g++, make and python3)'
      : undefined

const kidOf = (jws: string) => decodeProtectedHeader(jws).kid

/** A token of its own in a folder of its own. The library reads the variable when it is initialised. */
const makeToken = () => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-hsm-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(
    join(folder, 'softhsm2.conf'),
    `directories.tokendir = ${folder}\nobjectstore.backend = file\nlog.level = ERROR\n`,
  )
  process.env['SOFTHSM2_CONF'] = join(folder, 'softhsm2.conf')
  const pinFile = join(folder, 'pin')
  writeFileSync(pinFile, '482913\n', { mode: 0o600 })
  const made = spawnSync(
    'softhsm2-util',
    ['--init-token', '--free', '--label', 'pohf', '--so-pin', '77778888', '--pin', '482913'],
    { encoding: 'utf8' },
  )
  assert.equal(made.status, 0, made.stderr)
  return { module: modulePath ?? '', label: 'pohf', pinFile }
}

const setUp = async () => {
  const token = makeToken()
  const harness = await startHarness({
    SIGNER_BACKEND: 'pkcs11',
    PKCS11_MODULE: token.module,
    PKCS11_TOKEN_LABEL: token.label,
    PKCS11_PIN_FILE: token.pinFile,
  })
  return { token, harness, key: (await harness.register('test')).apiKey }
}

if (missing !== undefined || library === undefined) {
  test('keys in a token', { skip: missing ?? 'no binding' })
} else {
  const { token, harness, key } = await setUp()
  const verify = (sessionId: string) =>
    harness.call('POST', '/api/agents/verify', { key, body: { sessionId } })
  const jwks = async () => (await harness.call('GET', '/.well-known/jwks.json')).json as JSONWebKeySet
  const check = async (jwt: string) =>
    jwtVerify(jwt, createLocalJWKSet(await jwks()), {
      algorithms: ['ES256'],
      currentDate: harness.ctx.clock.now(),
    })
  const records = () =>
    JSON.parse(readFileSync(join(harness.ctx.config.KEYS_DIR, 'keyring.json'), 'utf8')) as {
      kid: string
      ref: string
      state: string
      purpose: string
    }[]

  const makeOperator = async () => (await operators.create(harness.ctx, 'machine', 'Ann')).operatorKey

  /** Another caller with the right PIN, who wants more than a signature. */
  const withSlot = <T>(act: (lib: Pkcs11.PKCS11, slot: Pkcs11.Handle) => T): T => {
    const lib = new library.PKCS11()
    lib.load(token.module)
    const slot = lib.C_GetSlotList(true).find((each) => lib.C_GetTokenInfo(each).label.trim() === token.label)
    assert.ok(slot)
    return act(lib, slot)
  }
  const withSession = <T>(act: (lib: Pkcs11.PKCS11, session: Pkcs11.Handle) => T): T =>
    withSlot((lib, slot) => {
      // The process is logged in already: PKCS#11 knows one login for all sessions of a process.
      const session = lib.C_OpenSession(slot, library.CKF_SERIAL_SESSION | library.CKF_RW_SESSION)
      try {
        return act(lib, session)
      } finally {
        lib.C_CloseSession(session)
      }
    })
  const privateKeys = (lib: Pkcs11.PKCS11, session: Pkcs11.Handle): Pkcs11.Handle[] => {
    lib.C_FindObjectsInit(session, [{ type: library.CKA_CLASS, value: library.CKO_PRIVATE_KEY }])
    const found = lib.C_FindObjects(session, 100)
    lib.C_FindObjectsFinal(session)
    return found
  }
  const countPrivateKeys = () => withSession((lib, session) => privateKeys(lib, session).length)

  test('a credential is signed in the token, and the published key verifies it', async () => {
    const answer = await verify('in the token')
    assert.equal(answer.status, 200, answer.text)
    const { protectedHeader } = await check(answer.json.pohf_jwt)
    assert.ok((await jwks()).keys.some((jwk) => jwk.kid === protectedHeader.kid))
    assert.ok(records().every(({ ref }) => ref.startsWith('pkcs11:')))
    assert.deepEqual(readdirSync(join(harness.ctx.config.KEYS_DIR, 'private')), [])
  })

  test('the token refuses to give a private key out: as a value, wrapped, or after a change of its attributes', () => {
    withSession((lib, session) => {
      const keys = privateKeys(lib, session)
      assert.ok(keys.length >= 4)
      const wrapping = lib.C_GenerateKey(session, { mechanism: library.CKM_AES_KEY_GEN }, [
        { type: library.CKA_CLASS, value: library.CKO_SECRET_KEY },
        { type: library.CKA_VALUE_LEN, value: 32 },
        { type: library.CKA_TOKEN, value: false },
        { type: library.CKA_WRAP, value: true },
        { type: library.CKA_ENCRYPT, value: true },
      ])
      for (const handle of keys) {
        assert.throws(
          () => lib.C_GetAttributeValue(session, handle, [{ type: library.CKA_VALUE }]),
          /CKR_ATTRIBUTE_SENSITIVE/,
        )
        assert.throws(
          () =>
            lib.C_WrapKey(
              session,
              { mechanism: library.CKM_AES_KEY_WRAP_PAD },
              wrapping,
              handle,
              Buffer.alloc(512),
            ),
          /CKR_KEY_UNEXTRACTABLE/,
        )
        for (const change of [
          { type: library.CKA_EXTRACTABLE, value: true },
          { type: library.CKA_SENSITIVE, value: false },
        ])
          assert.throws(() => lib.C_SetAttributeValue(session, handle, [change]), /CKR_ATTRIBUTE_READ_ONLY/)
      }
    })
  })

  test('the keys are the same after a restart of the signer', async () => {
    const before = await jwks()
    const first = await verify('before the restart')
    await harness.stopSigner()
    await harness.startSigner()
    const second = await verify('after the restart')
    assert.equal(second.status, 200, second.text)
    assert.equal(kidOf(second.json.pohf_jwt), kidOf(first.json.pohf_jwt))
    assert.deepEqual(await jwks(), before)
  })

  test('a rotated key leaves the token when it retires, and still verifies what it signed', async () => {
    const operator = await makeOperator()
    const before = countPrivateKeys()
    const old = await verify('by the old key')
    await harness.callOperator('POST', '/operator/keys/rotate', { key: operator, body: { purpose: 'test' } })
    assert.equal(countPrivateKeys(), before + 1)
    await harness.advance(25 * 3_600_000)
    const fresh = await verify('by the new key')
    assert.notEqual(kidOf(fresh.json.pohf_jwt), kidOf(old.json.pohf_jwt))
    assert.equal(countPrivateKeys(), before)
    await check(old.json.pohf_jwt)
    await check(fresh.json.pohf_jwt)
  })

  test('a revoked key leaves the token at once', async () => {
    const operator = await makeOperator()
    const before = countPrivateKeys()
    const kid = records().find(({ purpose, state }) => purpose === 'test' && state === 'active')?.kid ?? ''
    const body = { reason: 'drill' }
    const revoked = await harness.callOperator('POST', `/operator/keys/${kid}/revoke`, {
      key: operator,
      body,
    })
    assert.equal(revoked.status, 200, revoked.text)
    // One destroyed, its successor made.
    assert.equal(countPrivateKeys(), before)
    assert.notEqual(decodeProtectedHeader((await verify('after the revocation')).json.pohf_jwt).kid, kid)
  })

  test('a session that the token has lost is opened anew', async () => {
    withSlot((lib, slot) => lib.C_CloseAllSessions(slot))
    assert.equal((await verify('after the loss')).status, 200)
  })

  test('a deployment moves from files into the token by rotation, without a gap', async () => {
    // A process holds a module open once.
    await harness.stopSigner()
    const folder = mkdtempSync(join(tmpdir(), 'pohf-move-'))
    after(() => rmSync(folder, { recursive: true, force: true }))
    let skewMs = 0
    const clock = { now: () => new Date(Date.UTC(2026, 0, 1) + skewMs) }
    const epoch = { iss: 'https://example.com', iat: 1, code: 'VHH', epoch: '2026-01' }
    const files = () => fileBackend(join(folder, 'private'))
    const old = openKeyring({ folder, backend: files(), clock, cell: 'aa' })
    const first = kidOf(old.signTyped('vhh-epoch+jwt', epoch))
    old.close()
    const moved = openKeyring({
      folder,
      backend: withPreviousBackend(pkcs11Backend(token), files()),
      clock,
      cell: 'aa',
    })
    assert.equal(kidOf(moved.signTyped('vhh-epoch+jwt', epoch)), first)
    moved.rotate('epoch')
    skewMs = 25 * 3_600_000
    assert.notEqual(kidOf(moved.signTyped('vhh-epoch+jwt', epoch)), first)
    moved.close()
  })
}
