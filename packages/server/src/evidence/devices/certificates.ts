import type { X509Certificate } from 'node:crypto'

const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
  issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)

const isValidAt = (certificate: X509Certificate, at: Date): boolean =>
  new Date(certificate.validFrom) <= at && at <= new Date(certificate.validTo)

/**
 * Why a chain (leaf first, without its root) is not valid under any of the roots at this time; undefined when it
 * is.
 */
export const chainFault = (
  chain: readonly X509Certificate[],
  roots: readonly X509Certificate[],
  at: Date,
): 'certificate_chain' | 'certificate_time' | undefined => {
  const last = chain.at(-1)
  const root = last && roots.find((candidate) => isIssuedBy(last, candidate))
  if (!root) return 'certificate_chain'
  const whole = [...chain, root]
  const linked = whole.every((one, index) => {
    const issuer = whole[index + 1]
    return issuer === undefined || isIssuedBy(one, issuer)
  })
  if (!linked) return 'certificate_chain'
  return whole.every((one) => isValidAt(one, at)) ? undefined : 'certificate_time'
}
