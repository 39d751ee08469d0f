/** Own errors and causes: code that adds a message keeps the error of the database as its cause. */
const sqlStatesOf = (error: unknown): string[] => {
  const states: string[] = []
  for (let cause = error; cause instanceof Error && states.length < 5; cause = cause.cause)
    states.push('code' in cause && typeof cause.code === 'string' ? cause.code : '')
  return states
}

const hasState = (error: unknown, pattern: RegExp): boolean =>
  sqlStatesOf(error).some((state) => pattern.test(state))

/** Serialization failure and deadlock: the transaction was undone and may run again. */
export const isRetryable = (error: unknown): boolean => hasState(error, /^(40001|40P01)$/)

/**
 * Errors after which a connection is not used again: connection exceptions (08), a read-only or demoted server (25006),
 * a session that the server ended (25P03, 25P04, 57P0x), and a statement that the server stopped at its limit (57014).
 */
export const endsConnection = (error: unknown): boolean =>
  hasState(error, /^(08...|25006|25P0[34]|57P0[1-5]|57014)$/)

/**
 * Errors that say nothing about the request: the caller may repeat it. Besides those above, the resources of the server
 * (53: disk, memory, connections), its disk (58030), a lock that was not free in time (55P03), and conflicts.
 */
export const isUnavailable = (error: unknown): boolean =>
  endsConnection(error) || isRetryable(error) || hasState(error, /^(53...|58030|55P03)$/)
