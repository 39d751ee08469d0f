import { Refusal } from '../http/errors.ts'

type Slots = {
  /** How many tasks run at a time. */
  readonly slotsMax: number
  /** Callers that wait for a slot; further calls are refused with Retry-After. */
  readonly waitingMax: number
}

/** Bounds how many tasks run at a time; the others wait in the order in which they came. */
export const makeSlots = ({ slotsMax, waitingMax }: Slots) => {
  const waiting: (() => void)[] = []
  let active = 0
  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (active >= slotsMax) {
      if (waiting.length >= waitingMax) throw new Refusal('overloaded', { headers: { 'retry-after': '5' } })
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else active += 1
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else active -= 1
    }
  }
}
