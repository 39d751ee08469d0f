import { packs } from '@pohf/protocol'
import {
  findPosting,
  listPostedEntries,
  listReferences,
  type Comparison,
  type Posting,
} from '../ledger/index.ts'
import { findPaidCheckout, listPaidBetween, listPaidCheckouts, listPaidAmong } from '../payments/index.ts'
import type { Tx } from '../platform/db/db.ts'
import { reversalKind } from './card.ts'
import { accounts, packOf, reversedCredits } from './rules.ts'

export type CardMismatch = {
  readonly agentId: string
  readonly checkoutId: string
  readonly fault: 'not_posted' | 'another_amount' | 'not_paid' | 'not_taken_back'
}
export type CardCheckPage = {
  readonly faults: readonly CardMismatch[]
  readonly checked: number
  /** Where the next page begins; undefined after the last. */
  readonly next: string | undefined
}

const mode = 'live' as const
const revisionsMax = 1_000

const creditsPostedBy = (posting: Posting | undefined): bigint =>
  -(posting?.lines.find((line) => line.account === accounts.purchases)?.amount ?? 0n)

type PaidCheckoutRow = Awaited<ReturnType<typeof listPaidCheckouts>>[number]

/** The credits that the reversals of this checkout took back in total. */
const sumReversedCredits = async (
  tx: Tx,
  { agentId, checkoutId, reversalRevision }: PaidCheckoutRow,
): Promise<bigint> => {
  let reversed = 0n
  for (let revision = 1; revision <= Math.min(reversalRevision, revisionsMax); revision++) {
    const reference = `${checkoutId} ${revision}`
    reversed -= creditsPostedBy(await findPosting(tx, { agentId, mode, kind: reversalKind, reference }))
  }
  return reversed
}

const findMismatch = async (tx: Tx, paid: PaidCheckoutRow): Promise<CardMismatch | undefined> => {
  const { agentId, checkoutId } = paid
  const credits = BigInt(packs[packOf(paid.reference)].credits)
  const posting = await findPosting(tx, { agentId, mode, kind: 'purchase', reference: checkoutId })
  if (!posting) return { agentId, checkoutId, fault: 'not_posted' }
  if (creditsPostedBy(posting) !== credits) return { agentId, checkoutId, fault: 'another_amount' }
  const expected = reversedCredits(credits, paid.reversedUsdCents, paid.amountUsdCents)
  return (await sumReversedCredits(tx, paid)) === expected
    ? undefined
    : { agentId, checkoutId, fault: 'not_taken_back' }
}

/** From money to credits: each paid checkout is posted once, for its pack, less what was reversed. */
export const checkPaidCheckouts = async (
  tx: Tx,
  page: { readonly after: string; readonly limit: number },
): Promise<CardCheckPage> => {
  const rows = await listPaidCheckouts(tx, { ...page, purpose: 'credits' })
  const faults: CardMismatch[] = []
  for (const paid of rows) {
    const fault = await findMismatch(tx, paid)
    if (fault) faults.push(fault)
  }
  const next = rows.length === page.limit ? rows.at(-1)?.checkoutId : undefined
  return { faults, checked: rows.length, next }
}

/** From credits to money: each posted live pack has a paid checkout. */
export const checkPostedPacks = async (
  tx: Tx,
  page: { readonly after: string; readonly limit: number },
): Promise<CardCheckPage> => {
  const rows = await listReferences(tx, { ...page, mode, kind: 'purchase' })
  const paid = await listPaidAmong(
    tx,
    rows.map((row) => row.reference),
  )
  const faults = rows
    .filter((row) => !paid.has(row.reference))
    .map((row): CardMismatch => ({ agentId: row.agentId, checkoutId: row.reference, fault: 'not_paid' }))
  const next = rows.length === page.limit ? rows.at(-1)?.reference : undefined
  return { faults, checked: rows.length, next }
}

const name = 'card_credits'
const details: Readonly<Record<CardMismatch['fault'], string>> = {
  not_posted: 'a pack was paid by card and not posted',
  another_amount: 'another number of credits was posted than the pack has',
  not_paid: 'a pack was posted and no card payment stands behind it',
  not_taken_back: 'money went back and the credits did not, or the other way round',
}
const driftOf = ({ agentId, checkoutId, fault }: CardMismatch) => ({
  agentId,
  mode,
  finding: name,
  subject: checkoutId,
  detail: details[fault],
})

/** For the reconciler: card payments against postings within a time span, in both directions. */
export const cardComparison: Comparison = {
  name,
  find: async (tx, span) => {
    const checkouts = await listPaidBetween(tx, { ...span, purpose: 'credits' })
    const posted = await listPostedEntries(tx, 'purchase', span)
    if (Math.max(checkouts.length, posted.length) >= span.rowsMax) return undefined
    const faults: CardMismatch[] = []
    for (const checkout of checkouts) {
      const fault = await findMismatch(tx, checkout)
      if (fault) faults.push(fault)
    }
    const paid = await listPaidAmong(
      tx,
      posted.map(({ reference }) => reference),
    )
    for (const { agentId, reference } of posted.filter((key) => key.mode === mode))
      if (!paid.has(reference)) faults.push({ agentId, checkoutId: reference, fault: 'not_paid' })
    return faults.map(driftOf)
  },
  persists: async (tx, { agentId, subject }) => {
    const paid = await findPaidCheckout(tx, subject)
    if (paid) return (await findMismatch(tx, paid)) !== undefined
    const key = { agentId, mode, kind: 'purchase', reference: subject }
    return (await findPosting(tx, key)) !== undefined
  },
}
