import type { ClaimedDelivery } from './claims/store.ts'

type SlotQueue = { readonly waiting: ClaimedDelivery[]; readonly active: Set<ClaimedDelivery> }

export type DeliverySlots = {
  /** Adds claimed deliveries, starts those that have a free slot and returns those whose queue is full. */
  readonly add: (claimed: readonly ClaimedDelivery[]) => ClaimedDelivery[]
  /** Deliveries held, by endpoint: waiting here or being sent. */
  readonly held: () => ReadonlyMap<string, number>
  /** Endpoints that answered slowly a short time ago. */
  readonly slow: () => ReadonlySet<string>
  readonly heldCount: () => number
  /** Removes and returns the deliveries that wait for an endpoint, or for all. */
  readonly removeWaiting: (endpointId?: string) => ClaimedDelivery[]
}

type SlotOptions = {
  /** Concurrent deliveries, over all endpoints. */
  readonly activeMax: number
  readonly perEndpoint: number
  /** Concurrent deliveries of one agent: receivers of one agent that hold every connection must not stop all others. */
  readonly perAgent: number
  /** Concurrent deliveries to slow endpoints, over all of them: the other slots stay free for the rest. */
  readonly slowActiveMax: number
  /** An endpoint that takes longer than this is slow for this time, and gets one delivery at a time. */
  readonly slowAfterMs: number
  readonly slowForMs: number
  /** Deliveries that may wait for a host whose receivers have not answered 2xx yet. */
  readonly perUnprovenHost: number
  /** How long a claimed delivery may wait here: it must be sent and settled within its lease. */
  readonly waitMsMax: number
  readonly now: () => number
  /** Sends one delivery; resolves when its slot is free again. */
  readonly send: (claimed: ClaimedDelivery) => Promise<void>
  /** Receives deliveries that waited too long, or whose endpoint turned out to be slow. */
  readonly onStale: (claimed: readonly ClaimedDelivery[]) => void
}

/** An endpoint has its own queue; endpoints that have not answered 2xx yet share the queue of their host. */
const queueIdOf = ({ hostLimit, endpointId }: ClaimedDelivery): string => hostLimit?.host ?? endpointId

/** Adds a delivery to its queue; false where too many wait for its host. */
const enqueue = (
  queues: Map<string, SlotQueue>,
  delivery: ClaimedDelivery,
  perUnprovenHost: number,
): boolean => {
  const queueId = queueIdOf(delivery)
  const queue = queues.get(queueId) ?? { waiting: [], active: new Set() }
  if (delivery.hostLimit !== undefined && queue.waiting.length >= perUnprovenHost) return false
  queues.set(queueId, queue)
  queue.waiting.push(delivery)
  return true
}

const countByEndpoint = (queues: Iterable<SlotQueue>): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const { active, waiting } of queues)
    for (const { endpointId } of [...active, ...waiting])
      counts.set(endpointId, (counts.get(endpointId) ?? 0) + 1)
  return counts
}

/** Endpoints by the time until which they are slow. Entries are few: an endpoint gets in by a slow answer only. */
const makeSlowEndpoints = ({ now, slowAfterMs, slowForMs }: SlotOptions) => {
  const slowUntil = new Map<string, number>()
  const isSlow = (endpointId: string): boolean => (slowUntil.get(endpointId) ?? 0) > now()
  let active = 0
  return {
    isSlow,
    activeCount: () => active,
    /** Call the result when the delivery has ended: it returns whether that took too long. */
    start: (endpointId: string) => {
      const startedAt = now()
      const counted = isSlow(endpointId) ? 1 : 0
      active += counted
      return (): boolean => {
        active -= counted
        if (now() - startedAt <= slowAfterMs) return false
        slowUntil.delete(endpointId)
        slowUntil.set(endpointId, now() + slowForMs)
        return true
      }
    },
    /** The oldest entries come first. */
    current: (): ReadonlySet<string> => {
      for (const [endpointId, until] of slowUntil) {
        if (until > now()) break
        slowUntil.delete(endpointId)
      }
      return new Set(slowUntil.keys())
    },
  }
}

const takeWaiting = (queue: SlotQueue, endpointId: string | undefined): ClaimedDelivery[] => {
  const waiting = queue.waiting.splice(0)
  if (endpointId === undefined) return waiting
  queue.waiting.push(...waiting.filter((one) => one.endpointId !== endpointId))
  return waiting.filter((one) => one.endpointId === endpointId)
}

/** Changes a count; a count of 0 leaves the map. */
const changeCount = (counts: Map<string, number>, key: string, change: 1 | -1): void => {
  const count = (counts.get(key) ?? 0) + change
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}

/**
 * Concurrency slots: what a worker has claimed, in one queue for each endpoint. Claiming ahead keeps every slot filled
 * without a query for each delivery, and separate queues keep a slow endpoint from delaying another.
 */
export const makeDeliverySlots = (options: SlotOptions): DeliverySlots => {
  const queues = new Map<string, SlotQueue>()
  const arrivedAt = new WeakMap<ClaimedDelivery, number>()
  const slow = makeSlowEndpoints(options)
  const activeByAgent = new Map<string, number>()
  let active = 0

  const countActive = (agentId: string, change: 1 | -1): void => {
    active += change
    changeCount(activeByAgent, agentId, change)
  }

  const start = (queueId: string, queue: SlotQueue, claimed: ClaimedDelivery): void => {
    const isTooLong = slow.start(claimed.endpointId)
    countActive(claimed.agentId, 1)
    queue.active.add(claimed)
    void options.send(claimed).finally(() => {
      countActive(claimed.agentId, -1)
      queue.active.delete(claimed)
      if (isTooLong()) options.onStale(takeWaiting(queue, claimed.endpointId))
      if (queue.active.size === 0 && queue.waiting.length === 0) queues.delete(queueId)
      startNext()
    })
  }
  const startNextOfQueue = (queueId: string, queue: SlotQueue): void => {
    for (let next = queue.waiting[0]; next && active < options.activeMax; next = queue.waiting[0]) {
      const isSlow = slow.isSlow(next.endpointId)
      if (queue.active.size >= (isSlow || next.hostLimit !== undefined ? 1 : options.perEndpoint)) return
      if (isSlow && slow.activeCount() >= options.slowActiveMax) return
      if ((activeByAgent.get(next.agentId) ?? 0) >= options.perAgent) return
      queue.waiting.shift()
      if (options.now() - (arrivedAt.get(next) ?? 0) > options.waitMsMax) {
        options.onStale([next, ...queue.waiting.splice(0)])
        if (queue.active.size === 0) queues.delete(queueId)
        return
      }
      start(queueId, queue, next)
    }
  }
  const startNext = (): void => {
    for (const [queueId, queue] of queues) {
      if (active >= options.activeMax) return
      startNextOfQueue(queueId, queue)
    }
  }
  return {
    add: (claimed) => {
      for (const delivery of claimed) arrivedAt.set(delivery, options.now())
      const full = claimed.filter((delivery) => !enqueue(queues, delivery, options.perUnprovenHost))
      startNext()
      return full
    },
    held: () => countByEndpoint(queues.values()),
    slow: slow.current,
    heldCount: () =>
      [...queues.values()].reduce((sum, queue) => sum + queue.active.size + queue.waiting.length, 0),
    removeWaiting: (endpointId) => [...queues.values()].flatMap((queue) => takeWaiting(queue, endpointId)),
  }
}
