import type { Mode } from '@pohf/protocol'
import type { WorkMint } from '../credentials/index.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Tx } from '../platform/db/db.ts'

/** The books that work writes to besides the buyer's; both come from modules that work does not know. */
export type PlatformLedger = {
  /** The agent that stands for the operator. The Stars of people who work are in its book. */
  readonly platformAgentOf: (mode: Mode) => `agt_${string}`
  /** The account that payouts draw from. */
  readonly starsAccountOf: (agentId: string, userRef: string) => string
}

/** What the endpoints of people who work need. */
export type WorkerDeps = PlatformLedger & {
  readonly ctx: Ctx
  readonly mintWork: WorkMint
  /** Where an agent was registered from, as a keyed hash of the network. */
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
