import { Refusal } from '../../platform/http/errors.ts'

/** A settled payment, as found by a lookup. */
export type PaymentSettlement = {
  /** Canonical identity of the payment: two references to the same payment bind one human. */
  readonly identity: string
  readonly amount?: string
  readonly currency?: string
  readonly payee?: string
  /**
   * Whether the payer is proven: the agent opened the checkout, or the paying wallet signed our challenge. Otherwise the
   * payment may be a stranger's, and the binding says `asserted`.
   */
  readonly isPayerProven: boolean
}

/** The lookup found an unsettled payment. `code` is for programs, `why` completes the sentence for people. */
export const notSettled = (code: string, why: string): Refusal =>
  new Refusal('payment_not_settled', {
    message: `The payment is not settled: ${why}.`,
    details: [{ path: 'body.paymentRef', code, message: why }],
  })
