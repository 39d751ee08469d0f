import { randomBytes } from 'node:crypto'

export type Session = {
  readonly id: string
  readonly amount: number
  readonly name: string
  readonly clientReferenceId: string | null
  readonly metadata: Readonly<Record<string, string>>
  readonly successUrl: string
  readonly cancelUrl: string | null
  readonly created: number
  readonly expiresAt: number
  status: 'open' | 'complete' | 'expired'
  paymentStatus: 'unpaid' | 'paid'
  paymentId: string | null
}
export type Payment = {
  readonly id: string
  readonly chargeId: string
  readonly sessionId: string
  readonly amount: number
  readonly metadata: Readonly<Record<string, string>>
  readonly created: number
  status: 'processing' | 'succeeded' | 'requires_payment_method'
  refunded: number
}
export type Refund = {
  readonly id: string
  readonly paymentId: string
  readonly amount: number
  readonly metadata: Readonly<Record<string, string>>
  readonly created: number
  status: 'pending' | 'succeeded' | 'failed'
}
export type Dispute = {
  readonly id: string
  readonly paymentId: string
  readonly amount: number
  readonly created: number
  status: string
}
export type StoredEvent = {
  readonly id: string
  readonly type: string
  readonly created: number
  readonly body: string
}

/** Old ones are dropped beyond this: a stand-in that runs for days must not grow. */
const recordsMax = 10_000

const insert = <T>(map: Map<string, T>, id: string, value: T): T => {
  map.set(id, value)
  const oldest = map.keys().next()
  if (map.size > recordsMax && !oldest.done) map.delete(oldest.value)
  return value
}

const id = (prefix: string): string =>
  `${prefix}${randomBytes(18).toString('base64url').replaceAll(/[-_]/g, 'x')}`

/** Everything the stand-in knows, and the objects as the provider's API writes them. */
export const makeRecords = (address: () => string) => {
  const sessions = new Map<string, Session>()
  const payments = new Map<string, Payment>()
  const disputes = new Map<string, Dispute>()
  const refunds = new Map<string, Refund>()
  const events = new Map<string, StoredEvent>()
  let offsetMs = 0
  const nowSeconds = () => Math.floor((Date.now() + offsetMs) / 1_000)

  const writePayment = (payment: Payment, expandCharge = false) => ({
    id: payment.id,
    object: 'payment_intent',
    amount: payment.amount,
    amount_received: payment.status === 'succeeded' ? payment.amount : 0,
    created: payment.created,
    currency: 'usd',
    latest_charge:
      payment.status !== 'succeeded' ? null : expandCharge ? writeCharge(payment) : payment.chargeId,
    livemode: false,
    metadata: payment.metadata,
    status: payment.status,
  })
  const writeSession = (session: Session) => ({
    id: session.id,
    object: 'checkout.session',
    amount_subtotal: session.amount,
    amount_total: session.amount,
    cancel_url: session.cancelUrl,
    client_reference_id: session.clientReferenceId,
    created: session.created,
    currency: 'usd',
    expires_at: session.expiresAt,
    livemode: false,
    metadata: session.metadata,
    mode: 'payment',
    payment_intent: session.paymentId,
    payment_status: session.paymentStatus,
    status: session.status,
    success_url: session.successUrl,
    url: session.status === 'open' ? `${address()}/pay/${session.id}` : null,
  })
  const writeCharge = (payment: Payment) => ({
    id: payment.chargeId,
    object: 'charge',
    amount: payment.amount,
    amount_refunded: payment.refunded,
    created: payment.created,
    currency: 'usd',
    disputed: [...disputes.values()].some(({ paymentId }) => paymentId === payment.id),
    livemode: false,
    metadata: payment.metadata,
    paid: payment.status === 'succeeded',
    payment_intent: payment.id,
    refunded: payment.refunded === payment.amount,
    status: payment.status === 'succeeded' ? 'succeeded' : 'pending',
  })
  const writeRefund = (refund: Refund) => ({
    id: refund.id,
    object: 'refund',
    amount: refund.amount,
    charge: payments.get(refund.paymentId)?.chargeId ?? null,
    created: refund.created,
    currency: 'usd',
    ...(refund.status === 'failed' ? { failure_reason: 'expired_or_canceled_card' } : {}),
    metadata: refund.metadata,
    payment_intent: refund.paymentId,
    reason: null,
    status: refund.status,
  })
  const writeDispute = (dispute: Dispute) => ({
    id: dispute.id,
    object: 'dispute',
    amount: dispute.amount,
    charge: payments.get(dispute.paymentId)?.chargeId ?? null,
    created: dispute.created,
    currency: 'usd',
    livemode: false,
    metadata: {},
    payment_intent: dispute.paymentId,
    reason: 'fraudulent',
    status: dispute.status,
  })

  return {
    sessions,
    payments,
    disputes,
    refunds,
    events,
    id,
    nowSeconds: nowSeconds,
    /** Everything but the answers to idempotency keys, as text. */
    dump: (): string =>
      JSON.stringify([sessions, payments, disputes, events, refunds].map((map) => [...map])),
    load: (text: string): void => {
      const parts = JSON.parse(text) as [string, never][][]
      for (const [index, map] of [sessions, payments, disputes, events, refunds].entries())
        for (const [name, value] of parts[index] ?? []) map.set(name, value)
    },
    setClock: (ms: number) => {
      offsetMs = ms
    },
    insert: insert,
    writeSession,
    writePayment,
    writeCharge,
    writeRefund,
    writeDispute,
    /** Writes down that something happened, with the object as it is now. */
    makeEvent: (type: string, object: object): StoredEvent => {
      const eventId = id('evt_')
      const created = nowSeconds()
      const body = JSON.stringify({
        id: eventId,
        object: 'event',
        api_version: '2026-10-28.endive',
        created,
        data: { object },
        livemode: false,
        pending_webhooks: 1,
        request: { id: null, idempotency_key: null },
        type,
      })
      return insert(events, eventId, { id: eventId, type, created, body })
    },
  }
}
export type Records = ReturnType<typeof makeRecords>
