import type { ClaimedDelivery } from './store.ts'

type EndpointQueue = { readonly waiting: ClaimedDelivery[]; active: number }

export type DeliverySlots = {
  /** Adds claimed deliveries and starts those that have a free slot. */
  readonly add: (claimed: readonly ClaimedDelivery[]) => void
  /** Deliveries held, by endpoint: waiting here or being sent. */
  readonly held: () => ReadonlyMap<string, number>
  readonly heldCount: () => number
  /** Removes and returns the deliveries that wait for an endpoint, or for all. */
  readonly removeWaiting: (endpointId?: string) => ClaimedDelivery[]
}

type SlotOptions = {
  /** Concurrent deliveries, over all endpoints. */
  readonly activeMax: number
  readonly perEndpoint: number
  /** How long a claimed delivery may wait here: it must be sent and settled within its lease. */
  readonly waitMsMax: number
  readonly now: () => number
  /** Sends one delivery; resolves when its slot is free again. */
  readonly send: (claimed: ClaimedDelivery) => Promise<void>
  /** Receives deliveries that waited too long. */
  readonly onStale: (claimed: readonly ClaimedDelivery[]) => void
}

/**
 * Concurrency slots: what a worker has claimed, in one queue for each endpoint. Claiming ahead keeps every slot filled
 * without a query for each delivery, and separate queues keep a slow endpoint from delaying another.
 */
export const makeDeliverySlots = (options: SlotOptions): DeliverySlots => {
  const queues = new Map<string, EndpointQueue>()
  const arrivedAt = new WeakMap<ClaimedDelivery, number>()
  let active = 0

  const start = (endpointId: string, queue: EndpointQueue, claimed: ClaimedDelivery): void => {
    active += 1
    queue.active += 1
    void options.send(claimed).finally(() => {
      active -= 1
      queue.active -= 1
      if (queue.active === 0 && queue.waiting.length === 0) queues.delete(endpointId)
      startNext()
    })
  }
  const startNextOfEndpoint = (endpointId: string, queue: EndpointQueue): void => {
    while (active < options.activeMax && queue.active < options.perEndpoint) {
      const next = queue.waiting.shift()
      if (!next) return
      if (options.now() - (arrivedAt.get(next) ?? 0) > options.waitMsMax) {
        options.onStale([next, ...queue.waiting.splice(0)])
        return
      }
      start(endpointId, queue, next)
    }
  }
  const startNext = (): void => {
    for (const [endpointId, queue] of queues) {
      if (active >= options.activeMax) return
      startNextOfEndpoint(endpointId, queue)
    }
  }
  return {
    add: (claimed) => {
      for (const delivery of claimed) {
        arrivedAt.set(delivery, options.now())
        const queue = queues.get(delivery.endpointId) ?? { waiting: [], active: 0 }
        queues.set(delivery.endpointId, queue)
        queue.waiting.push(delivery)
      }
      startNext()
    },
    held: () => new Map([...queues].map(([id, queue]) => [id, queue.active + queue.waiting.length])),
    heldCount: () =>
      [...queues.values()].reduce((sum, queue) => sum + queue.active + queue.waiting.length, 0),
    removeWaiting: (endpointId) => {
      const selected = endpointId === undefined ? [...queues.values()] : [queues.get(endpointId)]
      return selected.flatMap((queue) => queue?.waiting.splice(0) ?? [])
    },
  }
}
