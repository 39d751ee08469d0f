import { z } from 'zod'
import { forgingFamilies, forgingFile, type ForgingFile } from '../../packages/protocol/src/index.ts'
import { forgingEntries, type ForgingInputs } from '../../packages/verify/src/index.ts'

const figure = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9_]+$/),
    unit: z.string().min(1),
    low: z.number().positive(),
    high: z.number().positive().optional(),
    source: z.strictObject({ title: z.string().min(1), url: z.url(), date: z.iso.date() }).optional(),
    /** Why it is taken, where nobody has published it. */
    assumption: z.string().min(1).optional(),
  })
  .refine(
    ({ source, assumption }) => (source === undefined) !== (assumption === undefined),
    'needs a source or says that it is an assumption',
  )
  .refine(({ low, high }) => high === undefined || high >= low, 'the high end is below the low end')
export const marketPrices = z.strictObject({ pricedAt: z.iso.date(), figures: z.array(figure).max(60) })
export type MarketPrices = z.infer<typeof marketPrices>

/** The volume at which prices are stated. One authenticator or phone answers for it. */
const perDay = 10_000

/** The default budgets of the service. */
export const budgets = {
  addressActsPerDay: 100,
  wideNetworkActsPerDay: 1_000,
  strongRootFactor: 10,
  /** For one key of an authenticator or of App Attest. */
  keyActsPerDay: 60,
  /** For all keys of one model of authenticators together, on an address and in a wide network. */
  modelActsPerAddressDay: 60,
  modelActsPerWideNetworkDay: 600,
  accountActsPerDay: 200,
  proofActsPerDay: 200,
} as const

/** The shortest time in which a family got a credential. */
export const fastestOf = (families: z.infer<typeof forgingFamilies>['families']) => {
  const [fastest] = families
    .filter(({ successRate }) => successRate > 0)
    .toSorted((a, b) => a.wallSeconds - b.wallSeconds)
  if (!fastest) throw new Error('no family got a credential, so nothing bounds the time of a hired person')
  return fastest
}

const forgingInputsOf = (
  { pricedAt, figures }: MarketPrices,
  { measuredAt, families }: z.infer<typeof forgingFamilies>,
): ForgingInputs => {
  const low = (name: string): number => {
    const found = figures.find((each) => each.name === name)
    if (!found) throw new Error(`the market prices have no figure ${name}`)
    return found.low
  }
  return {
    measuredAt,
    pricedAt,
    wagePerHour: (low('solver_per_1000') / 1_000 / low('solver_seconds')) * 3_600,
    corePerHour: low('core_hour'),
    networks: [
      { name: 'residential', usdPerAddressDay: 0, usdPerGigabyte: low('residential_gigabyte') },
      { name: 'hosting', usdPerAddressDay: low('address_day'), usdPerGigabyte: low('hosting_gigabyte') },
    ],
    addressActsPerDay: budgets.addressActsPerDay,
    strongRootFactor: budgets.strongRootFactor,
    roots: {
      // Security keys that are certified at level 2 are rare: whoever hires people has one answer for all.
      authenticator: {
        item: 'authenticator',
        actsPerDay: perDay,
        lifeDays: low('authenticator_life_days'),
        actsPerAddressDay: budgets.modelActsPerAddressDay,
        assurance: 'substantial',
        isOwnedByHired: false,
      },
      app: {
        item: 'phone',
        actsPerDay: perDay,
        lifeDays: low('phone_life_days'),
        assurance: 'substantial',
        isOwnedByHired: true,
      },
      payout_account: {
        item: 'payout_account',
        actsPerDay: budgets.accountActsPerDay,
        lifeDays: low('payout_account_life_days'),
        assurance: 'substantial',
        isOwnedByHired: true,
      },
      external: {
        item: 'outside_proof',
        actsPerDay: budgets.proofActsPerDay,
        lifeDays: low('outside_proof_life_days'),
        assurance: 'high',
        isOwnedByHired: true,
      },
    },
    items: Object.fromEntries(
      figures.filter(({ unit }) => unit.startsWith('USD for one ')).map(({ name, low: usd }) => [name, usd]),
    ),
    hiredSeconds: fastestOf(families).wallSeconds,
    families,
  }
}

/** The file that the server signs. */
export const priceTable = (
  prices: MarketPrices,
  measured: z.infer<typeof forgingFamilies>,
  date: string,
): ForgingFile => {
  const inputs = forgingInputsOf(prices, measured)
  return forgingFile.parse({
    date,
    version: 1,
    currency: 'USD',
    perDay,
    roundedDown: true,
    entries: forgingEntries(inputs),
    inputs,
  })
}
