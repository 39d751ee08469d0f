/** Numbers that the same text always repeats. */
export type Random = {
  /** From 0 to below this. */
  readonly below: (end: number) => number
  readonly chance: (of: number) => boolean
  readonly pick: <T>(list: readonly T[]) => T
}

const hashOf = (text: string): number => {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}

/** One generator for each input, so that an input can be made again without those before it. */
export const randomOf = (text: string): Random => {
  let state = hashOf(text)
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const below = (end: number): number => (end <= 1 ? 0 : next() % end)
  return {
    below,
    chance: (of) => below(of) === 0,
    pick: (list) => {
      const found = list[below(list.length)]
      if (found === undefined) throw new Error('nothing to pick from')
      return found
    },
  }
}
