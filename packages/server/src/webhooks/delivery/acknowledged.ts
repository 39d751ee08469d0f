import type { SettledAttempt } from './store.ts'

export type AcknowledgementWriter = { readonly write: (settled: SettledAttempt) => Promise<void> }
type PendingWrite = PromiseWithResolvers<void> & { readonly settled: SettledAttempt }

/** Rows of one transaction: enough that its round trips cost little for each row. */
const batchMax = 128

/**
 * Records acknowledged deliveries in batches, without a timer: the first is written at once by itself, and those that
 * end meanwhile make the next batch.
 */
export const makeAcknowledgementWriter = (
  writeBatch: (attempts: readonly SettledAttempt[]) => Promise<void>,
): AcknowledgementWriter => {
  const waiting: PendingWrite[] = []
  let writing = false
  const writeWaiting = async (): Promise<void> => {
    writing = true
    while (waiting.length > 0) {
      const batch = waiting.splice(0, batchMax)
      try {
        await writeBatch(batch.map(({ settled }) => settled))
        for (const { resolve } of batch) resolve()
      } catch (error) {
        // Their leases run out and they are sent again: delivery is at least once.
        for (const { reject } of batch) reject(error)
      }
    }
    writing = false
  }
  return {
    write: (settled) => {
      const entry = { ...Promise.withResolvers<void>(), settled }
      waiting.push(entry)
      if (!writing) void writeWaiting()
      return entry.promise
    },
  }
}
