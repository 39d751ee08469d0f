import { attestationSettings, type Mode } from '@pohf/protocol'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { presentAgentToOperator } from './operator-list.ts'
import { declaredAppsOf, type AppReference } from './rules.ts'
import { findAgent } from './store.ts'

/** Provided by the wiring: what other modules hold for an agent. */
export type ReadHoldings = (
  tx: Tx,
  agent: { readonly agentId: string; readonly mode: Mode },
) => Promise<{
  readonly credits: number
  /** Null in test mode, which has no limit. */
  readonly limitStars: number | null
  readonly networkFactor: number | null
  readonly admittedApps: readonly AppReference[]
}>

/** One agent, as an operator needs it before a decision. */
export const operatorRead = async (ctx: Ctx, readHoldings: ReadHoldings, agentId: string) =>
  inTransaction(ctx, 'system', async (tx) => {
    const row = await findAgent(tx, agentId)
    if (!row) throw new Refusal('not_found', { message: 'No such agent.' })
    const { admittedApps, ...holdings } = await readHoldings(tx, { agentId, mode: row.mode })
    return {
      ...presentAgentToOperator(row),
      mode: row.mode,
      contactEmail: row.contact_email,
      suspendedAt: row.suspended_at?.toISOString() ?? null,
      ...holdings,
      declaredApps: declaredAppsOf(attestationSettings.parse(row.attestation)),
      admittedApps: [...admittedApps],
    }
  })
