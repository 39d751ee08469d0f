import type { Mode } from '@pohf/protocol'
import type { ChangeCredentialState, WorkMint } from '../credentials/index.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Tx } from '../platform/db/db.ts'
import type { ImageLoader } from '../platform/net/images.ts'

/** The ledger of the platform agent, which work posts to besides the buyer's. The wiring provides both functions. */
export type PlatformLedger = {
  /** The platform agent: the Stars of people who work are in its ledger. */
  readonly platformAgentOf: (mode: Mode) => `agt_${string}`
  /** The account that payouts are taken from. */
  readonly starsAccountOf: (agentId: string, userRef: string) => string
}

/** What a change of a unit needs besides the order. */
export type UnitDeps = PlatformLedger & {
  /** Suspends, reinstates or revokes the credential of a unit, in the transaction of the change. */
  readonly changeCredentialState: ChangeCredentialState
}

/** What the endpoints of workers need. */
export type WorkerDeps = UnitDeps & {
  readonly ctx: Ctx
  readonly mintWork: WorkMint
  readonly loadImage: ImageLoader
  /** The network that an agent was registered from, as a keyed hash. */
  readonly findNetworkTag: (tx: Tx, agentId: string) => Promise<string | undefined>
  readonly networkTagOf: (address: string) => string
  readonly requestPayout: (
    tx: Tx,
    request: {
      readonly agentId: string
      readonly mode: Mode
      readonly userRef: string
      readonly stars: number
    },
  ) => Promise<{ readonly requestId: string; readonly status: string }>
  readonly findPayoutSums: (
    tx: Tx,
    user: { readonly agentId: string; readonly mode: Mode; readonly userRef: string },
  ) => Promise<{ readonly heldStars: bigint; readonly paidStars: bigint }>
}
