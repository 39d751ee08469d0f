import { listUnmatchedEvents } from '../payments/index.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { checkPaidCheckouts, checkPostedPacks, type CardMismatch, type CardCheckPage } from './card-check.ts'

const pageSize = 200
/** One call checks at most 100,000 checkouts and 100,000 postings. Only the reconciler checks more. */
const pagesMax = 500
const shownMax = 100

type PageCheck = (tx: Tx, page: { readonly after: string; readonly limit: number }) => Promise<CardCheckPage>

const checkAllPages = async (
  ctx: Ctx,
  check: PageCheck,
): Promise<{ checked: number; faults: CardMismatch[] }> => {
  const faults: CardMismatch[] = []
  let checked = 0
  let after: string | undefined = ''
  for (let count = 0; count < pagesMax && after !== undefined; count++) {
    const from: string = after
    const page = await inTransaction(ctx, 'system', (tx) => check(tx, { after: from, limit: pageSize }))
    faults.push(...page.faults)
    checked += page.checked
    after = page.next
  }
  return { checked, faults }
}

/** Compares card payments with postings, in both directions. */
export const operatorCheck = async (ctx: Ctx) => {
  const paid = await checkAllPages(ctx, checkPaidCheckouts)
  const posted = await checkAllPages(ctx, checkPostedPacks)
  const unmatched = await inTransaction(ctx, 'system', (tx) => listUnmatchedEvents(tx, shownMax))
  const faults = [...paid.faults, ...posted.faults]
  return {
    ok: faults.length === 0 && unmatched.length === 0,
    checkouts: paid.checked,
    postings: posted.checked,
    faults: faults.slice(0, shownMax),
    faultsTotal: faults.length,
    unmatched: unmatched.map(({ receivedAt, ...event }) => ({
      ...event,
      receivedAt: receivedAt.toISOString(),
    })),
  }
}
