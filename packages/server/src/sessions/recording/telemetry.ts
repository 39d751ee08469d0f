import { isId } from '@pohf/protocol'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { SignedChunk } from './chain.ts'
import { receiptOf } from './state.ts'
import { takeChunks, type Taken, type Taking } from './append.ts'

/** Chunks in one transaction; more wait for the next. */
const batchMax = 64
/** Batches on their way at once: while one is written, the next is judged. */
const batchesMax = 2
/** Chunks that wait; whoever comes after is asked to come again. */
const waitingMax = 10_000

type Waiting = {
  readonly taking: Taking
  readonly resolve: (taken: Taken) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Gathers chunks of many sessions into one transaction. Nobody waits for company: a chunk that comes alone goes at once,
 * and what comes while the batches are on their way goes together.
 */
export const makeIntake = (ctx: Ctx) => {
  const waiting: Waiting[] = []
  let underWay = 0

  const send = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      const takings = batch.map(({ taking }) => taking)
      const taken = await inTransaction(ctx, 'system', (tx) => takeChunks(tx, ctx, takings))
      for (const [index, one] of batch.entries()) {
        const result = taken[index]
        if (result) one.resolve(result)
        else one.reject(new Error('a chunk without a result'))
      }
    } catch (error) {
      for (const one of batch) one.reject(error)
    }
  }

  const pump = (): void => {
    while (underWay < batchesMax && waiting.length > 0) {
      underWay += 1
      void send(waiting.splice(0, batchMax)).finally(() => {
        underWay -= 1
        pump()
      })
    }
  }

  return (taking: Taking): Promise<Taken> =>
    new Promise((resolve, reject) => {
      if (waiting.length >= waitingMax) {
        reject(new Refusal('overloaded', { headers: { 'retry-after': '2' } }))
        return
      }
      waiting.push({ taking, resolve, reject })
      pump()
    })
}
export type Intake = ReturnType<typeof makeIntake>

/** Takes the next chunk of a session and gives its receipt. */
export const telemetry = async (intake: Intake, sessionId: string, signed: SignedChunk) => {
  // A text that is no id costs no read.
  if (!isId('ses_', sessionId)) throw new Refusal('not_found', { message: 'No such session.' })
  const taken = await intake({ sessionId, signed, isEnd: false })
  if (taken.type === 'refused') throw taken.refusal
  const receipt = receiptOf(taken.recording.state)
  return { received: receipt.seq, receipt }
}
