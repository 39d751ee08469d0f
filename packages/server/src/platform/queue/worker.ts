import type { Ctx } from '../ops/context.ts'

/** A kind of background work: `run` processes a batch and returns how many items it processed. */
export type Job = {
  readonly name: string
  readonly everyMs: number
  readonly run: () => Promise<number>
  /** Whether the job has to wait. A job that waits did not succeed. */
  readonly isPaused?: () => Promise<boolean>
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
  const noteSuccess = ({ name }: Job) =>
    ctx.metrics.jobSuccess.set({ name }, ctx.clock.now().getTime() / 1_000)
  const loop = async (job: Job) => {
    // Without a series from the start, no alert would see a job that never succeeds.
    noteSuccess(job)
    ctx.metrics.jobFailures.inc({ name: job.name }, 0)
    while (!stopping.signal.aborted) {
      try {
        const isPaused = (await job.isPaused?.()) === true
        const processed = isPaused ? 0 : await job.run()
        if (!isPaused) noteSuccess(job)
        if (processed === 0) await pause(job.everyMs)
      } catch (error) {
        ctx.metrics.jobFailures.inc({ name: job.name })
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
