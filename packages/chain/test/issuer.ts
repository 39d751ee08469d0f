import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { toHex, type Hex } from 'viem'
import { headerOf, type Jwk, type Onchain } from '@pohf/chain'

export const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
export const word = (value: bigint): Hex => toHex(value, { size: 32 })
/** The other signature that is as good: s and its complement. */
export const highSTwin = (token: Onchain): Onchain => ({ ...token, s: word(order - BigInt(token.s)) })
export const isHigh = (token: Onchain): boolean => BigInt(token.s) > order / 2n

export type Claims = {
  readonly wallet: string
  readonly nul: string
  readonly iat: number
  readonly exp: number
  readonly registry: string
  readonly chain: number
}
export const textOf = (claims: Claims, iss = 'https://pohf.example'): string => {
  const { wallet, nul, iat, exp, registry, chain } = claims
  return JSON.stringify({ wallet, nul, iat, exp, registry, chain, iss })
}

/** A key of the issuer and what it signs. */
export const makeIssuer = () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = privateKey.export({ format: 'jwk' })
  const kid = createHash('sha256')
    .update(`{"crv":"P-256","kty":"EC","x":"${x}","y":"${y}"}`)
    .digest('base64url')
  const jwk: Jwk = { kid, x, y }
  /** Any text, signed as it stands. */
  const signText = (text: string): Onchain => {
    const payload = Buffer.from(text).toString('base64url')
    const raw = sign('sha256', Buffer.from(`${headerOf(kid)}.${payload}`), {
      key: privateKey,
      dsaEncoding: 'ieee-p1363',
    })
    return {
      payload,
      r: toHex(raw.subarray(0, 32)),
      s: toHex(raw.subarray(32)),
      keyId: toHex(Buffer.from(kid, 'base64url')),
    }
  }
  return { jwk, signText, sign: (claims: Claims) => signText(textOf(claims)) }
}
