import { outsideRequests } from '../../platform/ops/tracing/request-scope.ts'
import { acknowledgedMax, discardedMax } from './signer-records.ts'

type CommittedBatch = { readonly batch: number; readonly discarded: readonly string[] }
type Report = { readonly acknowledge: readonly number[]; readonly discarded: readonly string[] }

/** Acknowledgements that no batch took along are sent after this time. */
const idleMs = 500
/** A signer that is away for long loses the oldest: the newest are those that a restore is recognised by. */
const waitingMax = 10_000

/** Collects the batches that the database has committed, for one signer. */
export const makeAcknowledgements = (send: (report: Report) => Promise<void>) => {
  let waiting: CommittedBatch[] = []
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> = Promise.resolve()

  const take = (): Report => {
    let count = 0
    for (let ids = 0; count < Math.min(waiting.length, acknowledgedMax); count++) {
      ids += waiting[count]?.discarded.length ?? 0
      if (ids > discardedMax && count > 0) break
    }
    const taken = waiting.slice(0, count)
    waiting = waiting.slice(count)
    return {
      acknowledge: taken.map(({ batch }) => batch),
      discarded: taken.flatMap(({ discarded }) => discarded),
    }
  }
  /** The ids of a report are kept with its first batch: the journal reads them without regard to the batch. */
  const putBack = ({ acknowledge, discarded }: Report): void => {
    const again = acknowledge.map((batch, index) => ({ batch, discarded: index === 0 ? discarded : [] }))
    waiting = [...again, ...waiting].slice(-waitingMax)
    schedule()
  }
  const sendAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const report = take()
      try {
        await send(report)
      } catch {
        putBack(report)
        return
      }
    }
  }
  const flush = (): Promise<void> => {
    timer = undefined
    sending = sending.then(sendAll)
    return sending
  }
  const schedule = (): void => {
    if (waiting.length > 0) timer ??= setTimeout(() => void outsideRequests(flush), idleMs).unref()
  }
  return {
    add: (committed: readonly CommittedBatch[]): void => {
      waiting.push(...committed)
      waiting = waiting.slice(-waitingMax)
      schedule()
    },
    take,
    putBack,
    /** Sends what waits, and gives up what cannot be sent: the next comparison finds it in the database. */
    stop: async (): Promise<void> => {
      clearTimeout(timer)
      await flush()
      clearTimeout(timer)
    },
  }
}
