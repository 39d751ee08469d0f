import { setImmediate } from 'node:timers/promises'
import type { SignedPayment } from '../payments/index.ts'
import { Refusal } from '../platform/http/errors.ts'
import { makeRateLimiter } from '../platform/http/rate-limiter.ts'
import {
  awaitOutcome,
  findPurchaseByPayment,
  settlePurchase,
  type PurchaseOutcome,
  type PurchaseRequest,
} from './reserve.ts'
import type { PurchaseSettlement } from './settle.ts'
import type { Purchase } from './store.ts'

/** Each purchase that fails on the chain costs us gas, so a wallet may not try without end. */
const payerLimit = { name: 'payer', quota: 120, windowSeconds: 60 } as const

type InFlightPurchase = { readonly outcome: Promise<PurchaseOutcome>; sent: boolean }
/** What came of a payment, and whether this caller was there before its signature left the house. */
export type PurchaseResult = { readonly purchase: Purchase; readonly isBuyer: boolean }

/**
 * Sells, each payment once: copies that come while the first is under way wait for it. Those that came before the
 * transaction was sent can only be of the payer; whoever comes later may have read the signature off the chain.
 */
export const makePurchaseFlow = (deps: PurchaseSettlement) => {
  const inFlight = new Map<string, InFlightPurchase>()
  const limiter = makeRateLimiter(deps.ctx.clock)

  const startPurchase = async (
    payment: Pick<SignedPayment, 'authorization'>,
    validate: () => Promise<PurchaseRequest>,
    flight: () => InFlightPurchase,
  ): Promise<PurchaseOutcome> => {
    const lookup = findPurchaseByPayment(deps, payment)
    // One turn, so that the look-up is on its way; the check of the signature then takes milliseconds of this thread.
    const validation = setImmediate().then(validate)
    // What is known already is answered, whatever the check says of it now.
    validation.catch(() => undefined)
    const known = await lookup
    if (known) return { purchase: await awaitOutcome(deps, known), fresh: false }
    const request = await validation
    const { allowed, headers } = limiter.take(payerLimit, payment.authorization.from)
    if (!allowed) throw new Refusal('rate_limited', { headers })
    return settlePurchase(deps, request, () => {
      flight().sent = true
    })
  }

  return {
    /** `order` is asked only where the payment is new; it refuses what does not fit. */
    buy: async (
      payment: Omit<SignedPayment, 'form'>,
      validate: () => Promise<PurchaseRequest>,
    ): Promise<PurchaseResult> => {
      // With the signature: who knows only the number of an authorization must not get in its way.
      const name = `${payment.authorization.from} ${payment.authorization.nonce} ${payment.signature}`
      const under = inFlight.get(name)
      const flight: InFlightPurchase = under ?? {
        sent: false,
        outcome: startPurchase(payment, validate, () => flight),
      }
      const cameBeforeSend = !flight.sent
      if (!under) {
        inFlight.set(name, flight)
        void flight.outcome.catch(() => undefined).finally(() => inFlight.delete(name))
      }
      const { purchase, fresh } = await flight.outcome
      return { purchase, isBuyer: fresh && cameBeforeSend }
    },
  }
}
export type PurchaseFlow = ReturnType<typeof makePurchaseFlow>
