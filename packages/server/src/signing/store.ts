import type { Tx } from '../platform/db.ts'
import type { Issued } from './rules.ts'

/** Stored credentials of all tenants by time: read by the checker alone, which must not take the issuer's word. */
export const listStoredCredentials = async (
  tx: Tx,
  span: { readonly from: Date; readonly to: Date },
  limit: number,
): Promise<(Issued & { readonly at: Date })[]> => {
  const rows = await tx
    .selectFrom('credentials')
    .select(['credential_id', 'jwt', 'at'])
    .where('at', '>=', span.from)
    .where('at', '<', span.to)
    .limit(limit)
    .execute()
  return rows.map(({ credential_id: credentialId, jwt, at }) => ({ credentialId, jwt, at }))
}
