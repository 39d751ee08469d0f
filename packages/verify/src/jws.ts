import { base64url, compactVerify, type CryptoKey } from 'jose'
import { isObject } from './claims.ts'
import { findKey, purposeOf, type KeySource } from './keys.ts'
import { CredentialRefusal, type CheckName } from './refusal.ts'

/** 64 bytes in base64url end in a character whose last four bits are zero: one encoding for each signature. */
const compactForm = /^[A-Za-z0-9_-]{1,1024}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{85}[AQgw]$/
const kidForm = /^[A-Za-z0-9_-]{1,128}$/

type NodeCrypto = typeof import('node:crypto')
/** Node's crypto module where there is one, without an import that a browser's bundler would follow. */
const nodeCrypto = (
  globalThis as { process?: { getBuiltinModule?: (name: string) => NodeCrypto | undefined } }
).process?.getBuiltinModule?.('node:crypto')

/** Checks the signature of a token whose form and header were checked before. */
export type SignatureCheck = (jws: string, key: CryptoKey) => Promise<boolean>

export const checkByWebCrypto: SignatureCheck = async (jws, key) =>
  compactVerify(jws, key, { algorithms: ['ES256'] }).then(
    () => true,
    () => false,
  )

const nodeKeys = new WeakMap<CryptoKey, import('node:crypto').KeyObject>()
/** Faster with the same result: it avoids a thread pool for 0.1 ms of work (figures: README). */
const makeNodeCheck =
  (crypto: NodeCrypto): SignatureCheck =>
  async (jws, key) => {
    const publicKey = nodeKeys.get(key) ?? crypto.KeyObject.from(key)
    nodeKeys.set(key, publicKey)
    const end = jws.lastIndexOf('.')
    return crypto.verify(
      'sha256',
      Buffer.from(jws.slice(0, end), 'latin1'),
      { key: publicKey, dsaEncoding: 'ieee-p1363' },
      Buffer.from(jws.slice(end + 1), 'base64url'),
    )
  }
export const checkByNode = nodeCrypto && makeNodeCheck(nodeCrypto)
const checkSignature = checkByNode ?? checkByWebCrypto

const decoder = new TextDecoder('utf-8', { fatal: true })
const decode = (part: string): unknown =>
  JSON.parse(decoder.decode(nodeCrypto ? Buffer.from(part, 'base64url') : base64url.decode(part)))

const parseObject = (part: string, name: string): Record<string, unknown> => {
  let value: unknown
  try {
    value = decode(part)
  } catch {
    throw new CredentialRefusal('malformed', `The ${name} is not JSON.`)
  }
  if (!isObject(value)) throw new CredentialRefusal('malformed', `The ${name} is not a JSON object.`)
  return value
}

const split = (jws: unknown, maxChars: number) => {
  if (typeof jws !== 'string') throw new CredentialRefusal('malformed', 'This is not a text.')
  if (jws.length > maxChars) throw new CredentialRefusal('too_large', `Longer than ${maxChars} characters.`)
  const [header, payload] = jws.split('.')
  if (!compactForm.test(jws) || header === undefined || payload === undefined)
    throw new CredentialRefusal(
      'malformed',
      'This is not a signed token: three parts of base64url with dots between.',
    )
  return { text: jws, header: parseObject(header, 'header'), payload: parseObject(payload, 'payload') }
}

/** Exactly three members: a header with keys, URLs or extensions is refused. */
const requireHeader = (header: Readonly<Record<string, unknown>>, typ: string): string => {
  const { alg, typ: given, kid, ...more } = header
  if (alg !== 'ES256') throw new CredentialRefusal('header_refused', 'The algorithm is not ES256.')
  if (given !== typ)
    throw new CredentialRefusal('header_refused', `The type is not ${typ}: this token is something else.`)
  if (typeof kid !== 'string' || !kidForm.test(kid))
    throw new CredentialRefusal('header_refused', 'The header does not name a key.')
  const [extra] = Object.keys(more)
  if (extra !== undefined)
    throw new CredentialRefusal(
      'header_refused',
      `The header has ${extra.slice(0, 32)}, which is not allowed.`,
    )
  return kid
}

export type ExpectedToken = {
  readonly typ: string
  readonly maxChars: number
  readonly keys: KeySource
  /** The purpose that the signing key must have: a test key must not sign live credentials. */
  readonly purpose: (
    payload: Readonly<Record<string, unknown>>,
  ) => 'live' | 'test' | 'status' | 'forging' | 'epoch' | 'report'
}
export type RecordCheck = (name: CheckName, note: string) => void

/** Checks form, header, key and signature, in this order, and returns the signed payload. */
export const openJws = async (
  jws: unknown,
  expected: ExpectedToken,
  recordCheck: RecordCheck,
): Promise<Record<string, unknown>> => {
  const { text, header, payload } = split(jws, expected.maxChars)
  recordCheck('form', `${text.length} characters in three parts`)
  const kid = requireHeader(header, expected.typ)
  recordCheck('header', 'ES256, nothing but the name of a key')
  const key = await findKey(expected.keys, kid)
  recordCheck('key', `${kid} is a key of the issuer`)
  if (!(await checkSignature(text, key)))
    throw new CredentialRefusal('bad_signature', 'The signature does not fit this text and this key.')
  const purpose = expected.purpose(payload)
  if (purposeOf(expected.keys, kid) !== purpose)
    throw new CredentialRefusal(
      'bad_signature',
      `Signed by a key that the issuer does not use for ${purpose} tokens.`,
    )
  recordCheck('signature', 'fits the key and every character of the token')
  return payload
}

/** Decodes a token without verifying it, to show what a refused one claims. */
export const decodeUnverified = (jws: string): Record<string, unknown> | undefined => {
  try {
    return split(jws, Number.MAX_SAFE_INTEGER).payload
  } catch {
    return undefined
  }
}
