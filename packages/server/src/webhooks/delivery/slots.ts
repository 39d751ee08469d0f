import type { ClaimedDelivery } from './store.ts'

type EndpointQueue = { readonly waiting: ClaimedDelivery[]; active: number }

export type DeliverySlots = {
  /** Takes claimed deliveries in and starts what may start. */
  readonly add: (claimed: readonly ClaimedDelivery[]) => void
  /** Deliveries held, by endpoint: waiting here or being sent. */
  readonly held: () => ReadonlyMap<string, number>
  readonly heldCount: () => number
  /** Gives back what waits for an endpoint, or for all. */
  readonly removeWaiting: (endpointId?: string) => ClaimedDelivery[]
}

type SlotOptions = {
  /** At a time, over all endpoints. */
  readonly activeMax: number
  readonly perEndpoint: number
  /** How long a claimed delivery may wait here: it must be sent and settled within its lease. */
  readonly waitMsMax: number
  readonly now: () => number
  /** Sends one; fulfilled when its place is free again. */
  readonly send: (claimed: ClaimedDelivery) => Promise<void>
  /** Gets what waited too long. */
  readonly onStale: (claimed: readonly ClaimedDelivery[]) => void
}

/**
 * What a worker has claimed, a lane for each endpoint. Claiming ahead keeps every place filled without a look into the
 * database for each delivery, and lanes keep a slow endpoint from holding up another.
 */
export const makeDeliverySlots = (rules: SlotOptions): DeliverySlots => {
  const queues = new Map<string, EndpointQueue>()
  const arrivedAt = new WeakMap<ClaimedDelivery, number>()
  let active = 0

  const start = (endpointId: string, lane: EndpointQueue, claimed: ClaimedDelivery): void => {
    active += 1
    lane.active += 1
    void rules.send(claimed).finally(() => {
      active -= 1
      lane.active -= 1
      if (lane.active === 0 && lane.waiting.length === 0) queues.delete(endpointId)
      startNext()
    })
  }
  const startNextOfEndpoint = (endpointId: string, lane: EndpointQueue): void => {
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
  const startNext = (): void => {
    for (const [endpointId, lane] of queues) {
      if (active >= rules.activeMax) return
      startNextOfEndpoint(endpointId, lane)
    }
  }
  return {
    add: (claimed) => {
      for (const one of claimed) {
        arrivedAt.set(one, rules.now())
        const lane = queues.get(one.endpointId) ?? { waiting: [], active: 0 }
        queues.set(one.endpointId, lane)
        lane.waiting.push(one)
      }
      startNext()
    },
    held: () => new Map([...queues].map(([id, lane]) => [id, lane.active + lane.waiting.length])),
    heldCount: () => [...queues.values()].reduce((sum, lane) => sum + lane.active + lane.waiting.length, 0),
    removeWaiting: (endpointId) => {
      const wanted = endpointId === undefined ? [...queues.values()] : [queues.get(endpointId)]
      return wanted.flatMap((lane) => lane?.waiting.splice(0) ?? [])
    },
  }
}
