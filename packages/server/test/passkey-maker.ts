import 'reflect-metadata'
import { generateKeyPairSync, KeyObject, sign, webcrypto } from 'node:crypto'
import { encodeCBOR, type CBORType } from '@levischuck/tiny-cbor'
import * as x509 from '@peculiar/x509'
import { sha256, type Authority } from './device-maker.ts'

// An authenticator of our own that speaks WebAuthn: what a browser would hand over, without the browser.

const idOf = (aaguid: string) => Buffer.from(aaguid.replaceAll('-', ''), 'hex')

export type Passkey = {
  readonly id: Buffer
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}
export const makePasskey = (): Passkey => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { id: Buffer.from(webcrypto.getRandomValues(new Uint8Array(32))), publicKey, privateKey }
}

type Options = {
  readonly challenge: string
  readonly origin: string
  readonly rpId?: string
  readonly type?: string
  readonly aaguid?: string
  readonly counter?: number
  /** UP 1, UV 4, BE 8, BS 16. */
  readonly flags?: number
}
export type Vouching =
  | { readonly fmt: 'none' }
  | { readonly fmt: 'packed'; readonly batch?: { readonly key: KeyObject; readonly certificates: Buffer[] } }

const clientDataOf = (options: Options, type: string) =>
  Buffer.from(
    JSON.stringify({
      type: options.type ?? type,
      challenge: options.challenge,
      origin: options.origin,
      crossOrigin: false,
    }),
  )
const headOf = (options: Options, flags: number) => {
  const counter = Buffer.alloc(4)
  counter.writeUInt32BE(options.counter ?? 0)
  return Buffer.concat([
    sha256(options.rpId ?? new URL(options.origin).hostname),
    Buffer.from([flags]),
    counter,
  ])
}

/** What `navigator.credentials.create` answers, as JSON. */
export const createPasskey = (passkey: Passkey, options: Options, vouching: Vouching) => {
  const { x = '', y = '' } = passkey.publicKey.export({ format: 'jwk' })
  const cose = encodeCBOR(
    new Map<number, CBORType>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, new Uint8Array(Buffer.from(x, 'base64url'))],
      [-3, new Uint8Array(Buffer.from(y, 'base64url'))],
    ]),
  )
  const authData = Buffer.concat([
    headOf(options, 0x40 | (options.flags ?? 5)),
    idOf(options.aaguid ?? '00000000-0000-0000-0000-000000000000'),
    Buffer.from([0, passkey.id.length]),
    passkey.id,
    cose,
  ])
  const clientData = clientDataOf(options, 'webauthn.create')
  const statement = new Map<string, CBORType>()
  if (vouching.fmt === 'packed') {
    const signed = Buffer.concat([authData, sha256(clientData)])
    statement.set('alg', -7)
    statement.set('sig', new Uint8Array(sign('sha256', signed, vouching.batch?.key ?? passkey.privateKey)))
    if (vouching.batch)
      statement.set(
        'x5c',
        vouching.batch.certificates.map((one) => new Uint8Array(one)),
      )
  }
  const object = new Map<string, CBORType>([
    ['fmt', vouching.fmt],
    ['attStmt', statement],
    ['authData', new Uint8Array(authData)],
  ])
  const id = passkey.id.toString('base64url')
  return {
    id,
    rawId: id,
    type: 'public-key',
    clientExtensionResults: {},
    response: {
      clientDataJSON: clientData.toString('base64url'),
      attestationObject: Buffer.from(encodeCBOR(object)).toString('base64url'),
    },
  }
}

/** What `navigator.credentials.get` answers, as JSON. */
export const usePasskey = (passkey: Passkey, options: Options) => {
  const authData = headOf(options, options.flags ?? 5)
  const clientData = clientDataOf(options, 'webauthn.get')
  const id = passkey.id.toString('base64url')
  return {
    id,
    rawId: id,
    type: 'public-key',
    clientExtensionResults: {},
    response: {
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: authData.toString('base64url'),
      signature: sign('sha256', Buffer.concat([authData, sha256(clientData)]), passkey.privateKey).toString(
        'base64url',
      ),
    },
  }
}

/** The certificate that a maker puts into every authenticator of a model. */
export const makeBatch = async (maker: Authority, aaguid: string) => {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: '07',
    subject: 'C=SE, O=Maker, OU=Authenticator Attestation, CN=Model',
    issuer: `CN=${maker.name}`,
    notBefore: new Date('2026-01-01'),
    notAfter: new Date('2036-01-01'),
    publicKey: keys.publicKey,
    signingKey: maker.keys.privateKey,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.Extension(
        '1.3.6.1.4.1.45724.1.1.4',
        false,
        new Uint8Array(Buffer.concat([Buffer.from([4, 16]), idOf(aaguid)])),
      ),
    ],
  })
  return { key: KeyObject.from(keys.privateKey), certificates: [Buffer.from(certificate.rawData)] }
}
