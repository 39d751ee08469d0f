import type { Ctx } from '../ops/context.ts'

/** One kind of background work: does a batch and says how many items it took. */
export type Job = {
  readonly name: string
  readonly everyMs: number
  readonly run: () => Promise<number>
  /** Waits for what `run` left under way; called once when the worker stops. */
  readonly finish?: () => Promise<void>
}

export type Worker = { readonly stop: () => Promise<void> }

const errorBackoffMs = 2_000

/**
 * Runs every duty in a loop of its own until stopped: at once again while there is work, else after `everyMs`.
 * A duty that throws waits and goes on; it never takes the others with it.
 */
export const startWorker = (ctx: Ctx, duties: readonly Job[]): Worker => {
  const stopping = new AbortController()
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(done, ms)
      stopping.signal.addEventListener('abort', done, { once: true })
      function done() {
        clearTimeout(timer)
        stopping.signal.removeEventListener('abort', done)
        resolve()
      }
    })
  const loop = async (duty: Job) => {
    while (!stopping.signal.aborted) {
      try {
        const processed = await duty.run()
        if (processed === 0) await pause(duty.everyMs)
      } catch (error) {
        ctx.log.error({ err: error, duty: duty.name }, 'background job failed')
        await pause(errorBackoffMs)
      }
    }
  }
  const loops = duties.map(loop)
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(loops)
      for (const duty of duties) await duty.finish?.()
    },
  }
}
