import {
  attentionCost,
  costOf1000Acts,
  scriptCost,
  type ForgingFamily,
  type ForgingPrice,
  type PricedKind,
} from '../../packages/verify/src/index.ts'
import type { ForgingFile } from '../../packages/protocol/src/index.ts'
import { paddedTableOf } from '../ci/pages/markdown.ts'
import { priceRow, rootSets, unroundedHumans } from './price-rows.ts'
import { budgets, lowFigures, type MarketPrices, type PriceData } from './price.ts'

const usd = (value: number): string => `$${value.toLocaleString('en', { maximumSignificantDigits: 2 })}`
const whole = (value: number): string => value.toLocaleString('en')
const code = (text: string): string => `\`${text}\``
const shown = (price: ForgingPrice): string =>
  price === 'named' ? 'named' : `${code(price.class)} ${usd(price.usd)}`

/** What each root and the combinations cost for one kind. */
export const rowTable = ({ inputs }: ForgingFile, kind: PricedKind): string =>
  paddedTableOf(
    [
      'Roots',
      'Level',
      '1,000 acts',
      '10 a day',
      '1 a day',
      '1,000 people',
      'People, unrounded',
      'If nobody is hired',
    ],
    rootSets(inputs).map((names) => {
      const row = priceRow(inputs, kind, names)
      const humans = unroundedHumans(inputs, kind, names)
      return [
        names.map(code).join(' + '),
        row.level,
        shown(row.actsB),
        shown(row.acts10),
        shown(row.acts1),
        shown(row.humans),
        humans ? usd(humans.floor) : '',
        humans === undefined ? '' : humans.bought === undefined ? 'nobody sells' : usd(humans.bought),
      ]
    }),
  )

const attentionTable = ({ inputs }: ForgingFile): string =>
  paddedTableOf(
    ['Kind', 'Time of a person', '1,000 by a hired person', '1,000 at least', 'By'],
    (Object.keys(inputs.humanSeconds) as PricedKind[]).map((kind) => {
      const { usd: least, by } = attentionCost(inputs, kind)
      const seconds = inputs.humanSeconds[kind]
      return [
        code(kind),
        `${seconds} s`,
        usd((seconds * inputs.wagePerHour) / 3.6),
        usd(least * 1_000),
        by.includes(' ') ? by : code(by),
      ]
    }),
  )

const wayTable = ({ prices, roots }: PriceData): string => {
  const low = lowFigures(prices)
  return paddedTableOf(
    ['Root', 'Class', 'Counts humans', 'Acts a day', 'Way', 'USD', 'Subjects', 'Days', 'Assumed'],
    Object.entries(roots).flatMap(([name, { class: group, counted, actsPerDay, ways }]) => {
      const start = [code(name), code(group), counted ? 'yes' : 'no', whole(actsPerDay)]
      if (ways.length === 0) return [[...start, 'none', '', '', '', '']]
      return ways.map(({ by, usd: price, subjects, lifeDays, assumption }) => [
        ...start,
        by,
        price === 0 ? '0' : `${usd(low(price)).slice(1)}, ${code(price)}`,
        whole(subjects),
        String(low(lifeDays)),
        assumption ?? '',
      ])
    }),
  )
}

const familyRow = (table: ForgingFile, family: ForgingFamily): string[] => [
  code(family.name),
  `${family.kind}, ${family.root}, ${family.assurance}`,
  `${Math.round(family.successRate * 100)} %`,
  `${family.wallSeconds} s`,
  `${family.cpuSeconds} s`,
  whole(family.bytes),
  `${family.humanSeconds} s`,
  family.rootsSpent.map(({ kind, acts }) => `${acts} ${kind}`).join(', ') || 'none',
  family.fixed.map(({ item, quantity, lifeActs }) => `${quantity} ${item} / ${whole(lifeActs)}`).join(', ') ||
    'none',
  family.successRate === 0 ? 'never' : usd(1_000 * scriptCost(table.inputs, family)),
]

const familyTable = (table: ForgingFile): string =>
  paddedTableOf(
    [
      'Family',
      'Gets',
      'Success',
      'Time',
      'CPU',
      'Bytes',
      'Human',
      'Roots',
      'Fixed, over acts',
      'Script of 1,000',
    ],
    table.inputs.families.map((family) => familyRow(table, family)),
  )

/** What this many forgeries in one day need, by the default budgets. */
export const needsOf = (perDay: number) => {
  const needed = (actsPerDay: number) => Math.ceil(perDay / actsPerDay)
  const { strongRootFactor: factor } = budgets
  return {
    addresses: needed(budgets.addressActsPerDay),
    wideNetworks: needed(budgets.wideNetworkActsPerDay),
    addressesBehindStrongRoot: needed(budgets.addressActsPerDay * factor),
    wideNetworksBehindStrongRoot: needed(budgets.wideNetworkActsPerDay * factor),
    keys: needed(budgets.keyActsPerDay),
    addressesForModel: needed(budgets.modelActsPerAddressDay),
    wideNetworksForModel: needed(budgets.modelActsPerWideNetworkDay),
    countedUnits: needed(budgets.countedActsPerDay),
  }
}

const needsTable = (perDay: number): string => {
  const needs = needsOf(perDay)
  const networks = `${whole(needs.addressesBehindStrongRoot)} addresses or ${needs.wideNetworksBehindStrongRoot} network of size /24`
  return paddedTableOf(
    ['Root', 'Needed on one day'],
    [
      [code('network'), `${whole(needs.addresses)} addresses, or ${needs.wideNetworks} networks of size /24`],
      [
        code('authenticator'),
        `1 authenticator with ${needs.keys} keys, and ${needs.addressesForModel} pairs of model and address, or ${needs.wideNetworksForModel} networks of size /24`,
      ],
      [code('app'), `1 phone with ${needs.keys} App Attest keys, and ${networks}`],
      ['one that counts humans', `${needs.countedUnits} units of it, and ${networks}`],
      [
        'the same, with a limit of 1 a day',
        `${whole(perDay)} units of it, and ${networks}: each act is another human`,
      ],
    ],
  )
}

/** Compares a script without a device and one with an authenticator. */
const comparisonText = ({ inputs }: ForgingFile): string => {
  const { authenticator } = inputs.roots
  if (!authenticator) return ''
  const low = costOf1000Acts(inputs, 'view', [])
  const strong = costOf1000Acts(inputs, 'view', [authenticator])
  return `
1,000 views at \`low\` cost ${usd(low)}, and ${usd(strong)} with an authenticator: ${(strong / low).toFixed(1)} times as much.${
    strong / low < 10
      ? ' `substantial` by an authenticator is therefore hardly more expensive than `low`.'
      : ''
  } Addresses of
households are sold by traffic, so another address costs almost nothing: the budgets decide how many a forger uses, not what they cost.
`
}

const marketTable = ({ figures }: MarketPrices): string =>
  paddedTableOf(
    ['Figure', 'Unit', 'Low', 'High', 'Source', 'Date'],
    figures.map(({ name, unit, low, high, source, measured, assumption }) => [
      code(name),
      unit,
      String(low),
      high === undefined ? '' : String(high),
      source
        ? `[${source.title}](${source.url})`
        : measured
          ? `Measured: [${measured.what}](${measured.report.replace(/^docs\//, '../')})`
          : `Assumption: ${assumption ?? ''}`,
      source?.date ?? '',
    ]),
  )

const assumptionsText = ({ inputs, perDay }: ForgingFile): string =>
  `- The wage of a person who is hired for a check is what the cheapest solving service pays for its time: \`solver_per_1000\` / 1,000 /
  \`solver_seconds\`, which is ${usd(inputs.wagePerHour)} an hour. A person who confirms an act with a root of their own gets ${usd(inputs.ownerWagePerHour)}.
- Finding one person and paying them for one task costs ${usd(inputs.searchUsd)} (\`task_price\` and \`task_fee\`). One search pays for all roots that this person
  owns, so two roots of ordinary people add little against hiring, and their full sum against buying.
- No rent was found for World IDs, wallets and payout accounts. They enter as 0, so a source can only raise a class. An honest owner asks
  at least what your site gives to one person: no table can hold that figure.
- One authenticator makes any number of keys and serves every address, so its price is spread over ${whole(perDay)} acts on each day of its life.
  What is scarce are pairs of model and address, ${budgets.modelActsPerAddressDay} acts a day each. With several models fewer addresses do.
- One phone makes several App Attest keys: we know of no bound in Apple's documentation. Its price is spread in the same way. A model
  of phones has no budget of its own.
- A unit of a root that counts humans is used to the limit of its budget on every day of its life.
- The attacker's programs exist and cost nothing to write.
- Addresses of households cost their traffic alone: a pool has more addresses than ${whole(perDay)} forgeries need.
- Prices in EUR count as the same amount in USD.
- The prices hold from 1,000 to 100,000. Beyond that nobody knows how many people can be hired.
`

/** docs/evidence/price.md. */
export const pricePage = (data: PriceData, table: ForgingFile): string => {
  const { inputs } = table
  return `<!-- Written by npm run arena -- --price. Do not edit. -->

# What forged credentials cost

This is an estimate, not a warranty: as of ${table.date} we know no cheaper way. Cheaper ways may exist. A single forgery by somebody with
a device or a proof of their own costs almost nothing.

There are two goods. **Acts**: 1,000 credentials, by however few people. **People**: credentials of 1,000 distinct subjects of one agent.
A vote, an airdrop or a free plan is protected by the price of people; a page view or a comment by the price of acts.

The classes are \`F0\` below 1 USD for 1,000, \`F1\` 1 to 10, \`F2\` 10 to 100, \`F3\` 100 to 1,000, \`F4\` more. Prices are rounded down to a power
of ten. \`low\`, \`substantial\` and \`high\` are our own words, not levels of eIDAS or NIST. \`named\`: somebody vouches, and that has no
market price; it is worth what you think of the issuer, and a policy lists the issuers that it trusts.

Every deployment serves this table, signed, at \`/.well-known/pohf-forging.json\`. It is valid for 90 days from its date; afterwards
the prices are unknown, and policies that ask for a class refuse. [How to use it](../guides/forging.md), [what it
contains](../reference/forging.md).

## The table of ${table.date}

Kind \`view\`. "1,000 acts" is at the ceiling of the service for one unit of the root, "10 a day" and "1 a day" with a limit that the
agent sets for each human (\`maxActsPerHumanPerDay\`).

${rowTable(table, 'view')}

For acts nearly every root is \`F0\`: what a root changes is the price of people, and the price of acts where one human gets few of them a
day. The last column shows what it would cost if no owner rented a root out. Roots without a count (\`network\`, \`authenticator\`, \`app\`,
\`privacy_pass\`, \`pid\`) give one human any number of names, so the price of their people is that of names.

### Kind \`personhood\`

${rowTable(table, 'personhood')}

### Kind \`work\`

${rowTable(table, 'work')}

## How it is computed

The price of an act is that of its attention, and of the roots that it spends:

- **Attention** is the least of the scripts below and of a person who is hired for the time of the check.
- **A root** has ways to get it: buying a unit, or hiring its owner. A way costs its price, spread over the acts of its life (for acts)
  or over the subjects that it makes (for people). Whoever hires pays once for finding the person.
- **Roots of different classes add**, by the cheapest combination of ways. Within a class one purchase covers all, so the dearest counts.
- **A limit of acts for each human** makes the life of every counted root serve fewer acts.
- **A root that counts nobody** adds nothing to the price of people but an act with it.

${attentionTable(table)}

${wayTable(data)}

A price of 0 is a figure that nobody has published: it enters at its cheapest value.

## Families

Scripts, measured on ${inputs.measuredAt} or later for one attempt. Those that spend no root but the network decide the price of attention;
the last column has no root in it but what is bought once.

${familyTable(table)}
${comparisonText(table)}
## What ${whole(table.perDay)} forgeries in a day need

Computed from the default budgets: ${budgets.addressActsPerDay} acts a day for an address, ${whole(budgets.wideNetworkActsPerDay)} for a /24, ${budgets.keyActsPerDay} for a key of an authenticator or of
App Attest, ${budgets.countedActsPerDay} for a unit of a root that counts humans. A stronger root multiplies the budget of the network by ${budgets.strongRootFactor}. The keys of one
model of authenticators have ${budgets.modelActsPerAddressDay} acts a day together on an address and ${budgets.modelActsPerWideNetworkDay} in a /24. No agent takes more than half of a network's
budget, so the forgeries are spread over at least two agents. What the server gave in a simulated day is in
[the arena](arena.md#what-a-day-of-forgeries-needs).

${needsTable(table.perDay)}

## Market prices

Prices as of ${data.prices.pricedAt}. A figure without a source is marked as measured or as an assumption.

${marketTable(data.prices)}

## Assumptions

${assumptionsText(table)}`
}
