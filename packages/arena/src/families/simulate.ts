// What so many forged credentials in one day need at each level, as the budgets of this version let them through.
import { randomBytes } from 'node:crypto'
import type { Harness } from '../../../server/test/fixtures/harness.ts'
import { grantCredits } from '../../../server/test/fixtures/payments/ledger.ts'
import type { AttestedModel } from '../../../server/test/fixtures/people/attested-model.ts'
import { registerConfirmedAgent } from '../../../server/test/fixtures/people/member.ts'
import {
  countUntilRefused,
  forge,
  forgeInOneDay,
  ipv4Network,
  ipv6Network,
  isMinted,
  makeAuthenticatorKey,
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
  /** What came out of a day with exactly so many /24 networks, and with one less. */
  readonly minted: number
  readonly mintedWithOneLess: number
}

type SubstantialNeeds = {
  /** Acts of one key in a day; `isLimited` false where the bound of the measurement came first. */
  readonly key: Capacity
  readonly keys: number
  /** Acts in a day of keys that are all new and come from one authenticator. */
  readonly newKeys: Capacity
  readonly authenticators: number
  readonly network24: Capacity
  readonly networks24: number
}

export type DayNeeds = {
  readonly forgeries: number
  readonly low: LowNeeds
  readonly substantial: SubstantialNeeds
}

/** How many of something are needed; one does where nothing limits it. */
export const needed = (forgeries: number, { perDay, isLimited }: Capacity): number =>
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

/** Asks at one site after the other until one mints. */
const askAt =
  (harness: Harness, sites: readonly Site[]) =>
  async (address: string): Promise<boolean> => {
    for (const site of sites) if (isMinted(await forge(harness, { site, address }))) return true
    return false
  }

/** The same, with an assertion by a key; only what reaches `substantial` counts. */
const askSubstantial =
  (harness: Harness, sites: readonly Site[], keyOf: () => AuthenticatorKey) =>
  async (address: string): Promise<boolean> => {
    for (const site of sites) {
      const outcome = await forge(harness, { site, address, key: keyOf() })
      if ('assurance' in outcome && outcome.assurance === 'substantial') return true
    }
    return false
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
  const networks24 = needed(forgeries, network24)
  const day = (count: number): Promise<number> => {
    const networks = Array.from({ length: Math.min(count, 500) }, newNetwork)
    return forgeInOneDay(harness, networks, ask, forgeries)
  }
  return {
    address,
    network24,
    network48,
    network24ForOneSite,
    addresses: needed(forgeries, address),
    networks24,
    minted: await day(networks24),
    mintedWithOneLess: await day(networks24 - 1),
  }
}

const measureSubstantial = async (
  harness: Harness,
  sites: readonly Site[],
  { forgeries, max }: DayOptions,
  { model, newNetwork }: { readonly model: AttestedModel; readonly newNetwork: () => Network },
): Promise<SubstantialNeeds> => {
  const newKey = () => makeAuthenticatorKey(model)
  /** From a new network each time, so that only the key can run out. One at a time: a key counts its signatures. */
  const keyActs = async (keyOf: () => AuthenticatorKey): Promise<Capacity> => {
    const ask = askSubstantial(harness, sites.slice(0, 1), keyOf)
    const perDay = await countUntilRefused(() => ask(newNetwork().addressAt(0)), Math.min(max, 200), 1)
    return { perHour: perDay, perDay, isLimited: perDay < Math.min(max, 200) }
  }
  const oneKey = newKey()
  const key = await keyActs(() => oneKey)
  const newKeys = await keyActs(newKey)
  const network24 = await measureNetwork(
    harness,
    newNetwork(),
    askSubstantial(harness, sites, newKey),
    max * 10,
  )
  return {
    key,
    keys: needed(forgeries, key),
    newKeys,
    authenticators: newKeys.isLimited ? needed(forgeries, key) : 1,
    network24,
    networks24: needed(forgeries, network24),
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
