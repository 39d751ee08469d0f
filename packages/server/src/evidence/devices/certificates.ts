import 'reflect-metadata'
import { X509Certificate, type KeyObject } from 'node:crypto'
import * as x509 from '@peculiar/x509'
import { z } from 'zod'
import { assertEvidence, EvidenceError } from './attestation.ts'

/** A certificate of which everything that a chain needs has been read. */
export type Certificate = {
  /** Checks names and signatures: OpenSSL accepts only one encoding of a signature. */
  readonly openssl: X509Certificate
  /** The values by object id; every object id occurs once. */
  readonly extensions: ReadonlyMap<string, Buffer>
  readonly isCa: boolean
  /** How many further authorities may follow below this one. */
  readonly pathLength: number
  readonly notBefore: Date
  readonly notAfter: Date
  readonly hasStrongKey: boolean
  /** Whether its own signature is by an algorithm that is accepted. */
  readonly hasStrongSignature: boolean
}

const bytesMax = 16_384
const basicConstraints = '2.5.29.19'
/** Critical extensions whose meaning is applied here. OpenSSL applies keyUsage to whoever issues a certificate. */
const appliedExtensions: ReadonlySet<string> = new Set([basicConstraints, '2.5.29.15'])
const curves: ReadonlySet<string | undefined> = new Set(['prime256v1', 'secp384r1', 'secp521r1'])
const rsaBitsMin = 2048
const ecdsaName = z.object({ name: z.literal('ECDSA') })
const strongSignature = z.object({
  name: z.enum(['ECDSA', 'RSASSA-PKCS1-v1_5']),
  hash: z.object({ name: z.enum(['SHA-256', 'SHA-384', 'SHA-512']) }),
})

const isStrongKey = ({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): boolean => {
  const { namedCurve, modulusLength = 0 } = details ?? {}
  return type === 'ec' ? curves.has(namedCurve) : type === 'rsa' && modulusLength >= rsaBitsMin
}

const signatureFormat = new x509.AsnEcSignatureFormatter()
/** The longest signature of the curves; shorter ones are written with fewer bytes. */
const anyCurve = { name: 'ECDSA', namedCurve: 'P-521' }
/** Whether an ECDSA signature is in DER. WebCrypto takes it apart first, and so accepts other encodings. */
export const isDerSignature = (signature: Buffer): boolean => {
  try {
    const raw = signatureFormat.toWebSignature(anyCurve, signature)
    const written = raw && signatureFormat.toAsnSignature(anyCurve, raw)
    return written !== null && Buffer.from(written).equals(signature)
  } catch {
    return false
  }
}

/**
 * Parses a certificate in DER; undefined for another encoding. OpenSSL reads other encodings too, and ignores bytes behind, but
 * writes DER, and the signed part as it came. It is asked first, because it is twenty times as fast.
 */
const parseDer = (
  der: Buffer,
): { readonly openssl: X509Certificate; readonly certificate: x509.X509Certificate } | undefined => {
  const openssl = new X509Certificate(der)
  if (!openssl.raw.equals(der)) return undefined
  const certificate = new x509.X509Certificate(der)
  const isEcdsa = ecdsaName.safeParse(certificate.signatureAlgorithm).success
  return isEcdsa && !isDerSignature(Buffer.from(certificate.signature)) ? undefined : { openssl, certificate }
}

/** Whether this is a certificate in DER, whatever it says: then nobody can write it in another way. */
export const isDerCertificate = (der: Buffer): boolean => {
  try {
    return der.length <= bytesMax && parseDer(der) !== undefined
  } catch {
    return false
  }
}

const read = (der: Buffer): Certificate => {
  const parsed = parseDer(der)
  if (!parsed) throw new EvidenceError('evidence_malformed')
  const { openssl, certificate } = parsed
  const { extensions } = certificate
  const values = new Map(extensions.map(({ type, value }) => [type, Buffer.from(value)]))
  assertEvidence(values.size === extensions.length, 'evidence_malformed')
  assertEvidence(
    extensions.every(({ critical, type }) => !critical || appliedExtensions.has(type)),
    'certificate_chain',
  )
  const constraints = certificate.getExtension(x509.BasicConstraintsExtension)
  return {
    openssl,
    extensions: values,
    isCa: constraints?.ca === true,
    pathLength: constraints?.pathLength ?? Infinity,
    notBefore: certificate.notBefore,
    notAfter: certificate.notAfter,
    hasStrongKey: isStrongKey(openssl.publicKey),
    hasStrongSignature: strongSignature.safeParse(certificate.signatureAlgorithm).success,
  }
}

/** Reads a certificate in DER. Throws `EvidenceError` and nothing else. */
export const readCertificate = (der: Buffer): Certificate => {
  assertEvidence(der.length <= bytesMax, 'evidence_malformed')
  try {
    return read(der)
  } catch (error) {
    throw error instanceof EvidenceError ? error : new EvidenceError('evidence_malformed', { cause: error })
  }
}

const isIssuedBy = ({ openssl, hasStrongSignature }: Certificate, issuer: Certificate): boolean =>
  issuer.isCa &&
  issuer.hasStrongKey &&
  hasStrongSignature &&
  openssl.checkIssued(issuer.openssl) &&
  openssl.verify(issuer.openssl.publicKey)

const isValidAt = ({ notBefore, notAfter }: Certificate, at: Date): boolean =>
  notBefore <= at && at <= notAfter

/**
 * Why a chain (leaf first, without its root) is not valid under any of the roots at this time; undefined when it is. The
 * order of the chain counts, and nothing is fetched: revocation is what the metadata and the vendor's file say.
 */
export const chainFault = (
  chain: readonly Certificate[],
  roots: readonly Certificate[],
  at: Date,
): 'certificate_chain' | 'certificate_time' | undefined => {
  const last = chain.at(-1)
  const root = last && roots.find((candidate) => isIssuedBy(last, candidate))
  if (!root) return 'certificate_chain'
  const whole = [...chain, root]
  const isLinked = whole.every((one, index) => {
    const issuer = whole[index + 1]
    return issuer === undefined || isIssuedBy(one, issuer)
  })
  // Between an authority at this index and the leaf are index - 1 further authorities.
  const fits = whole.every(({ pathLength }, index) => index - 1 <= pathLength)
  if (!isLinked || !fits) return 'certificate_chain'
  return whole.every((one) => isValidAt(one, at)) ? undefined : 'certificate_time'
}
