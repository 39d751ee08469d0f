import type { Ctx } from '../platform/context.ts'
import { inTransaction, type Tx } from '../platform/db.ts'
import { takenOf, type CardFact, type CardMessage, type SessionFact } from './card-facts.ts'
import type { CheckoutState } from './rules.ts'
import {
  findCardEvent,
  findCheckoutForUpdate,
  findCheckoutOfPaymentForUpdate,
  insertCardEvent,
  listDisputes,
  updateCheckoutPaid,
  updateCheckoutState,
  updateTaken,
  upsertDispute,
  upsertPayment,
  type CheckoutRow,
} from './store.ts'

/** A checkout whose money arrived, for the module that wanted it paid. */
export type PaidCheckout = {
  readonly agentId: string
  readonly mode: 'live'
  readonly checkoutId: string
  readonly reference: string
  readonly amountUsdCents: bigint
}
/** How much of it is taken back in all: before, and now. It falls where a dispute is won. */
export type TakenChange = {
  readonly beforeUsdCents: bigint
  readonly afterUsdCents: bigint
  /** Names this change for ever. */
  readonly reference: string
}
/** What the module behind a purpose does about money; app.ts hands it down. Both join the transaction. */
export type Settler = {
  readonly paid: (tx: Tx, checkout: PaidCheckout) => Promise<void>
  readonly taken: (tx: Tx, checkout: PaidCheckout, change: TakenChange) => Promise<void>
}
export type Settlers = Readonly<Record<'credits' | 'order', Settler>>

/** `waiting`: true, but its payment is not known yet. `unmatched`: speaks of a checkout that it does not fit. */
export type Outcome = 'applied' | 'known' | 'waiting' | 'unmatched' | 'ignored'

const paidOf = (row: CheckoutRow): PaidCheckout => ({
  agentId: row.agentId,
  mode: 'live',
  checkoutId: row.checkoutId,
  reference: row.reference,
  amountUsdCents: row.amountUsdCents,
})

/** Brings what is posted to what the facts say is left of the payment. */
const settleTaken = async (
  tx: Tx,
  settlers: Settlers,
  row: CheckoutRow,
  payment: { readonly paymentId: string; readonly refundedUsdCents: bigint },
): Promise<Outcome> => {
  const disputes = await listDisputes(tx, payment.paymentId)
  const after = takenOf({ ...payment, amountUsdCents: row.amountUsdCents }, disputes)
  if (after === row.takenUsdCents) return 'known'
  await settlers[row.purpose].taken(tx, paidOf(row), {
    beforeUsdCents: row.takenUsdCents,
    afterUsdCents: after,
    reference: `${row.checkoutId} ${row.takenRevision + 1}`,
  })
  await updateTaken(tx, row, after)
  return 'applied'
}

const fits = (row: CheckoutRow, fact: SessionFact): boolean =>
  row.mode === 'live' && (row.providerSessionId === null || row.providerSessionId === fact.sessionId)

const settlePaid = async (tx: Tx, settlers: Settlers, fact: SessionFact): Promise<Outcome> => {
  const { checkoutId, paymentId } = fact
  if (checkoutId === undefined || paymentId === undefined) return 'ignored'
  // The payment's row first, always: it is the lock that refunds and disputes of this payment take as well.
  const payment = await upsertPayment(tx, paymentId, 0n)
  const row = await findCheckoutForUpdate(tx, checkoutId)
  if (!row || !fits(row, fact) || fact.amountUsdCents !== row.amountUsdCents) return 'unmatched'
  if (row.state === 'completed') return row.paymentId === paymentId ? 'known' : 'unmatched'
  await updateCheckoutPaid(tx, row, { sessionId: fact.sessionId, paymentId })
  await settlers[row.purpose].paid(tx, paidOf(row))
  await settleTaken(tx, settlers, row, payment)
  return 'applied'
}

/** Which states a session that is not paid may still change. */
const leaves: Readonly<Record<'processing' | 'failed' | 'expired', readonly CheckoutState[]>> = {
  processing: ['created'],
  failed: ['created', 'processing'],
  expired: ['created'],
}

const settleUnpaid = async (tx: Tx, fact: SessionFact): Promise<Outcome> => {
  if (fact.checkoutId === undefined) return 'ignored'
  const row = await findCheckoutForUpdate(tx, fact.checkoutId)
  if (!row || !fits(row, fact)) return 'unmatched'
  const { standing } = fact
  // A session that nobody was given the address of may run out beside the one that counts.
  if (row.providerSessionId === null) return 'ignored'
  if (standing === 'open' || standing === 'paid' || !leaves[standing].includes(row.state)) return 'known'
  await updateCheckoutState(tx, row, standing, row.state)
  return 'applied'
}

/** Makes one fact count, whatever came before it and however often it is said. */
export const applyFact = async (tx: Tx, settlers: Settlers, fact: CardFact): Promise<Outcome> => {
  if (fact.kind === 'session')
    return fact.standing === 'paid' ? settlePaid(tx, settlers, fact) : settleUnpaid(tx, fact)
  const payment = await upsertPayment(tx, fact.paymentId, fact.kind === 'refund' ? fact.refundedUsdCents : 0n)
  if (fact.kind === 'dispute') await upsertDispute(tx, fact)
  const row = await findCheckoutOfPaymentForUpdate(tx, fact.paymentId)
  return row ? settleTaken(tx, settlers, row, payment) : 'waiting'
}

/** Takes in one message of the provider, once, and keeps what came of it. */
export const applyMessage = async (
  ctx: Ctx,
  settlers: Settlers,
  { fact, ...message }: CardMessage,
): Promise<Outcome> => {
  const outcome = await inTransaction(ctx, 'system', async (tx) => {
    if (await findCardEvent(tx, message.eventId)) return 'known'
    const came = await applyFact(tx, settlers, fact)
    const subject = fact.kind === 'session' ? fact.sessionId : fact.paymentId
    await insertCardEvent(tx, { ...message, subject, outcome: came })
    return came
  })
  if (outcome === 'unmatched')
    ctx.log.error(
      { eventId: message.eventId, type: message.type },
      'a message of the card provider fits no checkout: look at it by hand',
    )
  return outcome
}
