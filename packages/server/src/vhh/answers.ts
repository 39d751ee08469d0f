import { createHash } from 'node:crypto'
import { ApiResponse } from '../platform/http/call.ts'

/** An answer of the free tier: the same for everybody without a key, for a minute. */
export const publicAnswer = <T>(
  body: T,
  ifNoneMatch: string | undefined,
): ApiResponse<T> | ApiResponse<undefined> => {
  const etag = `"${createHash('sha256').update(JSON.stringify(body)).digest('base64url').slice(0, 22)}"`
  // The same address says more to a key, so a cache must not answer one caller with the other's.
  const headers = { 'cache-control': 'public, max-age=60', vary: 'Authorization', etag }
  if ((ifNoneMatch ?? '').split(',').some((tag) => tag.trim() === etag))
    return new ApiResponse(undefined, {
      status: 304,
      headers,
      raw: { mediaType: 'application/json', text: '' },
    })
  return new ApiResponse(body, { headers })
}

/** An answer of the licensed tier: for this caller alone. */
export const licensedAnswer = <T>(body: T): ApiResponse<T> =>
  new ApiResponse(body, { headers: { 'cache-control': 'private, no-store', vary: 'Authorization' } })
