import { setImmediate } from 'node:timers/promises'
import type { SignedPayment } from '../payments/index.ts'
import { Refusal } from '../platform/http/errors.ts'
import { makeLimiter } from '../platform/http/limits.ts'
import { awaitEnd, findKnown, sell, type Sold, type Wanted } from './reserve.ts'
import type { Till } from './settle.ts'
import type { Purchase } from './store.ts'

/** Each purchase that fails on the chain costs us gas, so a wallet may not try without end. */
const payerLimit = { name: 'payer', quota: 120, windowSeconds: 60 } as const

type Flight = { readonly sold: Promise<Sold>; sent: boolean }
/** What came of a payment, and whether this caller was there before its signature left the house. */
export type Bought = { readonly purchase: Purchase; readonly trusted: boolean }

/**
 * Sells, each payment once: copies that come while the first is under way wait for it. Those that came before the
 * transaction was sent can only be of the payer; whoever comes later may have read the signature off the chain.
 */
export const makeShop = (till: Till) => {
  const flights = new Map<string, Flight>()
  const limiter = makeLimiter(till.ctx.clock)

  const begin = async (
    payment: Pick<SignedPayment, 'authorization'>,
    order: () => Promise<Wanted>,
    flight: () => Flight,
  ): Promise<Sold> => {
    const looking = findKnown(till, payment)
    // One turn, so that the look-up is on its way; the check of the signature then takes milliseconds of this thread.
    const ordering = setImmediate().then(order)
    // What is known already is answered, whatever the check says of it now.
    ordering.catch(() => undefined)
    const known = await looking
    if (known) return { purchase: await awaitEnd(till, known), fresh: false }
    const wanted = await ordering
    const { allowed, headers } = limiter.take(payerLimit, payment.authorization.from)
    if (!allowed) throw new Refusal('rate_limited', { headers })
    return sell(till, wanted, () => {
      flight().sent = true
    })
  }

  return {
    /** `order` is asked only where the payment is new; it refuses what does not fit. */
    buy: async (payment: Omit<SignedPayment, 'form'>, order: () => Promise<Wanted>): Promise<Bought> => {
      // With the signature: who knows only the number of an authorization must not get in its way.
      const name = `${payment.authorization.from} ${payment.authorization.nonce} ${payment.signature}`
      const under = flights.get(name)
      const flight: Flight = under ?? { sent: false, sold: begin(payment, order, () => flight) }
      const early = !flight.sent
      if (!under) {
        flights.set(name, flight)
        void flight.sold.catch(() => undefined).finally(() => flights.delete(name))
      }
      const { purchase, fresh } = await flight.sold
      return { purchase, trusted: fresh && early }
    },
  }
}
export type Shop = ReturnType<typeof makeShop>
