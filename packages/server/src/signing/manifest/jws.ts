import { createHash, createPublicKey, verify } from 'node:crypto'
import type { PublicPoint, StatementKey } from './key-pair.ts'
import { headerOf } from '../rules.ts'

/** A manifest of 4,000 keys has about 1 MB. */
const jwsBytesMax = 2_097_152

/** A compact JWS, read and not yet verified. */
export type UnverifiedJws = {
  readonly kid: string
  readonly payload: unknown
  /**
   * The hash of what was signed. The signature is left out: from one ECDSA signature anybody can make a second valid one
   * of the same text.
   */
  readonly hash: string
  readonly isSignedBy: (point: PublicPoint) => boolean
}

export const signJws = (key: StatementKey, typ: string, payload: unknown): string => {
  const input = `${headerOf(typ, key.kid)}.${Buffer.from(JSON.stringify(payload)).toString('base64url')}`
  return `${input}.${key.sign(Buffer.from(input)).toString('base64url')}`
}

/** Reads a JWS that has exactly the header {alg, typ, kid}, in canonical base64url. */
export const readJws = (jws: unknown, typ: string): UnverifiedJws => {
  if (typeof jws !== 'string' || jws.length > jwsBytesMax)
    throw new Error(`expected a JWS of type ${typ} with at most ${jwsBytesMax} characters`)
  const parts = jws.split('.')
  const [header = '', body = '', signature = ''] = parts
  const bytes = parts.map((part) => Buffer.from(part, 'base64url'))
  if (parts.length !== 3 || parts.some((part, index) => bytes[index]?.toString('base64url') !== part))
    throw new Error(`a JWS of type ${typ} is not three parts of base64url`)
  const { kid } = JSON.parse(bytes[0]?.toString('utf8') ?? '') as { kid?: unknown }
  if (typeof kid !== 'string' || header !== headerOf(typ, kid))
    throw new Error(`the header of a JWS by key ${String(kid)} is not that of type ${typ}`)
  const input = `${header}.${body}`
  return {
    kid,
    payload: JSON.parse(bytes[1]?.toString('utf8') ?? ''),
    hash: createHash('sha256').update(input).digest('base64url'),
    isSignedBy: ({ x, y }) =>
      verify(
        'sha256',
        Buffer.from(input),
        {
          key: createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' }),
          dsaEncoding: 'ieee-p1363',
        },
        Buffer.from(signature, 'base64url'),
      ),
  }
}
