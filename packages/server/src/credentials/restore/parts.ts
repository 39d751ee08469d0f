import type { Ctx } from '../../platform/ops/context.ts'
import { recordForgotten } from './forgotten.ts'
import { countDifferences, makeApplyPublished } from './lists.ts'
import { closeLists, listKnownIds } from './store.ts'

/** What a restore changes in this module. */
export const makeRestoreParts = (ctx: Ctx) => ({
  listKnownIds,
  closeLists,
  countDifferences,
  applyPublished: makeApplyPublished(ctx),
  recordForgotten,
})
