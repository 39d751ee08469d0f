import { listUnmatchedEvents } from '../payments/index.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { checkPaidCheckouts, checkPostedPacks, type CardFault, type CardPage } from './card-check.ts'

const pageSize = 200
/** One call looks at 100,000 of each; a larger book is the reconciler's. */
const pagesMax = 500
const shown = 100

type Look = (tx: Tx, page: { readonly after: string; readonly limit: number }) => Promise<CardPage>

const lookAtAll = async (ctx: Ctx, look: Look): Promise<{ checked: number; faults: CardFault[] }> => {
  const faults: CardFault[] = []
  let checked = 0
  let after: string | undefined = ''
  for (let count = 0; count < pagesMax && after !== undefined; count++) {
    const from: string = after
    const page = await inTransaction(ctx, 'system', (tx) => look(tx, { after: from, limit: pageSize }))
    faults.push(...page.faults)
    checked += page.checked
    after = page.next
  }
  return { checked, faults }
}

/** Compares what was paid by card with what was posted, in both directions. */
export const operatorCheck = async (ctx: Ctx) => {
  const paid = await lookAtAll(ctx, checkPaidCheckouts)
  const posted = await lookAtAll(ctx, checkPostedPacks)
  const unmatched = await inTransaction(ctx, 'system', (tx) => listUnmatchedEvents(tx, shown))
  const faults = [...paid.faults, ...posted.faults]
  return {
    ok: faults.length === 0 && unmatched.length === 0,
    checkouts: paid.checked,
    postings: posted.checked,
    faults: faults.slice(0, shown),
    faultsTotal: faults.length,
    unmatched: unmatched.map(({ receivedAt, ...event }) => ({
      ...event,
      receivedAt: receivedAt.toISOString(),
    })),
  }
}
