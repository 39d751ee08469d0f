/** How long a stopping process may take to finish its requests and jobs. */
const shutdownGraceMs = 10_000

/** Runs `stop` once on SIGTERM or SIGINT, or when the supervisor is gone, and ends the process. */
export const onStop = (stop: () => Promise<void>): void => {
  let stopping = false
  const beginStop = () => {
    if (stopping) return
    stopping = true
    setTimeout(() => process.exit(1), shutdownGraceMs).unref()
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, beginStop)
  process.on('disconnect', beginStop)
}
