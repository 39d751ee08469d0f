import { credentialClaims, lifetimeDays, testLifetimeDays, type CredentialClaims } from '@pohf/protocol'

declare const linted: unique symbol
/** Claims that were checked. Only `lint` makes one, and only this can be signed. */
export type Mintable = CredentialClaims & { readonly [linted]: true }

const dayS = 86_400

/** Checks claims before they are signed: the closed list, and a lifetime that fits the kind. */
export const lint = (claims: CredentialClaims): Mintable => {
  const checked = credentialClaims.parse(claims)
  const days = checked.test ? testLifetimeDays : lifetimeDays[checked.kind]
  if (checked.exp - checked.iat !== days * dayS)
    throw new Error(`a ${checked.kind} credential lives ${days} days`)
  return checked as Mintable
}

/** ECDSA P-256 from DER (two integers) to the 64 bytes of JWS. */
export const rawSignature = (der: Buffer): Buffer => {
  const raw = Buffer.alloc(64)
  let offset = 2
  for (const end of [32, 64]) {
    const length = der.readUInt8(offset + 1)
    const number = der.subarray(offset + 2, offset + 2 + length)
    const trimmed = number.length > 32 ? number.subarray(number.length - 32) : number
    trimmed.copy(raw, end - trimmed.length)
    offset += 2 + length
  }
  return raw
}
