import { setTimeout } from 'node:timers/promises'

const refusalDelayMs = 500
const delayedMax = 1_000

/** Delays refusals: without it, a client that repeats its calls at once would use up the time of all others. */
export const makeRefusalDelay = () => {
  let delayed = 0
  return async (): Promise<void> => {
    if (delayed >= delayedMax) return
    delayed += 1
    await setTimeout(refusalDelayMs, undefined, { ref: false })
    delayed -= 1
  }
}
