import type { TrustRoot } from '@pohf/protocol'
import { inTransaction } from '../platform/db/db.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { rootsMax, type Root } from './rules.ts'
import { listRoots } from './store.ts'

export const presentRoot = ({ addedAt, ...root }: Root): TrustRoot => ({
  ...root,
  addedAt: addedAt.toISOString(),
})

/** Lists the trust roots: their agents may order without an API key. */
export const operatorList = (ctx: Ctx) =>
  inTransaction(ctx, 'system', async (tx) => ({
    roots: (await listRoots(tx)).slice(0, rootsMax).map(presentRoot),
  }))
