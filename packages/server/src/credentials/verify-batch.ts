import { resolveSession } from '../evidence/index.ts'
import { inSingleStatement, inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import {
  currentRequestScope,
  makeRequestScope,
  withinRequest,
} from '../platform/ops/tracing/request-scope.ts'
import type { Span } from '../platform/ops/tracing/spans.ts'
import { currentSpan, inCausedSpan } from '../platform/ops/tracing.ts'
import { makeCoalescer, runBisected, type Outcome } from '../platform/queue/coalesce.ts'
import type { Progress } from '../platform/queue/progress.ts'
import type { CredentialsDeps } from './mint/mint.ts'
import { busy } from './refusals.ts'
import { verifyBatch, type QueuedRequest, type VerifyRequest, type VerifyResponse } from './verify.ts'

/** Two batches keep the database busy while this process signs; a third would only wait for their locks. */
const inFlightMax = 2
/** Short compared with the time that a batch takes, and long enough for callers whose batch has returned to call again. */
const batchWaitMs = 5
const batchMax = 128
const waitingMax = 10_000
/** A call is tried twice if another call minted its act first, or if the credits ran out since they were read. */
const attemptsMax = 2

/** Verifies a batch, and again those of its calls that may succeed now. */
const verifyWithRetry = async (
  deps: CredentialsDeps,
  batch: readonly QueuedRequest[],
): Promise<readonly Outcome<VerifyResponse>[]> => {
  const results = await verifyBatch(deps, batch)
  for (let attempt = 1; attempt < attemptsMax; attempt++) {
    const pending = results.flatMap((result, index) => ('retry' in result ? [index] : []))
    if (pending.length === 0) break
    const retried = await verifyBatch(
      deps,
      pending.flatMap((index) => batch[index] ?? []),
      'retry',
    )
    for (const [position, index] of pending.entries()) results[index] = retried[position] ?? { retry: busy() }
  }
  return results.map((result) => ('retry' in result ? { error: result.retry } : result))
}

/** Whether the whole batch failed because the database or the signer is unavailable: then splitting it does not help. */
const isUnavailable = (error: unknown): boolean => error instanceof Refusal

/** How long a session whose budget is used up is refused without signing: a refused call is free, and each signature is work. */
const busyMs = 10_000
const busySessionsMax = 10_000

/** The refusals of a budget. */
const budgetCodes: readonly Refusal['code'][] = ['network_busy', 'human_limit_reached']

/**
 * Remembers sessions whose budget is used up, and refuses them at once for a while. A session that holds places of its network by now
 * is tried again; of a limit for each human none are held.
 */
const makeBusySessions = ({ ctx, roots }: Pick<CredentialsDeps, 'ctx' | 'roots'>) => {
  const { clock } = ctx
  const known = new Map<string, { readonly until: number; readonly refusal: Refusal }>()
  return async <T>({ agent, input }: VerifyRequest, run: () => Promise<T>): Promise<T> => {
    const name = `${agent.agentId} ${input.sessionId}`
    const busySession = known.get(name)
    if (busySession && clock.now().getTime() < busySession.until) {
      const mayHold = busySession.refusal.code === 'network_busy'
      const isHeld = mayHold && (await inSingleStatement(ctx, (tx) => roots.isHeld(tx, input.sessionId)))
      if (!isHeld) throw busySession.refusal
    }
    known.delete(name)
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof Refusal) || !budgetCodes.includes(error.code)) throw error
      if (known.size >= busySessionsMax) for (const oldest of known.keys()) if (known.delete(oldest)) break
      // Not longer than the refusal itself said: the caller comes back when the budget opens.
      const openMs = 1_000 * Number(error.options.headers?.['retry-after'] ?? Infinity)
      known.set(name, { until: clock.now().getTime() + Math.min(busyMs, openMs), refusal: error })
      throw error
    }
  }
}

/** A call of verify with the span of its request. */
type QueuedCall = { readonly request: QueuedRequest; readonly span: Span | undefined }

/** Runs a batch for all its requests: log lines, the signer's too, name each of them. */
const inBatchScope = <T>(queued: readonly QueuedCall[], run: () => Promise<T>): Promise<T> => {
  const scope = makeRequestScope(queued.flatMap(({ request }) => request.scope?.requestIds ?? []))
  return withinRequest(scope, () => inBatchSpan(queued, run))
}

/**
 * Runs a batch in a span below its first traced request. The spans of the other requests and this span link to each other.
 */
const inBatchSpan = <T>(queued: readonly QueuedCall[], run: () => Promise<T>): Promise<T> => {
  const causes = queued.map(({ span }) => span?.traceparent)
  const attributes = { 'pohf.batch_size': queued.length }
  return inCausedSpan('verify batch', { causes, attributes }, (batch) => {
    if (batch)
      for (const { span } of queued) if (span?.traceId !== batch.traceId) span?.link(batch.traceparent)
    return run()
  })
}

/** Coalesces calls of verify into batches. A batch that fails is split, down to the call at fault. */
export const makeVerifyQueue = (
  deps: CredentialsDeps,
  progress: Progress,
): ((request: VerifyRequest) => Promise<VerifyResponse>) => {
  const enqueue = makeCoalescer<QueuedCall, VerifyResponse>({
    run: (queued) => {
      const batch = queued.map(({ request }) => request)
      const verify = () => runBisected(batch, (part) => verifyWithRetry(deps, part), isUnavailable)
      return progress.track(() => inBatchScope(queued, verify))
    },
    batchMax,
    inFlightMax,
    batchWaitMs,
    waitingMax,
    waitLimitMs: deps.ctx.config.DATABASE_WAIT_SECONDS * 1_000,
    fullError: busy,
  })
  const unlessBusy = makeBusySessions(deps)
  return async (request) => {
    const { agent, input } = request
    // The sandbox creates the session on demand, outside the batch, so that simulated calls do not delay live ones.
    if (agent.mode === 'test')
      await inTransaction(deps.ctx, agent.agentId, (tx) =>
        resolveSession(tx, agent, input.sessionId, input.challenge),
      )
    return unlessBusy(request, () =>
      enqueue({ request: { ...request, scope: currentRequestScope() }, span: currentSpan() }),
    )
  }
}
