import {
  assurances,
  forgingClasses,
  forgingDays,
  type Assurance,
  type CallFloor,
  type CredentialFloor,
  type CredentialKind,
  type CredentialPolicy,
  type ForgingFile,
  type RootClaim,
} from '@pohf/protocol'
import { priceOfRoots, reachesForging, type HumansPrice } from '@pohf/verify'
import { policyOf } from '../rules.ts'

const daySeconds = 86_400

/** What is signed of a table: it is valid for 90 days from its date, whenever it is signed. */
export const forgingPayload = ({ date, ...content }: ForgingFile, issuer: string) => {
  const iat = Date.parse(date) / 1_000
  return { iss: issuer, iat, exp: iat + forgingDays * daySeconds, ...content }
}

const isExpired = ({ date }: ForgingFile, at: Date): boolean =>
  at.getTime() >= Date.parse(date) + forgingDays * daySeconds * 1_000

/** What a credential says, or will say, of its strength. */
export type CredentialStrength = {
  readonly kind: CredentialKind
  readonly assurance: Assurance
  readonly roots?: readonly Pick<RootClaim, 'kind' | 'class' | 'counted' | 'fresh'>[] | undefined
  /** The limit of acts that the mint counts for it. It raises the price, because it is the agent's own. */
  readonly limit?: { readonly perHumanDay: number } | undefined
}

/** The prices of such a credential at this time; undefined where no price is known. */
const pricesAt = (file: ForgingFile, { kind, roots, limit }: CredentialStrength, at: Date) =>
  roots === undefined || isExpired(file, at)
    ? undefined
    : priceOfRoots(file.inputs, kind, roots, limit?.perHumanDay)

/** What one forged act with this root alone costs in USD, by the price of 1,000; undefined where no price is known. */
export const forgingPriceUsd = (
  file: ForgingFile,
  kind: CredentialKind,
  root: RootClaim['kind'],
  at: Date,
): number | undefined => {
  const priced = file.inputs.roots[root]
  if (!priced || isExpired(file, at)) return undefined
  const acts = priceOfRoots(file.inputs, kind, [{ kind: root, ...priced, fresh: false }])?.acts
  return typeof acts === 'object' ? acts.usd / 1_000 : undefined
}

const higher = <T extends string>(order: readonly T[], a: T | undefined, b: T | undefined): T | undefined =>
  a === undefined || (b !== undefined && order.indexOf(b) > order.indexOf(a)) ? b : a

/**
 * The floor of a call: the stricter of both, field by field. A call raises the policy of the profile and never lowers it. The limit
 * of acts is the profile's alone.
 */
export const floorOf = (policy: CredentialPolicy, kind: CredentialKind, call: CallFloor): CredentialFloor => {
  const profile = policyOf(policy, kind)
  return {
    minAssurance: higher(assurances, profile?.minAssurance, call.minAssurance),
    minForging: higher(forgingClasses, profile?.minForging, call.minForging),
    minForgingHuman: higher(forgingClasses, profile?.minForgingHuman, call.minForgingHuman),
    maxActsPerHumanPerDay: profile?.maxActsPerHumanPerDay,
  }
}

const textOf = (price: HumansPrice | undefined): string => {
  if (price === undefined) return 'an unknown price'
  return typeof price === 'object' ? price.class : 'what its issuer is worth to the reader'
}

/** Why a credential is below the floor, in words; undefined where it is not. An unknown price reaches no class. */
export const floorFault = (
  floor: CredentialFloor,
  strength: CredentialStrength,
  table: { readonly file: ForgingFile; readonly at: Date },
): string | undefined => {
  const { minAssurance, minForging, minForgingHuman, maxActsPerHumanPerDay } = floor
  if (minAssurance !== undefined && assurances.indexOf(strength.assurance) < assurances.indexOf(minAssurance))
    return `the assurance is ${strength.assurance}, and the policy asks for ${minAssurance}`
  const isCounted = strength.roots?.some(({ counted }) => counted) === true
  if (maxActsPerHumanPerDay !== undefined && !isCounted)
    return 'no root of the act counts humans, and the policy limits the acts of each'
  if (minForging === undefined && minForgingHuman === undefined) return undefined
  const prices = pricesAt(table.file, strength, table.at)
  if (minForging !== undefined && !reachesForging(prices?.acts, minForging))
    return `forging it costs ${textOf(prices?.acts)}, and the policy asks for ${minForging}`
  if (minForgingHuman === undefined || reachesForging(prices?.humans, minForgingHuman)) return undefined
  return prices?.humans === 'not_counted'
    ? `no root of the act counts humans, and the policy asks for ${minForgingHuman} for distinct ones`
    : `forging distinct humans costs ${textOf(prices?.humans)}, and the policy asks for ${minForgingHuman}`
}
