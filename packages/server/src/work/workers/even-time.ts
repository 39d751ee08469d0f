import { setTimeout } from 'node:timers/promises'

const stepMs = 250

/** Answers at a full quarter of a second: a known-answer item takes some milliseconds more to deliver than a unit. */
export const atEvenTime = async <T>(work: () => Promise<T>): Promise<T> => {
  const startedAt = performance.now()
  try {
    return await work()
  } finally {
    // Timers drop fractions of a millisecond.
    await setTimeout(Math.ceil(stepMs - ((performance.now() - startedAt) % stepMs)))
  }
}
