import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Logger } from '../platform/ops/log.ts'

const entry = fileURLToPath(new URL('../main.ts', import.meta.url))
/** Backoff before a child that exited is restarted: 0.2 s, 0.4 s, up to 5 s. */
const restartDelayMs = (failures: number) => Math.min(5_000, 200 * 2 ** failures)
const healthyMs = 30_000

/** Keeps one child process per role running until this process receives SIGTERM or SIGINT. */
export const supervise = (roles: readonly string[], log: Logger): void => {
  const children = new Map<string, ChildProcess>()
  let stopping = false

  const start = (role: string, failures: number): void => {
    const startedAt = performance.now()
    const child = fork(entry, [role], { stdio: 'inherit' })
    children.set(role, child)
    child.on('exit', (exitCode, signal) => {
      children.delete(role)
      if (stopping) return
      const uptimeMs = Math.round(performance.now() - startedAt)
      const wasHealthy = uptimeMs > healthyMs
      const restartInMs = restartDelayMs(wasHealthy ? 0 : failures)
      log.error(
        { role, pid: child.pid, exitCode, signal, uptimeMs, restartInMs },
        'child process exited; it will be restarted',
      )
      setTimeout(() => stopping || start(role, wasHealthy ? 0 : failures + 1), restartInMs)
    })
  }

  const stop = (): void => {
    if (stopping) return
    stopping = true
    for (const child of children.values()) child.kill('SIGTERM')
    setTimeout(() => process.exit(0), 12_000).unref()
    const poll = setInterval(() => {
      if (children.size > 0) return
      clearInterval(poll)
      process.exit(0)
    }, 50)
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop)
  for (const role of roles) start(role, 0)
}
