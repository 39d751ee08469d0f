// What a credential says in a sentence, and no more than its evidence does. No dependencies, as in telemetry.ts.
import type { Assurance, CredentialKind } from './operations.ts'

type Statements = Readonly<Record<Assurance, string>>

/** What was recorded at `low`, what answered at `substantial`, who vouches at `high`. */
const statements: Readonly<Record<CredentialKind, Statements>> = {
  view: {
    low: 'Attention was recorded',
    substantial: 'Attention was recorded, and an attested device answered',
    high: 'A unique human looked at this, says an issuer',
  },
  work: {
    low: 'Work was delivered and recorded',
    substantial: 'Work was delivered; an attested device or a paid account stands behind it',
    high: 'A unique human did this work, says an issuer',
  },
  presence: {
    low: 'Presence was reported for an enrolled member',
    substantial: 'Presence was reported, and an attested device answered',
    high: 'A unique human was there, says an issuer',
  },
  personhood: {
    low: 'An enrolled passkey stands behind this account',
    substantial: 'An attested device answered for this account',
    high: 'A unique human stands behind this account, says an issuer',
  },
  binding: {
    low: 'A payment was tied to a recorded act',
    substantial: 'A payment was tied to an act that an attested device or a paid account stands behind',
    high: 'A unique human stands behind this payment, says an issuer',
  },
  purchase: {
    low: 'Paid work was delivered and recorded',
    substantial: 'Paid work was delivered; an attested device or a paid account stands behind it',
    high: 'A unique human did this paid work, says an issuer',
  },
  approval: {
    low: 'A decision was signed with a passkey',
    substantial: 'A decision was signed on an attested device',
    high: 'A unique human signed this decision, says an issuer',
  },
}
/** The one sentence that says what is so, without its point. */
export const statementOf = (kind: CredentialKind, assurance: Assurance): string => statements[kind][assurance]

const supports: Statements = {
  low: 'Nothing says that a person did this: a script can do it for less than a cent. Use it to slow floods, not to protect value.',
  substantial:
    'A device that proved what it is answered in this act, or the worker’s account was paid before.',
  high: 'An issuer of proofs of unique humans stands behind it.',
}
/** An approver was enrolled by name, so a script needs their passkey. */
const approvedLow =
  'The passkey of the named approver signed it. No attested device answered, so a program that has this passkey can do the same.'
/** What the statement rests on, and what to use it for. */
export const supportOf = (kind: CredentialKind, assurance: Assurance): string =>
  kind === 'approval' && assurance === 'low' ? approvedLow : supports[assurance]
