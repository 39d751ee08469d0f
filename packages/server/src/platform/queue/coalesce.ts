/** What became of one item of a batch. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown }

type Options<In, Out> = {
  /** Works off a batch and says, in its order, what became of each item. */
  readonly run: (items: readonly In[]) => Promise<readonly Outcome<Out>[]>
  readonly batchMax: number
  readonly inFlightMax: number
  /** Whoever comes when so many wait is refused by `full`. */
  readonly waitingMax: number
  readonly fullError: () => Error
}
type PendingItem<In, Out> = {
  readonly item: In
  readonly resolve: (value: Out) => void
  readonly reject: (reason: unknown) => void
}

const settle = <In, Out>(batch: readonly PendingItem<In, Out>[], outcomes: readonly Outcome<Out>[]): void => {
  for (const [index, { resolve, reject }] of batch.entries()) {
    const outcome = outcomes[index]
    if (outcome && 'value' in outcome) resolve(outcome.value)
    else reject(outcome ? outcome.error : new Error('the batch returned no outcome for an item'))
  }
}

/**
 * Brings calls together into batches. There is no timer: a batch leaves as soon as fewer than `inFlightMax` are under
 * way, so one call alone waits for nobody, and batches grow as the load does.
 */
export const makeCoalescer = <In, Out>(options: Options<In, Out>): ((item: In) => Promise<Out>) => {
  const waiting: PendingItem<In, Out>[] = []
  let inFlight = 0
  let scheduled = false

  const launch = (): void => {
    scheduled = false
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
      waiting.push({ item, resolve, reject })
      if (scheduled || inFlight >= options.inFlightMax) return
      scheduled = true
      // After this turn of the loop: the requests that came with it go together.
      setImmediate(launch)
    })
  }
}

/**
 * Runs a batch; where it fails as a whole, runs its halves, down to the item that is at fault. `spares` names errors
 * that no item caused: then all fail at once.
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
