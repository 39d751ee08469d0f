import type { Audit, Operator } from '../platform/http/call.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { closeMonth, ensureEpochs } from './epochs.ts'
import { compositeCode } from './rules.ts'
import type { IndexDeps } from './sources/sources.ts'
import { findEpochWithInputs, listLatestEpochs } from './store.ts'

export type CloseDeps = IndexDeps & { readonly audit: Audit }
type Input = { readonly month?: string | undefined; readonly reason?: string | undefined }

/** Computes a closed month again and publishes it as its next revision. The one before stays stored and signed. */
const restate = async (deps: CloseDeps, operator: Operator, month: string, reason: string) => {
  const { ctx, audit } = deps
  const known = await inTransaction(ctx, 'system', (tx) => findEpochWithInputs(tx, compositeCode, month))
  if (!known)
    throw new Refusal('not_found', {
      message: 'That month is not published: only a published month can be restated.',
    })
  const revision = known.epoch.revision ?? 1
  const record = (tx: Tx) =>
    audit(tx, {
      operatorId: operator.operatorId,
      action: 'index.restate',
      target: month,
      details: { revision: revision + 1, reason },
    })
  if (!(await closeMonth(deps, month, { restates: { revision, reason }, record })))
    throw new Refusal('index_conflict')
  return 1
}

/** Closes what is due, or restates one month with a reason. */
export const operatorClose = async (deps: CloseDeps, operator: Operator, { month, reason }: Input) => {
  if (month !== undefined && reason === undefined)
    throw new Refusal('validation_failed', {
      details: [
        { path: 'body.reason', code: 'required', message: 'a restatement needs a reason, which is signed' },
      ],
    })
  const published =
    month === undefined || reason === undefined
      ? await ensureEpochs(deps)
      : await restate(deps, operator, month, reason)
  return { published, epochs: await inTransaction(deps.ctx, 'system', listLatestEpochs) }
}
