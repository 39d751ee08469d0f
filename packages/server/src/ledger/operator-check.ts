import type { Ctx } from '../platform/ops/context.ts'
import { reconcile, type Comparison } from './reconcile.ts'

const shownMax = 100

/** Runs the reconciler now and returns the open drift. */
export const operatorCheck = async (ctx: Ctx, comparisons: readonly Comparison[], whole: boolean) => {
  const { accounts, lines, open } = await reconcile(ctx, comparisons, whole)
  return {
    ok: open.length === 0,
    whole,
    accounts,
    lines,
    drift: open.slice(0, shownMax).map((drift) => ({ ...drift, foundAt: drift.foundAt.toISOString() })),
    driftTotal: open.length,
  }
}
