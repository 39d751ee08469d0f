import { inTransaction } from '../platform/db/db.ts'
import { ensureFirstEpoch } from './epochs.ts'
import { seriesNameOf } from './rules.ts'
import type { IndexDeps } from './sources/sources.ts'
import { listLatestEpochs } from './store.ts'

export const catalogue = async (deps: IndexDeps) => {
  await ensureFirstEpoch(deps)
  const latest = await inTransaction(deps.ctx, 'system', listLatestEpochs)
  return {
    codes: latest.map((epoch) => ({ code: epoch.code, name: seriesNameOf(epoch.code), latest: epoch })),
  }
}
