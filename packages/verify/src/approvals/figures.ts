/** Known-bad requests that a person must have decided before their own figures are shown. */
export const knownBadMin = 10

/** The quantile of the normal distribution for an interval of 95 percent. */
const z95 = 1.959964

export type Share = {
  readonly n: number
  readonly of: number
  readonly share: number | null
  readonly low: number | null
  readonly high: number | null
}

const rounded = (value: number): number => Math.round(Math.min(1, Math.max(0, value)) * 10_000) / 10_000

/** A share with its Wilson interval of 95 percent, which also holds for small numbers and for shares near 0 and 1. */
export const shareOf = (n: number, of: number): Share => {
  if (of === 0) return { n, of, share: null, low: null, high: null }
  const share = n / of
  const spread = (z95 * z95) / of
  const middle = (share + spread / 2) / (1 + spread)
  const half = (z95 * Math.sqrt((share * (1 - share)) / of + spread / (4 * of))) / (1 + spread)
  return { n, of, share: rounded(share), low: rounded(middle - half), high: rounded(middle + half) }
}

const logFactorials: number[] = [0]
const logFactorial = (n: number): number => {
  for (let next = logFactorials.length; next <= n; next++)
    logFactorials.push((logFactorials[next - 1] ?? 0) + Math.log(next))
  return logFactorials[n] ?? 0
}
const logChoose = (n: number, k: number): number => logFactorial(n) - logFactorial(k) - logFactorial(n - k)

type Count = { readonly n: number; readonly of: number }

/** Fisher's exact test: how likely a person as attentive as the others catches this few. */
export const chanceOfFewer = (person: Count, others: Count): number => {
  const caught = person.n + others.n
  let chance = 0
  for (let n = Math.max(0, caught - others.of); n <= person.n; n++)
    chance += Math.exp(
      logChoose(person.of, n) + logChoose(others.of, caught - n) - logChoose(person.of + others.of, caught),
    )
  return Math.min(1, chance)
}

/** How often, at most, a team of equally attentive people may have one of them named. */
const falseNamingMax = 0.01

type Candidate = { readonly id: string; readonly caught: Count }
type CandidateComparison = Candidate & { readonly chance: number; readonly isBelow: boolean }

const compareWithOthers = (candidate: Candidate, all: readonly Candidate[]): CandidateComparison => {
  const others = all
    .filter(({ id }) => id !== candidate.id)
    .reduce((sum, { caught }) => ({ n: sum.n + caught.n, of: sum.of + caught.of }), { n: 0, of: 0 })
  const { high } = shareOf(candidate.caught.n, candidate.caught.of)
  const isBelow = high !== null && others.of > 0 && high < others.n / others.of
  return { ...candidate, isBelow, chance: chanceOfFewer(candidate.caught, others) }
}

/**
 * Who caught fewer known-bad requests than the rest of the team. The person who differs most is compared first and then left
 * out of "the rest", so that several people who read nothing do not hide each other. Each comparison is at the level for the
 * number of people that are left, and the 95 percent interval of the person must lie below the share of the others.
 */
export const findBelowTeam = (people: readonly Candidate[]): ReadonlySet<string> => {
  const named = new Set<string>()
  let left = people
  while (left.length > 1) {
    const [worst] = left
      .map((candidate) => compareWithOthers(candidate, left))
      .toSorted((one, other) => one.chance - other.chance)
    if (!worst?.isBelow || worst.chance >= falseNamingMax / left.length) break
    named.add(worst.id)
    left = left.filter(({ id }) => id !== worst.id)
  }
  return named
}
