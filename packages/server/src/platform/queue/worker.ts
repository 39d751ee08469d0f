import type { Ctx } from '../ops/context.ts'

/** A kind of background work: `run` processes a batch and returns how many items it processed. */
export type Job = {
  readonly name: string
  readonly everyMs: number
  readonly run: () => Promise<number>
  /** Waits for what `run` left in flight; called once when the worker stops. */
  readonly finish?: () => Promise<void>
}

export type Worker = { readonly stop: () => Promise<void> }

const errorBackoffMsDefault = 2_000

/**
 * Runs every job in a loop of its own until stopped: again at once while there is work, else after `everyMs`. A job that
 * throws is retried after a backoff, and does not affect the others.
 */
export const startWorker = (
  ctx: Ctx,
  jobs: readonly Job[],
  errorBackoffMs = errorBackoffMsDefault,
): Worker => {
  const stopping = new AbortController()
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      // A signal that was aborted before sends no event.
      if (stopping.signal.aborted) {
        resolve()
        return
      }
      const timer = setTimeout(done, ms)
      stopping.signal.addEventListener('abort', done, { once: true })
      function done() {
        clearTimeout(timer)
        stopping.signal.removeEventListener('abort', done)
        resolve()
      }
    })
  const loop = async (job: Job) => {
    while (!stopping.signal.aborted) {
      try {
        const processed = await job.run()
        if (processed === 0) await pause(job.everyMs)
      } catch (error) {
        ctx.log.error(
          { err: error, job: job.name, retryInMs: errorBackoffMs },
          'background job failed; it will be retried',
        )
        await pause(errorBackoffMs)
      }
    }
  }
  const loops = jobs.map(loop)
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(loops)
      for (const job of jobs) await job.finish?.()
    },
  }
}
