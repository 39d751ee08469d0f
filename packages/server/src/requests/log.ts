import type { AnsweredRequest } from '../platform/http/http.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { withoutSpan } from '../platform/ops/tracing.ts'
import { outsideRequests } from '../platform/ops/tracing/request-scope.ts'
import { insertRequests } from './store.ts'

/** A request is in the list about this long after its answer. */
const everyMs = 1_000
const batchMax = 1_000
const waitingMax = 10_000
/** So that a flood of one agent does not displace the requests of the others. */
const waitingOfAgentMax = 1_000

/** A batch belongs to no request, also where one of them set the timer. */
const outsideTraces = <T>(work: () => T): T => outsideRequests(() => withoutSpan(work))

type RequestLogDeps = {
  readonly ctx: Pick<Ctx, 'db' | 'log' | 'metrics'>
  /** Whether the database is from the past, where nothing is written. */
  readonly isPaused: () => Promise<boolean>
}

/** Keeps requests in memory and writes them in batches, one after the other: no request waits for the log. */
export const makeRequestLog = ({ ctx, isPaused }: RequestLogDeps) => {
  const waiting: AnsweredRequest[] = []
  const waitingOf = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let writing = Promise.resolve()

  const takeBatch = (): AnsweredRequest[] => {
    const batch = waiting.splice(0, batchMax)
    for (const { agentId } of batch) {
      const left = (waitingOf.get(agentId) ?? 1) - 1
      if (left === 0) waitingOf.delete(agentId)
      else waitingOf.set(agentId, left)
    }
    return batch
  }
  const write = async (batch: readonly AnsweredRequest[]): Promise<void> => {
    try {
      if (await isPaused()) {
        ctx.metrics.unloggedRequests.inc(batch.length)
        return
      }
      await inTransaction(ctx, 'system', (tx) => {
        const now = performance.now()
        return insertRequests(
          tx,
          batch.map((row) => ({ ...row, ageMs: now - row.startedAt })),
        )
      })
    } catch (error) {
      ctx.metrics.unloggedRequests.inc(batch.length)
      ctx.log.warn({ err: error, requests: batch.length }, 'requests not written to the request log')
    }
  }
  const writeAll = async (): Promise<void> => {
    for (let batch = takeBatch(); batch.length > 0; batch = takeBatch()) await write(batch)
  }
  /** Writes what waits now, after what is being written. */
  const flush = (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    writing = writing.then(writeAll)
    return writing
  }
  return {
    note: (request: AnsweredRequest): void => {
      const ofAgent = waitingOf.get(request.agentId) ?? 0
      if (waiting.length >= waitingMax || ofAgent >= waitingOfAgentMax) {
        ctx.metrics.unloggedRequests.inc()
        return
      }
      waiting.push(request)
      waitingOf.set(request.agentId, ofAgent + 1)
      timer ??= outsideTraces(() => setTimeout(() => void flush(), everyMs).unref())
    },
    flush,
  }
}
