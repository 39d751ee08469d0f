import { costPer1000, solverFamily, rootKinds, type ForgingFamily } from '../../packages/verify/src/index.ts'
import type { ForgingFile } from '../../packages/protocol/src/index.ts'
import { paddedTableOf } from '../ci/pages/markdown.ts'
import { budgets, fastestOf, type MarketPrices } from './price.ts'

const usd = (value: number): string => `$${value.toLocaleString('en', { maximumSignificantDigits: 2 })}`
const whole = (value: number): string => value.toLocaleString('en')
const code = (text: string): string => `\`${text}\``

const entryTable = ({ entries }: ForgingFile): string =>
  paddedTableOf(
    ['Root', 'Assurance', 'Kind', '1,000 cost about, at least', 'Class', 'By'],
    entries.map((entry) => [
      code(entry.root),
      code(entry.assurance),
      entry.kind === '*' ? 'any' : code(entry.kind),
      usd(entry.costPer1000),
      code(entry.class),
      code(entry.family),
    ]),
  )

const familyRow = (table: ForgingFile, family: ForgingFamily): string[] => [
  code(family.name),
  `${family.kind === '*' ? 'any' : family.kind}, ${family.root}, ${family.assurance}`,
  `${Math.round(family.successRate * 100)} %`,
  `${family.wallSeconds} s`,
  `${family.cpuSeconds} s`,
  whole(family.bytes),
  `${family.humanSeconds} s`,
  family.rootsSpent.map(({ kind, acts }) => `${acts} ${kind}`).join(', ') || 'none',
  family.fixed.map(({ item, quantity, lifeActs }) => `${quantity} ${item} / ${whole(lifeActs)}`).join(', ') ||
    'none',
  family.successRate === 0 ? 'never' : usd(costPer1000(table.inputs, family)),
]

const familyTable = (table: ForgingFile): string =>
  paddedTableOf(
    ['Family', 'Gets', 'Success', 'Time', 'CPU', 'Bytes', 'Human', 'Roots', 'Fixed, over acts', '1,000 cost'],
    [...table.inputs.families, ...rootKinds.map((kind) => solverFamily(table.inputs, kind))].map((family) =>
      familyRow(table, family),
    ),
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
    accounts: needed(budgets.accountActsPerDay),
    people: needed(budgets.proofActsPerDay),
  }
}

const needsTable = (perDay: number): string => {
  const needs = needsOf(perDay)
  const networks = `${whole(needs.addressesBehindStrongRoot)} addresses or ${needs.wideNetworksBehindStrongRoot} network of size /24`
  return paddedTableOf(
    ['Level', 'Root', 'Needed on one day'],
    [
      [
        code('low'),
        code('network'),
        `${whole(needs.addresses)} addresses, or ${needs.wideNetworks} networks of size /24`,
      ],
      [
        code('substantial'),
        code('authenticator'),
        `1 authenticator with ${needs.keys} keys, and ${needs.addressesForModel} pairs of model and address, or ${needs.wideNetworksForModel} networks of size /24`,
      ],
      [code('substantial'), code('app'), `1 phone with ${needs.keys} App Attest keys, and ${networks}`],
      [code('substantial'), code('payout_account'), `${needs.accounts} accounts, and ${networks}`],
      [code('high'), code('external'), `${needs.people} people with an outside proof, and ${networks}`],
    ],
  )
}

/** The least cost of 1,000 views by a played family at this level, before rounding. */
const leastOf = ({ inputs }: ForgingFile, root: ForgingFamily['root'], assurance: string): number =>
  Math.min(
    ...inputs.families
      .filter((family) => family.root === root && family.assurance === assurance)
      .filter(({ kind, successRate }) => kind === 'view' && successRate > 0)
      .map((family) => costPer1000(inputs, family)),
  )

/** Compares scripts without a device and with an authenticator, where both get views. */
const comparisonText = (table: ForgingFile): string => {
  const [low, strong] = [leastOf(table, 'network', 'low'), leastOf(table, 'authenticator', 'substantial')]
  if (!Number.isFinite(low) || !Number.isFinite(strong)) return ''
  const factor = strong / low
  return `
A script pays ${usd(low)} for 1,000 views at \`low\`, and ${usd(strong)} for 1,000 at \`substantial\` with an authenticator: ${factor.toFixed(1)} times
as much. Addresses of households are sold by traffic, so another address costs almost nothing: the budgets decide how many a forger uses,
not what they cost.${factor < 10 ? ' `substantial` by an authenticator is therefore hardly more expensive than `low`.' : ''}
`
}

/** What `lean_script` needed for a view on 2026-11-16, when three questions came at random with waits between them. */
const beforeShorterCheck = { wallSeconds: 7.974, cpuSeconds: 0.029, bytes: 11_790 } as const

/** Says what the shorter check changed for the cheapest script, once it was measured. */
const shorterCheckText = ({ inputs }: ForgingFile): string => {
  const script = inputs.families.find(({ name, kind }) => name === 'lean_script' && kind === 'view')
  if (!script || script.wallSeconds >= beforeShorterCheck.wallSeconds) return ''
  const before = { ...script, ...beforeShorterCheck }
  const described = ({ wallSeconds, cpuSeconds, bytes }: typeof beforeShorterCheck | ForgingFamily) =>
    `${wallSeconds} s, ${Math.round(cpuSeconds * 1_000)} ms of CPU and ${whole(bytes)} bytes`
  return `
The check became shorter: until 2026-11-16 it asked three questions with random waits between them. A view by \`lean_script\` then took
${described(before)}, which is ${usd(costPer1000(inputs, before))} for 1,000 at the prices below. Now it takes
${described(script)}: ${usd(costPer1000(inputs, script))}. Traffic decides the price: one question less, and nothing sent while waiting,
are fewer bytes. The waiting itself cost a script nothing. The budgets of networks, which limit how many a forger gets, are the same.
`
}

const marketTable = ({ figures }: MarketPrices): string =>
  paddedTableOf(
    ['Figure', 'Unit', 'Low', 'High', 'Source', 'Date'],
    figures.map(({ name, unit, low, high, source, assumption }) => [
      code(name),
      unit,
      String(low),
      high === undefined ? '' : String(high),
      source ? `[${source.title}](${source.url})` : `Assumption: ${assumption ?? ''}`,
      source?.date ?? '',
    ]),
  )

const assumptionsText = (table: ForgingFile): string => {
  const fastest = fastestOf(table.inputs.families)
  return `- The wage of a hired person is what the cheapest solving service pays for its time: \`solver_per_1000\` / 1,000 / \`solver_seconds\`, which is
  ${usd(table.inputs.wagePerHour)} an hour. A hired person brings a network, a phone, an account and a proof of their own, and no security
  key of level 2.
- A hired person needs at least as long as the fastest family: ${table.inputs.hiredSeconds} s, measured for \`${fastest.name}\` and \`${fastest.kind}\`. No hired
  person was timed, and for most kinds nobody can be so fast.
- One authenticator makes any number of keys and serves every address, so its price is spread over ${whole(table.perDay)} acts on each day of its life.
  What is scarce are pairs of model and address, ${budgets.modelActsPerAddressDay} acts a day each. With several models fewer addresses do.
- One phone makes several App Attest keys: we know of no bound in Apple's documentation. Its price is spread in the same way. A model
  of phones has no budget of its own.
- Accounts and outside proofs are used to the limit of their budget on every day of their life.
- The attacker's programs exist and cost nothing to write.
- Addresses of households cost their traffic alone: a pool has more addresses than ${whole(table.perDay)} forgeries need.
- Prices in EUR count as the same amount in USD.
`
}

/** docs/evidence/price.md. */
export const pricePage = (prices: MarketPrices, table: ForgingFile): string => {
  const cheapest = Math.min(
    ...table.entries.filter(({ assurance }) => assurance === 'low').map((entry) => entry.costPer1000),
  )
  return `<!-- Written by npm run arena -- --price. Do not edit. -->

# What forged credentials cost

This is an estimate, not a warranty. As of ${table.date} we know no way to obtain 1,000 credentials at \`low\` for less than about
${usd(cheapest)}. Cheaper ways may exist. A single forgery by somebody with a device of their own costs almost nothing.

The cost of 1,000 is the least over all known families, always including a hired person, of (fixed cost / acts in its life + roots
spent + human seconds × wage + CPU + traffic) / success rate, at ${whole(table.perDay)} a day and the low end of each market price. It is
rounded down to a power of ten. The classes are \`F0\` below 1 USD, \`F1\` 1 to 10, \`F2\` 10 to 100, \`F3\` 100 to 1,000, \`F4\` more.
\`low\`, \`substantial\` and \`high\` are our own words, not levels of eIDAS or NIST.

Every deployment serves this table, signed, at \`/.well-known/pohf-forging.json\`. It is valid for 90 days from its date; afterwards
the prices are unknown, and policies that ask for a class refuse. [How to use it](../guides/forging.md), [what it
contains](../reference/forging.md).

## The table of ${table.date}

${entryTable(table)}

A kind without a row of its own has the price of "any", the least over all kinds.

## Families

Measured on ${table.inputs.measuredAt}, for one attempt. \`solver\` is priced and was not played.

${familyTable(table)}
${comparisonText(table)}${shorterCheckText(table)}
## What ${whole(table.perDay)} forgeries in a day need

Computed from the default budgets: ${budgets.addressActsPerDay} acts a day for an address, ${whole(budgets.wideNetworkActsPerDay)} for a /24, ${budgets.keyActsPerDay} for a key of an authenticator or of
App Attest, ${budgets.accountActsPerDay} for an account or an outside proof. A stronger root multiplies the budget of the network by ${budgets.strongRootFactor}. The keys of one
model of authenticators have ${budgets.modelActsPerAddressDay} acts a day together on an address and ${budgets.modelActsPerWideNetworkDay} in a /24. No agent takes more than half of a network's
budget, so the forgeries are spread over at least two agents. What the server gave in a simulated day is in
[the arena](arena.md#what-a-day-of-forgeries-needs).

${needsTable(table.perDay)}

## Market prices

Prices as of ${prices.pricedAt}. A figure without a source is marked as an assumption.

${marketTable(prices)}

## Assumptions

${assumptionsText(table)}`
}
