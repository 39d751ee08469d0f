/** Remembers when the work in progress began: readiness fails while a batch takes too long. */
export type Progress = {
  readonly track: <T>(work: () => Promise<T>) => Promise<T>
  /** How long the oldest work in progress has taken so far; 0 where there is none. */
  readonly oldestMs: () => number
}

export const makeProgress = (): Progress => {
  const started = new Set<{ readonly at: number }>()
  return {
    track: async (work) => {
      const entry = { at: performance.now() }
      started.add(entry)
      try {
        return await work()
      } finally {
        started.delete(entry)
      }
    },
    oldestMs: () => {
      // A set keeps the order in which its entries came.
      const [oldest] = started
      return oldest ? performance.now() - oldest.at : 0
    },
  }
}
