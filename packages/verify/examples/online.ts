// The whole check, online: node online.ts <jwt> <issuer>
import { verifyCredential } from '@pohf/verify'

export const accept = async (jwt: string, issuer: string): Promise<string> => {
  const result = await verifyCredential(jwt, {
    issuer,
    policy: {
      kinds: ['view', 'work'],
      minAssurance: 'low',
      minQuality: 0.6,
      status: 'if-present',
      maxAgeSeconds: 3_600,
    },
  })
  if (!result.ok) throw new Error(`${result.reason}: ${result.message}`)
  // A credential is good once: store jti under a unique index and refuse it the second time.
  return result.claims.jti
}
