import { createHash } from 'node:crypto'
import { ApiResponse } from '../platform/http/call.ts'

/** A response of the free tier: the same for all callers without a key, cached for a minute. */
export const publicResponse = <T>(
  body: T,
  ifNoneMatch: string | undefined,
): ApiResponse<T> | ApiResponse<undefined> => {
  const etag = `"${createHash('sha256').update(JSON.stringify(body)).digest('base64url').slice(0, 22)}"`
  // The same URL returns more to a key, so a cache must keep the responses apart.
  const headers = { 'cache-control': 'public, max-age=60', vary: 'Authorization', etag }
  if ((ifNoneMatch ?? '').split(',').some((tag) => tag.trim() === etag))
    return new ApiResponse(undefined, {
      status: 304,
      headers,
      raw: { mediaType: 'application/json', text: '' },
    })
  return new ApiResponse(body, { headers })
}

/** A response of the licensed tier, never cached. */
export const licensedResponse = <T>(body: T): ApiResponse<T> =>
  new ApiResponse(body, { headers: { 'cache-control': 'private, no-store', vary: 'Authorization' } })
