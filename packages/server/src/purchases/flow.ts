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

/** Each purchase that fails on the chain costs us gas, so the attempts of one wallet are limited. */
const payerLimit = { name: 'payer', quota: 120, windowSeconds: 60 } as const

type InFlightPurchase = { readonly outcome: Promise<PurchaseOutcome>; submitted: boolean }
/** `sentByBuyer`: the payment arrived before its signature was public, so only the payer can have sent it. */
export type PurchaseResult = { readonly purchase: Purchase; readonly sentByBuyer: boolean }

/**
 * Settles each payment once: copies that arrive while the first is in flight wait for it. Only the payer can have sent
 * a copy that arrived before the transaction was submitted; a later one may have been read off the chain.
 */
export const makePurchaseFlow = (deps: PurchaseSettlement) => {
  const inFlight = new Map<string, InFlightPurchase>()
  const limiter = makeRateLimiter(deps.ctx.clock)

  const startPurchase = async (
    payment: Pick<SignedPayment, 'authorization'>,
    validate: () => Promise<PurchaseRequest>,
    current: () => InFlightPurchase,
  ): Promise<PurchaseOutcome> => {
    const lookup = findPurchaseByPayment(deps, payment)
    // One turn of the event loop, so that the lookup is sent before the signature check blocks this thread for milliseconds.
    const validation = setImmediate().then(validate)
    // A payment that is already known gets its result, whatever the validation says now.
    validation.catch(() => undefined)
    const known = await lookup
    if (known) return { purchase: await awaitOutcome(deps, known), isNew: false }
    const request = await validation
    const { allowed, headers } = limiter.take(payerLimit, payment.authorization.from)
    if (!allowed) throw new Refusal('rate_limited', { headers })
    return settlePurchase(deps, request, () => {
      current().submitted = true
    })
  }

  return {
    /** `validate` runs for new payments only, and refuses a payment that does not match the offer. */
    buy: async (
      payment: Omit<SignedPayment, 'form'>,
      validate: () => Promise<PurchaseRequest>,
    ): Promise<PurchaseResult> => {
      // The key contains the signature: knowing only the nonce of an authorization must not block its payer.
      const paymentKey = `${payment.authorization.from} ${payment.authorization.nonce} ${payment.signature}`
      const existing = inFlight.get(paymentKey)
      const current: InFlightPurchase = existing ?? {
        submitted: false,
        outcome: startPurchase(payment, validate, () => current),
      }
      const arrivedBeforeSubmit = !current.submitted
      if (!existing) {
        inFlight.set(paymentKey, current)
        void current.outcome.catch(() => undefined).finally(() => inFlight.delete(paymentKey))
      }
      const { purchase, isNew } = await current.outcome
      return { purchase, sentByBuyer: isNew && arrivedBeforeSubmit }
    },
  }
}
export type PurchaseFlow = ReturnType<typeof makePurchaseFlow>
