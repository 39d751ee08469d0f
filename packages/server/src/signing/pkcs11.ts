import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type * as Pkcs11 from 'pkcs11js'
import type { Backend } from './backend.ts'

export type TokenSettings = {
  /** The vendor's library. */
  readonly module: string
  readonly label: string
  readonly pinFile: string
}

type Library = typeof Pkcs11
type TokenSession = { readonly token: Pkcs11.PKCS11; readonly session: Pkcs11.Handle }

const refPrefix = 'pkcs11:'
/** DER of the object identifier of P-256. */
const p256 = Buffer.from('06082a8648ce3d030107', 'hex')

/** The binding is native and optional, so that a machine without a compiler can install everything else. */
const loadLibrary = (): Library => {
  try {
    return createRequire(import.meta.url)('pkcs11js') as Library
  } catch (cause) {
    throw new Error(
      'SIGNER_BACKEND=pkcs11 needs the package pkcs11js, which npm could not build here: install g++, make and python3, then run npm ci',
      { cause },
    )
  }
}

const openToken = (library: Library, { module, label, pinFile }: TokenSettings): TokenSession => {
  const token = new library.PKCS11()
  token.load(module)
  token.C_Initialize()
  const slot = token.C_GetSlotList(true).find((each) => token.C_GetTokenInfo(each).label.trim() === label)
  if (!slot) throw new Error(`no token with the label ${label} in the PKCS#11 module ${module}`)
  // The supervisor restarts a signer with a wrong PIN again and again, so the last attempt before the lock is not used.
  if ((token.C_GetTokenInfo(slot).flags & library.CKF_USER_PIN_FINAL_TRY) !== 0)
    throw new Error(
      `token ${label} has one PIN attempt left: log in by hand with the correct PIN, then start the signer`,
    )
  const session = token.C_OpenSession(slot, library.CKF_SERIAL_SESSION | library.CKF_RW_SESSION)
  token.C_Login(session, library.CKU_USER, readFileSync(pinFile, 'utf8').trim())
  return { token, session }
}

const closeToken = ({ token }: TokenSession): void => {
  // A token that is gone cannot be closed, and need not be.
  try {
    token.C_Finalize()
  } finally {
    token.close()
  }
}

const idOf = (ref: string): Buffer => Buffer.from(ref.slice(refPrefix.length), 'hex')

const findPrivateKey = (
  library: Library,
  { token, session }: TokenSession,
  ref: string,
): Pkcs11.Handle | undefined => {
  token.C_FindObjectsInit(session, [
    { type: library.CKA_CLASS, value: library.CKO_PRIVATE_KEY },
    { type: library.CKA_ID, value: idOf(ref) },
  ])
  try {
    return token.C_FindObjects(session, 1)[0]
  } finally {
    token.C_FindObjectsFinal(session)
  }
}

/** The private key stays in the token; the public key is a session object and takes no storage. */
const generatePair = (library: Library, { token, session }: TokenSession, id: Buffer) =>
  token.C_GenerateKeyPair(
    session,
    { mechanism: library.CKM_EC_KEY_PAIR_GEN },
    [
      { type: library.CKA_TOKEN, value: false },
      { type: library.CKA_EC_PARAMS, value: p256 },
      { type: library.CKA_VERIFY, value: true },
    ],
    [
      { type: library.CKA_TOKEN, value: true },
      { type: library.CKA_PRIVATE, value: true },
      { type: library.CKA_SENSITIVE, value: true },
      { type: library.CKA_EXTRACTABLE, value: false },
      { type: library.CKA_SIGN, value: true },
      { type: library.CKA_ID, value: id },
      { type: library.CKA_LABEL, value: 'pohf' },
    ],
  )

/** Most tokens wrap the point in an OCTET STRING, some do not; it ends in 04, x, y either way. */
const pointOf = (ref: string, bytes: Buffer): { readonly x: string; readonly y: string } => {
  if (bytes.length < 65 || bytes.at(-65) !== 4)
    throw new Error(
      `the token returned no uncompressed EC point for key ${ref}, but ${bytes.length} other bytes`,
    )
  return {
    x: bytes.subarray(-64, -32).toString('base64url'),
    y: bytes.subarray(-32).toString('base64url'),
  }
}

/** Generates a key and refuses one that could leave the token. */
const generateKey = (library: Library, tokenSession: TokenSession) => {
  const { token, session } = tokenSession
  const id = token.C_GenerateRandom(session, Buffer.alloc(16))
  const ref = `${refPrefix}${id.toString('hex')}`
  const { publicKey, privateKey } = generatePair(library, tokenSession, id)
  const attributes = token.C_GetAttributeValue(session, privateKey, [
    { type: library.CKA_ALWAYS_SENSITIVE },
    { type: library.CKA_NEVER_EXTRACTABLE },
  ])
  if (!attributes.every(({ value }) => Buffer.isBuffer(value) && value[0] === 1)) {
    token.C_DestroyObject(session, privateKey)
    throw new Error(`the token generated private key ${ref} as extractable; it was destroyed`)
  }
  const [point] = token.C_GetAttributeValue(session, publicKey, [{ type: library.CKA_EC_POINT }])
  token.C_DestroyObject(session, publicKey)
  return { ref, ...pointOf(ref, point?.value as Buffer) }
}

/** Keys in a PKCS#11 token, never extractable. Tested on SoftHSM 2; any token with P-256 should work. */
export const pkcs11Backend = (settings: TokenSettings): Backend => {
  const library = loadLibrary()
  let tokenSession = openToken(library, settings)
  const handles = new Map<string, Pkcs11.Handle>()

  const reopen = (): void => {
    handles.clear()
    try {
      closeToken(tokenSession)
    } catch {
      // The old session is lost; only whether the new one works matters.
    }
    tokenSession = openToken(library, settings)
  }
  /** A token that restarted has lost our session: opens a new one and retries once. */
  const withSessionRetry = <T>(act: () => T): T => {
    try {
      return act()
    } catch (error) {
      if (!(error instanceof library.Pkcs11Error)) throw error
      reopen()
      return act()
    }
  }
  const handleOf = (ref: string): Pkcs11.Handle => {
    const handle = handles.get(ref) ?? findPrivateKey(library, tokenSession, ref)
    if (!handle) throw new Error(`key ${ref} not found in the token ${settings.label}`)
    handles.set(ref, handle)
    return handle
  }

  return {
    name: 'pkcs11',
    generate: () => withSessionRetry(() => generateKey(library, tokenSession)),
    sign: (ref, data) =>
      withSessionRetry(() => {
        const { token, session } = tokenSession
        token.C_SignInit(session, { mechanism: library.CKM_ECDSA }, handleOf(ref))
        return token.C_Sign(session, createHash('sha256').update(data).digest(), Buffer.alloc(64))
      }),
    destroy: (ref) =>
      withSessionRetry(() => {
        handles.delete(ref)
        const handle = findPrivateKey(library, tokenSession, ref)
        if (handle) tokenSession.token.C_DestroyObject(tokenSession.session, handle)
      }),
    close: () => closeToken(tokenSession),
  }
}
