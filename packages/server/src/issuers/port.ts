import type { Assurance, IssuerRule, RootClass, RootKind } from '@pohf/protocol'

/** Whom a check is about: a person who is signed in, or a session that steps up. */
export type Subject = {
  readonly personId: string | null
  readonly sessionId: string | null
  /** The hash of what the person does: an enrolment, an act, a decision. */
  readonly act: string
  /** The thumbprint of the session's key; null without a session. */
  readonly jkt: string | null
  /** What the answer of the issuer must cover, so that it belongs to this subject. The same for each check of it. */
  readonly signal: string
  /** The origin of the page that began the check and must finish it. */
  readonly origin: string
  /** Random, and another for each check: an issuer that leads a browser back returns it. */
  readonly handle: string
}

/** What an issuer shows at most. */
export type IssuerKind = {
  /** The name in the settings. */
  readonly name: string
  readonly adapter: string
  /** The address or name by which credentials name the issuer. */
  readonly issuerId: string
  readonly kind: Exclude<RootKind, 'network' | 'authenticator' | 'app' | 'payout_account'>
  readonly sourceClass: Exclude<RootClass, 'address' | 'device:fido'>
  readonly maxLevel: Assurance
  /** Whether it tells one human from another. */
  readonly counted: boolean
  /** Whether a proof is worth what its reader thinks of the issuer. */
  readonly named: boolean
  /** Whether it answers for one act. */
  readonly fresh: boolean
  readonly lifeDays: number
  /** The agents whose credentials may rest on it; undefined for all. */
  readonly agents: readonly string[] | undefined
  /** Whether an owner of an agent set it up, and not the operator. */
  readonly isOwn: boolean
}

/** The directory of an issuer, which says by SCIM who is there. */
export type Directory = {
  readonly tokenHash: Buffer
  /** The code of a human by what the directory calls them, as `finish` returns it. */
  readonly codeOf: (user: {
    readonly userName: string
    readonly externalId?: string | undefined
  }) => string | undefined
}

/** A check that was begun. The module seals the state; the adapter gets it back once. */
type Begun = {
  /** For the page. */
  readonly request: Readonly<Record<string, unknown>>
  readonly state: unknown
}

export type Shown = {
  readonly ok: true
  readonly level: Assurance
  /** The issuer's code of the human; undefined where it counts nobody. It is stored as a keyed hash only. */
  readonly human: string | undefined
  readonly counted: boolean
  readonly model?: string | undefined
  readonly checkedAt: Date
  readonly expiresAt: Date
  /** SHA-256 of what the issuer answered, so that a dispute can show it. */
  readonly evidenceHash: Buffer
}
export type Refused = { readonly ok: false; readonly rule: IssuerRule | 'unavailable' }
export const refused = (rule: Refused['rule']): Refused => ({ ok: false, rule })

export type Finish = {
  readonly subject: Subject
  /** What `begin` returned, parsed from JSON. */
  readonly state: unknown
  /** What the browser brought, not checked yet. */
  readonly answer: unknown
}

/** An outside issuer that vouches for people or counts them. No function of it runs in a transaction. */
export type OutsideIssuer = IssuerKind & {
  readonly begin: (subject: Subject, signal: AbortSignal) => Promise<Begun | Refused>
  /** Verifies by itself or by one read. The state was opened and marked as used before. */
  readonly finish: (input: Finish, signal: AbortSignal) => Promise<Shown | Refused>
  readonly directory?: Directory | undefined
}

const levels: readonly Assurance[] = ['low', 'substantial', 'high']

/** An adapter that shows more than its issuer may is broken: nothing of it is stored. */
export const assertShown = (issuer: IssuerKind, shown: Shown): void => {
  const faults = [
    shown.counted !== (shown.human !== undefined) ? 'counted and human disagree' : undefined,
    shown.counted && !issuer.counted ? 'it counts a human' : undefined,
    levels.indexOf(shown.level) > levels.indexOf(issuer.maxLevel)
      ? `its level ${shown.level} is above ${issuer.maxLevel}`
      : undefined,
    shown.level === 'high' && !shown.counted ? 'high without a counted human' : undefined,
    shown.human === '' ? 'the human has no code' : undefined,
    shown.expiresAt <= shown.checkedAt ? 'it expires before its check' : undefined,
  ].filter((fault) => fault !== undefined)
  if (faults.length > 0) throw new Error(`proof of issuer ${issuer.name} is impossible: ${faults.join(', ')}`)
}

/** What an issuer's kind cannot be: for issuers that are built, before any of them answers. */
export const assertKind = (issuer: IssuerKind): void => {
  if (issuer.maxLevel === 'high' && !issuer.counted)
    throw new Error(`issuer ${issuer.name} is high and counts nobody`)
  if (issuer.lifeDays <= 0 || issuer.lifeDays > 400)
    throw new Error(`issuer ${issuer.name} has a life of ${issuer.lifeDays} days`)
}
