import {
  checkNames,
  decodeUnverified,
  type Check,
  type CheckName,
  type Claims,
  type Reason,
  type Result,
  type Root,
} from '@pohf/verify'
import {
  statementOf,
  type Statement,
  type StatementColour,
  type StatementContext,
} from '@pohf/protocol/statements'
import type { SealState } from '../design/seal-state.ts'
import { formatDuration } from '../design/duration.ts'
import { ago, dateOf } from './messages.ts'

type Tone = 'ok' | 'known' | 'none' | 'warn' | 'stop' | 'test'
export const toneOf: Readonly<Record<StatementColour, Tone>> = {
  grey: 'none',
  blue: 'known',
  green: 'ok',
  amber: 'warn',
}
/** What the page shows for a result. `claims` only where the issuer's signature is good. */
export type Outcome = {
  readonly seal: SealState
  readonly tone: Tone
  readonly chip: string
  readonly headline: string
  readonly lead: string
  readonly claims?: Claims
  /** Of a valid live credential. */
  readonly statement?: Statement
  readonly mayRetry?: true
}

type VerificationContext = {
  readonly jwt: string
  readonly issuer: string
  readonly nowSeconds: number
  /** What the page knows besides the credential. */
  readonly known?: StatementContext
}

const stated = (claims: Claims, { nowSeconds, known }: VerificationContext): Outcome => {
  const statement = statementOf(claims, known)
  return {
    seal: 'valid',
    tone: toneOf[statement.colour],
    chip: 'Valid',
    headline: statement.seen,
    lead: `The act ended ${ago(nowSeconds - claims.event_at)}.`,
    claims,
    statement,
  }
}

const accepted = (claims: Claims, seen: VerificationContext): Outcome =>
  claims.test
    ? {
        seal: 'test',
        tone: 'test',
        chip: 'Test',
        headline: 'A test credential: no person was involved.',
        lead: 'A test key signed it. Its content is simulated and proves nothing.',
        claims,
      }
    : stated(claims, seen)

type Refusal = { readonly reason: Reason; readonly message: string; readonly claims: Claims | undefined }

/** The issuer that a token claims. It is shown and never trusted. */
const claimedIssuer = (jwt: string): string | undefined => {
  const issuer = decodeUnverified(jwt)?.['iss']
  return typeof issuer === 'string' ? issuer.slice(0, 120) : undefined
}

const forged = (message: string): Outcome => ({
  seal: 'forged',
  tone: 'stop',
  chip: 'Forged',
  headline: 'Forged, or changed after it was signed.',
  lead: `${message} Nothing that it says can be believed, so nothing of it is shown.`,
})

const foreignIssuer = (issuer: string, said: string): Outcome => ({
  seal: 'blank',
  tone: 'warn',
  chip: 'Not from here',
  headline: 'This page cannot tell.',
  lead: `The text says that it was issued by ${said}. This page knows only the keys of ${issuer}, and none of them signed it.`,
})

const notACredential = (jwt: string): Outcome => ({
  seal: 'blank',
  tone: 'warn',
  chip: 'Not a credential',
  headline: 'This is not a credential.',
  lead: /^svc_(live|test)_/.test(jwt)
    ? 'It looks like an API key. It stayed in this page, but a key belongs in no form: paste the credential, which begins with eyJ.'
    : 'A credential is one long line that begins with eyJ and has two dots in it. Was the whole of it copied?',
})

const unreachable = (what: string, message: string): Outcome => ({
  seal: 'waiting',
  tone: 'warn',
  chip: 'Not checked',
  headline: `The ${what} could not be read.`,
  lead: `${message} Without it nothing can be said either way: the credential may be good or bad.`,
  mayRetry: true,
})

/** The signature is valid, and the credential is still not accepted. */
const withClaims = (outcome: Omit<Outcome, 'claims'>, claims: Claims | undefined): Outcome =>
  claims ? { ...outcome, claims } : outcome

const revoked = {
  seal: 'revoked',
  tone: 'stop',
  chip: 'Revoked',
  headline: 'Revoked. Do not rely on it.',
  lead: 'It was issued here and was revoked later. A revocation is final.',
} as const

const suspended = {
  seal: 'waiting',
  tone: 'warn',
  chip: 'Suspended',
  headline: 'Suspended. Wait before you rely on it.',
  lead: 'It was issued here and is suspended. It will be reinstated or revoked; check again later.',
} as const

const expired = (claims: Claims | undefined, nowSeconds: number) =>
  ({
    seal: 'waiting',
    tone: 'warn',
    chip: 'Expired',
    headline: claims ? `It expired ${ago(nowSeconds - claims.exp)}.` : 'It has expired.',
    lead: 'It was valid until then. Ask for a new one.',
  }) as const

const issuedInFuture = (message: string) =>
  ({
    seal: 'waiting',
    tone: 'warn',
    chip: 'Not yet',
    headline: 'Its date of issue is in the future.',
    lead: `${message} The clock of this device may be wrong.`,
  }) as const

const wrongChallenge = {
  seal: 'revoked',
  tone: 'stop',
  chip: 'Not for you',
  headline: 'It was made for another challenge.',
  lead: 'Its signature is valid, but it does not contain the challenge that you typed. It may be a copy of another credential.',
} as const

const notAccepted = (message: string): Outcome => ({
  seal: 'revoked',
  tone: 'stop',
  chip: 'Refused',
  headline: 'Signed here, yet not a credential that this page accepts.',
  lead: message,
})

const refused = (
  { reason, message, claims }: Refusal,
  { jwt, issuer, nowSeconds }: VerificationContext,
): Outcome => {
  switch (reason) {
    case 'malformed':
    case 'too_large':
      return notACredential(jwt)
    case 'header_refused':
    case 'unknown_key':
    case 'bad_signature': {
      const claimed = claimedIssuer(jwt)
      const ours = claimed === undefined || claimed === issuer || claimed === `${issuer}/test`
      return ours ? forged(message) : foreignIssuer(issuer, claimed)
    }
    case 'wrong_issuer':
      return foreignIssuer(issuer, claimedIssuer(jwt) ?? 'nobody')
    case 'keys_unavailable':
      return unreachable('list of keys', message)
    case 'status_unavailable':
    case 'status_invalid':
    case 'status_missing':
      return withClaims(unreachable('status list', message), claims)
    case 'revoked':
      return withClaims(revoked, claims)
    case 'suspended':
      return withClaims(suspended, claims)
    case 'expired':
      return withClaims(expired(claims, nowSeconds), claims)
    case 'issued_in_future':
      return withClaims(issuedInFuture(message), claims)
    case 'wrong_challenge':
      return withClaims(wrongChallenge, claims)
    case 'claims_malformed':
    case 'unknown_version':
    case 'test_credential':
    case 'wrong_kind':
    case 'not_verified':
    case 'assurance_too_low':
    case 'quality_too_low':
    case 'forging_unknown':
    case 'forging_too_cheap':
    case 'forging_too_cheap_human':
    case 'not_counted':
    case 'approval_policy_missing':
    case 'not_approved':
    case 'not_enrolled_by':
    case 'too_few_approvers':
    case 'key_not_bound':
    case 'key_too_new':
    case 'shown_too_short':
    case 'too_old':
      return notAccepted(message)
  }
}

const signatureIsGood = (checks: readonly Check[]): boolean =>
  checks.some((check) => check.name === 'claims' && check.ok)

export const outcomeOf = (result: Result, seen: VerificationContext): Outcome =>
  result.ok
    ? accepted(result.claims, seen)
    : refused(
        {
          reason: result.reason,
          message: result.message,
          // After the check named claims these are the issuer's own words.
          claims: signatureIsGood(result.checks)
            ? (decodeUnverified(seen.jwt) as unknown as Claims | undefined)
            : undefined,
        },
        seen,
      )

export type CheckLine = { readonly sign: '✓' | '✗' | '–'; readonly text: string }

type Group = {
  readonly label: string
  readonly names: readonly CheckName[]
  readonly good: (claims: Claims | undefined, nowSeconds: number) => string
}
const groups: readonly Group[] = [
  { label: 'Form', names: ['form', 'header'], good: () => 'Form and header, nothing hidden' },
  { label: 'Signature', names: ['key', 'signature'], good: () => 'Signature, by a key of the issuer' },
  {
    label: 'Issuer and kind',
    names: ['claims', 'issuer', 'mode', 'kind', 'verified', 'assurance', 'quality'],
    good: (claims) =>
      claims ? `Issuer and kind: ${claims.kind}, ${claims.test ? 'test' : 'live'}` : 'Issuer and kind',
  },
  {
    label: 'Dates',
    names: ['expiry', 'issued'],
    good: (claims, nowSeconds) =>
      claims ? `Not expired, ${formatDuration(Math.max(0, claims.exp - nowSeconds))} left` : 'Not expired',
  },
  { label: 'Challenge', names: ['challenge'], good: () => 'Your challenge' },
  { label: 'Status', names: ['status'], good: () => 'Not revoked' },
]

/** The checks in six plain lines; checks after a failure were not reached. */
export const summarizeChecks = (
  checks: readonly Check[],
  claims: Claims | undefined,
  nowSeconds: number,
): CheckLine[] =>
  groups.map(({ label, names, good }) => {
    const found = names.flatMap((name) => checks.find((check) => check.name === name) ?? [])
    const failed = found.find((check) => !check.ok)
    if (failed) return { sign: '✗', text: failed.note }
    const skipped = found.find((check) => check.skipped && check.name !== 'quality')
    if (skipped) return { sign: '–', text: `${label}: ${skipped.note}` }
    if (found.length < names.length) return { sign: '–', text: `${label}: not reached` }
    return { sign: '✓', text: good(claims, nowSeconds) }
  })

const labels: Readonly<Record<CheckName, string>> = {
  form: 'Form',
  header: 'Header',
  key: 'Key',
  signature: 'Signature',
  claims: 'Claims',
  issuer: 'Issuer',
  mode: 'Mode',
  kind: 'Kind',
  expiry: 'Expiry',
  issued: 'Issue date',
  verified: 'Verified',
  assurance: 'Assurance',
  quality: 'Quality',
  challenge: 'Challenge',
  status: 'Status',
  approval: 'Approval',
  forging: 'Forging',
  age: 'Age',
}

/** Every check with its note, also those that were not reached. */
export const allChecks = (checks: readonly Check[]): CheckLine[] =>
  checkNames.map((name) => {
    const check = checks.find((candidate) => candidate.name === name)
    if (!check) return { sign: '–', text: `${labels[name]}: not reached` }
    return { sign: !check.ok ? '✗' : check.skipped ? '–' : '✓', text: `${labels[name]}: ${check.note}` }
  })

/** A root as it is signed. */
const rootText = ({ kind, class: source, model, issuer, counted, fresh, at }: Root): string =>
  [
    kind,
    source,
    ...(model === undefined ? [] : [model]),
    ...(issuer === undefined ? [] : [issuer]),
    counted ? 'counted' : 'not counted',
    fresh ? 'in this act' : dateOf(at),
  ].join(', ')

/** The claims that people ask for, as label and value. */
export const claimFacts = (claims: Claims): readonly (readonly [string, string, 'id' | 'text'])[] => [
  ['Credential', claims.jti, 'id'],
  ['Subject, as this agent sees it', claims.sub, 'id'],
  ['Made for agent', claims.agent, 'id'],
  ...(claims.roots ?? []).map((root) => ['Root', rootText(root), 'text'] as const),
  ...(claims.limit === undefined
    ? []
    : ([['Acts a day of one human', String(claims.limit.perHumanDay), 'text']] as const)),
  ...(claims.wallet === undefined ? [] : ([['Wallet', claims.wallet, 'id']] as const)),
  ...(claims.wallet_type === 'contract'
    ? ([['Wallet is', `a contract on chain ${claims.wallet_chain}`, 'text']] as const)
    : []),
  ...(claims.binding === undefined
    ? []
    : ([
        ['Payment', claims.binding.payment_ref, 'id'],
        ['Payment rail', `${claims.binding.rail}, ${claims.binding.assurance}`, 'text'],
      ] as const)),
  ...(claims.presence === undefined
    ? []
    : ([['Shown by', claims.presence.source.replace('_', ' '), 'text']] as const)),
  ...(claims.approval === undefined
    ? []
    : ([
        ['Approval', claims.approval.id, 'id'],
        ['Type of the action', claims.approval.type, 'text'],
        ['Decision', claims.approval.decision === 'approve' ? 'approved' : 'denied', 'text'],
        ['To be used by', dateOf(claims.approval.consume_by), 'text'],
        ['Envelope hash', claims.approval.envelope_hash, 'id'],
      ] as const)),
  ...(claims.approver === undefined
    ? []
    : ([
        ['Approver', claims.approver.ref, 'id'],
        ['Enrolled by', claims.approver.enrolled.by, 'id'],
        ...(claims.approver.model === undefined
          ? []
          : ([['Model of the key', claims.approver.model, 'id']] as const)),
      ] as const)),
  ...(claims.challenge === undefined ? [] : ([['Challenge', claims.challenge, 'id']] as const)),
  ['Act ended', dateOf(claims.event_at), 'text'],
  ['Good until', dateOf(claims.exp), 'text'],
  ...(claims.telemetry === undefined ? [] : ([['Telemetry root', claims.telemetry.root, 'id']] as const)),
]
