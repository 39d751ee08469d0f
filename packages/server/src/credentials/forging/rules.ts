import {
  assurances,
  forgingClasses,
  forgingDays,
  type Assurance,
  type CredentialFloor,
  type CredentialKind,
  type CredentialPolicy,
  type ForgingFile,
  type RootClaim,
} from '@pohf/protocol'
import { findForgingEntry, reachesForging } from '@pohf/verify'

const daySeconds = 86_400

/** What is signed of a table: it is valid for 90 days from its date, whenever it is signed. */
export const forgingPayload = ({ date, ...content }: ForgingFile, issuer: string) => {
  const iat = Date.parse(date) / 1_000
  return { iss: issuer, iat, exp: iat + forgingDays * daySeconds, ...content }
}

/** The entry that prices such a credential at this time; undefined where the table is expired or has none. */
const entryAt = (file: ForgingFile, strength: CredentialStrength, at: Date) =>
  at.getTime() >= Date.parse(file.date) + forgingDays * daySeconds * 1_000
    ? undefined
    : findForgingEntry(file, strength)

/** What one forged credential costs in USD, by the price of 1,000; undefined where no price is known. */
export const forgingPriceUsd = (
  file: ForgingFile,
  strength: CredentialStrength,
  at: Date,
): number | undefined => {
  const entry = entryAt(file, strength, at)
  return entry && entry.costPer1000 / 1_000
}

const higher = <T extends string>(order: readonly T[], a: T | undefined, b: T | undefined): T | undefined =>
  a === undefined || (b !== undefined && order.indexOf(b) > order.indexOf(a)) ? b : a

/** The floor of a call: the stricter of both, field by field. A call raises the policy of the profile and never lowers it. */
export const floorOf = (
  policy: CredentialPolicy,
  kind: CredentialKind,
  call: CredentialFloor,
): CredentialFloor => {
  const profile = kind === 'binding' || kind === 'purchase' || kind === 'approval' ? undefined : policy[kind]
  return {
    minAssurance: higher(assurances, profile?.minAssurance, call.minAssurance),
    minForging: higher(forgingClasses, profile?.minForging, call.minForging),
  }
}

/** What a credential says, or will say, of its strength. */
export type CredentialStrength = {
  readonly kind: CredentialKind
  readonly assurance: Assurance
  readonly root?: RootClaim | undefined
}

/** Why a credential is below the floor, in words; undefined where it is not. An unknown price reaches no class. */
export const floorFault = (
  floor: CredentialFloor,
  strength: CredentialStrength,
  table: { readonly file: ForgingFile; readonly at: Date },
): string | undefined => {
  const { minAssurance, minForging } = floor
  if (minAssurance !== undefined && assurances.indexOf(strength.assurance) < assurances.indexOf(minAssurance))
    return `the assurance is ${strength.assurance}, and the policy asks for ${minAssurance}`
  if (minForging === undefined) return undefined
  const entry = entryAt(table.file, strength, table.at)
  if (reachesForging(entry, minForging)) return undefined
  return `forging it costs ${entry?.class ?? 'an unknown price'}, and the policy asks for ${minForging}`
}
