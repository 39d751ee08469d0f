// What the sentences are made of. No dependencies.
import type { CredentialKind } from './operations.ts'
import type { StatementTexts } from './statement-texts.ts'

type ProbeCount = { readonly asked: number; readonly hit: number }
export type StatementRoot = {
  readonly kind: string
  readonly class: string
  readonly issuer?: string | undefined
  readonly counted: boolean
  readonly fresh: boolean
  readonly at: number
}
export type StatementApprover = {
  readonly ref: string
  readonly user_verification: boolean
  readonly key_age: number
  readonly key: string
  readonly model?: string | undefined
  readonly enrolled: { readonly way: string; readonly at: number }
  readonly decided: number
  readonly needed: number
}

/** The claims that the sentences read. */
export type StatementClaims = {
  readonly kind: CredentialKind
  readonly agent: string
  readonly roots?: readonly StatementRoot[] | undefined
  readonly probes?: { readonly pictures: ProbeCount; readonly words: ProbeCount } | undefined
  readonly presence?: { readonly source: 'receipt' | 'geo_photo' } | undefined
  readonly personhood?: { readonly checked_at: number } | undefined
  readonly binding?:
    | {
        readonly human: 'session' | 'member' | 'work'
        readonly checked_at?: number | undefined
        readonly amount?: string | undefined
        readonly currency?: string | undefined
      }
    | undefined
  readonly approval?:
    { readonly decision: 'approve' | 'deny'; readonly shown_seconds?: number | undefined } | undefined
  readonly approver?: StatementApprover | undefined
}

/** The issuers and agents that the reader knows. Nothing in a credential or a link adds to it. */
export type ReaderList = {
  readonly trustedIssuers: readonly string[]
  readonly pinnedAgents: readonly string[]
}

/** What a page knows besides the claims. */
export type StatementContext = {
  /** The sentences of a language: English, if they are left out. */
  readonly texts?: StatementTexts | undefined
  readonly list?: ReaderList | undefined
  /** What the agent calls itself: an owner chose it. */
  readonly agentName?: string | undefined
  /** Of the agent, checked by the service. */
  readonly agentDomain?: string | undefined
  /** For how long the page was in view, where the recording is at hand. */
  readonly seconds?: number | undefined
}
