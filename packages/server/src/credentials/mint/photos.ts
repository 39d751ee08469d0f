import { listPhotoNames } from '../../evidence/index.ts'
import { inTransaction } from '../../platform/db/db.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import type { Session } from '../../sessions/index.ts'
import { journalKeyOf } from '../../signing/index.ts'
import type { Draft } from './mint.ts'

/** Adds the photos of presences to their drafts: each counts once, also after a restore. */
export const withPhotos = async <T>(
  ctx: Ctx,
  mints: readonly { readonly session: Session; readonly draft: Draft<T> }[],
): Promise<Draft<T>[]> => {
  const keys = mints
    .filter(({ session }) => session.kind === 'presence')
    .map(({ draft: { key } }) => ({ agentId: key.agentId, mode: key.mode, sessionId: key.reference }))
  if (keys.length === 0) return mints.map(({ draft }) => draft)
  const photos = await inTransaction(ctx, 'system', (tx) => listPhotoNames(tx, keys))
  return mints.map(({ draft }) => ({
    ...draft,
    once: photos.get(draft.key.reference)?.map((name) => journalKeyOf(ctx, 'photo', name)),
  }))
}
