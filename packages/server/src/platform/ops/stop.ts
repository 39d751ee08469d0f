/** How long a stopping process may take to finish what it has begun. */
const graceMs = 10_000

/** Runs `stop` once on SIGTERM or SIGINT, or when the supervisor is gone, and ends the process. */
export const onStop = (stop: () => Promise<void>): void => {
  let begun = false
  const begin = () => {
    if (begun) return
    begun = true
    setTimeout(() => process.exit(1), graceMs).unref()
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, begin)
  process.on('disconnect', begin)
}
