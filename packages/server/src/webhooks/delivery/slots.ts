import type { Claimed } from './store.ts'

type Lane = { readonly waiting: Claimed[]; active: number }

export type Lanes = {
  /** Takes claimed deliveries in and starts what may start. */
  readonly add: (claimed: readonly Claimed[]) => void
  /** Deliveries held, by endpoint: waiting here or being sent. */
  readonly held: () => ReadonlyMap<string, number>
  readonly heldCount: () => number
  /** Gives back what waits for an endpoint, or for all. */
  readonly takeBack: (endpointId?: string) => Claimed[]
}

type Rules = {
  /** At a time, over all endpoints. */
  readonly activeMax: number
  readonly perEndpoint: number
  /** How long a claimed delivery may wait here: it must be sent and settled within its lease. */
  readonly waitMsMax: number
  readonly now: () => number
  /** Sends one; fulfilled when its place is free again. */
  readonly send: (claimed: Claimed) => Promise<void>
  /** Gets what waited too long. */
  readonly onStale: (claimed: readonly Claimed[]) => void
}

/**
 * What a worker has claimed, a lane for each endpoint. Claiming ahead keeps every place filled without a look into the
 * database for each delivery, and lanes keep a slow endpoint from holding up another.
 */
export const makeLanes = (rules: Rules): Lanes => {
  const lanes = new Map<string, Lane>()
  const arrivedAt = new WeakMap<Claimed, number>()
  let active = 0

  const start = (endpointId: string, lane: Lane, claimed: Claimed): void => {
    active += 1
    lane.active += 1
    void rules.send(claimed).finally(() => {
      active -= 1
      lane.active -= 1
      if (lane.active === 0 && lane.waiting.length === 0) lanes.delete(endpointId)
      advance()
    })
  }
  const advanceLane = (endpointId: string, lane: Lane): void => {
    while (active < rules.activeMax && lane.active < rules.perEndpoint) {
      const next = lane.waiting.shift()
      if (!next) return
      if (rules.now() - (arrivedAt.get(next) ?? 0) > rules.waitMsMax) {
        rules.onStale([next, ...lane.waiting.splice(0)])
        return
      }
      start(endpointId, lane, next)
    }
  }
  const advance = (): void => {
    for (const [endpointId, lane] of lanes) {
      if (active >= rules.activeMax) return
      advanceLane(endpointId, lane)
    }
  }
  return {
    add: (claimed) => {
      for (const one of claimed) {
        arrivedAt.set(one, rules.now())
        const lane = lanes.get(one.endpointId) ?? { waiting: [], active: 0 }
        lanes.set(one.endpointId, lane)
        lane.waiting.push(one)
      }
      advance()
    },
    held: () => new Map([...lanes].map(([id, lane]) => [id, lane.active + lane.waiting.length])),
    heldCount: () => [...lanes.values()].reduce((sum, lane) => sum + lane.active + lane.waiting.length, 0),
    takeBack: (endpointId) => {
      const wanted = endpointId === undefined ? [...lanes.values()] : [lanes.get(endpointId)]
      return wanted.flatMap((lane) => lane?.waiting.splice(0) ?? [])
    },
  }
}
