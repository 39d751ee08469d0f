import type { Clock } from '../platform/ops/clock.ts'

export type CachedValue<T> = { readonly at: Date; readonly value: T }

/** Reads at most once in this many seconds, once for all who ask at the same time: a flood of visits costs no statement. */
export const makeCachedReader = <T>(
  clock: Clock,
  cacheSeconds: number,
  read: () => Promise<T>,
): (() => Promise<CachedValue<T>>) => {
  let last: CachedValue<T> | undefined
  let running: Promise<CachedValue<T>> | undefined
  const readNow = async (): Promise<CachedValue<T>> => {
    const value = await read()
    last = { at: clock.now(), value }
    return last
  }
  return async () => {
    // The clock may be set back.
    if (last && Math.abs(clock.now().getTime() - last.at.getTime()) < cacheSeconds * 1_000) return last
    running ??= readNow().finally(() => {
      running = undefined
    })
    return running
  }
}
