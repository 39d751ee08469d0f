import type { Mode } from '@pohf/protocol'
import type { PurchaseMint } from '../credentials/index.ts'
import type { Settlement } from '../payments/index.ts'
import type { FrozenAnswer } from '../platform/db/columns.ts'
import type { Tx } from '../platform/db/db.ts'
import { makeRateLimiter, type RateLimiter } from '../platform/http/rate-limiter.ts'
import type { Ctx } from '../platform/ops/context.ts'
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

/** What buying needs besides, in the process that takes the calls. */
export type PurchaseFlow = PurchaseSettlement & {
  /** By payer, nonce and signature: a caller that knows only the nonce of an authorization must not block its payer. */
  readonly paymentsInFlight: Map<string, PaymentInFlight>
  readonly payerLimiter: RateLimiter
}

export const makePurchaseFlow = (settlement: PurchaseSettlement): PurchaseFlow => ({
  ...settlement,
  paymentsInFlight: new Map(),
  payerLimiter: makeRateLimiter(settlement.ctx.clock),
})
