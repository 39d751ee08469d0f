import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { listForwards, type ForwardStatus } from './store.ts'
import { presentForward } from './present.ts'

type Query = {
  readonly status?: ForwardStatus | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Requests for capacity in one state, oldest first; by default those that nobody answered yet. */
export const operatorList = async (ctx: Ctx, { status = 'received', limit = 50, cursor }: Query) => {
  if (cursor !== undefined && !/^fwd_[a-z0-9]{1,60}$/.test(cursor))
    throw new Refusal('validation_failed', {
      details: [{ path: 'query.cursor', code: 'invalid', message: 'must be a nextCursor of this endpoint' }],
    })
  const rows = await inTransaction(ctx, 'system', (tx) =>
    listForwards(tx, status, { after: cursor ?? '', limit: limit + 1 }),
  )
  const page = rows.slice(0, limit)
  return {
    forwards: page.map(presentForward),
    nextCursor: rows.length > limit ? (page.at(-1)?.orderId ?? null) : null,
  }
}
