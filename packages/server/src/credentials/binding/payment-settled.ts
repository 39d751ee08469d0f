import { Refusal } from '../../platform/http/errors.ts'

/** What a look-up says of a payment that is settled. */
export type PaymentSettlement = {
  /** The payment itself, however it was referred to: two references to it bind one human. */
  readonly identity: string
  readonly amount?: string
  readonly currency?: string
  readonly payee?: string
}

/** We looked, and it is not settled. `code` is one word for programs, `why` ends the sentence for people. */
export const notSettled = (code: string, why: string): Refusal =>
  new Refusal('payment_not_settled', {
    message: `The payment is not settled: ${why}.`,
    details: [{ path: 'body.paymentRef', code, message: why }],
  })
