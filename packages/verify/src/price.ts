import type { Assurance, CredentialKind, RootKind } from './claims.ts'

/** What 1,000 forged credentials cost: F0 below 1 USD, F1 1 to 10, F2 10 to 100, F3 100 to 1,000, F4 more. */
export const forgingClasses = ['F0', 'F1', 'F2', 'F3', 'F4'] as const
export type ForgingClass = (typeof forgingClasses)[number]

/** One way to get credentials without the human, measured or priced for one attempt. */
export type ForgingFamily = {
  readonly name: string
  readonly kind: CredentialKind | '*'
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

/** A root that is bought once. `item` names its price, and `actsPerDay` are the acts of one such item. */
type BoughtRoot = {
  readonly item: string
  readonly actsPerDay: number
  readonly lifeDays: number
  /** What all items of this root together have on one address in a day, where that is less than the network allows. */
  readonly actsPerAddressDay?: number | undefined
  readonly assurance: Assurance
  /** Whether a person who is hired has one already. */
  readonly isOwnedByHired: boolean
}

/** Everything from which a price table is computed. Prices are in US dollars, the low end of each market. */
export type ForgingInputs = {
  readonly measuredAt: string
  readonly pricedAt: string
  readonly wagePerHour: number
  readonly corePerHour: number
  readonly networks: readonly NetworkPrice[]
  readonly addressActsPerDay: number
  /** A stronger root multiplies the budget of the network. */
  readonly strongRootFactor: number
  readonly roots: Readonly<Record<Exclude<RootKind, 'network'>, BoughtRoot>>
  readonly items: Readonly<Record<string, number>>
  /** How long a hired person works for one act. */
  readonly hiredSeconds: number
  readonly families: readonly ForgingFamily[]
}

export type ForgingEntry = {
  readonly kind: CredentialKind | '*'
  readonly root: RootKind
  readonly assurance: Assurance
  readonly costPer1000: number
  readonly class: ForgingClass
  /** The cheapest family that is known. */
  readonly family: string
}

/** The largest power of ten that is not above the value, or 0. The exponent of the decimal notation is exact. */
export const roundDownToPowerOfTen = (value: number): number =>
  value > 0 && Number.isFinite(value) ? Number(`1e${value.toExponential().split('e')[1]}`) : 0

export const forgingClassOf = (costPer1000: number): ForgingClass =>
  forgingClasses[[1, 10, 100, 1_000].filter((bound) => costPer1000 >= bound).length] ?? 'F4'

const priceOfItem = (inputs: ForgingInputs, item: string): number => {
  const usd = inputs.items[item]
  if (usd === undefined) throw new Error(`no price for the item ${item}`)
  return usd
}

/** Bought roots that the attempt spends, each spread over the acts of its life. Roots among the fixed items count there. */
const boughtRootsCost = (inputs: ForgingInputs, { rootsSpent, fixed }: ForgingFamily): number =>
  rootsSpent.reduce((sum, { kind, acts }) => {
    if (kind === 'network') return sum
    const { item, actsPerDay, lifeDays } = inputs.roots[kind]
    if (fixed.some((bought) => bought.item === item)) return sum
    return sum + (priceOfItem(inputs, item) * acts) / (actsPerDay * lifeDays)
  }, 0)

/** How many acts one address allows in a day for an attempt that spends these roots. */
const actsPerAddressDay = (inputs: ForgingInputs, { rootsSpent }: ForgingFamily): number => {
  const strong = rootsSpent.flatMap(({ kind }) => (kind === 'network' ? [] : [inputs.roots[kind]]))
  const byNetwork = inputs.addressActsPerDay * (strong.length > 0 ? inputs.strongRootFactor : 1)
  return Math.min(byNetwork, ...strong.map((root) => root.actsPerAddressDay ?? byNetwork))
}

/** Addresses and traffic, by the cheapest way. */
const networkCost = (inputs: ForgingInputs, family: ForgingFamily): number => {
  const { rootsSpent, bytes } = family
  const acts = rootsSpent.reduce((sum, spent) => sum + (spent.kind === 'network' ? spent.acts : 0), 0)
  const perAddress = actsPerAddressDay(inputs, family)
  return Math.min(
    ...inputs.networks.map(
      ({ usdPerAddressDay, usdPerGigabyte }) =>
        (usdPerAddressDay * acts) / perAddress + (usdPerGigabyte * bytes) / 1e9,
    ),
  )
}

/** The cost of 1,000 forged credentials by one family, before rounding; infinite where it never succeeds. */
export const costPer1000 = (inputs: ForgingInputs, family: ForgingFamily): number => {
  const fixed = family.fixed.reduce(
    (sum, { item, quantity, lifeActs }) => sum + (priceOfItem(inputs, item) * quantity) / lifeActs,
    0,
  )
  const attempt =
    fixed +
    boughtRootsCost(inputs, family) +
    networkCost(inputs, family) +
    (family.humanSeconds * inputs.wagePerHour) / 3_600 +
    (family.cpuSeconds * inputs.corePerHour) / 3_600
  return (attempt * 1_000) / family.successRate
}

/** A person who is paid to do the act, with a network of their own. */
export const solverFamily = (inputs: ForgingInputs, root: RootKind): ForgingFamily => ({
  name: 'solver',
  kind: '*',
  root,
  assurance: root === 'network' ? 'low' : inputs.roots[root].assurance,
  successRate: 1,
  wallSeconds: inputs.hiredSeconds,
  cpuSeconds: 0,
  bytes: 0,
  humanSeconds: inputs.hiredSeconds,
  rootsSpent: root === 'network' || inputs.roots[root].isOwnedByHired ? [] : [{ kind: root, acts: 1 }],
  fixed: [],
})

const entryOf = (
  inputs: ForgingInputs,
  kind: ForgingEntry['kind'],
  families: readonly [ForgingFamily, ...ForgingFamily[]],
): ForgingEntry => {
  const [cheapest] = families
    .map((family) => ({ family, cost: costPer1000(inputs, family) }))
    .toSorted((a, b) => a.cost - b.cost)
  const { family, cost } = cheapest ?? { family: families[0], cost: 0 }
  const rounded = roundDownToPowerOfTen(cost)
  const { root, assurance } = families[0]
  return { kind, root, assurance, costPer1000: rounded, class: forgingClassOf(rounded), family: family.name }
}

const levelOf = ({ root, assurance }: ForgingFamily): string => `${root} ${assurance}`

/**
 * The entries of a price table. For each root and level: one for any kind, the least over all families, and one for each
 * kind that a family of its own gets. A hired person competes everywhere.
 */
export const forgingEntries = (inputs: ForgingInputs): ForgingEntry[] => {
  const roots: RootKind[] = ['network', 'authenticator', 'app', 'payout_account', 'external']
  const hired = roots.map((root) => solverFamily(inputs, root))
  // A family that never succeeds is left out: it would get an entry of its own and so raise the price of its kind.
  const successful = inputs.families.filter(({ successRate }) => successRate > 0)
  const all = [...hired, ...successful]
  return [...new Set(all.map(levelOf))].flatMap((level) => {
    const families = all.filter((family) => levelOf(family) === level)
    const [first] = families
    if (!first) return []
    const person = { ...solverFamily(inputs, first.root), assurance: first.assurance }
    const kinds = [...new Set(families.map(({ kind }) => kind))].filter((kind) => kind !== '*')
    return [
      entryOf(inputs, '*', [person, ...families]),
      ...kinds.map((kind) =>
        entryOf(inputs, kind, [
          person,
          ...families.filter((family) => family.kind === kind || family.kind === '*'),
        ]),
      ),
    ]
  })
}
