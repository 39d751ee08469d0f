import { isId } from '@pohf/protocol'
import { inReservedTransaction } from '../../platform/db/db.ts'
import type { ClientAddress } from '../../platform/http/client-address.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { makeCoalescer } from '../../platform/queue/coalesce.ts'
import type { SignedChunk } from './chain.ts'
import type { RenderProbe } from './render.ts'
import { receiptOf } from './state.ts'
import { appendChunks, type ChunkResult, type ChunkSubmission, type RecordingDeps } from './append.ts'

/** Chunks per transaction; the rest wait for the next batch. */
const batchMax = 64
/** Concurrent batches: while one is written, the next is verified. */
const inFlightMax = 2
/** Chunks that wait; further calls are refused with Retry-After. */
const queuedMax = 10_000

/**
 * Batches chunks of many sessions into one transaction. There is no artificial delay: a chunk that arrives alone is
 * written at once, and chunks that arrive while batches are in flight are written together.
 */
export const makeChunkQueue = (deps: RecordingDeps) =>
  makeCoalescer<ChunkSubmission, ChunkResult>({
    run: async (batch) => {
      const results = await inReservedTransaction(deps.ctx, (tx) => appendChunks(tx, deps, batch))
      return results.map((value) => ({ value }))
    },
    batchMax,
    inFlightMax,
    batchWaitMs: 0,
    waitingMax: queuedMax,
    waitLimitMs: deps.ctx.config.DATABASE_WAIT_SECONDS * 1_000,
    fullError: () => new Refusal('overloaded', { headers: { 'retry-after': '2' } }),
  })
export type ChunkQueue = ReturnType<typeof makeChunkQueue>

/** Appends the next chunk of a session and returns its receipt. */
export const telemetry = async (
  { appendQueued, render }: { readonly appendQueued: ChunkQueue; readonly render: RenderProbe },
  { sessionId, address }: { readonly sessionId: string; readonly address: ClientAddress },
  signed: SignedChunk,
) => {
  // Text that is not an id costs no read.
  if (!isId('ses_', sessionId)) throw new Refusal('not_found', { message: 'No such session.' })
  const result = await appendQueued({ sessionId, address, signed, isEnd: false })
  if (result.type === 'refused') throw result.refusal
  const receipt = await receiptOf(render, result.recording.state)
  return { received: receipt.seq, receipt }
}
