import type { Records, Dispute, Payment, Refund, Session } from './records.ts'
import type { Deliverer } from './deliver.ts'

type RefundRequest = {
  readonly amount?: number | undefined
  readonly metadata?: Readonly<Record<string, string>>
  readonly slow?: boolean
}

/** What can happen to money, by whoever makes it happen: the page, the API or a test. */
export const makeActions = (records: Records, deliverer: Deliverer) => {
  const emitEvent = (type: string, object: object) => deliverer.deliver(records.makeEvent(type, object))
  const createPayment = (session: Session, status: Payment['status']): Payment => {
    const payment: Payment = {
      id: records.id('pi_'),
      chargeId: records.id('ch_'),
      sessionId: session.id,
      amount: session.amount,
      metadata: session.metadata,
      created: records.nowSeconds(),
      status,
      refunded: 0,
    }
    records.insert(records.payments, payment.id, payment)
    session.paymentId = payment.id
    session.status = 'complete'
    return payment
  }
  return {
    /** A card that is taken at once. */
    pay: (session: Session): boolean => {
      if (session.status !== 'open') return false
      createPayment(session, 'succeeded')
      session.paymentStatus = 'paid'
      emitEvent('checkout.session.completed', records.writeSession(session))
      return true
    },
    /** A bank debit: the page is done, the money is not there yet. */
    paySlowly: (session: Session): boolean => {
      if (session.status !== 'open') return false
      createPayment(session, 'processing')
      emitEvent('checkout.session.completed', records.writeSession(session))
      return true
    },
    settleSlow: (session: Session, succeeded: boolean): boolean => {
      const payment = session.paymentId === null ? undefined : records.payments.get(session.paymentId)
      if (payment?.status !== 'processing') return false
      payment.status = succeeded ? 'succeeded' : 'requires_payment_method'
      if (succeeded) session.paymentStatus = 'paid'
      emitEvent(
        `checkout.session.async_payment_${succeeded ? 'succeeded' : 'failed'}`,
        records.writeSession(session),
      )
      return true
    },
    expire: (session: Session): boolean => {
      if (session.status !== 'open') return false
      session.status = 'expired'
      emitEvent('checkout.session.expired', records.writeSession(session))
      return true
    },
    /** Gives back so much, or all that is left; undefined where that is too much. */
    refund: (payment: Payment, request: RefundRequest = {}): Refund | undefined => {
      const { amount = payment.amount - payment.refunded } = request
      const possible =
        payment.status === 'succeeded' && amount > 0 && amount <= payment.amount - payment.refunded
      if (!possible) return undefined
      payment.refunded += amount
      const refund: Refund = {
        id: records.id('re_'),
        paymentId: payment.id,
        amount,
        metadata: request.metadata ?? {},
        created: records.nowSeconds(),
        status: request.slow === true ? 'pending' : 'succeeded',
      }
      records.insert(records.refunds, refund.id, refund)
      emitEvent('refund.created', records.writeRefund(refund))
      emitEvent('charge.refunded', records.writeCharge(payment))
      return refund
    },
    /** How a refund ends: a slow one arrives, or the bank sends the money back, however late. */
    endRefund: (refund: Refund, succeeded: boolean): boolean => {
      if (refund.status === 'failed' || (succeeded && refund.status === 'succeeded')) return false
      refund.status = succeeded ? 'succeeded' : 'failed'
      const payment = records.payments.get(refund.paymentId)
      if (payment && !succeeded) payment.refunded -= refund.amount
      emitEvent('refund.updated', records.writeRefund(refund))
      if (!succeeded) emitEvent('refund.failed', records.writeRefund(refund))
      return true
    },
    dispute: (payment: Payment, amount = payment.amount, inquiry = false): Dispute => {
      const dispute: Dispute = {
        id: records.id('du_'),
        paymentId: payment.id,
        amount,
        created: records.nowSeconds(),
        status: inquiry ? 'warning_needs_response' : 'needs_response',
      }
      records.insert(records.disputes, dispute.id, dispute)
      emitEvent('charge.dispute.created', records.writeDispute(dispute))
      return dispute
    },
    closeDispute: (dispute: Dispute, status: 'won' | 'lost' | 'warning_closed'): void => {
      dispute.status = status
      emitEvent('charge.dispute.closed', records.writeDispute(dispute))
    },
  }
}
export type Actions = ReturnType<typeof makeActions>
