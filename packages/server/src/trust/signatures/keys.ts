import { createPublicKey, constants, verify, type KeyObject } from 'node:crypto'
import { calculateJwkThumbprint, type JWK } from 'jose'
import { z } from 'zod'

export const algorithms = ['ed25519', 'ecdsa-p256-sha256', 'rsa-pss-sha512'] as const
type Algorithm = (typeof algorithms)[number]

/** A public key of a key set, by which requests or mandates are verified. */
export type PublishedKey = {
  readonly kid: string | undefined
  /** RFC 7638. */
  readonly thumbprint: string
  readonly algorithm: Algorithm
  readonly jwk: JWK
  readonly notBefore: number
  readonly notAfter: number
  readonly verify: (data: Uint8Array, signature: Uint8Array) => boolean
}

const keysMax = 100
const part = z.string().max(2_048)
const jwkSchema = z.object({
  kty: z.enum(['OKP', 'EC', 'RSA']),
  crv: part.optional(),
  x: part.optional(),
  y: part.optional(),
  n: part.optional(),
  e: part.optional(),
  kid: z.string().max(200).optional(),
  use: z.literal('sig').optional(),
  nbf: z.number().optional(),
  exp: z.number().optional(),
})
const keySetSchema = z.object({ keys: z.array(z.unknown()).max(keysMax) })

/** RSA keys below 2048 bits are too weak, above 8192 too slow. */
const isRsaSize = (bits: number | undefined): boolean => bits !== undefined && bits >= 2_048 && bits <= 8_192

const algorithmOf = (jwk: z.output<typeof jwkSchema>, key: KeyObject): Algorithm | undefined => {
  if (jwk.kty === 'OKP') return jwk.crv === 'Ed25519' ? 'ed25519' : undefined
  if (jwk.kty === 'EC') return jwk.crv === 'P-256' ? 'ecdsa-p256-sha256' : undefined
  return isRsaSize(key.asymmetricKeyDetails?.modulusLength) ? 'rsa-pss-sha512' : undefined
}

const verifierOf = (algorithm: Algorithm, key: KeyObject): PublishedKey['verify'] => {
  if (algorithm === 'ed25519') return (data, signature) => verify(null, data, key, signature)
  if (algorithm === 'ecdsa-p256-sha256')
    return (data, signature) => verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, signature)
  // RFC 9421 requires 64 bytes of salt, but common signing libraries use the longest possible salt. Any length is as safe.
  return (data, signature) =>
    verify(
      'sha512',
      data,
      { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_AUTO },
      signature,
    )
}

/** The key of a JWK; undefined where it cannot be used here. Only public parts are read. */
const readKey = async (value: unknown): Promise<PublishedKey | undefined> => {
  const parsed = jwkSchema.safeParse(value)
  if (!parsed.success) return undefined
  const { kid, use: _use, nbf = 0, exp = Infinity, ...given } = parsed.data
  const jwk = Object.fromEntries(Object.entries(given).filter(([, text]) => text !== undefined)) as JWK
  try {
    const key = createPublicKey({ key: { ...jwk }, format: 'jwk' })
    const algorithm = algorithmOf(parsed.data, key)
    if (!algorithm) return undefined
    const thumbprint = await calculateJwkThumbprint(jwk)
    return {
      kid,
      thumbprint,
      algorithm,
      jwk,
      notBefore: nbf,
      notAfter: exp,
      verify: verifierOf(algorithm, key),
    }
  } catch {
    return undefined
  }
}

const isCurrent = ({ notBefore, notAfter }: PublishedKey, seconds: number): boolean =>
  notBefore <= seconds && seconds < notAfter

export type KeyName = {
  readonly name: string
  /** The only algorithm that counts here; undefined where each does. */
  readonly algorithm?: Algorithm
}
export type NamedKey = PublishedKey | 'none' | 'ambiguous'
/**
 * The key of a set that `name` names now. A thumbprint is computed from the key, and a `kid` is chosen by whoever publishes
 * it, so a name that is the thumbprint of a key of the set never means another one, also while that key is not valid. A `kid`
 * that several keys have names none of them.
 */
export const keyNamed = (
  keys: readonly PublishedKey[],
  { name, algorithm }: KeyName,
  { acceptsKid, seconds }: { readonly acceptsKid: boolean; readonly seconds: number },
): NamedKey => {
  const exact = keys.filter(({ thumbprint }) => thumbprint === name)
  const named = exact.length > 0 || !acceptsKid ? exact : keys.filter(({ kid }) => kid === name)
  const [key, ...others] = named.filter(
    (each) => isCurrent(each, seconds) && (algorithm === undefined || each.algorithm === algorithm),
  )
  if (!key) return 'none'
  return others.every(({ thumbprint }) => thumbprint === key.thumbprint) ? key : 'ambiguous'
}

/** The usable keys of a key set; undefined where the text is none. */
export const readKeySet = async (text: string): Promise<readonly PublishedKey[] | undefined> => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const parsed = keySetSchema.safeParse(value)
  if (!parsed.success) return undefined
  const keys = await Promise.all(parsed.data.keys.map(readKey))
  return keys.filter((key) => key !== undefined)
}
