import { resolveSession } from '../evidence/index.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
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
  return async (request) => {
    const { agent, input } = request
    // The sandbox creates the session on demand, outside the batch, so that simulated calls do not delay live ones.
    if (agent.mode === 'test')
      await inTransaction(deps.ctx, agent.agentId, (tx) =>
        resolveSession(tx, agent, input.sessionId, input.challenge),
      )
    return enqueue(request)
  }
}
