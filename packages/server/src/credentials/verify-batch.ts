import { resolveSession } from '../evidence/index.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { makeCoalescer, runBisected, type Outcome } from '../platform/queue/coalesce.ts'
import type { Progress } from '../platform/queue/progress.ts'
import type { CredentialsDeps } from './mint/mint.ts'
import { busy } from './refusals.ts'
import { verifyBatch, type VerifyRequest, type VerifyResponse } from './verify.ts'

/** Two batches keep the database busy while this process signs; a third would only wait for their locks. */
const inFlightMax = 2
const batchMax = 128
const waitingMax = 10_000
/** A call that lost its act to another or found no credits is tried twice. */
const attemptsMax = 2

/** Verifies a batch, and again those of its calls that may succeed now. */
const verifyWithRetry = async (
  deps: CredentialsDeps,
  batch: readonly VerifyRequest[],
): Promise<readonly Outcome<VerifyResponse>[]> => {
  const results = await verifyBatch(deps, batch)
  for (let attempt = 1; attempt < attemptsMax; attempt++) {
    const pending = results.flatMap((result, index) => ('retry' in result ? [index] : []))
    if (pending.length === 0) break
    const retried = await verifyBatch(
      deps,
      pending.flatMap((index) => batch[index] ?? []),
    )
    for (const [position, index] of pending.entries()) results[index] = retried[position] ?? { retry: busy() }
  }
  return results.map((result) => ('retry' in result ? { error: result.retry } : result))
}

/** No single row is at fault when the database or the signer is unavailable. */
const isUnavailable = (error: unknown): boolean => error instanceof Refusal

/** A session whose network was busy is not signed for again within this time: a refused call costs its agent nothing. */
const busyMs = 10_000
const busySessionsMax = 10_000

/** Remembers sessions that got `network_busy`, and refuses them at once for a while. */
const makeBusySessions = ({ clock }: Pick<Ctx, 'clock'>) => {
  const known = new Map<string, { readonly until: number; readonly refusal: Refusal }>()
  return async <T>(name: string, run: () => Promise<T>): Promise<T> => {
    const busySession = known.get(name)
    if (busySession && clock.now().getTime() < busySession.until) throw busySession.refusal
    known.delete(name)
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'network_busy') throw error
      if (known.size >= busySessionsMax) for (const oldest of known.keys()) if (known.delete(oldest)) break
      // Not longer than the refusal itself said: the caller comes back when the budget opens.
      const openMs = 1_000 * Number(error.options.headers?.['retry-after'] ?? Infinity)
      known.set(name, { until: clock.now().getTime() + Math.min(busyMs, openMs), refusal: error })
      throw error
    }
  }
}

/** Coalesces calls of verify into batches. A batch that fails is split, down to the call at fault. */
export const makeVerifyQueue = (
  deps: CredentialsDeps,
  progress: Progress,
): ((request: VerifyRequest) => Promise<VerifyResponse>) => {
  const enqueue = makeCoalescer<VerifyRequest, VerifyResponse>({
    run: (batch) =>
      progress.track(() => runBisected(batch, (part) => verifyWithRetry(deps, part), isUnavailable)),
    batchMax,
    inFlightMax,
    waitingMax,
    waitLimitMs: deps.ctx.config.DATABASE_WAIT_SECONDS * 1_000,
    fullError: busy,
  })
  const unlessBusy = makeBusySessions(deps.ctx)
  return async (request) => {
    const { agent, input } = request
    // The sandbox creates the session on demand, outside the batch, so that simulated calls do not delay live ones.
    if (agent.mode === 'test')
      await inTransaction(deps.ctx, agent.agentId, (tx) =>
        resolveSession(tx, agent, input.sessionId, input.challenge),
      )
    return unlessBusy(`${agent.agentId} ${input.sessionId}`, () => enqueue(request))
  }
}
