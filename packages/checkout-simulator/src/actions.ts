import type { Book, Dispute, Payment, Refund, Session } from './records.ts'
import type { Deliverer } from './deliver.ts'

type RefundWish = {
  readonly amount?: number | undefined
  readonly metadata?: Readonly<Record<string, string>>
  readonly slow?: boolean
}

/** What can happen to money, by whoever makes it happen: the page, the API or a test. */
export const makeActs = (book: Book, deliverer: Deliverer) => {
  const tell = (type: string, object: object) => deliverer.announce(book.makeEvent(type, object))
  const begin = (session: Session, status: Payment['status']): Payment => {
    const payment: Payment = {
      id: book.id('pi_'),
      chargeId: book.id('ch_'),
      sessionId: session.id,
      amount: session.amount,
      metadata: session.metadata,
      created: book.seconds(),
      status,
      refunded: 0,
    }
    book.keep(book.payments, payment.id, payment)
    session.paymentId = payment.id
    session.status = 'complete'
    return payment
  }
  return {
    /** A card that is taken at once. */
    pay: (session: Session): boolean => {
      if (session.status !== 'open') return false
      begin(session, 'succeeded')
      session.paymentStatus = 'paid'
      tell('checkout.session.completed', book.writeSession(session))
      return true
    },
    /** A bank debit: the page is done, the money is not there yet. */
    paySlowly: (session: Session): boolean => {
      if (session.status !== 'open') return false
      begin(session, 'processing')
      tell('checkout.session.completed', book.writeSession(session))
      return true
    },
    settleSlow: (session: Session, succeeded: boolean): boolean => {
      const payment = session.paymentId === null ? undefined : book.payments.get(session.paymentId)
      if (payment?.status !== 'processing') return false
      payment.status = succeeded ? 'succeeded' : 'requires_payment_method'
      if (succeeded) session.paymentStatus = 'paid'
      tell(`checkout.session.async_payment_${succeeded ? 'succeeded' : 'failed'}`, book.writeSession(session))
      return true
    },
    expire: (session: Session): boolean => {
      if (session.status !== 'open') return false
      session.status = 'expired'
      tell('checkout.session.expired', book.writeSession(session))
      return true
    },
    /** Gives back so much, or all that is left; undefined where that is too much. */
    refund: (payment: Payment, wish: RefundWish = {}): Refund | undefined => {
      const { amount = payment.amount - payment.refunded } = wish
      const possible =
        payment.status === 'succeeded' && amount > 0 && amount <= payment.amount - payment.refunded
      if (!possible) return undefined
      payment.refunded += amount
      const refund: Refund = {
        id: book.id('re_'),
        paymentId: payment.id,
        amount,
        metadata: wish.metadata ?? {},
        created: book.seconds(),
        status: wish.slow === true ? 'pending' : 'succeeded',
      }
      book.keep(book.refunds, refund.id, refund)
      tell('refund.created', book.writeRefund(refund))
      tell('charge.refunded', book.writeCharge(payment))
      return refund
    },
    /** How a refund ends: a slow one arrives, or the bank sends the money back, however late. */
    endRefund: (refund: Refund, succeeded: boolean): boolean => {
      if (refund.status === 'failed' || (succeeded && refund.status === 'succeeded')) return false
      refund.status = succeeded ? 'succeeded' : 'failed'
      const payment = book.payments.get(refund.paymentId)
      if (payment && !succeeded) payment.refunded -= refund.amount
      tell('refund.updated', book.writeRefund(refund))
      if (!succeeded) tell('refund.failed', book.writeRefund(refund))
      return true
    },
    dispute: (payment: Payment, amount = payment.amount, inquiry = false): Dispute => {
      const dispute: Dispute = {
        id: book.id('du_'),
        paymentId: payment.id,
        amount,
        created: book.seconds(),
        status: inquiry ? 'warning_needs_response' : 'needs_response',
      }
      book.keep(book.disputes, dispute.id, dispute)
      tell('charge.dispute.created', book.writeDispute(dispute))
      return dispute
    },
    closeDispute: (dispute: Dispute, status: 'won' | 'lost' | 'warning_closed'): void => {
      dispute.status = status
      tell('charge.dispute.closed', book.writeDispute(dispute))
    },
  }
}
export type Acts = ReturnType<typeof makeActs>
