import { X509Certificate } from 'node:crypto'
import type { Metrics } from '../../platform/ops/metrics.ts'
import type { TlsIdentity } from './signer-socket.ts'

const certificatePattern = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

/** When the first certificate of a text in PEM expires, in seconds of Unix time. */
export const firstEndOf = (pem: Buffer, file: string): number => {
  const certificates = pem.toString('latin1').match(certificatePattern) ?? []
  if (certificates.length === 0)
    throw new Error(`the ${file} for TLS between api, worker and signer is no certificate in PEM`)
  return Math.min(...certificates.map((text) => new X509Certificate(text).validToDate.getTime() / 1_000))
}

/** Sets the metric of the certificates that this process loaded: a file that was replaced since is not in use yet. */
export const noteCertificates = (
  { certificateEnds }: Pick<Metrics, 'certificateEnds'>,
  { cert, ca }: TlsIdentity,
): void => {
  certificateEnds.set({ file: 'certificate' }, firstEndOf(cert, 'certificate'))
  certificateEnds.set({ file: 'authority' }, firstEndOf(ca, 'authority'))
}
