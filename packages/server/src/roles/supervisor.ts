import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { childEnvironment } from '../platform/ops/config.ts'
import { onSignals, stopMessage, supervisedFlag, type StopOptions } from '../platform/ops/stop.ts'

const entry = fileURLToPath(new URL('../main.ts', import.meta.url))
/** Backoff before a child that exited is restarted: 0.2 s, 0.4 s, up to 5 s. */
const restartDelayMs = (failures: number) => Math.min(5_000, 200 * 2 ** failures)
const healthyMs = 30_000

const startSequence = ['signer', 'api', 'worker'] as const
/** The api first: it finishes its requests while the signer still signs. */
const stopSequence = ['api', 'worker', 'signer'] as const
type Role = (typeof startSequence)[number]
/** After METRICS_PORT. */
const metricsPortOffsets: Readonly<Record<Role, number>> = { api: 0, worker: 1, signer: 2 }

/** Keeps one child process per role running until this process receives SIGTERM or SIGINT; then stops them in order. */
export const supervise = ({ log, limitSeconds }: StopOptions): void => {
  const children = new Map<Role, { readonly child: ChildProcess; readonly exited: Promise<void> }>()
  const stopped = new Set<Role>()

  const start = (role: Role, failures: number): void => {
    if (stopped.has(role)) return
    const startedAt = performance.now()
    const env = childEnvironment(metricsPortOffsets[role])
    const child = fork(entry, [supervisedFlag, role], { stdio: 'inherit', env })
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    children.set(role, { child, exited })
    child.once('exit', (exitCode, signal) => {
      children.delete(role)
      if (stopped.has(role)) return
      const uptimeMs = Math.round(performance.now() - startedAt)
      const wasHealthy = uptimeMs > healthyMs
      const restartInMs = restartDelayMs(wasHealthy ? 0 : failures)
      log.error(
        { role, pid: child.pid, exitCode, signal, uptimeMs, restartInMs },
        'child process exited; it will be restarted',
      )
      setTimeout(() => start(role, wasHealthy ? 0 : failures + 1), restartInMs)
    })
  }

  const endAtOnce = (): void => {
    for (const { child } of children.values()) child.kill('SIGKILL')
    process.exit(1)
  }
  const stop = async (): Promise<void> => {
    setTimeout(() => {
      log.error({ roles: [...children.keys()], limitSeconds }, 'stop took too long; the children are killed')
      endAtOnce()
    }, limitSeconds * 1_000)
    for (const role of stopSequence) {
      stopped.add(role)
      const running = children.get(role)
      // A child that is ending by itself has closed its channel.
      running?.child.send(stopMessage, () => undefined)
      await running?.exited
      log.info({ role }, 'child process stopped')
    }
    process.exit(0)
  }

  onSignals(() => void stop(), endAtOnce)
  for (const role of startSequence) start(role, 0)
}
