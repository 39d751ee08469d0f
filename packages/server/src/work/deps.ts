import type { Mode } from '@pohf/protocol'
import type { ChangeCredentialState, WorkMint } from '../credentials/index.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { ClientAddress } from '../platform/http/client-address.ts'
import type { Tx } from '../platform/db/db.ts'
import type { Refusal } from '../platform/http/errors.ts'
import type { ImageLoader } from '../platform/net/images.ts'
import type { AgentId } from '../platform/ops/ids.ts'
import type { ForgingPriceUsd } from './rules.ts'

/** The ledger of the platform agent, which work posts to besides the buyer's. The wiring provides both functions. */
export type PlatformLedger = {
  /** The platform agent: the Stars of people who work are in its ledger. */
  readonly platformAgentOf: (mode: Mode) => AgentId
  /** The account that payouts are taken from. */
  readonly starsAccountOf: (agentId: string, userRef: string) => string
}

/** The accounts that a worker named for payouts, newest first. */
export type ListPayoutAccounts = (
  tx: Tx,
  worker: { readonly mode: Mode; readonly worker: string },
) => Promise<readonly { readonly end: string; readonly namedAt: Date; readonly paidAt: Date | null }[]>

/** Makes the refund of a purchase over HTTP 402 due: its order has ended unpaid, and an operator sends the money back. */
export type ReturnPurchase = (
  tx: Tx,
  purchase: { readonly agentId: AgentId; readonly mode: Mode; readonly purchaseId: string },
  reason: string,
) => Promise<void>

/** What a change of a unit needs besides the order. */
export type UnitDeps = PlatformLedger & {
  /** Suspends, reinstates or revokes the credential of a unit, in the transaction of the change. */
  readonly changeCredentialState: ChangeCredentialState
  readonly returnPurchase: ReturnPurchase
}

/** The dependencies of endpoints that tell a buyer the price of an order and its warnings. */
export type BuyerDeps = {
  readonly ctx: Ctx
  readonly forgingPriceUsd: ForgingPriceUsd
}

/** What the endpoints of workers need. */
export type WorkerDeps = UnitDeps & {
  readonly ctx: Ctx
  readonly mintWork: WorkMint
  readonly loadImage: ImageLoader
  /** The network that an agent was registered from, as a keyed hash. */
  readonly findNetworkTag: (tx: Tx, agentId: string) => Promise<string | undefined>
  readonly networkTagOf: (address: ClientAddress) => string
  /** Returns a refusal where it has written something: the caller throws it after the commit. */
  readonly requestPayout: (
    tx: Tx,
    request: {
      readonly agentId: string
      readonly mode: Mode
      readonly userRef: string
      readonly stars: number
      readonly account: string
    },
  ) => Promise<
    | { readonly requestId: string; readonly status: string; readonly accountEnd: string }
    | { readonly refusal: Refusal }
  >
  readonly findPayoutSums: (
    tx: Tx,
    user: { readonly agentId: string; readonly mode: Mode; readonly userRef: string },
  ) => Promise<{ readonly heldStars: bigint; readonly paidStars: bigint }>
  readonly listPayoutAccounts: ListPayoutAccounts
}
