import { isId } from '@pohf/protocol'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { SignedChunk } from './chain.ts'
import { receiptOf } from './state.ts'
import { appendChunks, type ChunkResult, type ChunkSubmission, type RecordingDeps } from './append.ts'

/** Chunks per transaction; the rest wait for the next batch. */
const batchMax = 64
/** Concurrent batches: while one is written, the next is verified. */
const inFlightMax = 2
/** Queued chunks; further calls are refused with Retry-After. */
const queuedMax = 10_000

type QueuedChunk = {
  readonly submission: ChunkSubmission
  readonly resolve: (result: ChunkResult) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Batches chunks of many sessions into one transaction. There is no artificial delay: a chunk that arrives alone is
 * written at once, and chunks that arrive while batches are in flight are written together.
 */
export const makeChunkQueue = (deps: RecordingDeps) => {
  const queue: QueuedChunk[] = []
  let inFlight = 0

  const send = async (batch: readonly QueuedChunk[]): Promise<void> => {
    try {
      const submissions = batch.map(({ submission }) => submission)
      const results = await inTransaction(deps.ctx, 'system', (tx) => appendChunks(tx, deps, submissions))
      for (const [index, one] of batch.entries()) {
        const result = results[index]
        if (result) one.resolve(result)
        else
          one.reject(
            new Error(
              `no result for a chunk of session ${one.submission.sessionId}: ${results.length} results for ${batch.length} chunks`,
            ),
          )
      }
    } catch (error) {
      for (const one of batch) one.reject(error)
    }
  }

  const pump = (): void => {
    while (inFlight < inFlightMax && queue.length > 0) {
      inFlight += 1
      void send(queue.splice(0, batchMax)).finally(() => {
        inFlight -= 1
        pump()
      })
    }
  }

  return (submission: ChunkSubmission): Promise<ChunkResult> =>
    new Promise((resolve, reject) => {
      if (queue.length >= queuedMax) {
        reject(new Refusal('overloaded', { headers: { 'retry-after': '2' } }))
        return
      }
      queue.push({ submission, resolve, reject })
      pump()
    })
}
export type ChunkQueue = ReturnType<typeof makeChunkQueue>

/** Appends the next chunk of a session and returns its receipt. */
export const telemetry = async (
  appendQueued: ChunkQueue,
  { sessionId, address }: { readonly sessionId: string; readonly address: string },
  signed: SignedChunk,
) => {
  // Text that is not an id costs no read.
  if (!isId('ses_', sessionId)) throw new Refusal('not_found', { message: 'No such session.' })
  const result = await appendQueued({ sessionId, address, signed, isEnd: false })
  if (result.type === 'refused') throw result.refusal
  const receipt = receiptOf(result.recording.state)
  return { received: receipt.seq, receipt }
}
