// The objects as the provider's API writes them.
import type { Dispute, Payment, Records, Refund, Session } from './records.ts'

export const writeCharge = ({ disputes }: Records, payment: Payment) => ({
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

export const writePayment = (records: Records, payment: Payment, expandCharge: boolean) => ({
  id: payment.id,
  object: 'payment_intent',
  amount: payment.amount,
  amount_received: payment.status === 'succeeded' ? payment.amount : 0,
  created: payment.created,
  currency: 'usd',
  latest_charge:
    payment.status !== 'succeeded' ? null : expandCharge ? writeCharge(records, payment) : payment.chargeId,
  livemode: false,
  metadata: payment.metadata,
  status: payment.status,
})

export const writeSession = ({ address }: Records, session: Session) => ({
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

export const writeRefund = ({ payments }: Records, refund: Refund) => ({
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

export const writeDispute = ({ payments }: Records, dispute: Dispute) => ({
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
