import type { SettledAttempt } from './store.ts'

export type AcknowledgementWriter = { readonly write: (settled: SettledAttempt) => Promise<void> }
type PendingWrite = PromiseWithResolvers<void> & { readonly settled: SettledAttempt }

/** Rows of one transaction: enough that its round trips hardly count. */
const batchMax = 128

/**
 * Writes taken deliveries down together. Nobody waits for a timer: the first goes at once by itself, and what ends
 * while it is being written makes the next batch.
 */
export const makeAcknowledgementWriter = (
  writeBatch: (taken: readonly SettledAttempt[]) => Promise<void>,
): AcknowledgementWriter => {
  const waiting: PendingWrite[] = []
  let writing = false
  const work = async (): Promise<void> => {
    writing = true
    while (waiting.length > 0) {
      const batch = waiting.splice(0, batchMax)
      try {
        await writeBatch(batch.map(({ settled }) => settled))
        for (const { resolve } of batch) resolve()
      } catch (error) {
        // Their leases run out and they are sent again: at least once.
        for (const { reject } of batch) reject(error)
      }
    }
    writing = false
  }
  return {
    write: (settled) => {
      const entry = { ...Promise.withResolvers<void>(), settled }
      waiting.push(entry)
      if (!writing) void work()
      return entry.promise
    },
  }
}
