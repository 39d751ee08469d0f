import { Refusal } from '../http/errors.ts'

/** How long an answer that can do without the database waits for it. */
const answerWithinMs = 2_000

/**
 * The result of a transaction, or undefined where the database is unavailable or does not answer in time. For answers that
 * can do without it.
 */
export const unlessUnavailable = async <T>(transaction: Promise<T>): Promise<T | undefined> => {
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(late.resolve, answerWithinMs, undefined)
  const available = transaction.catch((error: unknown) => {
    if (error instanceof Refusal && error.code === 'overloaded') return undefined
    throw error
  })
  try {
    return await Promise.race([available, late.promise])
  } finally {
    clearTimeout(timer)
    // Where the timer was first, nobody waits for a later error.
    available.catch(() => undefined)
  }
}
