// What so many forged credentials in one day need at each level, as the budgets of this version let them through.
import { randomBytes } from 'node:crypto'
import type { Harness } from '../../../server/test/fixtures/harness.ts'
import { grantCredits } from '../../../server/test/fixtures/payments/ledger.ts'
import type { AttestedModel } from '../../../server/test/fixtures/people/attested-model.ts'
import { registerConfirmedAgent } from '../../../server/test/fixtures/people/member.ts'
import { openSecurityKey } from '../../../server/test/fixtures/people/security-key.ts'
import {
  countUntilRefused,
  forge,
  forgeInOneDay,
  ipv4Network,
  ipv6Network,
  isMinted,
  measureNetwork,
  singleAddress,
  type AuthenticatorKey,
  type Capacity,
  type Network,
} from './day.ts'
import type { Site } from './family.ts'

type DayOptions = {
  /** How many are to be forged in a UTC day. */
  readonly forgeries: number
  /** Where a measurement of one network stops that is never refused. */
  readonly max: number
}

type LowNeeds = {
  readonly address: Capacity
  readonly network24: Capacity
  readonly network48: Capacity
  /** The same /24 where all credentials are for one site. */
  readonly network24ForOneSite: Capacity
  readonly addresses: number
  readonly networks24: number
  /** What came out of a day with exactly so many /24 networks. */
  readonly minted: number
}

type SubstantialNeeds = {
  /** One key, from another network each time. */
  readonly key: Capacity
  /** One authenticator that makes a new key for each act, from another network each time: nothing but the device could run out. */
  readonly authenticator: Capacity
  /** The same authenticator at one address, in one /24, and in one /24 for one site. */
  readonly address: Capacity
  readonly network24: Capacity
  readonly network24ForOneSite: Capacity
  readonly keys: number
  readonly authenticators: number
  readonly addresses: number
  readonly networks24: number
}

export type DayNeeds = {
  readonly forgeries: number
  readonly low: LowNeeds
  readonly substantial: SubstantialNeeds
}

/** How many of something are needed; one does where nothing limits it. */
export const unitsNeeded = (forgeries: number, { perDay, isLimited }: Capacity): number =>
  isLimited ? (perDay === 0 ? Infinity : Math.ceil(forgeries / perDay)) : 1

/** A forger sends visitors to several sites: one site gets no more than its share of a network's budget. */
const sitesCount = 4
const creditsEach = 1_000_000n

const registerSites = async (harness: Harness): Promise<Site[]> => {
  const sites: Site[] = []
  for (let n = 0; n < sitesCount; n += 1) {
    const name = `day-${randomBytes(4).toString('hex')}.example`
    const site = await registerConfirmedAgent(harness, 'live', `dev@${name}`)
    await grantCredits(harness, site, creditsEach)
    sites.push(site)
  }
  return sites
}

type Ask = (address: string) => Promise<boolean>

/**
 * Asks at one site after the other until one mints, each time from the next site on. With `keyOf` a key answers for the
 * session, and only what reaches `substantial` counts.
 */
const askAt = (harness: Harness, sites: readonly Site[], keyOf?: () => AuthenticatorKey): Ask => {
  let asked = 0
  return async (address) => {
    const first = asked++ % sites.length
    for (const site of [...sites.slice(first), ...sites.slice(0, first)]) {
      const outcome = await forge(harness, { site, address, key: keyOf?.() })
      if (isMinted(outcome, keyOf ? 'substantial' : 'low')) return true
    }
    return false
  }
}

/** Networks that no measurement has asked from yet. */
const networkSupply = (make: (n: number) => Network) => {
  let used = 0
  return () => make(used++)
}

const measureLow = async (
  harness: Harness,
  sites: readonly Site[],
  { forgeries, max }: DayOptions,
  newNetwork: () => Network,
): Promise<LowNeeds> => {
  const ask = askAt(harness, sites)
  const address = await measureNetwork(harness, singleAddress(newNetwork()), ask, max)
  const network24 = await measureNetwork(harness, newNetwork(), ask, max)
  const network24ForOneSite = await measureNetwork(
    harness,
    newNetwork(),
    askAt(harness, sites.slice(0, 1)),
    max,
  )
  const network48 = await measureNetwork(harness, networkSupply(ipv6Network)(), ask, max)
  const networks24 = unitsNeeded(forgeries, network24)
  const networks = Array.from({ length: Math.min(networks24, 100) }, newNetwork)
  return {
    address,
    network24,
    network48,
    network24ForOneSite,
    addresses: unitsNeeded(forgeries, address),
    networks24,
    minted: await forgeInOneDay(harness, networks, ask, forgeries),
  }
}

const measureSubstantial = async (
  harness: Harness,
  sites: readonly Site[],
  { forgeries, max }: DayOptions,
  { model, newNetwork }: { readonly model: AttestedModel; readonly newNetwork: () => Network },
): Promise<SubstantialNeeds> => {
  const newKey = () => openSecurityKey(harness, model)
  const bound = Math.min(max, 200)
  /** From another network each time, at the one site that knows the key, and one at a time: a key counts its signatures. */
  const countActs = async (keyOf: () => AuthenticatorKey): Promise<Capacity> => {
    const ask = askAt(harness, sites.slice(0, 1), keyOf)
    const perDay = await countUntilRefused(() => ask(newNetwork().addressAt(0)), bound, 1)
    return { perHour: perDay, perDay, isLimited: perDay < bound }
  }
  const oneKey = newKey()
  const key = await countActs(() => oneKey)
  const authenticator = await countActs(newKey)
  const ask = askAt(harness, sites, newKey)
  const address = await measureNetwork(harness, singleAddress(newNetwork()), ask, max)
  const network24 = await measureNetwork(harness, newNetwork(), ask, max)
  const network24ForOneSite = await measureNetwork(
    harness,
    newNetwork(),
    askAt(harness, sites.slice(0, 1), newKey),
    max,
  )
  return {
    key,
    authenticator,
    address,
    network24,
    network24ForOneSite,
    keys: unitsNeeded(forgeries, key),
    authenticators: unitsNeeded(forgeries, authenticator),
    addresses: unitsNeeded(forgeries, address),
    networks24: unitsNeeded(forgeries, network24),
  }
}

/** Measures a whole day at each level on a server that the caller has started with `daySettings`. */
export const simulateDay = async (
  harness: Harness,
  model: AttestedModel,
  options: DayOptions,
): Promise<DayNeeds> => {
  const sites = await registerSites(harness)
  const newNetwork = networkSupply(ipv4Network)
  const low = await measureLow(harness, sites, options, newNetwork)
  const substantial = await measureSubstantial(harness, sites, options, { model, newNetwork })
  return { forgeries: options.forgeries, low, substantial }
}
