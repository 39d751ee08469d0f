import {
  credentialKinds,
  type Assurance,
  type CredentialKind,
  type RootClass,
  type RootKind,
} from './claims.ts'

/** What 1,000 forged credentials cost: F0 below 1 USD, F1 1 to 10, F2 10 to 100, F3 100 to 1,000, F4 more. */
export const forgingClasses = ['F0', 'F1', 'F2', 'F3', 'F4'] as const
export type ForgingClass = (typeof forgingClasses)[number]

/** A script that gets credentials without the human, measured for one attempt. */
export type ForgingFamily = {
  readonly name: string
  readonly kind: CredentialKind
  readonly root: RootKind
  readonly assurance: Assurance
  /** The share of attempts that end in a credential. */
  readonly successRate: number
  readonly wallSeconds: number
  readonly cpuSeconds: number
  readonly bytes: number
  readonly humanSeconds: number
  /** The acts that one attempt spends from the budget of a root. */
  readonly rootsSpent: readonly { readonly kind: RootKind; readonly acts: number }[]
  /** Things that are bought once and serve `lifeActs` attempts. */
  readonly fixed: readonly { readonly item: string; readonly quantity: number; readonly lifeActs: number }[]
}

/** A way to reach the service from an address: rented by the day, by traffic, or both. */
type NetworkPrice = {
  readonly name: string
  readonly usdPerAddressDay: number
  readonly usdPerGigabyte: number
}

/** One way to a unit of a root: bought, or used by its owner for pay. */
export type ForgingWay = {
  readonly by: 'buy' | 'hire'
  /** The price of one unit, or the rent that its owner asks. */
  readonly usd: number
  /** How many subjects one unit makes. */
  readonly subjects: number
  readonly lifeDays: number
}

/** `named`: somebody vouches. It has no market price, and counts only for readers who list the issuer. */
export type ForgingLevel = Assurance | 'named'

export type ForgingRoot = {
  /** What the issuer relies on. Roots of one class are not independent. */
  readonly class: RootClass
  readonly level: ForgingLevel
  /** Whether one unit is one subject of an agent. */
  readonly counted: boolean
  /** Whether a person confirms each act. Such a root prices the fresh claims of the kind in its name. */
  readonly confirmed: boolean
  /** The most acts that the service takes from one unit in a day. */
  readonly actsPerDay: number
  readonly ways: readonly ForgingWay[]
}

/** Kinds with a market price. A decision about an approval has none: it is worth what its approvers are. */
export type PricedKind = Exclude<CredentialKind, 'approval'>

/** Everything from which a price table is computed. Prices are in US dollars, the low end of each market. */
export type ForgingInputs = {
  readonly measuredAt: string
  readonly pricedAt: string
  /** A person who is hired for an attention check. */
  readonly wagePerHour: number
  /** A person who is hired with a root of their own. */
  readonly ownerWagePerHour: number
  /** To find one person and pay them for one task. */
  readonly searchUsd: number
  readonly corePerHour: number
  readonly networks: readonly NetworkPrice[]
  readonly addressActsPerDay: number
  readonly items: Readonly<Record<string, number>>
  /** The time that a person needs for the attention of one act. */
  readonly humanSeconds: Readonly<Record<PricedKind, number>>
  /** The time that a person needs to confirm one act with their root. */
  readonly confirmSeconds: number
  /** By kind; `<kind>_fresh` is the same root where a person confirms each act. */
  readonly roots: Readonly<Record<string, ForgingRoot>>
  readonly families: readonly ForgingFamily[]
}

/** US dollars for 1,000, rounded down to a power of ten, and the class. */
export type ForgingCost = { readonly usd: number; readonly class: ForgingClass }
/** `named`: only issuers vouch for it. */
export type ForgingPrice = ForgingCost | 'named'
/** `not_counted`: no root counts humans, so one of them can come back under any number of names. */
export type HumansPrice = ForgingPrice | 'not_counted'

/**
 * What one root costs for one kind: 1,000 acts at the ceiling, at 10 and at 1 a day for each human, and 1,000 distinct subjects. Where
 * the root does not count humans, a subject is a name.
 */
export type ForgingEntry = {
  readonly kind: PricedKind
  readonly root: string
  readonly level: ForgingLevel
  readonly actsB: ForgingPrice
  readonly acts10: ForgingPrice
  readonly acts1: ForgingPrice
  readonly humans: ForgingPrice
}

/** The largest power of ten that is not above the value, or 0. The exponent of the decimal notation is exact. */
export const roundDownToPowerOfTen = (value: number): number =>
  value > 0 && Number.isFinite(value) ? Number(`1e${value.toExponential().split('e')[1]}`) : 0

export const forgingClassOf = (usd: number): ForgingClass =>
  forgingClasses[[1, 10, 100, 1_000].filter((bound) => usd >= bound).length] ?? 'F4'

const costOf = (usd: number): ForgingCost => {
  const rounded = roundDownToPowerOfTen(usd)
  return { usd: rounded, class: forgingClassOf(rounded) }
}

const priceOfItem = (inputs: ForgingInputs, item: string): number => {
  const usd = inputs.items[item]
  if (usd === undefined) throw new Error(`no price for the item ${item}`)
  return usd
}

/** What one credential costs by this script, before rounding; infinite where it never succeeds. */
export const scriptCost = (inputs: ForgingInputs, family: ForgingFamily): number => {
  const fixed = family.fixed.reduce(
    (sum, { item, quantity, lifeActs }) => sum + (priceOfItem(inputs, item) * quantity) / lifeActs,
    0,
  )
  const network = Math.min(
    ...inputs.networks.map(
      ({ usdPerAddressDay, usdPerGigabyte }) =>
        usdPerAddressDay / inputs.addressActsPerDay + (usdPerGigabyte * family.bytes) / 1e9,
    ),
  )
  const time = (family.cpuSeconds * inputs.corePerHour + family.humanSeconds * inputs.wagePerHour) / 3_600
  return (fixed + network + time) / family.successRate
}

/** What the attention of one act costs where no root is asked for: by the cheapest script, or by a hired person. */
export const attentionCost = (
  inputs: ForgingInputs,
  kind: PricedKind,
): { readonly usd: number; readonly by: string } =>
  inputs.families
    .filter((family) => family.root === 'network' && family.kind === kind && family.successRate > 0)
    .map((family) => ({ usd: scriptCost(inputs, family), by: family.name }))
    .reduce((least, script) => (script.usd < least.usd ? script : least), {
      usd: (inputs.humanSeconds[kind] * inputs.wagePerHour) / 3_600,
      by: 'hired person',
    })

/** What a root adds to one act, or to one subject. `search`: finding its owner, paid once for all roots of that person. */
type Share = { readonly usd: number; readonly search: number }
type ShareOf = (root: ForgingRoot, way: ForgingWay) => Share

/** Every choice of one root for each class: within a class one purchase covers all, so the dearest choice is the price. */
const choicesOfRoots = (roots: readonly ForgingRoot[]): readonly (readonly ForgingRoot[])[] =>
  [...new Set(roots.map((root) => root.class))].reduce<readonly (readonly ForgingRoot[])[]>(
    (chosen, name) =>
      chosen.flatMap((some) => roots.filter((root) => root.class === name).map((root) => [...some, root])),
    [[]],
  )

/** The least over every choice of one way for each of these roots. */
const cheapestWays = (roots: readonly ForgingRoot[], shareOf: ShareOf): number => {
  const sums = roots.reduce<readonly Share[]>(
    (chosen, root) =>
      chosen.flatMap((sum) =>
        root.ways.map((way) => {
          const share = shareOf(root, way)
          return { usd: sum.usd + share.usd, search: Math.max(sum.search, share.search) }
        }),
      ),
    [{ usd: 0, search: 0 }],
  )
  return Math.min(...sums.map(({ usd, search }) => usd + search))
}

/** A root without a way costs nothing, as the network does. */
const costOfRoots = (roots: readonly ForgingRoot[], shareOf: ShareOf): number =>
  Math.max(
    ...choicesOfRoots(roots.filter(({ ways }) => ways.length > 0)).map((chosen) =>
      cheapestWays(chosen, shareOf),
    ),
  )

/** What 1,000 acts cost where one human gets at most `perDay` of them a day, before rounding. */
export const costOf1000Acts = (
  inputs: ForgingInputs,
  kind: PricedKind,
  roots: readonly ForgingRoot[],
  perDay = Infinity,
): number => {
  const shareOf: ShareOf = ({ counted, confirmed, actsPerDay }, { by, usd, subjects, lifeDays }) => {
    const acts = lifeDays * (counted ? Math.min(actsPerDay, perDay * subjects) : actsPerDay)
    const wage = by === 'hire' ? inputs.ownerWagePerHour : inputs.wagePerHour
    return {
      usd: usd / acts + (confirmed ? (inputs.confirmSeconds * wage) / 3_600 : 0),
      search: by === 'hire' ? inputs.searchUsd / acts : 0,
    }
  }
  return 1_000 * (attentionCost(inputs, kind).usd + costOfRoots(roots, shareOf))
}

/**
 * What 1,000 distinct subjects of one agent cost, before rounding. A counted root is spent once for each; one that counts nobody
 * adds what a single act with it costs.
 */
export const costOf1000Humans = (
  inputs: ForgingInputs,
  kind: PricedKind,
  roots: readonly ForgingRoot[],
): number => {
  const shareOf: ShareOf = (_root, { by, usd, subjects }) => ({
    usd: usd / subjects,
    search: by === 'hire' ? inputs.searchUsd / subjects : 0,
  })
  const uncounted = roots.filter(({ counted }) => !counted)
  const counted = roots.filter((root) => root.counted)
  return costOf1000Acts(inputs, kind, uncounted) + 1_000 * costOfRoots(counted, shareOf)
}

const isNamed = ({ level }: ForgingRoot): boolean => level === 'named'

/** Prices acts or humans. Where an issuer vouches beside other roots, the others are priced. */
const priceUnlessNamed = (
  roots: readonly ForgingRoot[],
  costOf1000: (priced: readonly ForgingRoot[]) => number,
): ForgingPrice => {
  const priced = roots.filter((root) => !isNamed(root))
  return priced.length === 0 && roots.length > 0 ? 'named' : costOf(costOf1000(priced))
}

const priceOfActs = (
  inputs: ForgingInputs,
  kind: PricedKind,
  roots: readonly ForgingRoot[],
  perDay?: number,
): ForgingPrice => priceUnlessNamed(roots, (priced) => costOf1000Acts(inputs, kind, priced, perDay))

const priceOfHumans = (
  inputs: ForgingInputs,
  kind: PricedKind,
  roots: readonly ForgingRoot[],
): ForgingPrice => priceUnlessNamed(roots, (priced) => costOf1000Humans(inputs, kind, priced))

const isPricedKind = ({ humanSeconds }: ForgingInputs, kind: string): kind is PricedKind =>
  Object.hasOwn(humanSeconds, kind)

/** The entries of a price table: each kind, each root by itself. Their order is that of the kinds, not of the inputs. */
export const forgingEntries = (inputs: ForgingInputs): ForgingEntry[] =>
  credentialKinds
    .filter((kind) => isPricedKind(inputs, kind))
    .flatMap((kind) =>
      Object.entries(inputs.roots).map(([name, root]) => ({
        kind,
        root: name,
        level: root.level,
        actsB: priceOfActs(inputs, kind, [root]),
        acts10: priceOfActs(inputs, kind, [root], 10),
        acts1: priceOfActs(inputs, kind, [root], 1),
        humans: priceOfHumans(inputs, kind, [root]),
      })),
    )

/** A root as a credential claims it; a kind or class of a later version is text. */
export type ClaimedRoot = {
  readonly kind: string
  readonly class: string
  readonly counted: boolean
  readonly fresh: boolean
  readonly issuer?: string | undefined
}

/** The claims that decide a price. */
export type PricedClaims = {
  readonly kind: string
  /** The agent that the credential was issued to. */
  readonly agent?: string | undefined
  readonly roots?: readonly ClaimedRoot[] | undefined
  readonly limit?: { readonly perHumanDay: number } | undefined
}

/** The root of the table that prices a claim; undefined where the table knows none, so that the claim raises no price. */
const findRoot = (
  { roots }: ForgingInputs,
  { kind, class: name, counted, fresh }: ClaimedRoot,
): ForgingRoot | undefined => {
  const root = Object.hasOwn(roots, kind) ? roots[kind] : undefined
  if (!root || root.confirmed || root.class !== name || root.counted !== counted) return undefined
  const variant = fresh && counted ? roots[`${kind}_fresh`] : undefined
  return variant?.confirmed === true && variant.class === name ? variant : root
}

export type Prices = { readonly acts: ForgingPrice; readonly humans: HumansPrice }

/**
 * The prices of a credential with these roots; undefined where the table does not know its kind. `perDay`: how many acts a day of one
 * human the reader accepts at most.
 */
export const priceOfRoots = (
  inputs: ForgingInputs,
  kind: string,
  roots: readonly ClaimedRoot[],
  perDay?: number,
): Prices | undefined => {
  if (!isPricedKind(inputs, kind)) return undefined
  const known = roots.flatMap((claimed) => findRoot(inputs, claimed) ?? [])
  const counted = known.filter((root) => root.counted)
  const isCountedByNameAlone = counted.length > 0 && counted.every(isNamed)
  return {
    acts: priceOfActs(inputs, kind, known, perDay),
    humans:
      counted.length === 0
        ? 'not_counted'
        : isCountedByNameAlone
          ? 'named'
          : priceOfHumans(inputs, kind, known),
  }
}

/** What the reader decides about the issuers and agents that a credential names. */
export type Trust = {
  /** Issuers of `named` roots that the reader believes, exactly as in the claim. */
  readonly trusted?: readonly string[] | undefined
  /** Agents whose limit of acts the reader relies on. Others could be made in any number, each with a limit of its own. */
  readonly pinnedAgents?: readonly string[] | undefined
}

/** The issuer on the reader's list who vouches for a credential; undefined where there is none. */
export const voucherOf = (
  { roots = [] }: Pick<PricedClaims, 'roots'>,
  trusted: readonly string[] = [],
): string | undefined =>
  roots.find(
    ({ kind, class: name, issuer }) =>
      kind === 'organization' && name === 'employer' && issuer !== undefined && trusted.includes(issuer),
  )?.issuer

export type CredentialPrice = Prices & {
  /** The issuer on the reader's list who vouches. Its word stands beside the prices and does not change them. */
  readonly vouchedBy: string | undefined
}

/**
 * What 1,000 such credentials cost to forge: 1,000 acts, and acts of 1,000 distinct humans. Undefined where the price is unknown:
 * the credential names no root, or the table does not know its kind.
 */
export const priceOf = (
  { inputs }: { readonly inputs: ForgingInputs },
  claims: PricedClaims,
  { trusted, pinnedAgents = [] }: Trust = {},
): CredentialPrice | undefined => {
  const { kind, agent, roots, limit } = claims
  if (roots === undefined) return undefined
  const pinned = new Set(pinnedAgents)
  // Each pinned agent gives one human a limit of its own, so several give their sum.
  const perDay =
    limit !== undefined && agent !== undefined && pinned.has(agent)
      ? limit.perHumanDay * pinned.size
      : undefined
  const prices = priceOfRoots(inputs, kind, roots, perDay)
  return prices && { ...prices, vouchedBy: voucherOf(claims, trusted) }
}

/** Whether a price reaches the class. What has no market price reaches none. */
export const reachesForging = (price: HumansPrice | undefined, minimum: ForgingClass): boolean =>
  typeof price === 'object' && forgingClasses.indexOf(price.class) >= forgingClasses.indexOf(minimum)
