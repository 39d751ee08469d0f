// Which sentences statements.ts needs in each language. No dependencies.
import type { Assurance, CredentialKind, RootKind } from './operations.ts'

/** Parts in braces are filled by statements.ts. */
type RootTexts = {
  /** What the root shows, with `{when}`, `{issuer}` and `{agent}`. */
  readonly shows: string
  /** Where the issuer counts each human once; and where it does not. */
  readonly counted: string
  readonly uncounted: string
  /** What a reader must know of it besides. */
  readonly remark?: string
}

type ApprovalTexts = {
  readonly shownFor: string
  readonly shown: string
  readonly decisions: Readonly<Record<'approve' | 'deny', string>>
  readonly enrolled: string
  readonly ways: Readonly<Record<'in_console' | 'mail_link' | 'organization', string>>
  readonly unknownWay: string
  readonly signed: string
  readonly keys: Readonly<Record<'attested' | 'device' | 'synced' | 'unknown', string>>
  readonly verified: string
  readonly unverified: string
  readonly people: string
  readonly forged: string
  /** The claims do not say who decided. */
  readonly unnamed: string
}

type PriceTexts = {
  readonly act: string
  readonly human: string
  readonly named: string
  readonly unknown: string
  readonly caveat: string
  readonly belowCent: string
  readonly cents: string
  readonly cent: string
  readonly dollars: string
  readonly dollar: string
}

export type StatementTexts = {
  readonly kinds: Readonly<Record<Exclude<CredentialKind, 'approval'>, string>>
  readonly inView: string
  readonly inViewFor: string
  readonly questions: string
  readonly question: string
  readonly questionsDuring: string
  readonly questionDuring: string
  readonly sources: Readonly<Record<'receipt' | 'geo_photo', string>>
  readonly payment: string
  readonly lookedUp: string
  readonly lookedUpAmount: string
  readonly tiedTo: Readonly<Record<'session' | 'member' | 'work', string>>
  readonly approval: ApprovalTexts
  readonly roots: Readonly<Record<RootKind, RootTexts>>
  readonly unknownRoot: string
  readonly noRoots: string
  readonly ages: Readonly<
    Record<'day' | 'hour' | 'minute' | 'second', { readonly one: string; readonly many: string }>
  >
  readonly fresh: string
  readonly earlier: string
  readonly unnamedIssuer: string
  readonly agent: string
  readonly agentNamed: string
  readonly agentVerified: string
  readonly quotes: readonly [open: string, close: string]
  readonly unmeasured: string
  readonly levels: Readonly<Record<Assurance, string>>
  readonly price: PriceTexts
}
