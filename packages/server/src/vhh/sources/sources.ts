import type { EventType, Mode } from '@pohf/protocol'
import type { Ctx } from '../../platform/ops/context.ts'
import type { Tx } from '../../platform/db/db.ts'
import type { Signer } from '../../signing/index.ts'

/** A span of time that is read page by page: after the position of the last row. */
type Page<Position> = {
  readonly from: Date
  readonly to: Date
  readonly after: Position | undefined
  readonly limit: number
}
export type UnitPosition = {
  readonly at: string
  readonly agentId: string
  readonly orderId: string
  readonly n: number
}
export type SettledUnit = {
  readonly position: UnitPosition
  readonly worker: string | null
  readonly seconds: number | null
  readonly category: string | null
  readonly usdCents: bigint
  readonly flags: readonly string[]
  readonly paidByOperator: boolean
  readonly disputed: boolean
  readonly reversed: boolean
}
export type PurchasePosition = { readonly at: string; readonly purchaseId: string }
type SettledPurchase = {
  readonly position: PurchasePosition
  readonly agentId: string
  readonly payer: string
  readonly usdcMicro: bigint
  readonly unitRef: string | null
}
export type SoldWork = Pick<SettledUnit, 'worker' | 'seconds' | 'category'>
type AgentOrigin = {
  readonly agentId: string
  readonly confirmedEmail: string | null
  readonly networkTag: string
}

/** What the owners of work, purchases, agents and accounts tell the index. The wiring passes it in. */
type IndexSources = {
  readonly listSettledUnits: (tx: Tx, page: Page<UnitPosition>) => Promise<SettledUnit[]>
  readonly listSettledPurchases: (tx: Tx, page: Page<PurchasePosition>) => Promise<SettledPurchase[]>
  readonly listSoldWork: (
    tx: Tx,
    unitRefs: readonly string[],
  ) => Promise<ReadonlyMap<string, SoldWork | undefined>>
  readonly listOrigins: (tx: Tx, agentIds: readonly string[]) => Promise<AgentOrigin[]>
  readonly listAccounts: (tx: Tx, agentIds: readonly string[]) => Promise<ReadonlyMap<string, string>>
  /** The agent of purchases without a key, which tells nothing about the buyer. */
  readonly platformAgentId: string
}
export type IndexDeps = {
  readonly ctx: Ctx
  readonly signer: Signer
  readonly sources: IndexSources
  /** Provided by the wiring: agents with a webhook endpoint for this type of events, after an id. */
  readonly listSubscribers: (
    tx: Tx,
    type: EventType,
    page: { readonly after: string; readonly limit: number },
  ) => Promise<readonly { readonly agentId: string; readonly mode: Mode }[]>
}
