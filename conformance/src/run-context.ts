import type { Api } from './api.ts'
import type { Http } from './http.ts'

/** What every statement is given. */
export type RunContext = {
  readonly baseUrl: string
  /** Whether the deployment runs on this machine, so that it can reach a receiver of ours. */
  readonly isLoopback: boolean
  readonly http: Http
  readonly api: Api
  /** Aborts when the time of the whole run is over. */
  readonly end: AbortSignal
  /** A wallet that holds the stablecoin of a test network; without it nothing is really bought. */
  readonly payerKey: `0x${string}` | undefined
  /** What to close when the run is over. */
  readonly closers: (() => Promise<void>)[]
}

export const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)

/** Makes a thing once per run, when it is first needed. */
export const oncePerRun = <T>(
  make: (world: RunContext) => Promise<T>,
): ((world: RunContext) => Promise<T>) => {
  const made = new WeakMap<RunContext, Promise<T>>()
  return (world) => {
    const known = made.get(world)
    if (known) return known
    const making = make(world)
    made.set(world, making)
    return making
  }
}

const pollMs = 150

/** Reads again until the value is accepted or the time is over, and gives the last value. */
export const pollUntil = async <T>(
  world: RunContext,
  read: () => Promise<T>,
  isAccepted: (value: T) => boolean,
  waitMsMax = 5_000,
): Promise<T> => {
  const deadline = performance.now() + waitMsMax
  let value = await read()
  while (!isAccepted(value) && performance.now() < deadline && !world.end.aborted) {
    await new Promise((resolve) => setTimeout(resolve, pollMs))
    value = await read()
  }
  return value
}
