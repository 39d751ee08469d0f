/** Numbers from a seed: the same seed gives the same data. */
export const makeRandom = (seed: number) => {
  let state = seed >>> 0
  /** From 0 to below 1. */
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number): number => low + next() * (high - low)
  return {
    next,
    between,
    /** A whole number from low to high, both included. */
    integer: (low: number, high: number): number => Math.floor(between(low, high + 1)),
    isTrue: (share: number): boolean => next() < share,
    pick: <T>(list: readonly T[]): T => {
      const picked = list[Math.floor(next() * list.length)]
      if (picked === undefined) throw new Error('nothing to pick from an empty list')
      return picked
    },
    id: (prefix: string): string =>
      `${prefix}demo${Array.from({ length: 18 }, () => Math.floor(next() * 36).toString(36)).join('')}`,
  }
}
export type Random = ReturnType<typeof makeRandom>
