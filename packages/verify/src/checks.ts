import { checkApproval } from './approval-policy.ts'
import { assurances, isObject, type SignedClaims } from './claims.ts'
import type { Options } from './policy.ts'
import { voucherOf } from './price.ts'
import { CredentialRefusal, type CheckName } from './refusal.ts'

/** The tolerated difference between two clocks. */
export const leewaySeconds = 60

export type VerificationContext = { readonly options: Options; readonly nowSeconds: number }
export type CheckFinding = { readonly note: string; readonly skipped?: true }
type ClaimCheck = readonly [CheckName, (claims: SignedClaims, context: VerificationContext) => CheckFinding]

/** The version of the claims. It is read before them, because a later version may have others. */
const knownVersion = 'v1'
export const checkVersion = ({ vct }: Readonly<Record<string, unknown>>): void => {
  const version = typeof vct === 'string' ? /\/credentials\/[^/]+\/(v\d{1,9})$/.exec(vct)?.[1] : undefined
  if (version !== undefined && version !== knownVersion)
    throw new CredentialRefusal(
      'unknown_version',
      `The credential has version ${version}; this verifier knows ${knownVersion}.`,
    )
}

const checkIssuer: ClaimCheck[1] = ({ iss }, { options: { issuer } }) => {
  if (iss !== issuer && iss !== `${issuer}/test`)
    throw new CredentialRefusal('wrong_issuer', `Issued by ${iss.slice(0, 200)}, not by ${issuer}.`)
  return { note: iss }
}

const checkMode: ClaimCheck[1] = ({ iss, test }, { options }) => {
  const byIssuer = iss !== options.issuer
  if (byIssuer !== (test === true))
    throw new CredentialRefusal('test_credential', 'The issuer and the test mark disagree.')
  if (byIssuer && options.policy.allowTest !== true)
    throw new CredentialRefusal('test_credential', 'A test credential: no person was involved.')
  return { note: byIssuer ? 'a test credential, as allowed' : 'a live credential' }
}

const checkKind: ClaimCheck[1] = (claims, { options: { issuer, policy } }) => {
  const { kind, vct } = claims
  if (!policy.kinds.includes(kind))
    throw new CredentialRefusal(
      'wrong_kind',
      `Of kind ${kind.slice(0, 32)}; wanted: ${policy.kinds.join(', ')}.`,
    )
  if (vct !== `${issuer}/credentials/${kind}/${knownVersion}` || !isObject(claims[kind]))
    throw new CredentialRefusal('wrong_kind', 'The kind and the rest of the credential disagree.')
  return { note: kind }
}

const checkExpiry: ClaimCheck[1] = ({ exp }, { nowSeconds }) => {
  if (nowSeconds >= exp + leewaySeconds) throw new CredentialRefusal('expired', `Expired ${at(exp)}.`)
  return { note: `good until ${at(exp)}` }
}

const checkIssued: ClaimCheck[1] = ({ iat, exp }, { nowSeconds }) => {
  if (iat > nowSeconds + leewaySeconds)
    throw new CredentialRefusal(
      'issued_in_future',
      `Issued ${at(iat)}, which is still to come. Is your clock right?`,
    )
  if (iat > exp) throw new CredentialRefusal('issued_in_future', 'Issued after its own end.')
  return { note: `issued ${at(iat)}` }
}

const checkVerified: ClaimCheck[1] = ({ verified }) => {
  if (verified !== true)
    throw new CredentialRefusal('not_verified', 'The credential does not say that anyone was verified.')
  return { note: 'the issuer says so' }
}

/** An organization signs at `low`, because its word is worth what the reader thinks of it. */
const checkAssurance: ClaimCheck[1] = (claims, { options: { policy } }) => {
  const { assurance } = claims
  const voucher = voucherOf(claims, policy.trustedIssuers)
  const reached = assurance === 'low' && voucher !== undefined ? 'substantial' : assurance
  if (assurances.indexOf(reached) < assurances.indexOf(policy.minAssurance))
    throw new CredentialRefusal(
      'assurance_too_low',
      `Assurance ${reached}; wanted: ${policy.minAssurance} or better.`,
    )
  return { note: reached === assurance ? assurance : `${reached}, because you trust ${voucher}` }
}

const checkQuality: ClaimCheck[1] = ({ quality }, { options: { policy } }) => {
  if (quality === undefined) {
    if (policy.minQuality > 0) throw new CredentialRefusal('quality_too_low', 'No attention was measured.')
    return { note: 'not measured, and not asked for', skipped: true }
  }
  if (quality < policy.minQuality)
    throw new CredentialRefusal(
      'quality_too_low',
      `Quality ${quality}; wanted: ${policy.minQuality} or better.`,
    )
  return { note: String(quality) }
}

const checkChallenge: ClaimCheck[1] = ({ challenge }, { options: { policy } }) => {
  if (policy.challenge === undefined)
    return {
      note: challenge === undefined ? 'not asked for' : 'has one that you did not ask for',
      skipped: true,
    }
  if (challenge !== policy.challenge)
    throw new CredentialRefusal('wrong_challenge', 'Made for another occasion: the challenge is not yours.')
  return { note: 'is yours' }
}

const checkAge: ClaimCheck[1] = ({ event_at }, { options: { policy }, nowSeconds }) => {
  const age = Math.max(0, nowSeconds - event_at)
  if (policy.maxAgeSeconds === undefined) return { note: 'not asked for', skipped: true }
  if (age > policy.maxAgeSeconds)
    throw new CredentialRefusal(
      'too_old',
      `The act ended ${age} s ago; wanted: at most ${policy.maxAgeSeconds} s.`,
    )
  return { note: `the act ended ${age} s ago` }
}

const at = (seconds: number): string => {
  const date = new Date(seconds * 1_000)
  return Number.isNaN(date.getTime())
    ? 'at no date we know'
    : `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** The checks before those of the status list and the price table, which cost a download. */
export const claimChecks: readonly ClaimCheck[] = [
  ['issuer', checkIssuer],
  ['mode', checkMode],
  ['kind', checkKind],
  ['expiry', checkExpiry],
  ['issued', checkIssued],
  ['verified', checkVerified],
  ['assurance', checkAssurance],
  ['quality', checkQuality],
  ['challenge', checkChallenge],
  ['approval', (claims, { options: { policy } }) => checkApproval(claims, policy)],
]
/** The checks after them. */
export const lastChecks: readonly ClaimCheck[] = [['age', checkAge]]
