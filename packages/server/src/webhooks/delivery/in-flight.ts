/** How often a worker with something in flight looks for newly due deliveries. */
const pollMs = 250
/** Deliveries end in clusters; a claim for each would cost more than this wait. */
const batchDelayMs = 5

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** The promises that a job has started and not yet awaited. */
export const makeInFlight = () => {
  const promises = new Set<Promise<void>>()
  let endedCount = 0
  let ended = Promise.withResolvers<void>()
  return {
    size: () => promises.size,
    track: (work: Promise<void>): void => {
      const tracked = work.finally(() => {
        promises.delete(tracked)
        endedCount += 1
        ended.resolve()
      })
      promises.add(tracked)
    },
    /** How many have ended since this was last called. */
    takeEndedCount: (): number => {
      const count = endedCount
      endedCount = 0
      return count
    },
    /** Waits until one ends, and then for those that end with it; at most `pollMs`. */
    waitForOne: async (): Promise<void> => {
      const poll = Promise.withResolvers<void>()
      const timer = setTimeout(poll.resolve, pollMs)
      await Promise.race([ended.promise, poll.promise])
      clearTimeout(timer)
      await pause(batchDelayMs)
      ended = Promise.withResolvers<void>()
    },
    /** Waits until none is left, those included that are added meanwhile. */
    waitForAll: async (): Promise<void> => {
      while (promises.size > 0) await Promise.all(promises)
    },
  }
}
