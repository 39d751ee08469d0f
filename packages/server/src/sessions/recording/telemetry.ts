import { isId } from '@pohf/protocol'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { SignedChunk } from './chain.ts'
import { receiptOf } from './state.ts'
import { appendChunks, type ChunkResult, type ChunkSubmission } from './append.ts'

/** Chunks in one transaction; more wait for the next. */
const batchMax = 64
/** Batches on their way at once: while one is written, the next is judged. */
const inFlightMax = 2
/** Chunks that wait; whoever comes after is asked to come again. */
const queuedMax = 10_000

type QueuedChunk = {
  readonly submission: ChunkSubmission
  readonly resolve: (taken: ChunkResult) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Gathers chunks of many sessions into one transaction. Nobody waits for company: a chunk that comes alone goes at once,
 * and what comes while the batches are on their way goes together.
 */
export const makeChunkQueue = (ctx: Ctx) => {
  const queue: QueuedChunk[] = []
  let inFlight = 0

  const send = async (batch: readonly QueuedChunk[]): Promise<void> => {
    try {
      const submissions = batch.map(({ submission: submission }) => submission)
      const taken = await inTransaction(ctx, 'system', (tx) => appendChunks(tx, ctx, submissions))
      for (const [index, one] of batch.entries()) {
        const result = taken[index]
        if (result) one.resolve(result)
        else one.reject(new Error('no result for a telemetry chunk'))
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
      queue.push({ submission: submission, resolve, reject })
      pump()
    })
}
export type ChunkQueue = ReturnType<typeof makeChunkQueue>

/** Takes the next chunk of a session and gives its receipt. */
export const telemetry = async (appendQueued: ChunkQueue, sessionId: string, signed: SignedChunk) => {
  // A text that is no id costs no read.
  if (!isId('ses_', sessionId)) throw new Refusal('not_found', { message: 'No such session.' })
  const taken = await appendQueued({ sessionId, signed, isEnd: false })
  if (taken.type === 'refused') throw taken.refusal
  const receipt = receiptOf(taken.recording.state)
  return { received: receipt.seq, receipt }
}
