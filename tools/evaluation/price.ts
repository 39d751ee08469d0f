import { z } from 'zod'
import {
  forgingFamilies,
  forgingFile,
  rootClasses,
  assurances,
  type ForgingFile,
} from '../../packages/protocol/src/index.ts'
import { forgingEntries, type ForgingInputs, type ForgingWay } from '../../packages/verify/src/index.ts'

const source = z.strictObject({ title: z.string().min(1), url: z.url(), date: z.iso.date() })
const measured = z.strictObject({
  report: z.string().regex(/^docs\/reports\/[a-z0-9-]+\.md$/),
  what: z.string().min(1),
})
const figure = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9_]+$/),
    unit: z.string().min(1),
    low: z.number().positive(),
    high: z.number().positive().optional(),
    source: source.optional(),
    measured: measured.optional(),
    /** Why it is taken, where nobody has published or measured it. */
    assumption: z.string().min(1).optional(),
  })
  .refine(
    (given) =>
      [given.source, given.measured, given.assumption].filter((each) => each !== undefined).length === 1,
    'needs a source, a measurement or the word that it is an assumption, and only one of them',
  )
  .refine(({ low, high }) => high === undefined || high >= low, 'the high end is below the low end')
export const marketPrices = z.strictObject({ pricedAt: z.iso.date(), figures: z.array(figure).max(60) })
export type MarketPrices = z.infer<typeof marketPrices>

const way = z
  .strictObject({
    by: z.enum(['buy', 'hire']),
    /** A figure, or 0 where none was found: what has no source enters at its cheapest value. */
    usd: z.union([z.string(), z.literal(0)]),
    subjects: z.number().int().positive(),
    lifeDays: z.string(),
    assumption: z.string().min(1).optional(),
  })
  .refine(({ usd, assumption }) => usd !== 0 || assumption !== undefined, 'a price of 0 is an assumption')
/** The roots and the ways to them. */
export const rootWays = z.record(
  z.string(),
  z.strictObject({
    class: z.enum(rootClasses),
    level: z.enum([...assurances, 'named']),
    counted: z.boolean(),
    confirmed: z.boolean().default(false),
    actsPerDay: z.number().int().positive(),
    ways: z.array(way).max(10),
  }),
)
type RootWays = z.infer<typeof rootWays>
type MeasuredFamilies = z.infer<typeof forgingFamilies>
export type PriceData = {
  readonly prices: MarketPrices
  readonly roots: RootWays
  readonly measured: MeasuredFamilies
}

/** The volume at which prices are stated. */
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
  /** For one unit of a root that counts humans. */
  countedActsPerDay: 200,
} as const

type Figures = (name: string) => number

/** The low end of each figure, and of those that follow from others. */
export const lowFigures = ({ figures }: MarketPrices): Figures => {
  const low: Figures = (name) => {
    const found = figures.find((each) => each.name === name)
    if (!found) throw new Error(`the market prices have no figure ${name}`)
    return found.low
  }
  return (name) =>
    name === 'bond_capital' ? (low('bond_usd') * low('capital_rate') * low('bond_days')) / 365 : low(name)
}

const wayOf =
  (low: Figures) =>
  ({ by, usd, subjects, lifeDays }: z.infer<typeof way>): ForgingWay => ({
    by,
    usd: usd === 0 ? 0 : low(usd),
    subjects,
    lifeDays: low(lifeDays),
  })

export const forgingInputsOf = ({ prices, roots, measured: played }: PriceData): ForgingInputs => {
  const low = lowFigures(prices)
  const items = [...new Set(played.families.flatMap(({ fixed }) => fixed.map(({ item }) => item)))]
  return {
    measuredAt: played.measuredAt,
    pricedAt: prices.pricedAt,
    wagePerHour: (low('solver_per_1000') / 1_000 / low('solver_seconds')) * 3_600,
    ownerWagePerHour: low('owner_wage'),
    searchUsd: low('task_price') + low('task_fee'),
    corePerHour: low('core_hour'),
    networks: [
      { name: 'residential', usdPerAddressDay: 0, usdPerGigabyte: low('residential_gigabyte') },
      { name: 'hosting', usdPerAddressDay: low('address_day'), usdPerGigabyte: low('hosting_gigabyte') },
    ],
    addressActsPerDay: budgets.addressActsPerDay,
    items: Object.fromEntries(items.map((item) => [item, low(item)])),
    humanSeconds: {
      work: low('seconds_work'),
      view: low('seconds_view'),
      presence: low('seconds_presence'),
      personhood: low('seconds_personhood'),
      binding: low('seconds_binding'),
      purchase: low('seconds_purchase'),
    },
    confirmSeconds: low('seconds_confirm'),
    roots: Object.fromEntries(
      Object.entries(roots).map(([name, root]) => [name, { ...root, ways: root.ways.map(wayOf(low)) }]),
    ),
    families: played.families,
  }
}

/** The file that the server signs. */
export const priceTable = (data: PriceData, date: string): ForgingFile => {
  const inputs = forgingInputsOf(data)
  return forgingFile.parse({
    date,
    version: 2,
    currency: 'USD',
    perDay,
    roundedDown: true,
    entries: forgingEntries(inputs),
    inputs,
  })
}
