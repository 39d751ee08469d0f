import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import type { Signer } from '../signing/index.ts'
import { ensureEpochs } from './epochs.ts'
import { seriesNameOf } from './rules.ts'
import { listLatestEpochs } from './store.ts'

export const catalogue = async (ctx: Ctx, signer: Signer) => {
  await ensureEpochs(ctx, signer)
  const latest = await inTransaction(ctx, 'system', listLatestEpochs)
  return {
    codes: latest.map((epoch) => ({ code: epoch.code, name: seriesNameOf(epoch.code), latest: epoch })),
  }
}
