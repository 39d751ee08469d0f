import { inTransaction } from '../../platform/db/db.ts'
import { requireDirectory, scimAnswer, type ScimCall, type ScimDeps } from './users.ts'

const unsupported = { supported: false }

/** What this service supports (RFC 7643, section 5): people alone, found by one name. */
export const config = async (deps: ScimDeps, call: ScimCall) => {
  await inTransaction(deps.ctx, 'system', (tx) => requireDirectory(tx, deps, call))
  return scimAnswer({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
    patch: { supported: true },
    bulk: { ...unsupported, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: 1 },
    changePassword: unsupported,
    sort: unsupported,
    etag: unsupported,
    authenticationSchemes: [
      { type: 'oauthbearertoken', name: 'Bearer token', description: 'The token of the issuer' },
    ],
  })
}
