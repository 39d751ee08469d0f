import 'reflect-metadata'
import { createHash, sign, webcrypto, X509Certificate, KeyObject } from 'node:crypto'
import { encodeCBOR, type CBORType } from '@levischuck/tiny-cbor'
import * as x509 from '@peculiar/x509'

// Devices and vendors of our own: real certificates, real signatures, no phone.

x509.cryptoProvider.set(globalThis.crypto)
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const makeKeys = () => webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
export const sha256 = (...parts: readonly (Uint8Array | string)[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

type Keys = webcrypto.CryptoKeyPair
export type Authority = {
  readonly keys: Keys
  readonly certificate: x509.X509Certificate
  readonly name: string
}
type Valid = { readonly notBefore?: Date; readonly notAfter?: Date }
const validity = ({ notBefore, notAfter }: Valid) => ({
  notBefore: notBefore ?? new Date('2026-01-01'),
  notAfter: notAfter ?? new Date('2036-01-01'),
})

export const makeAuthority = async (
  name: string,
  issuer?: Authority,
  valid: Valid = {},
): Promise<Authority> => {
  const keys = await makeKeys()
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: '01',
    subject: `CN=${name}`,
    issuer: `CN=${issuer?.name ?? name}`,
    ...validity(valid),
    publicKey: keys.publicKey,
    signingKey: issuer?.keys.privateKey ?? keys.privateKey,
    signingAlgorithm: algorithm,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  })
  return { keys, certificate, name }
}
export const pemOf = (authority: Authority): string => authority.certificate.toString('pem')
export const nodeCertificate = (authority: Authority) => new X509Certificate(pemOf(authority))

const derOctets = (bytes: Buffer) => Buffer.concat([Buffer.from([0x04, bytes.length]), bytes])
const derWrap = (tag: number, content: Buffer) => Buffer.concat([Buffer.from([tag, content.length]), content])

export type AppDevice = { readonly keys: Keys; readonly keyId: Buffer; readonly point: Buffer }
export const makeAppDevice = async (): Promise<AppDevice> => {
  const keys = await makeKeys()
  const point = Buffer.from(await webcrypto.subtle.exportKey('raw', keys.publicKey))
  return { keys, point, keyId: sha256(point) }
}

export type AppOptions = {
  readonly root: Authority
  readonly intermediate: Authority
  readonly appId: string
  readonly clientDataHash: Buffer
  readonly aaguid?: string
  readonly counter?: number
  readonly credentialId?: Buffer
  readonly category?: number
  readonly nonce?: Buffer
  readonly fmt?: string
  readonly leaf?: Valid & { readonly ca?: boolean }
  readonly extraNonce?: boolean
}

const categoryItem = (category: number): Map<string, CBORType> => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(category)
  return new Map([['apple_validation_category_01', new Uint8Array(bytes)]])
}

/** What an app's key attestation looks like, with any part of it changed at will. */
export const attestApp = async (device: AppDevice, options: AppOptions): Promise<Buffer> => {
  const id = options.credentialId ?? device.keyId
  const idLength = Buffer.alloc(2)
  idLength.writeUInt16BE(id.length)
  const counter = Buffer.alloc(4)
  counter.writeUInt32BE(options.counter ?? 0)
  const jwk = await webcrypto.subtle.exportKey('jwk', device.keys.publicKey)
  const cose = encodeCBOR(
    new Map<number, CBORType>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, new Uint8Array(Buffer.from(jwk.x ?? '', 'base64url'))],
      [-3, new Uint8Array(Buffer.from(jwk.y ?? '', 'base64url'))],
    ]),
  )
  const authData = Buffer.concat([
    sha256(options.appId),
    Buffer.from([options.category === undefined ? 0x40 : 0xc0]),
    counter,
    Buffer.from((options.aaguid ?? 'appattest').padEnd(16, '\0')),
    idLength,
    id,
    cose,
    ...(options.category === undefined ? [] : [encodeCBOR(categoryItem(options.category))]),
  ])
  const nonce = options.nonce ?? sha256(authData, options.clientDataHash)
  const carried = derWrap(0x30, derWrap(0xa1, derOctets(nonce)))
  const extension = new x509.Extension('1.2.840.113635.100.8.2', false, new Uint8Array(carried))
  const leaf = await x509.X509CertificateGenerator.create({
    serialNumber: '03',
    subject: 'CN=device',
    issuer: `CN=${options.intermediate.name}`,
    ...validity(options.leaf ?? {}),
    publicKey: device.keys.publicKey,
    signingKey: options.intermediate.keys.privateKey,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(options.leaf?.ca ?? false, undefined, true),
      extension,
      ...(options.extraNonce ? [extension] : []),
    ],
  })
  const chain = [leaf, options.intermediate.certificate].map((one) => new Uint8Array(one.rawData))
  return Buffer.from(
    encodeCBOR(
      new Map<string, CBORType>([
        ['fmt', options.fmt ?? 'apple-appattest'],
        [
          'attStmt',
          new Map<string, CBORType>([
            ['x5c', chain],
            ['receipt', new Uint8Array(4)],
          ]),
        ],
        ['authData', new Uint8Array(authData)],
      ]),
    ),
  )
}

/** A later signature by the app's key. */
export const assertApp = async (
  device: AppDevice,
  options: { appId: string; clientData: Buffer; counter: number; category?: number },
): Promise<Buffer> => {
  const counter = Buffer.alloc(4)
  counter.writeUInt32BE(options.counter)
  const authData = Buffer.concat([
    sha256(options.appId),
    Buffer.from([options.category === undefined ? 0 : 0x80]),
    counter,
    ...(options.category === undefined ? [] : [encodeCBOR(categoryItem(options.category))]),
  ])
  const nonce = sha256(authData, sha256(options.clientData))
  const signature = sign('sha256', nonce, KeyObject.from(device.keys.privateKey))
  return Buffer.from(
    encodeCBOR(
      new Map<string, CBORType>([
        ['signature', new Uint8Array(signature)],
        ['authenticatorData', new Uint8Array(authData)],
      ]),
    ),
  )
}
