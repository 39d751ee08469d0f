// Error rates from scores. Higher means more like a person.
const rising = (values: readonly number[]) => values.toSorted((left, right) => left - right)

/** How many of the sorted values are below (or, if asked, at) the limit. */
function countBelow(sorted: readonly number[], limit: number, including: boolean): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const value = sorted[middle] ?? 0
    if (value < limit || (including && value === limit)) low = middle + 1
    else high = middle
  }
  return low
}

/** The chance that a person scores higher than a bot; a tie counts half. */
export function auc(people: readonly number[], bots: readonly number[]): number {
  const sorted = rising(bots)
  let wins = 0
  for (const score of people) wins += (countBelow(sorted, score, false) + countBelow(sorted, score, true)) / 2
  return wins / (people.length * bots.length)
}

/** The share of people at or below the threshold that rejects at least this share of bots. */
export function falseRejectionRate(
  people: readonly number[],
  bots: readonly number[],
  rejection: number,
): number {
  const sorted = rising(bots)
  const threshold = sorted[Math.min(sorted.length, Math.ceil(rejection * sorted.length)) - 1] ?? -Infinity
  return countBelow(rising(people), threshold, true) / people.length
}

/** Where the share of people rejected and of bots accepted are equal; between two thresholds their mean is taken. */
export function equalErrorRate(people: readonly number[], bots: readonly number[]): number {
  const sortedPeople = rising(people)
  const sortedBots = rising(bots)
  let best = { gap: Infinity, rate: 1 }
  for (const threshold of [-Infinity, ...sortedPeople, ...sortedBots]) {
    const lost = countBelow(sortedPeople, threshold, true) / people.length
    const passed = 1 - countBelow(sortedBots, threshold, true) / bots.length
    const gap = Math.abs(lost - passed)
    if (gap < best.gap) best = { gap, rate: (lost + passed) / 2 }
  }
  return best.rate
}

export function shareAtOrBelow(scores: readonly number[], limit: number): number {
  return scores.length === 0 ? 0 : countBelow(rising(scores), limit, true) / scores.length
}
