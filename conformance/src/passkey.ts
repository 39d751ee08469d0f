import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto'

// The smallest passkey that WebAuthn knows, made without a browser: a new key, attested by nobody (format "none").

const sha256 = (data: Buffer | string): Buffer => createHash('sha256').update(data).digest()

/** CBOR (RFC 8949): a head of major type and length. Nothing here is longer than 65,535. */
const head = (major: number, length: number): Buffer => {
  if (length < 24) return Buffer.from([(major << 5) | length])
  if (length < 256) return Buffer.from([(major << 5) | 24, length])
  return Buffer.from([(major << 5) | 25, length >> 8, length & 255])
}
const integer = (value: number): Buffer => (value < 0 ? head(1, -1 - value) : head(0, value))
const bytes = (value: Buffer): Buffer => Buffer.concat([head(2, value.length), value])
const text = (value: string): Buffer => Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
const map = (pairs: readonly (readonly [Buffer, Buffer])[]): Buffer =>
  Buffer.concat([head(5, pairs.length), ...pairs.flat()])

/** What `navigator.credentials.create()` would give for this challenge on a page of this origin, as JSON. */
export const makePasskey = (challengeB64url: string, origin: string) => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  // COSE: an EC2 key (1: 2) for ES256 (3: -7) on P-256 (-1: 1).
  const key = map([
    [integer(1), integer(2)],
    [integer(3), integer(-7)],
    [integer(-1), integer(1)],
    [integer(-2), bytes(Buffer.from(x, 'base64url'))],
    [integer(-3), bytes(Buffer.from(y, 'base64url'))],
  ])
  const id = randomBytes(32)
  // User present, user verified, key attached; a counter at 0; a model without a name; the length of the id.
  const authData = Buffer.concat([
    sha256(new URL(origin).hostname),
    Buffer.from([0x01 | 0x04 | 0x40]),
    Buffer.alloc(4 + 16),
    Buffer.from([0, id.length]),
    id,
    key,
  ])
  const clientData = { type: 'webauthn.create', challenge: challengeB64url, origin, crossOrigin: false }
  const attestation = map([
    [text('fmt'), text('none')],
    [text('attStmt'), map([])],
    [text('authData'), bytes(authData)],
  ])
  return {
    id: id.toString('base64url'),
    rawId: id.toString('base64url'),
    type: 'public-key',
    clientExtensionResults: {},
    response: {
      clientDataJSON: Buffer.from(JSON.stringify(clientData)).toString('base64url'),
      attestationObject: attestation.toString('base64url'),
    },
  }
}
