import type { Mode } from '@pohf/protocol'
import type { ApprovalMint } from '../credentials/index.ts'
import type { Issuers } from '../issuers/index.ts'
import type { PasskeyVerifier } from '../members/index.ts'
import type { Tx } from '../platform/db/db.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { AgentId } from '../platform/ops/ids.ts'
import type { SignReport } from './effectiveness/pack.ts'

/** What the wiring provides from modules that approvals do not import. */
export type ApprovalsDeps = {
  readonly ctx: Ctx
  /** Signs an evidence pack with the key for reports. */
  readonly signReport: SignReport
  /** The name of an agent; undefined when it may not act. */
  readonly findAgentName: (tx: Tx, agentId: string) => Promise<string | undefined>
  readonly findAgentMode: (tx: Tx, agentId: string) => Promise<Mode | undefined>
  /** Whether one more credential can be paid for. Refuses an agent in debt. */
  readonly hasAllowance: (
    tx: Tx,
    agent: { readonly agentId: string; readonly mode: Mode },
  ) => Promise<boolean>
  /** The signed credentials of decisions, by `decisionReferenceOf`, of those that have one. */
  readonly findDecisionTokens: (
    tx: Tx,
    agent: { readonly agentId: string; readonly mode: Mode },
    references: readonly string[],
  ) => Promise<ReadonlyMap<string, string>>
  /** Mints the credentials of decisions. */
  readonly mintApproval: ApprovalMint
  readonly passkeyVerifier: PasskeyVerifier
  /** The outside issuers with which approvers may be asked to sign in. */
  readonly issuers: Issuers
  /** The platform agent of a mode, which owns the recordings of known-bad requests. */
  readonly platformAgentOf: (mode: Mode) => AgentId
}
