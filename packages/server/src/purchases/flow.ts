import type { Mode } from '@pohf/protocol'
import type { PurchaseMint } from '../credentials/index.ts'
import type { Settlement, SignedPayment } from '../payments/index.ts'
import type { FrozenAnswer } from '../platform/db/columns.ts'
import type { Tx } from '../platform/db/db.ts'
import type { Agent } from '../platform/http/call.ts'
import type { ClientAddress } from '../platform/http/client-address.ts'
import { makeRateLimiter, type ClientLimit, type RateLimitResult } from '../platform/http/rate-limiter.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { UnitDeps } from '../work/index.ts'
import type { Purchase } from './store.ts'

/** The stock that purchases are delivered from. A unit of a test workflow has no reference. */
export type Stock = {
  /** Reserves one verified, unsold unit until it is sold or released; undefined where there is none. */
  readonly reserve: (
    tx: Tx,
    workflowId: string,
    mode: Mode,
  ) => Promise<{ readonly unitRef: string | null; readonly frozen: FrozenAnswer } | undefined>
  readonly release: (tx: Tx, unitRef: string | null) => Promise<void>
  readonly markSold: (tx: Tx, unitRef: string | null) => Promise<void>
}

/** What the settlement of a purchase needs, in a call and in the worker. */
export type PurchaseSettlement = {
  readonly ctx: Ctx
  readonly settlement: Settlement
  readonly mint: PurchaseMint
  readonly stock: Stock
  /** Revokes a credential whose payment the chain has reverted, in the transaction that voids the purchase. */
  readonly revoke: (tx: Tx, credentialId: string, reason: string) => Promise<void>
  /** The dependencies for stopping a question whose payment the chain has reverted. */
  readonly unitDeps: UnitDeps
}

/** The caller of a purchase, and how it sent its payment. */
export type PurchaseCaller = {
  /** Proven by the secret id or the key, or by having sent the payment before it was public. */
  readonly isBuyer: boolean
  /** The whole id, where the buyer sent it or this call made it. */
  readonly purchaseId: string | undefined
  readonly header: 'x-payment' | 'payment-signature'
  readonly network: string
}

/** What can be bought now. A test workflow needs no stock, and fixes the outcome of its settlement. */
export type Offer = {
  readonly title: string
  readonly amountUsdcMicro: bigint
  readonly outcome: 'settles' | 'times_out' | 'fails'
}

/** What a payment pays for: one unit from stock, or a question. `buy.ts` is the same for both. */
export type Product<Response = unknown> = {
  readonly workflowId: string
  /** What a purchase id is signed for: the workflow, or the question. */
  readonly subject: string
  /** The path of the endpoint, and the extensions of its challenge. */
  readonly path: string
  readonly extensions: Readonly<Record<string, unknown>>
  /** The agent that the purchase belongs to. */
  readonly owner: Pick<Agent, 'agentId' | 'mode'>
  /** False for a test workflow whose settlement is simulated. */
  readonly isSettled: boolean
  /** Whether an overpayment is refused. For a question, the excess would be kept, or refunded together with the price. */
  readonly isExact: boolean
  /** Undefined where there is nothing to buy; a product may also refuse by itself. */
  readonly findOffer: () => Promise<Offer | undefined>
  /** Refuses while the delivery could not be made. */
  readonly ready: () => Promise<void>
  /** The purchase was delivered, and a restored database does not have it. */
  readonly isForgotten: (purchaseId: string) => Promise<boolean>
  /** Reserves what is sold, in the transaction that claims the payment; refuses where there is nothing left. */
  readonly reserve: (tx: Tx) => Promise<Pick<Purchase, 'unitRef' | 'frozen' | 'orderId'>>
  /** The response to a payment of this purchase. */
  readonly respond: (purchase: Purchase, caller: PurchaseCaller) => Promise<Response>
}

export type PurchaseOutcome = {
  readonly purchase: Purchase
  /** This call started the purchase, before anybody but the payer could know the signature. */
  readonly isNew: boolean
  /** The whole id of a purchase that this call started. */
  readonly wholePurchaseId: string | undefined
}

/** A payment that this process settles now. `isSubmitted`: its signature may be public. */
export type PaymentInFlight = { readonly outcome: Promise<PurchaseOutcome>; isSubmitted: boolean }

/** Each purchase that fails on the chain costs us gas, so the attempts of one wallet are limited. */
const payerLimit = { name: 'payer', quota: 120, windowSeconds: 60 } as const
/** Payments from one network that the chain has not accepted, or not yet: each costs calls to the node, and a key costs nothing. */
const unprovenLimit = { perNetwork: 60, windowSeconds: 60 } as const
/** Payments of contracts, whose signatures only the chain can check, do not use up the limit of the others. */
const limitOf = ({ form }: SignedPayment): ClientLimit => ({ name: `payments_${form}`, ...unprovenLimit })

/** Limits attempts to pay. Anyone can name any wallet as the payer, so only what proves the payer counts for it. */
const makeAttemptLimits = ({ clock, config }: Ctx) => {
  const limiter = makeRateLimiter(clock)
  return {
    byPayer: (payer: string): RateLimitResult => limiter.take(payerLimit, payer),
    byNetwork: (payment: SignedPayment, address: ClientAddress | undefined): RateLimitResult | undefined =>
      address === undefined || !config.addressLimits ? undefined : limiter.takeFor(limitOf(payment), address),
    /** Returns what `byNetwork` took, where the chain would accept the payment. */
    release: (payment: SignedPayment, address: ClientAddress | undefined): void => {
      if (address !== undefined) limiter.releaseFor(limitOf(payment), address)
    },
  }
}

/** The further dependencies of buying, in the process that takes the calls. */
export type PurchaseFlow = PurchaseSettlement & {
  /** By payer, nonce and signature: a caller that knows only the nonce of an authorization must not block its payer. */
  readonly paymentsInFlight: Map<string, PaymentInFlight>
  readonly attemptLimits: ReturnType<typeof makeAttemptLimits>
}

export const makePurchaseFlow = (settlement: PurchaseSettlement): PurchaseFlow => ({
  ...settlement,
  paymentsInFlight: new Map(),
  attemptLimits: makeAttemptLimits(settlement.ctx),
})
