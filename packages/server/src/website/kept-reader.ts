import type { Clock } from '../platform/ops/clock.ts'

export type Reading<T> = { readonly at: Date; readonly value: T }

/** Reads at most once in this many seconds, once for all who ask at the same time: a flood of visits costs no statement. */
export const makeKeptReader = <T>(
  clock: Clock,
  keptSeconds: number,
  read: () => Promise<T>,
): (() => Promise<Reading<T>>) => {
  let last: Reading<T> | undefined
  let running: Promise<Reading<T>> | undefined
  const readNow = async (): Promise<Reading<T>> => {
    const value = await read()
    last = { at: clock.now(), value }
    return last
  }
  return async () => {
    // The clock may be set back.
    if (last && Math.abs(clock.now().getTime() - last.at.getTime()) < keptSeconds * 1_000) return last
    running ??= readNow().finally(() => {
      running = undefined
    })
    return running
  }
}
