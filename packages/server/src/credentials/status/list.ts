import { ApiResponse } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { unlessUnavailable } from '../../platform/db/unless-unavailable.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { versionOfList, type RestoreGuard, type Signer } from '../../signing/index.ts'
import { listEtag } from './rules.ts'
import { findPublishedList, type PublishedList } from './store.ts'

const mediaType = 'application/statuslist+jwt'
/** A list is 350 kB at most. */
const copiesMax = 50

/**
 * Reads published lists, and keeps a copy of those that were read last. While the database is unavailable, the copy is
 * served: verifiers must not depend on it, and nothing can be revoked without it.
 */
const makeListReader = (ctx: Ctx) => {
  const copies = new Map<string, PublishedList>()
  const read = async (listId: string): Promise<PublishedList | undefined> => {
    const list = await inTransaction(ctx, 'system', (tx) => findPublishedList(tx, listId))
    copies.delete(listId)
    if (list) copies.set(listId, list)
    const [oldest] = copies.keys()
    if (copies.size > copiesMax && oldest !== undefined) copies.delete(oldest)
    return list
  }
  return async (listId: string): Promise<PublishedList | undefined> => {
    const copy = copies.get(listId)
    return copy ? ((await unlessUnavailable(read(listId))) ?? copy) : read(listId)
  }
}

export type StatusListDeps = {
  readonly ctx: Ctx
  readonly signer: Pick<Signer, 'findStatusList'>
  readonly restoreGuard: Pick<RestoreGuard, 'isPending'>
}

/** Serves a published list like a static file: the same bytes until it is rebuilt. */
export const makeStatusList = ({ ctx, signer, restoreGuard }: StatusListDeps) => {
  const findList = makeListReader(ctx)
  /**
   * A database from the past has an older list than the one that was published. A signer that signed it has the newest;
   * another one may have an older one than the database.
   */
  const findNewest = async (listId: string): Promise<PublishedList | undefined> => {
    if (!(await restoreGuard.isPending())) return findList(listId)
    const signed = await unlessUnavailable(signer.findStatusList(listId))
    const stored = await findList(listId)
    if (signed === undefined || (stored && versionOfList(stored.jwt) > versionOfList(signed))) return stored
    return { jwt: signed, etag: listEtag(signed) }
  }
  return async (listId: string, ifNoneMatch: string | undefined) => {
    const list = await findNewest(listId)
    if (!list) throw new Refusal('not_found', { message: 'No such status list.' })
    const headers = { 'cache-control': 'public, max-age=60', etag: list.etag }
    // A cache that compressed the response sends the tag back as a weak one.
    const known = (ifNoneMatch ?? '').split(',').some((tag) => tag.trim().replace(/^W\//, '') === list.etag)
    return known
      ? new ApiResponse(undefined, { status: 304, headers, raw: { mediaType, text: '' } })
      : new ApiResponse(list.jwt, { headers, raw: { mediaType, text: list.jwt } })
  }
}
