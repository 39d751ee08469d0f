import * as credentials from '../credentials/index.ts'
import type { Ctx } from '../platform/ops/context.ts'
import * as signing from '../signing/index.ts'

/** What a process mints with. The api and the worker each build one. */
export const makeMinting = (ctx: Ctx, signer: signing.Signer) => {
  const statusIndexes = credentials.makeStatusIndexes(ctx, signer)
  const restoreGuard = signing.makeRestoreGuard({
    ctx,
    signer,
    listSeenHeads: credentials.makeListSeenHeads(ctx),
    onPending: statusIndexes.drop,
  })
  const mintSigner = signing.makeMintSigner({ ctx, signer }, restoreGuard)
  return { statusIndexes, restoreGuard, mintSigner }
}
