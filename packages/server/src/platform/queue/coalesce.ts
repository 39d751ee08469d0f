/** The outcome of one item of a batch. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown }

type Options<In, Out> = {
  /** Processes a batch and returns the outcome of each item, in order. */
  readonly run: (items: readonly In[]) => Promise<readonly Outcome<Out>[]>
  readonly batchMax: number
  readonly inFlightMax: number
  /** While a batch is in flight, a call waits at most this long for further calls to join its batch. */
  readonly batchWaitMs: number
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

/** The waiting items are in the order in which they came. */
const rejectLate = <In, Out>(
  waiting: PendingItem<In, Out>[],
  { waitLimitMs, fullError }: Pick<Options<In, Out>, 'waitLimitMs' | 'fullError'>,
): void => {
  const earliest = performance.now() - waitLimitMs
  for (let first = waiting[0]; first && first.since < earliest; first = waiting[0]) {
    waiting.shift()
    first.reject(fullError())
  }
}

/**
 * Coalesces calls into batches. Where nothing is in flight, a call leaves at once. Beside a batch in flight, the next one
 * leaves when it is as large as that one, or when its first call has waited for `batchWaitMs`: the callers of a batch come back
 * one by one, and the first of them would leave alone.
 */
export const makeCoalescer = <In, Out>(options: Options<In, Out>): ((item: In) => Promise<Out>) => {
  const waiting: PendingItem<In, Out>[] = []
  let inFlight = 0
  /** The size of the batch that left last. */
  let lastSize = 0
  let scheduled = false
  let timer: NodeJS.Timeout | undefined

  const mayLeave = (first: PendingItem<In, Out>): boolean =>
    inFlight === 0 ||
    (inFlight < options.inFlightMax &&
      (waiting.length >= lastSize || performance.now() - first.since >= options.batchWaitMs))

  const start = (batch: readonly PendingItem<In, Out>[]): void => {
    inFlight += 1
    lastSize = batch.length
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

  const launch = (): void => {
    scheduled = false
    rejectLate(waiting, options)
    for (let first = waiting[0]; first && mayLeave(first); first = waiting[0])
      start(waiting.splice(0, options.batchMax))
    const [first] = waiting
    if (!first || inFlight >= options.inFlightMax) return
    timer ??= setTimeout(
      () => {
        timer = undefined
        launch()
      },
      Math.ceil(first.since + options.batchWaitMs - performance.now()),
    ).unref()
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
