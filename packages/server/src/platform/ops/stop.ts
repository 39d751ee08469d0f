import type { Logger } from './log.ts'

export type StopOptions = {
  readonly log: Logger
  /** Seconds after which the process ends, whatever is unfinished. */
  readonly limitSeconds: number
}

/** The first argument of a process that `npm start` runs. Only its supervisor tells it to stop, when its turn has come. */
export const supervisedFlag = '--supervised'
/** What the supervisor sends to such a process. */
export const stopMessage = 'stop'

/**
 * Signals within this time count as one. In a terminal, Ctrl+C reaches a process from the terminal and again from npm,
 * which passes the signal on.
 */
const repeatMs = 500

/** Calls `first` at the first SIGTERM or SIGINT, and `again` at a later one. */
export const onSignals = (first: () => void, again: () => void): void => {
  let firstAt: number | undefined
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      if (firstAt === undefined) {
        firstAt = performance.now()
        first()
      } else if (performance.now() - firstAt > repeatMs) again()
    })
}

/**
 * Graceful shutdown: runs `stop` once and ends the process, at SIGTERM or SIGINT, or under a supervisor when that says so or
 * is gone. A second signal ends it at once.
 */
export const onStop = ({ log, limitSeconds }: StopOptions, stop: () => Promise<void>): void => {
  const supervised = process.argv[2] === supervisedFlag
  let stopping = false
  const beginStop = () => {
    if (stopping) return
    stopping = true
    setTimeout(() => {
      log.error({ limitSeconds }, 'stop took too long; the process ends with work unfinished')
      process.exit(1)
    }, limitSeconds * 1_000).unref()
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'stop failed; the process ends')
        process.exit(1)
      },
    )
  }
  // A terminal or a service manager signals the supervisor and its children together: a child waits for its turn.
  onSignals(
    () => supervised || beginStop(),
    () => supervised || process.exit(1),
  )
  process.on('message', (message) => message === stopMessage && beginStop())
  process.on('disconnect', beginStop)
}
