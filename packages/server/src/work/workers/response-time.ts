import { setTimeout } from 'node:timers/promises'

const stepMs = 250

/** Pads the response time to a multiple of 250 ms: the time of an answer does not tell a known-answer item from a unit. */
export const padResponseTime = async <T>(work: () => Promise<T>): Promise<T> => {
  const startedAt = performance.now()
  try {
    return await work()
  } finally {
    // Timers drop fractions of a millisecond.
    await setTimeout(Math.ceil(stepMs - ((performance.now() - startedAt) % stepMs)))
  }
}
