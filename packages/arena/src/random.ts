/** A source of numbers in [0, 1). Every generator takes one, so that a seed determines the result. */
export type Random = () => number

/** A small deterministic source (mulberry32): the same seed gives the same numbers for ever. */
export const createRandom = (seed: number): Random => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_00_00_00_00
  }
}

export const uniform = (random: Random, low: number, high: number): number => low + random() * (high - low)

/** Standard normal by Box and Muller. Takes two numbers at each call, so that a sequence stays reproducible. */
export const gaussian = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())

/** One element of a list, which must not be empty. */
export const pick = <T>(random: Random, from: readonly T[]): T => {
  const chosen = from[Math.floor(random() * from.length)]
  if (chosen === undefined) throw new RangeError(`no element to pick from a list of ${from.length}`)
  return chosen
}
