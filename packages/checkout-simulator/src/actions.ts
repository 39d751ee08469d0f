// What can happen to money, whether the page, the API or a test causes it.
import type { Deliverer } from './deliver.ts'
import { writeCharge, writeDispute, writeRefund, writeSession } from './objects.ts'
import {
  insert,
  makeId,
  type Dispute,
  type Payment,
  type Records,
  type Refund,
  type Session,
} from './records.ts'

export type Simulator = { readonly records: Records; readonly deliverer: Deliverer }

const emit = ({ records, deliverer }: Simulator, type: string, object: object): void =>
  deliverer.deliver(records.makeEvent(type, object))

const createPayment = ({ records }: Simulator, session: Session, status: Payment['status']): void => {
  const payment: Payment = {
    id: makeId('pi_'),
    chargeId: makeId('ch_'),
    sessionId: session.id,
    amount: session.amount,
    metadata: session.metadata,
    created: records.nowSeconds(),
    status,
    refunded: 0,
  }
  insert(records.payments, payment.id, payment)
  session.paymentId = payment.id
  session.status = 'complete'
}

/** A card that is accepted at once. */
export const pay = (simulator: Simulator, session: Session): boolean => {
  if (session.status !== 'open') return false
  createPayment(simulator, session, 'succeeded')
  session.paymentStatus = 'paid'
  emit(simulator, 'checkout.session.completed', writeSession(simulator.records, session))
  return true
}

/** A bank debit: the session is complete, the money has not arrived. */
export const paySlowly = (simulator: Simulator, session: Session): boolean => {
  if (session.status !== 'open') return false
  createPayment(simulator, session, 'processing')
  emit(simulator, 'checkout.session.completed', writeSession(simulator.records, session))
  return true
}

export const settleSlow = (simulator: Simulator, session: Session, succeeded: boolean): boolean => {
  const { records } = simulator
  const payment = session.paymentId === null ? undefined : records.payments.get(session.paymentId)
  if (payment?.status !== 'processing') return false
  payment.status = succeeded ? 'succeeded' : 'requires_payment_method'
  if (succeeded) session.paymentStatus = 'paid'
  const type = `checkout.session.async_payment_${succeeded ? 'succeeded' : 'failed'}`
  emit(simulator, type, writeSession(records, session))
  return true
}

export const expire = (simulator: Simulator, session: Session): boolean => {
  if (session.status !== 'open') return false
  session.status = 'expired'
  emit(simulator, 'checkout.session.expired', writeSession(simulator.records, session))
  return true
}

type RefundRequest = {
  readonly amount?: number | undefined
  readonly metadata?: Readonly<Record<string, string>>
  readonly slow?: boolean
}
/** Refunds an amount, or all that is left; undefined where the amount is too large. */
export const refund = (
  simulator: Simulator,
  payment: Payment,
  request: RefundRequest = {},
): Refund | undefined => {
  const { records } = simulator
  const { amount = payment.amount - payment.refunded } = request
  const possible = payment.status === 'succeeded' && amount > 0 && amount <= payment.amount - payment.refunded
  if (!possible) return undefined
  payment.refunded += amount
  const created: Refund = {
    id: makeId('re_'),
    paymentId: payment.id,
    amount,
    metadata: request.metadata ?? {},
    created: records.nowSeconds(),
    status: request.slow === true ? 'pending' : 'succeeded',
  }
  insert(records.refunds, created.id, created)
  emit(simulator, 'refund.created', writeRefund(records, created))
  emit(simulator, 'charge.refunded', writeCharge(records, payment))
  return created
}

/** How a refund ends: a slow one arrives, or the bank returns the money, however late. */
export const endRefund = (simulator: Simulator, ended: Refund, succeeded: boolean): boolean => {
  if (ended.status === 'failed' || (succeeded && ended.status === 'succeeded')) return false
  const { records } = simulator
  ended.status = succeeded ? 'succeeded' : 'failed'
  const payment = records.payments.get(ended.paymentId)
  if (payment && !succeeded) payment.refunded -= ended.amount
  emit(simulator, 'refund.updated', writeRefund(records, ended))
  if (!succeeded) emit(simulator, 'refund.failed', writeRefund(records, ended))
  return true
}

export const openDispute = (
  simulator: Simulator,
  payment: Payment,
  options: { readonly amount: number | undefined; readonly inquiry: boolean },
): Dispute => {
  const { records } = simulator
  const dispute: Dispute = {
    id: makeId('du_'),
    paymentId: payment.id,
    amount: options.amount ?? payment.amount,
    created: records.nowSeconds(),
    status: options.inquiry ? 'warning_needs_response' : 'needs_response',
  }
  insert(records.disputes, dispute.id, dispute)
  emit(simulator, 'charge.dispute.created', writeDispute(records, dispute))
  return dispute
}

export const closeDispute = (
  simulator: Simulator,
  dispute: Dispute,
  status: 'won' | 'lost' | 'warning_closed',
): void => {
  dispute.status = status
  emit(simulator, 'charge.dispute.closed', writeDispute(simulator.records, dispute))
}
