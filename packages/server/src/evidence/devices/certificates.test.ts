import 'reflect-metadata'
import assert from 'node:assert/strict'
import { generateKeyPairSync, sign, webcrypto, type KeyObject, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import * as x509 from '@peculiar/x509'
import { EvidenceError } from './attestation.ts'
import { chainFault, readCertificate } from './certificates.ts'

x509.cryptoProvider.set(globalThis.crypto)

const ecdsa = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const rsa = (modulusLength: number) => ({
  name: 'RSASSA-PKCS1-v1_5',
  modulusLength,
  publicExponent: new Uint8Array([1, 0, 1]),
  hash: 'SHA-256',
})
type Algorithm = typeof ecdsa | ReturnType<typeof rsa>
type Made = { readonly name: string; readonly keys: webcrypto.CryptoKeyPair; readonly der: Buffer }
type Change = {
  readonly issuer?: Made
  readonly issuerName?: string
  readonly keyAlgorithm?: Algorithm
  readonly hash?: string
  readonly ca?: boolean
  readonly pathLength?: number
  readonly notBefore?: Date
  readonly notAfter?: Date
  readonly extensions?: readonly x509.Extension[]
}

const at = new Date('2026-11-15')
const make = async (name: string, change: Change = {}): Promise<Made> => {
  const { issuer, ca = true, keyAlgorithm = ecdsa } = change
  const keys = await webcrypto.subtle.generateKey(keyAlgorithm, true, ['sign', 'verify'])
  const signer = issuer?.keys ?? keys
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: '01',
    subject: `CN=${name}`,
    issuer: `CN=${change.issuerName ?? issuer?.name ?? name}`,
    notBefore: change.notBefore ?? new Date('2026-01-01'),
    notAfter: change.notAfter ?? new Date('2036-01-01'),
    publicKey: keys.publicKey,
    signingKey: signer.privateKey,
    signingAlgorithm: { ...signer.privateKey.algorithm, hash: change.hash ?? 'SHA-256' },
    extensions: [
      new x509.BasicConstraintsExtension(ca, change.pathLength, true),
      ...(change.extensions ?? []),
    ],
  })
  return { name, keys, der: Buffer.from(certificate.rawData) }
}
const leafOf = (issuer: Made, change: Change = {}) => make('Leaf', { ca: false, ...change, issuer })

const root = await make('Root')
const intermediate = await make('Intermediate', { issuer: root })
const leaf = await leafOf(intermediate)

/** What happens to a chain: accepted, or the reason of its refusal. */
const check = (chain: readonly (Made | Buffer)[], roots: readonly Made[] = [root], when = at): string => {
  try {
    const certificates = chain.map((one) => readCertificate(Buffer.isBuffer(one) ? one : one.der))
    const trusted = roots.map(({ der }) => readCertificate(der))
    return chainFault(certificates, trusted, when) ?? 'accepted'
  } catch (error) {
    assert.ok(error instanceof EvidenceError, `${String(error)} is no EvidenceError`)
    return error.reason
  }
}

test('a chain of leaf, intermediate and root is accepted, at both ends of its time too', () => {
  for (const when of [at, new Date('2026-01-01'), new Date('2036-01-01')])
    assert.equal(check([leaf, intermediate], [root], when), 'accepted')
})

test('a key of RSA with 2,048 bits issues, one with 1,024 does not', async () => {
  for (const [bits, expected] of [
    [2048, 'accepted'],
    [1024, 'certificate_chain'],
  ] as const) {
    const issuer = await make('Intermediate', { issuer: root, keyAlgorithm: rsa(bits) })
    assert.equal(check([await leafOf(issuer), issuer]), expected)
  }
})

test('a path length counts the authorities below, not the leaf', async () => {
  const short = await make('Root', { pathLength: 0 })
  assert.equal(check([await leafOf(short)], [short]), 'accepted')
  const below = await make('Intermediate', { issuer: short })
  assert.equal(check([await leafOf(below), below], [short]), 'certificate_chain')
  const one = await make('Root', { pathLength: 1 })
  const middle = await make('Intermediate', { issuer: one })
  assert.equal(check([await leafOf(middle), middle], [one]), 'accepted')
  const third = await make('Third', { issuer: middle })
  assert.equal(check([await leafOf(third), third, middle], [one]), 'certificate_chain')
})

const unknown = (critical: boolean) => new x509.Extension('1.2.3.4.5', critical, new Uint8Array([5, 0]))
const ofIssuer = (change: Change) => async () => {
  const issuer = await make('Intermediate', { issuer: root, ...change })
  return check([await leafOf(issuer), issuer])
}
const ofLeaf = (change: Change) => async () => check([await leafOf(intermediate, change), intermediate])
const { keyCertSign, digitalSignature } = x509.KeyUsageFlags
const refusals: readonly (readonly [string, string, () => Promise<string> | string])[] = [
  ['no certificate', 'certificate_chain', () => check([])],
  ['no root', 'certificate_chain', () => check([leaf, intermediate], [])],
  [
    'another root of the same name',
    'certificate_chain',
    async () => check([leaf, intermediate], [await make('Root')]),
  ],
  ['a chain without its intermediate', 'certificate_chain', () => check([leaf])],
  ['a chain in the wrong order', 'certificate_chain', () => check([intermediate, leaf])],
  [
    'a stranger between leaf and root',
    'certificate_chain',
    async () => check([leaf, await make('Intermediate', { issuer: root })]),
  ],
  ['another name of the issuer', 'certificate_chain', ofLeaf({ issuerName: 'Another' })],
  ['an expired leaf', 'certificate_time', ofLeaf({ notAfter: new Date('2026-11-14') })],
  ['a leaf not valid yet', 'certificate_time', ofLeaf({ notBefore: new Date('2026-11-16') })],
  ['an expired intermediate', 'certificate_time', ofIssuer({ notAfter: new Date('2026-11-14') })],
  ['an intermediate not valid yet', 'certificate_time', ofIssuer({ notBefore: new Date('2026-11-16') })],
  ['an expired root', 'certificate_time', () => check([leaf, intermediate], [root], new Date('2036-01-02'))],
  ['a time that is no time', 'certificate_time', () => check([leaf, intermediate], [root], new Date(NaN))],
  ['an intermediate that is no authority', 'certificate_chain', ofIssuer({ ca: false })],
  [
    'an intermediate whose key signs no certificates',
    'certificate_chain',
    ofIssuer({ extensions: [new x509.KeyUsagesExtension(digitalSignature, true)] }),
  ],
  [
    'the identifier of another key of the issuer',
    'certificate_chain',
    async () => {
      const issuer = await make('Intermediate', {
        issuer: root,
        extensions: [new x509.SubjectKeyIdentifierExtension('0102', false)],
      })
      const extensions = [new x509.AuthorityKeyIdentifierExtension('0304', false)]
      return check([await leafOf(issuer, { extensions }), issuer])
    },
  ],
  ['an unknown critical extension of a leaf', 'certificate_chain', ofLeaf({ extensions: [unknown(true)] })],
  [
    'an unknown critical extension of an intermediate',
    'certificate_chain',
    ofIssuer({ extensions: [unknown(true)] }),
  ],
  ['an extension twice', 'evidence_malformed', ofLeaf({ extensions: [unknown(false), unknown(false)] })],
  ['a leaf signed over SHA-1', 'certificate_chain', ofLeaf({ hash: 'SHA-1' })],
  ['an intermediate signed over SHA-1', 'certificate_chain', ofIssuer({ hash: 'SHA-1' })],
  ['no bytes', 'evidence_malformed', () => check([Buffer.alloc(0), intermediate])],
  ['more than 16 kB', 'evidence_malformed', () => check([Buffer.alloc(16_385, 0x30), intermediate])],
  [
    'bytes behind a certificate',
    'evidence_malformed',
    () => check([Buffer.concat([leaf.der, Buffer.alloc(1)]), intermediate]),
  ],
  [
    'a text where DER belongs',
    'evidence_malformed',
    () => check([Buffer.from(new x509.X509Certificate(leaf.der).toString('pem')), intermediate]),
  ],
]
for (const [name, expected, run] of refusals)
  test(`refused: ${name}`, async () => assert.equal(await run(), expected))

test('accepted: extensions that are known, or unknown and not critical', async () => {
  const extensions = [unknown(false), new x509.KeyUsagesExtension(keyCertSign, true)]
  const issuer = await make('Intermediate', { issuer: root, extensions })
  assert.equal(check([await leafOf(issuer), issuer]), 'accepted')
})

type Pair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject }
/** A certificate that a key of a curve signs which WebCrypto does not have. */
const issueBy = async (signer: Pair, name: string, subject: KeyObject): Promise<Buffer> => {
  const fields = {
    serialNumber: '01',
    subject: `CN=${name}`,
    issuer: 'CN=Curve',
    notBefore: new Date('2026-01-01'),
    notAfter: new Date('2036-01-01'),
    publicKey: new Uint8Array(subject.export({ format: 'der', type: 'spki' })),
    signatureAlgorithm: ecdsa,
    signingAlgorithm: ecdsa,
    extensions: [new x509.BasicConstraintsExtension(name === 'Curve', undefined, true)],
  }
  const unsigned = await x509.X509CertificateGenerator.create({ ...fields, signature: new Uint8Array(64) })
  const raw = Buffer.from(unsigned.rawData)
  // What is signed stands behind a header of 3 or 4 bytes, before 12 bytes of the algorithm and 3 of the signature's header.
  const signed = raw.subarray(raw.readUInt8(1) === 0x81 ? 3 : 4, -15 - unsigned.signature.byteLength)
  const signature = sign('sha256', signed, { key: signer.privateKey, dsaEncoding: 'ieee-p1363' })
  const certificate = await x509.X509CertificateGenerator.create({
    ...fields,
    signature: new Uint8Array(signature),
  })
  return Buffer.from(certificate.rawData)
}
test('refused: an authority on a curve that is not accepted', async () => {
  for (const [namedCurve, expected] of [
    ['P-256', 'accepted'],
    ['secp256k1', 'certificate_chain'],
  ] as const) {
    const own = generateKeyPairSync('ec', { namedCurve })
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const authority = readCertificate(await issueBy(own, 'Curve', own.publicKey))
    const issued = readCertificate(await issueBy(own, 'Leaf', publicKey))
    assert.ok(issued.openssl.verify(own.publicKey), 'its signature is right')
    assert.equal(chainFault([issued], [authority], at) ?? 'accepted', expected)
  }
})

/** The same content with another length: longer than needed, or indefinite. */
const relabel = (der: Buffer, how: 'longer' | 'indefinite'): Buffer => {
  assert.equal(der.readUInt8(1), 0x82)
  const content = der.subarray(4)
  return how === 'longer'
    ? Buffer.concat([Buffer.from([0x30, 0x83, 0]), der.subarray(2, 4), content])
    : Buffer.concat([Buffer.from([0x30, 0x80]), content, Buffer.alloc(2)])
}
/** The last element, the signature, with a zero byte before each of its two integers. */
const padSignature = (der: Buffer): Buffer => {
  const signature = Buffer.from(new x509.X509Certificate(der).signature)
  const first = signature.readUInt8(3)
  const integers = [signature.subarray(4, 4 + first), signature.subarray(6 + first)]
  const padded = Buffer.concat(
    integers.map((one) => Buffer.concat([Buffer.from([0x02, one.length + 1, 0]), one])),
  )
  const bits = Buffer.from([0x03, padded.length + 3, 0, 0x30, padded.length])
  const before = der.subarray(4, der.length - signature.length - 3)
  const head = Buffer.from([0x30, 0x82, 0, 0])
  head.writeUInt16BE(before.length + bits.length + padded.length, 2)
  return Buffer.concat([head, before, bits, padded])
}
test('refused: every other encoding of a certificate that is valid', () => {
  assert.equal(check([relabel(leaf.der, 'longer'), intermediate]), 'evidence_malformed')
  assert.equal(check([relabel(leaf.der, 'indefinite'), intermediate]), 'evidence_malformed')
  const padded = padSignature(leaf.der)
  assert.equal(new X509Certificate(padded).subject, 'CN=Leaf', 'the signature alone was changed')
  assert.equal(check([padded, intermediate]), 'evidence_malformed')
})
