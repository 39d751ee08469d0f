// The same without any network: node offline.ts <jwt> <issuer> <jwks.json>
import { readFileSync } from 'node:fs'
import { verifyCredential } from '@pohf/verify'

const [jwt = '', issuer = '', file = 'jwks.json'] = process.argv.slice(2)
const result = await verifyCredential(jwt, {
  issuer,
  jwks: JSON.parse(readFileSync(file, 'utf8')),
  // Offline you cannot see revocations: `skip` says that you accept this.
  policy: { kinds: ['work'], minAssurance: 'low', minQuality: 0, status: 'skip' },
})
process.stdout.write(result.ok ? `accepted ${result.claims.jti}\n` : `refused ${result.reason}\n`)
