import { createHash } from 'node:crypto'
import { ApiResponse } from '../platform/http/call.ts'
import type { Signer } from './signer-client.ts'

/** The public keys: cacheable, and the same bytes until a key changes. */
export const jwks = async (signer: Signer, ifNoneMatch: string | undefined) => {
  const body = { keys: await signer.publicKeys() }
  const etag = `"${createHash('sha256').update(JSON.stringify(body)).digest('base64url').slice(0, 22)}"`
  const headers = { 'cache-control': 'public, max-age=300, stale-if-error=86400', etag }
  if (ifNoneMatch === etag)
    return new ApiResponse(undefined, {
      status: 304,
      headers,
      raw: { mediaType: 'application/json', text: '' },
    })
  return new ApiResponse(body, { headers })
}
