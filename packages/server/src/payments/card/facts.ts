import { z } from 'zod'
import type { RefundState, RefundStateFact } from '../refunds/rules.ts'

/** The events that the server handles. Set the same list at the provider's webhook endpoint. */
export const cardEventTypes = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
  'charge.refunded',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.dispute.created',
  'charge.dispute.closed',
] as const
type CardEventType = (typeof cardEventTypes)[number]

/** The state of a checkout's session. */
export type SessionFact = {
  readonly kind: 'session'
  readonly sessionId: string
  /** Our id, set when the session was created; other sessions of the account have none. */
  readonly checkoutId: string | undefined
  readonly paymentId: string | undefined
  readonly amountUsdCents: bigint | undefined
  readonly state: 'open' | 'paid' | 'processing' | 'failed' | 'expired'
}
/** The refunded total of a payment. It only grows. */
type RefundedTotalFact = {
  readonly kind: 'refund'
  readonly paymentId: string
  readonly refundedUsdCents: bigint
}
export type DisputeState = 'inquiry' | 'open' | 'won' | 'lost'
type DisputeFact = {
  readonly kind: 'dispute'
  readonly paymentId: string
  readonly disputeId: string
  readonly amountUsdCents: bigint
  readonly state: DisputeState
}
export type CardFact = SessionFact | RefundedTotalFact | RefundStateFact | DisputeFact
export type CardEvent = {
  readonly eventId: string
  readonly type: CardEventType
  readonly occurredAt: Date
  readonly fact: CardFact
}

/** `waiting`: the payment is not known yet. `unmatched`: the event names a checkout whose session or amount differs. */
export type CardEventOutcome = 'applied' | 'known' | 'waiting' | 'unmatched' | 'ignored'

const id = z.string().min(1).max(255)
const cents = z.int().min(0)
/** An object, or its id alone: the provider sends either. */
const idOrObject = z.union([id, z.looseObject({ id })])
const idOf = (value: z.infer<typeof idOrObject>) => (typeof value === 'string' ? value : value.id)

const session = z.looseObject({
  id,
  client_reference_id: z.string().max(255).nullish(),
  payment_intent: z.union([id, z.looseObject({ id, status: z.string().optional() })]).nullish(),
  amount_total: cents.nullish(),
  currency: z.string().nullish(),
  status: z.enum(['open', 'complete', 'expired']).nullish(),
  payment_status: z.string(),
})
const charge = z.looseObject({ payment_intent: idOrObject, amount_refunded: cents, currency: z.string() })
const refund = z.looseObject({
  id,
  payment_intent: idOrObject,
  amount: cents,
  currency: z.string(),
  status: z.string(),
  metadata: z.record(z.string(), z.string().max(500)).nullish(),
})
const dispute = z.looseObject({
  id,
  payment_intent: idOrObject,
  amount: cents,
  currency: z.string(),
  status: z.string(),
})
const eventSchema = z.looseObject({
  id,
  type: z.enum(cardEventTypes),
  created: z.int().min(0),
  livemode: z.boolean(),
  data: z.looseObject({ object: z.unknown() }),
})

/** The failure of a slow payment shows only on the payment itself. */
const failedPaymentStatuses = new Set(['requires_payment_method', 'canceled'])

const sessionStateOf = (object: z.infer<typeof session>): SessionFact['state'] => {
  if (object.payment_status === 'paid') return 'paid'
  if (object.status === 'expired') return 'expired'
  if (object.status !== 'complete') return 'open'
  const payment = object.payment_intent
  const failed =
    typeof payment === 'object' && payment !== null && failedPaymentStatuses.has(payment.status ?? '')
  return failed ? 'failed' : 'processing'
}

/** Reads a session, or undefined where it is not one of ours. */
export const readSession = (object: unknown): SessionFact | undefined => {
  const { data } = session.safeParse(object)
  if (!data) return undefined
  return {
    kind: 'session',
    sessionId: data.id,
    checkoutId: data.client_reference_id ?? undefined,
    paymentId: data.payment_intent ? idOf(data.payment_intent) : undefined,
    amountUsdCents:
      data.currency === 'usd' && typeof data.amount_total === 'number'
        ? BigInt(data.amount_total)
        : undefined,
    state: sessionStateOf(data),
  }
}

/** Reads a refund, or undefined where it is not in US dollars. */
export const readRefund = (object: unknown): RefundStateFact | undefined => {
  const { data } = refund.safeParse(object)
  if (data?.currency !== 'usd') return undefined
  const { status } = data
  return {
    kind: 'refund_state',
    paymentId: idOf(data.payment_intent),
    providerRefundId: data.id,
    refundId: data.metadata?.['refund_id'],
    amountUsdCents: BigInt(data.amount),
    state:
      status === 'succeeded' ? status : status === 'failed' || status === 'canceled' ? 'failed' : 'pending',
  }
}

/** An inquiry moves no money; a dispute that is not closed withholds it. */
const disputeStateOf = (status: string): DisputeState => {
  if (status === 'won' || status === 'lost') return status
  return status.startsWith('warning_') ? 'inquiry' : 'open'
}

const factOf = (type: CardEventType, object: unknown): CardFact | undefined => {
  if (type === 'charge.refunded') {
    const { data } = charge.safeParse(object)
    return data?.currency === 'usd'
      ? {
          kind: 'refund',
          paymentId: idOf(data.payment_intent),
          refundedUsdCents: BigInt(data.amount_refunded),
        }
      : undefined
  }
  if (type === 'refund.created' || type === 'refund.updated' || type === 'refund.failed')
    return readRefund(object)
  if (type === 'charge.dispute.created' || type === 'charge.dispute.closed') {
    const { data } = dispute.safeParse(object)
    return data?.currency === 'usd'
      ? {
          kind: 'dispute',
          disputeId: data.id,
          paymentId: idOf(data.payment_intent),
          amountUsdCents: BigInt(data.amount),
          state: disputeStateOf(data.status),
        }
      : undefined
  }
  const fact = readSession(object)
  // Only the event's type says that the payment failed; its session just says `unpaid`.
  return fact && type === 'checkout.session.async_payment_failed' && fact.state !== 'paid'
    ? { ...fact, state: 'failed' }
    : fact
}

/** Reads an event, or undefined where its type, mode or currency is not ours. */
export const readCardEvent = (event: unknown, livemode: boolean): CardEvent | undefined => {
  const { data } = eventSchema.safeParse(event)
  if (!data || data.livemode !== livemode) return undefined
  const fact = factOf(data.type, data.data.object)
  return fact && { eventId: data.id, type: data.type, occurredAt: new Date(data.created * 1_000), fact }
}

/** The status of a payment, as far as a credential may rely on it. */
export type CardPaymentStatus =
  /** Not a payment of this account, or of another kind. */
  | 'foreign'
  | { readonly settled: true; readonly paymentId: string; readonly usdCents: bigint | undefined }
  | { readonly settled: false; readonly code: string; readonly why: string }

const chargeStatusSchema = z.looseObject({
  amount_refunded: cents,
  disputed: z.boolean(),
  status: z.string(),
  payment_intent: idOrObject.nullish(),
  amount: cents,
  currency: z.string(),
})
const paymentStatusSchema = z.looseObject({
  id,
  status: z.string(),
  amount_received: cents,
  currency: z.string(),
  latest_charge: chargeStatusSchema.nullish(),
})
const sessionStatusSchema = z.looseObject({
  payment_status: z.string(),
  payment_intent: paymentStatusSchema.nullish(),
})
const unsettled = (code: string, why: string) => ({ settled: false, code, why }) as const
const usdOf = (amount: number, currency: string) => (currency === 'usd' ? BigInt(amount) : undefined)

const readChargeStatus = (object: unknown): CardPaymentStatus => {
  const data = chargeStatusSchema.parse(object)
  if (data.amount_refunded > 0) return unsettled('refunded', 'it was refunded, at least in part')
  if (data.disputed) return unsettled('disputed', 'it is disputed, or was')
  if (data.status !== 'succeeded') return unsettled('unpaid', 'the money has not arrived')
  if (!data.payment_intent) return 'foreign'
  return {
    settled: true,
    paymentId: idOf(data.payment_intent),
    usdCents: usdOf(data.amount, data.currency),
  }
}
const readPaymentStatus = (object: unknown): CardPaymentStatus => {
  const data = paymentStatusSchema.parse(object)
  if (data.status !== 'succeeded' || data.amount_received === 0 || !data.latest_charge)
    return unsettled('unpaid', 'the money has not arrived')
  const charge = readChargeStatus({ ...data.latest_charge, payment_intent: data.id })
  return typeof charge === 'object' && charge.settled
    ? { ...charge, usdCents: usdOf(data.amount_received, data.currency) }
    : charge
}
const ownedSchema = z.looseObject({
  metadata: z.looseObject({ checkout_id: z.string().max(255).optional() }).nullish(),
})
/** The checkout that a provider's object was made for: we wrote its id when we created the session. */
export const readCheckoutId = (object: unknown): string | undefined =>
  ownedSchema.parse(object).metadata?.checkout_id

/** Reads the status off a provider's object that includes its payment and charge; `kind` is the start of its id. */
export const readCardPaymentStatus = (kind: string, object: unknown): CardPaymentStatus => {
  if (kind === 'pi') return readPaymentStatus(object)
  if (kind !== 'cs') return readChargeStatus(object)
  const data = sessionStatusSchema.parse(object)
  if (data.payment_status !== 'paid' || !data.payment_intent)
    return unsettled('unpaid', 'the money has not arrived')
  return readPaymentStatus(data.payment_intent)
}

/**
 * The refunded total: the largest total that the provider reported, less the refunds that failed. The provider does not
 * document whether a failed refund lowers its total, so the sum of the other refunds is the lower bound.
 */
export const refundedUsdCentsOf = (
  refundedUsdCents: bigint,
  refunds: readonly { readonly state: RefundState; readonly amountUsdCents: bigint }[],
): bigint => {
  const sumOf = (failed: boolean) =>
    refunds
      .filter(({ state }) => (state === 'failed') === failed)
      .reduce((sum, one) => sum + one.amountUsdCents, 0n)
  const left = refundedUsdCents - sumOf(true)
  const effective = sumOf(false)
  return left > effective ? left : effective
}

/** The parts of a payment that refunds took back, and disputes that are lost or open. In total never more than the payment. */
export type ReversedParts = {
  readonly refundedUsdCents: bigint
  readonly lostUsdCents: bigint
  readonly openUsdCents: bigint
}

type PaymentAmounts = { readonly amountUsdCents: bigint; readonly refundedUsdCents: bigint }

type DisputeAmount = { readonly state: DisputeState; readonly amountUsdCents: bigint }
/** The refunds of a payment, then its lost disputes, then its open ones, as far as the payment goes. */
export const reversedPartsOf = (
  { amountUsdCents, refundedUsdCents }: PaymentAmounts,
  disputes: readonly DisputeAmount[],
): ReversedParts => {
  const sumOf = (wanted: DisputeState) =>
    disputes
      .filter(({ state }) => state === wanted)
      .reduce((sum, { amountUsdCents: usdCents }) => sum + usdCents, 0n)
  let left = amountUsdCents
  const take = (wanted: bigint): bigint => {
    const taken = wanted < left ? wanted : left
    left -= taken
    return taken
  }
  return {
    refundedUsdCents: take(refundedUsdCents),
    lostUsdCents: take(sumOf('lost')),
    openUsdCents: take(sumOf('open')),
  }
}
