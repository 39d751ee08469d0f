import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { Mode } from '@pohf/protocol'
import {
  refundedUsdCentsOf,
  reversedPartsOf,
  type CardEvent,
  type CardEventOutcome,
  type CardFact,
  type ReversedParts,
  type SessionFact,
} from './facts.ts'
import type { RefundStateFact } from '../refunds/rules.ts'
import {
  findRefundOfFact,
  listRefundFacts,
  sumRefundsRequested,
  updateRefundByFact,
  upsertRefundFact,
} from '../refunds/store.ts'
import type { CheckoutState } from '../rules.ts'
import {
  findCheckoutForUpdate,
  findCheckoutOfPaymentForUpdate,
  updateCheckoutPaid,
  updateCheckoutState,
  updateReversed,
  type CheckoutRow,
} from '../store.ts'
import { hasCardEvent, insertCardEvent, listDisputes, upsertDispute, upsertPayment } from './store.ts'

/** A checkout whose money arrived, for the module that opened it. */
export type PaidCheckout = {
  readonly agentId: string
  readonly mode: Mode
  readonly checkoutId: string
  readonly reference: string
  readonly amountUsdCents: bigint
}
/** The reversed total (refunds and disputes) before and after the change. It falls when a dispute is won. */
export type ReversalChange = {
  readonly beforeUsdCents: bigint
  readonly afterUsdCents: bigint
  /** The part of the increase that belongs to refunds requested by us (`requestRefund`). */
  readonly ownRefundsUsdCents: bigint
  /** Whether a dispute caused the change, not a refund. */
  readonly isDisputed: boolean
  /** Identifies the change in the ledger. */
  readonly reference: string
}
/** How the module that owns a purpose posts its money; passed in by the wiring. All join the transaction. */
export type Settler = {
  readonly applyPayment: (tx: Tx, checkout: PaidCheckout) => Promise<void>
  readonly applyReversal: (tx: Tx, checkout: PaidCheckout, change: ReversalChange) => Promise<void>
  /** What disputes of this payment have come to. Called after the reversal, and again with the same parts. */
  readonly applyDisputes: (tx: Tx, checkout: PaidCheckout, parts: ReversedParts) => Promise<void>
  /** How much an operator may refund by hand: money that no running work or spent credit depends on. */
  readonly findRefundable: (tx: Tx, checkout: PaidCheckout) => Promise<bigint>
}
export type Settlers = Readonly<Record<'credits' | 'order', Settler>>

export const paidCheckoutOf = (row: CheckoutRow): PaidCheckout => ({
  agentId: row.agentId,
  mode: row.mode,
  checkoutId: row.checkoutId,
  reference: row.reference,
  amountUsdCents: row.amountUsdCents,
})

const minOf = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/** Posts the new reversed total, and separates the part that belongs to refunds requested by us. */
export const postReversal = async (
  tx: Tx,
  settler: Settler,
  row: CheckoutRow,
  { afterUsdCents, isDisputed }: Pick<ReversalChange, 'afterUsdCents' | 'isDisputed'>,
): Promise<void> => {
  const growth = afterUsdCents - row.reversedUsdCents
  const requested = await sumRefundsRequested(tx, row)
  const outstanding = requested > row.ownRefundsUsdCents ? requested - row.ownRefundsUsdCents : 0n
  const ownRefundsUsdCents = growth > 0n ? minOf(growth, outstanding) : 0n
  await settler.applyReversal(tx, paidCheckoutOf(row), {
    beforeUsdCents: row.reversedUsdCents,
    afterUsdCents,
    ownRefundsUsdCents,
    isDisputed,
    reference: `${row.checkoutId} ${row.reversalRevision + 1}`,
  })
  await updateReversed(tx, row, {
    reversedUsdCents: afterUsdCents,
    ownRefundsUsdCents: minOf(row.ownRefundsUsdCents + ownRefundsUsdCents, requested),
  })
}

/** Posts the difference between the reversed total in the ledger and that of the provider's facts. */
const applyReversals = async (
  tx: Tx,
  settlers: Settlers,
  row: CheckoutRow,
  payment: {
    readonly paymentId: string
    readonly refundedUsdCents: bigint
    readonly isDisputed: boolean
  },
): Promise<CardEventOutcome> => {
  const disputes = await listDisputes(tx, payment.paymentId)
  const refunds = await listRefundFacts(tx, payment.paymentId)
  const refundedUsdCents = refundedUsdCentsOf(payment.refundedUsdCents, refunds)
  const parts = reversedPartsOf({ refundedUsdCents, amountUsdCents: row.amountUsdCents }, disputes)
  const afterUsdCents = parts.refundedUsdCents + parts.lostUsdCents + parts.openUsdCents
  const settler = settlers[row.purpose]
  const isReversed = afterUsdCents !== row.reversedUsdCents
  const { isDisputed } = payment
  if (isReversed) await postReversal(tx, settler, row, { afterUsdCents, isDisputed })
  // Also where the total is the same: a dispute that was open may be lost.
  if (disputes.length > 0) await settler.applyDisputes(tx, paidCheckoutOf(row), parts)
  return isReversed ? 'applied' : 'known'
}

const matchesSession = (row: CheckoutRow, fact: SessionFact): boolean =>
  row.mode === 'live' && (row.providerSessionId === null || row.providerSessionId === fact.sessionId)

const applyPaidSession = async (tx: Tx, settlers: Settlers, fact: SessionFact): Promise<CardEventOutcome> => {
  const { checkoutId, paymentId } = fact
  if (checkoutId === undefined || paymentId === undefined) return 'ignored'
  // Always lock the payment's row first: refunds and disputes of this payment lock it too.
  const payment = await upsertPayment(tx, paymentId, 0n)
  const row = await findCheckoutForUpdate(tx, checkoutId)
  if (!row || !matchesSession(row, fact) || fact.amountUsdCents !== row.amountUsdCents) return 'unmatched'
  if (row.state === 'completed') return row.paymentId === paymentId ? 'known' : 'unmatched'
  await updateCheckoutPaid(tx, row, { sessionId: fact.sessionId, paymentId })
  await settlers[row.purpose].applyPayment(tx, paidCheckoutOf(row))
  await applyReversals(tx, settlers, row, { ...payment, isDisputed: false })
  return 'applied'
}

/** From which states a session that is not paid may change its checkout. */
const allowedFromStates: Readonly<Record<'processing' | 'failed' | 'expired', readonly CheckoutState[]>> = {
  processing: ['created'],
  failed: ['created', 'processing'],
  expired: ['created'],
}

const applyUnpaidSession = async (tx: Tx, fact: SessionFact): Promise<CardEventOutcome> => {
  if (fact.checkoutId === undefined) return 'ignored'
  const row = await findCheckoutForUpdate(tx, fact.checkoutId)
  if (!row || !matchesSession(row, fact)) return 'unmatched'
  const { state } = fact
  // The checkout has no stored session: the fact is about a session whose address was never handed out. It may expire while
  // another session is still open.
  if (row.providerSessionId === null) return 'ignored'
  if (state === 'open' || state === 'paid' || !allowedFromStates[state].includes(row.state)) return 'known'
  await updateCheckoutState(tx, row, state, row.state)
  return 'applied'
}

/** Stores the state of a refund and advances our own refund; true where anything changed. */
const recordRefundState = async (tx: Tx, fact: RefundStateFact): Promise<boolean> => {
  const { state, isNew } = await upsertRefundFact(tx, fact)
  const own = await findRefundOfFact(tx, fact)
  if (!own || own.mode !== 'live') return isNew
  return (await updateRefundByFact(tx, own, { ...fact, state })) || isNew
}

/** Applies one fact. Order and repetition of facts do not matter. */
export const applyFact = async (tx: Tx, settlers: Settlers, fact: CardFact): Promise<CardEventOutcome> => {
  if (fact.kind === 'session')
    return fact.state === 'paid' ? applyPaidSession(tx, settlers, fact) : applyUnpaidSession(tx, fact)
  const payment = await upsertPayment(tx, fact.paymentId, fact.kind === 'refund' ? fact.refundedUsdCents : 0n)
  if (fact.kind === 'dispute') await upsertDispute(tx, fact)
  const isNew = fact.kind === 'refund_state' && (await recordRefundState(tx, fact))
  const row = await findCheckoutOfPaymentForUpdate(tx, fact.paymentId)
  if (!row) return 'waiting'
  const isDisputed = fact.kind === 'dispute'
  const outcome = await applyReversals(tx, settlers, row, { ...payment, isDisputed })
  return isNew ? 'applied' : outcome
}

/** Applies one event of the provider once and stores the outcome. */
export const applyCardEvent = async (
  ctx: Ctx,
  settlers: Settlers,
  { fact, ...event }: CardEvent,
): Promise<CardEventOutcome> => {
  const outcome = await inTransaction(ctx, 'system', async (tx) => {
    if (await hasCardEvent(tx, event.eventId)) return 'known'
    const applied = await applyFact(tx, settlers, fact)
    const subject = fact.kind === 'session' ? fact.sessionId : fact.paymentId
    await insertCardEvent(tx, { ...event, subject, outcome: applied })
    return applied
  })
  if (outcome === 'unmatched')
    ctx.log.error(
      { eventId: event.eventId, type: event.type },
      'card event matches no checkout: review it by hand',
    )
  return outcome
}
