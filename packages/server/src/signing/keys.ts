import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  verify,
  type JsonWebKey,
  type KeyObject,
} from 'node:crypto'
import { join } from 'node:path'
import { readOrMake } from '../platform/secrets.ts'
import { rawSignature } from './rules.ts'

const keyPurposes = ['live', 'test', 'epoch'] as const
export type KeyPurpose = (typeof keyPurposes)[number]

export type PublicJwk = {
  readonly kty: 'EC'
  readonly crv: 'P-256'
  readonly x: string
  readonly y: string
  readonly kid: string
  readonly alg: 'ES256'
  readonly use: 'sig'
}

type Key = { readonly jwk: PublicJwk; readonly privateKey: KeyObject; readonly publicKey: KeyObject }

/** RFC 7638: the hash of the required members in their fixed order. */
const thumbprint = (jwk: { x: string; y: string }): string =>
  createHash('sha256').update(`{"crv":"P-256","kty":"EC","x":"${jwk.x}","y":"${jwk.y}"}`).digest('base64url')

const makePrivateJwk = (): string =>
  JSON.stringify(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }))

const loadKey = (folder: string, purpose: KeyPurpose): Key => {
  const privateJwk = JSON.parse(readOrMake(folder, `${purpose}.json`, makePrivateJwk)) as JsonWebKey
  const { x, y } = privateJwk
  if (x === undefined || y === undefined) throw new Error(`the key file of ${purpose} is damaged`)
  const privateKey = createPrivateKey({ key: privateJwk, format: 'jwk' })
  const jwk: PublicJwk = {
    kty: 'EC',
    crv: 'P-256',
    x,
    y,
    kid: thumbprint({ x, y }),
    alg: 'ES256',
    use: 'sig',
  }
  return { jwk, privateKey, publicKey: createPublicKey(privateKey) }
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The keys of a deployment, made at the first start. */
export const openKeys = (dataDir: string) => {
  const folder = join(dataDir, 'keys')
  const keys = Object.fromEntries(
    keyPurposes.map((purpose) => [purpose, loadKey(folder, purpose)]),
  ) as Record<KeyPurpose, Key>
  return {
    publicKeys: (): PublicJwk[] => keyPurposes.map((purpose) => keys[purpose].jwk),
    /** A compact JWS by the key of this purpose, verified before it is returned. */
    signJws: (purpose: KeyPurpose, typ: string, payload: unknown): string => {
      const { jwk, privateKey, publicKey } = keys[purpose]
      const input = `${encode({ alg: 'ES256', typ, kid: jwk.kid })}.${encode(payload)}`
      // DER and a conversion by hand: asking OpenSSL for the raw form takes about twice the time.
      const der = sign('sha256', Buffer.from(input), privateKey)
      if (!verify('sha256', Buffer.from(input), publicKey, der)) throw new Error('a signature did not verify')
      return `${input}.${rawSignature(der).toString('base64url')}`
    },
  }
}
