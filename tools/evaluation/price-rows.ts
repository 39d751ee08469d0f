import {
  costOf1000Acts,
  costOf1000Humans,
  forgingClassOf,
  roundDownToPowerOfTen,
  type ForgingInputs,
  type ForgingPrice,
  type ForgingRoot,
  type PricedKind,
} from '../../packages/verify/src/index.ts'

/** Roots of which one credential can have several. */
const combinations: readonly (readonly string[])[] = [
  ['world_id', 'sms'],
  ['world_id', 'bond'],
  ['world_id', 'payout_account'],
  ['world_id', 'vendor'],
  ['vendor', 'pid_number'],
  ['payout_account', 'card'],
  ['payout_account', 'authenticator'],
  ['world_id', 'organization'],
]

/** One row of the table that people read: the roots of a credential, and what it costs in both goods. */
export type PriceRow = {
  readonly roots: readonly string[]
  readonly level: string
  readonly actsB: ForgingPrice
  readonly acts10: ForgingPrice
  readonly acts1: ForgingPrice
  readonly humans: ForgingPrice
}

const levels = ['high', 'substantial', 'low', 'named'] as const

const rootsOf = (inputs: ForgingInputs, names: readonly string[]): readonly ForgingRoot[] =>
  names.map((name) => {
    const root = inputs.roots[name]
    if (!root) throw new Error(`the table has no root ${name}`)
    return root
  })

const isOpen = ({ level }: ForgingRoot): boolean => level !== 'named'

/** The strongest level, and whether a name stands beside it. */
const levelOf = (roots: readonly ForgingRoot[]): string => {
  const strongest = levels.find((level) => roots.some((root) => root.level === level)) ?? 'low'
  return strongest !== 'named' && !roots.every(isOpen) ? `${strongest}, named` : strongest
}

const priceOf = (usd: number): ForgingPrice => {
  const rounded = roundDownToPowerOfTen(usd)
  return { usd: rounded, class: forgingClassOf(rounded) }
}

export const priceRow = (inputs: ForgingInputs, kind: PricedKind, names: readonly string[]): PriceRow => {
  const roots = rootsOf(inputs, names)
  const open = roots.filter(isOpen)
  const actsAt = (perDay?: number): ForgingPrice =>
    open.length === 0 ? 'named' : priceOf(costOf1000Acts(inputs, kind, open, perDay))
  return {
    roots: names,
    level: levelOf(roots),
    actsB: actsAt(),
    acts10: actsAt(10),
    acts1: actsAt(1),
    humans: open.length === 0 ? 'named' : priceOf(costOf1000Humans(inputs, kind, open)),
  }
}

/** What 1,000 people cost before rounding, and without anybody who is hired; undefined where nobody sells. */
export const unroundedHumans = (
  inputs: ForgingInputs,
  kind: PricedKind,
  names: readonly string[],
): { readonly floor: number; readonly bought: number | undefined } | undefined => {
  const open = rootsOf(inputs, names).filter(isOpen)
  if (open.length === 0) return undefined
  const boughtOnly = open.map((root) => ({ ...root, ways: root.ways.filter(({ by }) => by === 'buy') }))
  const isSold = open.every(({ ways }, index) => ways.length === 0 || boughtOnly[index]?.ways.length !== 0)
  return {
    floor: costOf1000Humans(inputs, kind, open),
    bought: isSold ? costOf1000Humans(inputs, kind, boughtOnly) : undefined,
  }
}

/** Every root by itself, then the combinations. */
export const rootSets = ({ roots }: ForgingInputs): readonly (readonly string[])[] => [
  ...Object.keys(roots).map((name) => [name]),
  ...combinations,
]
