import { createHash } from 'node:crypto'
import type { Assurance, CredentialKind, RootClass, RootKind } from '@pohf/protocol'
import type { Config } from '../platform/ops/config.ts'
import {
  addressPartsOf,
  isAddress,
  readClientAddress,
  type ClientAddress,
} from '../platform/http/client-address.ts'
import { hmacOf } from '../platform/ops/secrets.ts'

/** A kind of root that says more than a network. */
export type ShownRootKind = Exclude<RootKind, 'network'>

/** What was shown for an act besides its network: a device, an account or an outside proof. */
export type ShownRoot = {
  readonly kind: ShownRootKind
  readonly class: RootClass
  /** The one thing that has a budget: a credential key, a payout account, a nullifier. Undefined where a verdict names none. */
  readonly key: string | undefined
  /** What an operator can suspend: the model, the app or the issuer. */
  readonly name: string
  /** The address of an issuer, where its name alone does not say who it is. */
  readonly issuer?: string | undefined
  /** The assurance that it raises a credential to. A company by whose word alone nobody is known raises nothing. */
  readonly level: Assurance
  /** Whether its issuer counts each human once. */
  readonly counted: boolean
  /** Whether it answered in this act. */
  readonly fresh: boolean
  /** When it was checked. */
  readonly at: Date
}

/** What is so of every device and account of a kind, whoever made it. */
export const deviceFacts = {
  authenticator: { kind: 'authenticator', class: 'device:fido' },
  app: { kind: 'app', class: 'device:phone' },
} as const
export const payoutFacts = { kind: 'payout_account', class: 'bank', level: 'substantial' } as const

/** Roots that raise nothing can be made by anybody, so they raise no budget either. */
const raises = ({ level }: ShownRoot): boolean => level !== 'low'

/** Addresses of one session that are charged; a page that comes from more is refused. */
export const addressesMax = 8
/** How long a session that passed holds its places. */
export const reservationMs = 15 * 60_000
/** A stronger root multiplies the budget of the network. */
const strongFactor = 10
/** After the key of its day is destroyed, a session has this part of the budget. */
const oldDivisor = 10

const dayMs = 86_400_000
/** The UTC day of a time, as in `2026-11-16`. */
export const dayOf = (at: Date): string => at.toISOString().slice(0, 10)
export const dayBefore = (day: string): string => dayOf(new Date(Date.parse(day) - dayMs))

type Budget = { readonly hour: number; readonly day: number }
/** `narrow`: an IPv4 address or IPv6 /64. `wide`: an IPv4 /24 or IPv6 /48. */
type Budgets = { readonly narrow: Budget; readonly wide: Budget }
export const budgetsOf = (config: Config): Budgets => ({
  narrow: { hour: config.ROOT_ADDRESS_PER_HOUR, day: config.ROOT_ADDRESS_PER_DAY },
  wide: { hour: config.ROOT_NETWORK_PER_HOUR, day: config.ROOT_NETWORK_PER_DAY },
})

/** The budget of one key of a root in a UTC day. */
export const shownBudgetOf = (config: Config, kind: ShownRootKind): number =>
  kind === 'authenticator' || kind === 'app' ? config.ROOT_DEVICE_PER_DAY : config.ROOT_ACCOUNT_PER_DAY

const tagOf = (key: Buffer, ...parts: readonly string[]): string =>
  hmacOf(key).update(parts.join('\0')).digest().subarray(0, 16).toString('base64url')

/** Tags of an address under the key of a day, and the factor of its kind of network. */
export type NetworkTags = { readonly narrow: string; readonly wide: string; readonly factor: number }

export const networkTagsOf = (key: Buffer, address: ClientAddress, factor: number): NetworkTags => ({
  narrow: tagOf(key, 'address', address.narrow),
  wide: tagOf(key, 'network', address.wide),
  factor,
})

/** The network that an operator names: an address or /64, or a wide one. */
export const parseNetworkName = (
  name: string,
): { readonly address: ClientAddress; readonly isWide: boolean } | undefined => {
  const [, address = '', length] = /^([0-9A-Fa-f:.]{2,45})(?:\/(\d{1,3}))?$/.exec(name) ?? []
  if (!isAddress(address)) return undefined
  // The /48 of a 6to4 address is one IPv4 address, so it must not become a /24.
  const [narrow, wide] = addressPartsOf(address).length === 8 ? ['64', '48'] : ['32', '24']
  if (length !== undefined && length !== narrow && length !== wide) return undefined
  return { address: readClientAddress(address), isWide: length === wide }
}

export const shownTagOf = (key: Buffer, { kind, name }: ShownRoot, unit: string): string =>
  tagOf(key, kind, name, unit)

/** Names the roots of an act for as long as a session holds places of them, also where the key of the day changes meanwhile. */
export const refOf = (roots: readonly ShownRoot[]): string =>
  roots.length === 0
    ? ''
    : createHash('sha256')
        .update(roots.map(({ kind, name, key }) => [kind, name, key ?? ''].join('\0')).join('\n'))
        .digest('base64url')

/** How many credentials of a kind one human gets from an agent in a UTC day. */
export type HumanLimit = { readonly kind: CredentialKind; readonly perHumanDay: number }

/**
 * The prefix of counters that are exact. After a restore that lost a credential of the day, they have no place left until the
 * next day: `roots_take` reads the prefix.
 */
const humanPrefix = 'human.'

/** The counters of a limit: one for each root of the act that counts humans. No reservation holds a place of them. */
export const humanCounters = (
  key: Buffer,
  roots: readonly ShownRoot[],
  { agentId, limit }: { readonly agentId: string; readonly limit: HumanLimit },
): Counter[] =>
  roots.flatMap((root) =>
    root.counted && root.key !== undefined
      ? [
          {
            tag: `${humanPrefix}${tagOf(key, 'human', agentId, limit.kind, root.kind, root.name, root.key)}`,
            hour: null,
            day: limit.perHumanDay,
            agentHour: null,
            agentDay: null,
            limit: true as const,
          },
        ]
      : [],
  )

/** A counter that a credential takes a place of, with its limits; null where there is no such limit. */
export type Counter = {
  readonly tag: string
  readonly hour: number | null
  readonly day: number
  readonly agentHour: number | null
  readonly agentDay: number | null
  /** Set for the counter of a root itself, besides those of the network. */
  readonly strong?: true
  /** Set for a limit of acts that the agent has set for each human. */
  readonly limit?: true
}

/** A limit above zero never becomes zero by division. */
const part = (limit: number, divisor: number): number =>
  limit === 0 ? 0 : Math.max(1, Math.floor(limit / divisor))

/** How the budget of a network is changed for one credential. */
type BudgetScale = {
  /** The agent and the factor of a site with a budget of its own. */
  readonly site: { readonly agentId: string; readonly factor: number } | undefined
  readonly strong: boolean
  /** Whether the tags are those of a day whose key is destroyed. */
  readonly old: boolean
}

/** A site with a budget of its own and stronger roots have counters of their own, so that they use up no budget of others. */
const counterOf = (
  tag: string,
  budget: Budget,
  factor: number,
  { site, strong, old }: BudgetScale,
): Counter => {
  const times = factor * (site?.factor ?? 1) * (strong ? strongFactor : 1)
  const limitOf = (limit: number) => part(limit * times, old ? oldDivisor : 1)
  const [hour, day] = [limitOf(budget.hour), limitOf(budget.day)]
  return {
    tag: `${tag}${strong ? '.strong' : ''}${site ? `.${site.agentId}` : ''}`,
    hour,
    day,
    // No agent takes more than half of what all agents share.
    agentHour: site ? null : part(hour, 2),
    agentDay: site ? null : part(day, 2),
  }
}

/** Each counter once. Where parts of one /24 are listed with different kinds, the lower budget counts. */
const lowestByTag = (counters: readonly Counter[]): Counter[] =>
  [...Map.groupBy(counters, ({ tag }) => tag).values()].flatMap(
    (same) => same.toSorted((a, b) => a.day - b.day)[0] ?? [],
  )

/** The counters of every network that a session was seen from, each once. */
export const networkCounters = (
  networks: readonly NetworkTags[],
  budgets: Budgets,
  scale: BudgetScale,
): Counter[] => {
  const counters = networks.flatMap(({ narrow, wide, factor }) => [
    counterOf(narrow, budgets.narrow, factor, scale),
    counterOf(wide, budgets.wide, factor, scale),
  ])
  return lowestByTag(counters)
}

/** The keys of one model share a budget. On a wide network it is this many times the budget on one address. */
const wideFactor = 10

/**
 * Counters of a model of authenticators on every network of a session. One authenticator makes any number of keys, and batch
 * attestation names no unit, so the keys of a model on one address have the budget of one key together.
 */
export const modelCounters = (
  networks: readonly NetworkTags[],
  { name }: Pick<ShownRoot, 'name'>,
  { perDay, old }: { readonly perDay: number; readonly old: boolean },
): Counter[] => {
  const counters = networks.flatMap(({ narrow, wide, factor }): Counter[] => {
    const day = part(perDay * factor, old ? oldDivisor : 1)
    const wideDay = day * wideFactor
    const common = { hour: null, agentHour: null, strong: true } as const
    return [
      { ...common, tag: `${narrow}.${name}`, day, agentDay: null },
      // Neighbours in a wide network are strangers: no agent takes more than half of what they share.
      { ...common, tag: `${wide}.${name}`, day: wideDay, agentDay: part(wideDay, 2) },
    ]
  })
  return lowestByTag(counters)
}

/** How many returning browsers a /24 or /48 may have in a UTC day, multiplied by the factor of its kind of network. */
const browsersPerDay = 50

/** The counter of returning browsers. It is separate from the budget for credentials. */
export const browserPlace = ({ wide, factor }: NetworkTags) => ({
  tag: `${wide}.browser`,
  places: browsersPerDay * factor,
})

/** For an act of an agent without a known network: one counter for the agent, with a tenth of the budget of a wide network. */
export const unknownCounter = (agentId: string, { wide }: Budgets): Counter => ({
  tag: `unknown.${agentId}`,
  hour: part(wide.hour, oldDivisor),
  day: part(wide.day, oldDivisor),
  agentHour: null,
  agentDay: null,
})

/** What a credential spends besides a credit, as `credentials_mint` reads it. */
export type RootCharge = {
  /** The session whose reservation is used. */
  readonly session: string | null
  readonly counters: readonly Counter[]
  /** Wide and narrow tag of each network, to find the credentials that rest on it. */
  readonly networks: readonly (readonly [wide: string, narrow: string])[]
  /** The roots, none of which may be suspended since before it was checked, and the name of them all for reservations. */
  readonly roots?: readonly { readonly kind: ShownRootKind; readonly name: string; readonly at: Date }[]
  readonly ref?: string
}

/** Whether a root behind the charge has a budget that is apart from that of the network. */
export const isRaised = (roots: readonly ShownRoot[]): boolean => roots.some(raises)

/** Seconds until a budget is open again: the next clock hour, or the next UTC day. */
export const secondsUntilOpen = (at: Date, period: 'hour' | 'day'): number => {
  const periodMs = period === 'hour' ? 3_600_000 : dayMs
  return Math.ceil((periodMs - (at.getTime() % periodMs)) / 1_000)
}
