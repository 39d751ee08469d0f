import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { Mode } from '@pohf/protocol'
import {
  refundedUsdCentsOf,
  reversedUsdCentsOf,
  type CardFact,
  type CardEvent,
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
  hasCardEvent,
  findCheckoutForUpdate,
  findCheckoutOfPaymentForUpdate,
  insertCardEvent,
  listDisputes,
  updateCheckoutPaid,
  updateCheckoutState,
  updateReversed,
  upsertDispute,
  upsertPayment,
  type CheckoutRow,
} from '../store.ts'

/** A checkout whose money arrived, for the module that wanted it paid. */
export type PaidCheckout = {
  readonly agentId: string
  readonly mode: Mode
  readonly checkoutId: string
  readonly reference: string
  readonly amountUsdCents: bigint
}
/** How much of it is taken back in all: before, and now. It falls where a dispute is won. */
export type ReversalChange = {
  readonly beforeUsdCents: bigint
  readonly afterUsdCents: bigint
  /** How much of the growth answers refunds that we asked for ourselves (`requestRefund`). */
  readonly ownRefundsUsdCents: bigint
  /** Names this change for ever. */
  readonly reference: string
}
/** What the module behind a purpose does about money; app.ts hands it down. All join the transaction. */
export type Settler = {
  readonly applyPayment: (tx: Tx, checkout: PaidCheckout) => Promise<void>
  readonly applyReversal: (tx: Tx, checkout: PaidCheckout, change: ReversalChange) => Promise<void>
  /** How much of this agent's money an operator may give back by hand: nothing stands on it. */
  readonly findRefundable: (tx: Tx, checkout: PaidCheckout) => Promise<bigint>
}
export type Settlers = Readonly<Record<'credits' | 'order', Settler>>

/** `waiting`: true, but its payment is not known yet. `unmatched`: speaks of a checkout that it does not fit. */
export type CardEventOutcome = 'applied' | 'known' | 'waiting' | 'unmatched' | 'ignored'

export const paidCheckoutOf = (row: CheckoutRow): PaidCheckout => ({
  agentId: row.agentId,
  mode: row.mode,
  checkoutId: row.checkoutId,
  reference: row.reference,
  amountUsdCents: row.amountUsdCents,
})

const minOf = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/** Posts that so much is taken back in all; what we asked for ourselves is told apart. */
export const postReversal = async (
  tx: Tx,
  settler: Settler,
  row: CheckoutRow,
  afterUsdCents: bigint,
): Promise<void> => {
  const growth = afterUsdCents - row.reversedUsdCents
  const asked = await sumRefundsRequested(tx, row)
  const unanswered = asked > row.ownRefundsUsdCents ? asked - row.ownRefundsUsdCents : 0n
  const ownUsdCents = growth > 0n ? minOf(growth, unanswered) : 0n
  await settler.applyReversal(tx, paidCheckoutOf(row), {
    beforeUsdCents: row.reversedUsdCents,
    afterUsdCents,
    ownRefundsUsdCents: ownUsdCents,
    reference: `${row.checkoutId} ${row.reversalRevision + 1}`,
  })
  await updateReversed(tx, row, {
    takenUsdCents: afterUsdCents,
    givenUsdCents: minOf(row.ownRefundsUsdCents + ownUsdCents, asked),
  })
}

/** Brings what is posted to what the facts say is left of the payment. */
const applyReversals = async (
  tx: Tx,
  settlers: Settlers,
  row: CheckoutRow,
  payment: { readonly paymentId: string; readonly refundedUsdCents: bigint },
): Promise<CardEventOutcome> => {
  const disputes = await listDisputes(tx, payment.paymentId)
  const refunds = await listRefundFacts(tx, payment.paymentId)
  const refundedUsdCents = refundedUsdCentsOf(payment.refundedUsdCents, refunds)
  const after = reversedUsdCentsOf({ refundedUsdCents, amountUsdCents: row.amountUsdCents }, disputes)
  if (after === row.reversedUsdCents) return 'known'
  await postReversal(tx, settlers[row.purpose], row, after)
  return 'applied'
}

const matchesSession = (row: CheckoutRow, fact: SessionFact): boolean =>
  row.mode === 'live' && (row.providerSessionId === null || row.providerSessionId === fact.sessionId)

const applyPaidSession = async (tx: Tx, settlers: Settlers, fact: SessionFact): Promise<CardEventOutcome> => {
  const { checkoutId, paymentId } = fact
  if (checkoutId === undefined || paymentId === undefined) return 'ignored'
  // The payment's row first, always: it is the lock that refunds and disputes of this payment take as well.
  const payment = await upsertPayment(tx, paymentId, 0n)
  const row = await findCheckoutForUpdate(tx, checkoutId)
  if (!row || !matchesSession(row, fact) || fact.amountUsdCents !== row.amountUsdCents) return 'unmatched'
  if (row.state === 'completed') return row.paymentId === paymentId ? 'known' : 'unmatched'
  await updateCheckoutPaid(tx, row, { sessionId: fact.sessionId, paymentId })
  await settlers[row.purpose].applyPayment(tx, paidCheckoutOf(row))
  await applyReversals(tx, settlers, row, payment)
  return 'applied'
}

/** Which states a session that is not paid may still change. */
const allowedFromStates: Readonly<Record<'processing' | 'failed' | 'expired', readonly CheckoutState[]>> = {
  processing: ['created'],
  failed: ['created', 'processing'],
  expired: ['created'],
}

const applyUnpaidSession = async (tx: Tx, fact: SessionFact): Promise<CardEventOutcome> => {
  if (fact.checkoutId === undefined) return 'ignored'
  const row = await findCheckoutForUpdate(tx, fact.checkoutId)
  if (!row || !matchesSession(row, fact)) return 'unmatched'
  const { state: standing } = fact
  // A session that nobody was given the address of may run out beside the one that counts.
  if (row.providerSessionId === null) return 'ignored'
  if (standing === 'open' || standing === 'paid' || !allowedFromStates[standing].includes(row.state))
    return 'known'
  await updateCheckoutState(tx, row, standing, row.state)
  return 'applied'
}

/** Keeps how a refund stands; one of our own goes on by it. Says whether anything was new. */
const recordRefundState = async (tx: Tx, fact: RefundStateFact): Promise<boolean> => {
  const { state, isNew } = await upsertRefundFact(tx, fact)
  const own = await findRefundOfFact(tx, fact)
  if (!own || own.mode !== 'live') return isNew
  return (await updateRefundByFact(tx, own, { ...fact, state })) || isNew
}

/** Makes one fact count, whatever came before it and however often it is said. */
export const applyFact = async (tx: Tx, settlers: Settlers, fact: CardFact): Promise<CardEventOutcome> => {
  if (fact.kind === 'session')
    return fact.state === 'paid' ? applyPaidSession(tx, settlers, fact) : applyUnpaidSession(tx, fact)
  const payment = await upsertPayment(tx, fact.paymentId, fact.kind === 'refund' ? fact.refundedUsdCents : 0n)
  if (fact.kind === 'dispute') await upsertDispute(tx, fact)
  const isNew = fact.kind === 'refund_state' && (await recordRefundState(tx, fact))
  const row = await findCheckoutOfPaymentForUpdate(tx, fact.paymentId)
  if (!row) return 'waiting'
  const outcome = await applyReversals(tx, settlers, row, payment)
  return isNew ? 'applied' : outcome
}

/** Takes in one message of the provider, once, and keeps what came of it. */
export const applyCardEvent = async (
  ctx: Ctx,
  settlers: Settlers,
  { fact, ...message }: CardEvent,
): Promise<CardEventOutcome> => {
  const outcome = await inTransaction(ctx, 'system', async (tx) => {
    if (await hasCardEvent(tx, message.eventId)) return 'known'
    const came = await applyFact(tx, settlers, fact)
    const subject = fact.kind === 'session' ? fact.sessionId : fact.paymentId
    await insertCardEvent(tx, { ...message, subject, outcome: came })
    return came
  })
  if (outcome === 'unmatched')
    ctx.log.error(
      { eventId: message.eventId, type: message.type },
      'card event matches no checkout: review it by hand',
    )
  return outcome
}
