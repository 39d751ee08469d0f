import { setTimeout } from 'node:timers/promises'
import type { startLoad } from './load.ts'

/** A fault that has begun. */
export type ActiveFault = {
  /** Asserts that the fault takes place, and says by what it was seen. */
  readonly proof: () => Promise<string>
  readonly end: () => Promise<void>
}
export type InjectedFault<Target> = {
  readonly name: string
  readonly title: string
  /** How long it lasts, in seconds; 0 where it is over when it has begun, or where `end` waits for it. */
  readonly seconds: number
  readonly begin: (target: Target) => Promise<ActiveFault>
}

export const nothingToEnd = async (): Promise<void> => undefined

export const requireTrue = (isTrue: boolean, what: string): void => {
  if (!isTrue) throw new Error(`the fault does not take place: ${what}`)
}

/** Those of `all` with these names, or all where there are none. A name that does not exist is an error. */
export const chooseNamed = <T extends { readonly name: string }>(
  all: readonly T[],
  names: readonly string[],
): readonly T[] => {
  const known = all.map(({ name }) => name)
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0)
    throw new Error(`no such fault: ${unknown.join(', ')}. There are: ${known.join(', ')}`)
  return names.length === 0 ? all : all.filter(({ name }) => names.includes(name))
}

/** Begins a fault, keeps it for its time, makes sure that it took place, and ends it. */
export const bringAbout = async <Target>(
  fault: InjectedFault<Target>,
  target: Target,
  seconds = fault.seconds,
) => {
  const beganAt = performance.now()
  const active = await fault.begin(target)
  await setTimeout(Math.max(0, beganAt + seconds * 1_000 - performance.now()))
  const seen = await active.proof().then(
    (proof) => ({ proof, faults: [] }),
    (error: unknown) => ({ proof: '', faults: [error instanceof Error ? error.message : String(error)] }),
  )
  await active.end()
  return { beganAt, endedAt: performance.now(), ...seen }
}

/** Without failures for this time, the service has recovered. */
const quietMs = 3_000

/** Waits until calls succeed and none has failed for a while; false where that does not happen. */
export const waitForRecovery = async (
  load: ReturnType<typeof startLoad>,
  since: number,
  msMax: number,
): Promise<boolean> => {
  const deadline = performance.now() + msMax
  for (;;) {
    const from = Math.max(since, performance.now() - quietMs)
    const recent = load.calls.filter(({ endedAt }) => endedAt >= from)
    // A call that hangs has not failed yet.
    const isQuiet = load.pendingSince() > from && recent.every(({ status }) => status > 0 && status < 500)
    const isLongEnough = performance.now() - since >= quietMs
    if (isLongEnough && isQuiet && recent.some(({ status }) => status === 200)) return true
    if (performance.now() > deadline) return false
    await setTimeout(100)
  }
}

/** Does something again and again, with a pause, until it is stopped. */
export const repeat = (pauseMs: number, work: () => Promise<unknown>) => {
  const end = new AbortController()
  const repeating = (async () => {
    while (!end.signal.aborted) {
      await work()
      await setTimeout(pauseMs)
    }
  })()
  return {
    stop: async (): Promise<void> => {
      end.abort()
      await repeating
    },
  }
}

export const describeError = (error: unknown): string =>
  `the battery could not go on: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`

export const secondsText = (ms: number): string => (Number.isFinite(ms) ? (ms / 1_000).toFixed(1) : 'never')
