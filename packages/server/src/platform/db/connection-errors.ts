/** The error and its causes: code that adds a message keeps the error of the database as its cause. */
const withCauses = (error: unknown): Error[] => {
  const errors: Error[] = []
  for (let cause = error; cause instanceof Error && errors.length < 5; cause = cause.cause) errors.push(cause)
  return errors
}

const hasState = (error: unknown, pattern: RegExp): boolean =>
  withCauses(error).some((one) => 'code' in one && typeof one.code === 'string' && pattern.test(one.code))

/** Serialization failure and deadlock: the transaction was undone and may run again. */
export const isRetryable = (error: unknown): boolean => hasState(error, /^(40001|40P01)$/)

/**
 * Errors after which a connection is not used again: connection exceptions (08), a read-only or demoted server (25006; 55000
 * for its position in the write-ahead log), a session that the server ended (25P03, 25P04, 57P0x), and a statement that the
 * server stopped at its limit (57014).
 */
export const endsConnection = (error: unknown): boolean =>
  hasState(error, /^(08...|25006|25P0[34]|55000|57P0[1-5]|57014)$/)

/** After a jump of the clock, the worker makes the partitions of the new date within seconds. */
const lacksPartition = (error: unknown): boolean =>
  withCauses(error).some((one) => 'routine' in one && one.routine === 'ExecFindPartition')

/**
 * Errors that say nothing about the request: the caller may repeat it. Besides those above, the resources of the server
 * (53: disk, memory, connections), its disk (58030), a lock that was not free in time (55P03), conflicts, and a partition
 * that is not there yet.
 */
export const isUnavailable = (error: unknown): boolean =>
  endsConnection(error) ||
  isRetryable(error) ||
  hasState(error, /^(53...|58030|55P03)$/) ||
  lacksPartition(error)
