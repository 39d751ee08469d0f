import { monitorEventLoopDelay } from 'node:perf_hooks'

const resolutionMs = 10
const windowMs = 250

/** Tells the mean delay of the event loop four times a second; returns the function that ends this. */
export const watchEventLoop = (note: (lagMs: number) => void): (() => void) => {
  const delays = monitorEventLoopDelay({ resolution: resolutionMs })
  delays.enable()
  const timer = setInterval(() => {
    // A loop that is blocked for the whole window records its delay only afterwards.
    const averageMs = delays.count === 0 ? windowMs : delays.mean / 1_000_000
    delays.reset()
    note(Math.max(0, averageMs - resolutionMs))
  }, windowMs).unref()
  return () => {
    clearInterval(timer)
    delays.disable()
  }
}
