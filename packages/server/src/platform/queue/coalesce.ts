/** The outcome of one item of a batch. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown }

type Options<In, Out> = {
  /** Processes a batch and returns the outcome of each item, in order. */
  readonly run: (items: readonly In[]) => Promise<readonly Outcome<Out>[]>
  readonly batchMax: number
  readonly inFlightMax: number
  /** A call that comes when so many wait is rejected with `fullError`. */
  readonly waitingMax: number
  /** A call that has waited longer for its batch is rejected with `fullError`, too. */
  readonly waitLimitMs: number
  readonly fullError: () => Error
}
type PendingItem<In, Out> = {
  readonly item: In
  readonly since: number
  readonly resolve: (value: Out) => void
  readonly reject: (reason: unknown) => void
}

const settle = <In, Out>(batch: readonly PendingItem<In, Out>[], outcomes: readonly Outcome<Out>[]): void => {
  for (const [index, { resolve, reject }] of batch.entries()) {
    const outcome = outcomes[index]
    if (outcome && 'value' in outcome) resolve(outcome.value)
    else if (outcome) reject(outcome.error)
    else
      reject(
        new Error(
          `no outcome for item ${index}: the batch returned ${outcomes.length} for ${batch.length} items`,
        ),
      )
  }
}

/**
 * Coalesces calls into batches. There is no timer: a batch starts as soon as fewer than `inFlightMax` are in flight, so a
 * single call does not wait, and batches grow with the load.
 */
export const makeCoalescer = <In, Out>(options: Options<In, Out>): ((item: In) => Promise<Out>) => {
  const waiting: PendingItem<In, Out>[] = []
  let inFlight = 0
  let scheduled = false

  /** The waiting items are in the order in which they came. */
  const rejectLate = (): void => {
    const earliest = performance.now() - options.waitLimitMs
    for (let first = waiting[0]; first && first.since < earliest; first = waiting[0]) {
      waiting.shift()
      first.reject(options.fullError())
    }
  }

  const launch = (): void => {
    scheduled = false
    rejectLate()
    while (inFlight < options.inFlightMax && waiting.length > 0) {
      const batch = waiting.splice(0, options.batchMax)
      inFlight += 1
      void options
        .run(batch.map(({ item }) => item))
        .then(
          (outcomes) => settle(batch, outcomes),
          (error: unknown) => {
            for (const { reject } of batch) reject(error)
          },
        )
        .finally(() => {
          inFlight -= 1
          launch()
        })
    }
  }

  return (item) => {
    if (waiting.length >= options.waitingMax) return Promise.reject(options.fullError())
    return new Promise((resolve, reject) => {
      waiting.push({ item, since: performance.now(), resolve, reject })
      if (scheduled || inFlight >= options.inFlightMax) return
      scheduled = true
      // After this turn of the event loop: requests that arrived together share a batch.
      setImmediate(launch)
    })
  }
}

/**
 * Runs a batch; where it fails as a whole, runs its halves, down to the item at fault. `failsWholeBatch` recognises errors
 * that no item caused: then all items fail at once.
 */
export const runBisected = async <In, Out>(
  items: readonly In[],
  run: (items: readonly In[]) => Promise<readonly Outcome<Out>[]>,
  failsWholeBatch: (error: unknown) => boolean,
): Promise<readonly Outcome<Out>[]> => {
  try {
    return await run(items)
  } catch (error) {
    if (items.length <= 1 || failsWholeBatch(error)) return items.map(() => ({ error }))
    const middle = Math.ceil(items.length / 2)
    const first = await runBisected(items.slice(0, middle), run, failsWholeBatch)
    return [...first, ...(await runBisected(items.slice(middle), run, failsWholeBatch))]
  }
}
