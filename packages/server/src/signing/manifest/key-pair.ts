import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { z } from 'zod'
import { kidOf } from '../rules.ts'

const coordinate = z.string().regex(/^[A-Za-z0-9_-]{43}$/)
/** The public half of a P-256 key. */
export const publicPoint = z.strictObject({ x: coordinate, y: coordinate })
export type PublicPoint = z.output<typeof publicPoint>

/** The private half, as it is stored in a file of mode 0600. */
const privateJwk = z.strictObject({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: coordinate,
  y: coordinate,
  d: coordinate,
})
type PrivateJwk = z.output<typeof privateJwk>

/** A key that signs statements about keys: the identity of a signer, or the admission key. Never a credential. */
export type StatementKey = {
  readonly kid: string
  readonly point: PublicPoint
  readonly jwk: PrivateJwk
  readonly sign: (data: Buffer) => Buffer
}

/** Refuses a file whose public half does not belong to its private half. */
export const statementKeyOf = (value: unknown): StatementKey => {
  const jwk = privateJwk.parse(value)
  const key = createPrivateKey({ key: jwk, format: 'jwk' })
  const { x, y } = publicPoint.parse({
    x: createPublicKey(key).export({ format: 'jwk' }).x,
    y: createPublicKey(key).export({ format: 'jwk' }).y,
  })
  const statedKid = kidOf(jwk)
  if (x !== jwk.x || y !== jwk.y)
    throw new Error(`private key and public point of ${statedKid} do not belong together`)
  return {
    kid: kidOf({ x, y }),
    point: { x, y },
    jwk,
    sign: (data) => sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' }),
  }
}

export const generateStatementKey = (): StatementKey =>
  statementKeyOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }))
