import { loadavg } from 'node:os'

/** The middle value; of an even number the upper one. */
export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN

/** The value that a share of all does not exceed, such as 0.99. */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(Math.floor(values.length * share), values.length - 1)] ?? NaN

export const rounded = (value: number, digits = 1): number => Number(value.toFixed(digits))

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** The load of the machine in the last minute, of which others may be a part. */
export const loadNow = (): number => rounded(loadavg()[0] ?? NaN)

export type Round<S extends string, T> = Readonly<Record<S, T>> & { readonly load: number }

/** Measures all sides in each round. In each round another side is first: a slow moment of the machine hits all of them. */
export const inTurns = async <S extends string, T>(
  rounds: number,
  sides: Readonly<Record<S, (round: number) => Promise<T>>>,
): Promise<Round<S, T>[]> => {
  const names = Object.keys(sides) as S[]
  const measured: Round<S, T>[] = []
  for (let round = 0; round < rounds; round += 1) {
    const load = loadNow()
    const results = {} as Record<S, T>
    for (const place of names.keys()) {
      const name = names[(place + round) % names.length] as S
      results[name] = await sides[name](round)
    }
    measured.push({ ...results, load })
  }
  return measured
}

/** The median of each figure of some rounds. */
export const mediansOf = <K extends string>(
  rounds: readonly Readonly<Record<K, number>>[],
  digits = 3,
): Record<K, number> =>
  Object.fromEntries(
    Object.keys(rounds[0] ?? {}).map((key) => [
      key,
      rounded(median(rounds.map((round) => round[key as K])), digits),
    ]),
  ) as Record<K, number>

/** mulberry32: the same seed gives the same numbers. */
export const randomFrom = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
