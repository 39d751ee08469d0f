import { ApiResponse } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { findPublishedList } from './store.ts'

const mediaType = 'application/statuslist+jwt'

/** Serves a published list like a static file: the same bytes until it is rebuilt. */
export const statusList = async (ctx: Ctx, listId: string, ifNoneMatch: string | undefined) => {
  const list = await inTransaction(ctx, 'system', (tx) => findPublishedList(tx, listId))
  if (!list) throw new Refusal('not_found', { message: 'No such status list.' })
  const headers = { 'cache-control': 'public, max-age=60', etag: list.etag }
  // A cache that compressed the response sends the tag back as a weak one.
  const known = (ifNoneMatch ?? '').split(',').some((tag) => tag.trim().replace(/^W\//, '') === list.etag)
  return known
    ? new ApiResponse(undefined, { status: 304, headers, raw: { mediaType, text: '' } })
    : new ApiResponse(list.jwt, { headers, raw: { mediaType, text: list.jwt } })
}
