import type { DisputedSpan } from '../../platform/db/columns.ts'

/** Spent credits of an agent are numbered from 0. A span has those from `from` up to but not including `to`. */
export type Span = { readonly from: number; readonly to: number }

export const countOf = (spans: readonly Span[]): number =>
  spans.reduce((sum, { from, to }) => sum + to - from, 0)

/** The first `count` numbers of the spans, and the rest. */
const split = (spans: readonly Span[], count: number): readonly [Span[], Span[]] => {
  const first: Span[] = []
  const rest: Span[] = []
  let left = count
  for (const { from, to } of spans) {
    const middle = from + Math.min(left, to - from)
    left -= middle - from
    if (from < middle) first.push({ from, to: middle })
    if (middle < to) rest.push({ from: middle, to })
  }
  return [first, rest]
}

/** The spans without these numbers. */
const without = (spans: readonly Span[], removed: readonly Span[]): readonly Span[] =>
  removed.reduce<readonly Span[]>(
    (left, { from, to }) =>
      left.flatMap((span) =>
        [
          { from: span.from, to: Math.min(span.to, from) },
          { from: Math.max(span.from, to), to: span.to },
        ].filter((part) => part.from < part.to),
      ),
    spans,
  )

/** The spans with each number once. */
const distinct = (spans: readonly Span[]): readonly Span[] =>
  spans.reduce<readonly Span[]>((all, span) => [...all, ...without([span], all)], [])

/** A posting that added credits or took them back, as the ledger has it. */
export type CreditPosting = {
  readonly kind: 'added' | 'reversed' | 'restored'
  /** The pack or grant that it is about. */
  readonly lot: string
  readonly credits: number
  /** The balance after it, where it changed the balance; otherwise it was about a debt alone, and the balance was zero. */
  readonly balance: number | undefined
  /** How much it changed the balance. */
  readonly balanceChange: number
  readonly at: Date
}

/** A pack or a grant, and the spent credits that it pays for. */
export type Lot = {
  readonly name: string
  readonly credits: number
  /** Credits that are neither spent nor taken back. */
  rest: number
  /** The spent credits that it pays for. */
  paid: readonly Span[]
  /** Those that it no longer pays for because it was reversed, in the order in which it paid for them. */
  unpaid: readonly Span[]
  /** Every one that was ever in `unpaid`. */
  everUnpaid: readonly Span[]
}

/** How many credits were spent at some time. */
export type SpentAt = { readonly spent: number; readonly at: Date }
export type Payers = { readonly lots: ReadonlyMap<string, Lot>; readonly spentAt: readonly SpentAt[] }

type State = {
  readonly lots: Map<string, Lot>
  /** Spent credits that nothing pays for: the debt. */
  owed: readonly Span[]
  spent: number
}

/** Credits pay in the order in which they were added. */
const pay = (state: State, spans: readonly Span[]): readonly Span[] => {
  let left = spans
  for (const lot of state.lots.values()) {
    const [taken, rest] = split(left, lot.rest)
    lot.rest -= countOf(taken)
    lot.paid = [...lot.paid, ...taken]
    left = rest
  }
  return left
}

const settleDebt = (state: State): void => {
  state.owed = pay(state, state.owed)
}

/** The credits that are left of a pack are taken back first, then those that were spent last. Others pay for those, or they are owed. */
const reverse = (state: State, lot: Lot, credits: number): void => {
  const fromRest = Math.min(lot.rest, credits)
  lot.rest -= fromRest
  const left = countOf(lot.paid) - (credits - fromRest)
  if (left < 0) throw new Error(`${credits} credits of ${lot.name} were reversed: ${-left} more than it has`)
  const [paid, unpaid] = split(lot.paid, left)
  lot.paid = paid
  lot.unpaid = [...unpaid, ...lot.unpaid]
  lot.everUnpaid = [...without(lot.everUnpaid, unpaid), ...unpaid]
  state.owed = [...state.owed, ...unpaid]
  settleDebt(state)
}

/** A pack that is restored pays again for what it paid for, and what others paid for it is theirs again. */
const restore = (state: State, lot: Lot, credits: number): void => {
  const [regained, unpaid] = split(lot.unpaid, credits)
  for (const other of state.lots.values()) {
    if (other === lot) continue
    const kept = without(other.paid, regained)
    other.rest += countOf(other.paid) - countOf(kept)
    other.paid = kept
    other.unpaid = without(other.unpaid, regained)
  }
  state.owed = without(state.owed, regained)
  lot.paid = [...lot.paid, ...regained]
  lot.unpaid = unpaid
  lot.rest += credits - countOf(regained)
  settleDebt(state)
}

const spendUpTo = (state: State, spent: number): void => {
  if (spent <= state.spent) return
  state.owed = [...state.owed, ...pay(state, [{ from: state.spent, to: spent }])]
  state.spent = spent
}

/**
 * Which pack or grant pays for which spent credit. Only a change of the balance that no such posting explains is spending, so the
 * postings alone say how much was spent between them.
 */
export const payersOf = (postings: readonly CreditPosting[]): Payers => {
  const state: State = { lots: new Map(), owed: [], spent: 0 }
  const spentAt: SpentAt[] = []
  let added = 0
  for (const { kind, lot: name, credits, balance, balanceChange, at } of postings) {
    spendUpTo(state, added + balanceChange - (balance ?? 0))
    added += balanceChange
    spentAt.push({ spent: state.spent, at })
    if (kind === 'added') {
      const lot = { name, credits, rest: credits, paid: [], unpaid: [], everUnpaid: [] }
      state.lots.set(name, lot)
      settleDebt(state)
      continue
    }
    const lot = state.lots.get(name)
    if (!lot) throw new Error(`pack ${name} was ${kind} and is not among ${postings.length} postings`)
    if (kind === 'reversed') reverse(state, lot, credits)
    else restore(state, lot, credits)
  }
  return { lots: state.lots, spentAt }
}

/** A lot with the parts of its credits whose payment is disputed, or was charged back. */
export type Disputed = { readonly lot: Lot; readonly open: number; readonly lost: number }

/** The spent credits of a lot that the open part of its disputes paid for, and the lost part. The rest was refunded. */
export const disputedSpansOf = ({ lot, open, lost }: Disputed) => {
  const [suspended, others] = split(lot.unpaid, open)
  const [revoked] = split(others, lost)
  return { suspended, revoked }
}

const daysOf = (at: Date, days: number): string => new Date(at.getTime() + days * 86_400_000).toISOString()

/**
 * The plan for what the disputed packs paid: each credential that a dispute of this agent has ever concerned is revoked,
 * suspended, or free of disputes. Times in the ledger are those at which transactions began, which differs from their order by
 * less than a day.
 */
export const planOf = (disputed: readonly Disputed[], spentAt: readonly SpentAt[]): DisputedSpan[] => {
  const spans = disputed.map(disputedSpansOf)
  const revoked = spans.flatMap((lot) => lot.revoked)
  const suspended = without(
    spans.flatMap((lot) => lot.suspended),
    revoked,
  )
  const ever = disputed.flatMap(({ lot }) => lot.everUnpaid)
  const states = { revoked, suspended, issued: without(ever, [...revoked, ...suspended]) }
  return (['revoked', 'suspended', 'issued'] as const).flatMap((state) =>
    distinct(states[state]).map(({ from, to }) => {
      const before = spentAt.findLast(({ spent }) => spent <= from)
      const after = spentAt.find(({ spent }) => spent >= to)
      if (!before || !after) throw new Error(`credits ${from} to ${to} were not spent between two postings`)
      return { from, to, state, since: daysOf(before.at, -1), until: daysOf(after.at, 1) }
    }),
  )
}
