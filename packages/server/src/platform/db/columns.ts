// The stored shapes of JSON columns. Property names are data: renaming one needs a migration.
import type { AnswerForm, CredentialPolicy, InputForm, Scope } from '@pohf/protocol'
import type { ApprovalPolicy } from '@pohf/verify/approvals'
import type { ColumnType } from 'kysely'
import type { Components, SessionEvidence } from '@pohf/scorer'
import type { AgentId } from '../ops/ids.ts'

/** A JSON column: read as its shape, written as text that is already JSON. */
export type JsonColumn<T> = ColumnType<T, string, string>
export type NullableJsonColumn<T> = ColumnType<T | null, string | null, string | null>

/** An address, a hash or a signature in hexadecimal. */
export type Hex = `0x${string}`

/** events.data and operator_audit.details: an object whose keys depend on the type or the action. */
export type JsonRecord = Readonly<Record<string, unknown>>

/** orders.terms: fixed when the order is placed, or when an operator accepts it. */
export type OrderTerms = {
  readonly title: string
  readonly description: string
  readonly category: string
  readonly steps: readonly string[]
  readonly estMinutes: number
  readonly rewardStars: number
  readonly inputForm: InputForm
  readonly answerForm: AnswerForm
  /** Shown in turn where the buyer sent no items. */
  readonly samples: readonly unknown[]
  /** The known answer, for a known-answer item. */
  readonly goldAnswer?: unknown
  /** Of a question: when it ends without an answer. */
  readonly answerBy?: string
}

/** approval_types.labels: the label of each field, by JSON Pointer. */
export type ApprovalLabels = Readonly<Record<string, string>>

/** Credits of an agent by the order in which they were spent: those from `from` up to but not including `to`. */
export type DisputedSpan = {
  readonly from: number
  readonly to: number
  readonly state: 'issued' | 'suspended' | 'revoked'
  /** When they were spent. */
  readonly since: string
  readonly until: string
}

/** vhh_epochs.details: the fields of an epoch that method vhh-1 added. */
export type EpochDetails = {
  readonly revision: number
  readonly units: number
  readonly inputsRoot: string
  readonly tooFew: readonly string[]
  readonly carried: { readonly value: number; readonly epoch: string } | null
  readonly restates: { readonly revision: number; readonly reason: string } | null
  readonly excluded: Readonly<Record<string, number>>
  readonly demo?: true
}

/** workflows.gold: known-answer items. */
export type KnownAnswer = { readonly input: unknown; readonly answer: unknown }

/** purchases.frozen: the answer as it was when it was taken from stock. */
export type FrozenAnswer = {
  readonly answer: unknown
  readonly session: { readonly agentId: AgentId; readonly sessionId: string } | null
}

/** sessions.telemetry: what seals the recorded chunks. */
export type TelemetrySeal = {
  readonly alg: string
  readonly link: string
  readonly root: string
  readonly n: number
}

/** One element of sessions.evidence. */
export type EvidenceItem = {
  readonly type: 'simulated' | 'photo' | 'receipt' | 'geo' | 'answer' | 'telemetry'
  readonly alg: 'sha-256'
  readonly hash: string
}

/** sessions.components: the parts of the quality. */
export type SessionComponents = Components

/** sessions.counted: the counts behind a score, and observations that did not lower it. */
export type SessionCounts = Omit<SessionEvidence, LaterCounts> &
  Partial<Pick<SessionEvidence, LaterCounts>> & { readonly observations: string[] }
/** Sessions that were scored before rules-2026.11.2 lack these. */
type LaterCounts = 'pictures' | 'words' | 'returning'

export type { AnswerForm, ApprovalPolicy, CredentialPolicy, InputForm, Scope }
