import { spawn, type ChildProcess } from 'node:child_process'
import { setTimeout } from 'node:timers/promises'

/** When a process has ended. */
export const exited = (child: ChildProcess) =>
  new Promise<void>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve()
    else child.once('exit', () => resolve())
  })

/** Runs a program of ours to its end; one that fails is an error. */
export const run = async (parameters: readonly string[], env: NodeJS.ProcessEnv): Promise<void> => {
  const child = spawn(process.execPath, parameters, { env, stdio: ['ignore', 'ignore', 'inherit'] })
  await exited(child)
  if (child.exitCode !== 0) throw new Error(`${parameters.join(' ')} ended with ${child.exitCode}`)
}

/** A process that is started again whenever it dies, at once: the supervisor's growing waits would take minutes. */
export const keepAlive = (parameters: readonly string[], env: NodeJS.ProcessEnv) => {
  let stopping = false
  let child: ChildProcess
  const start = () => {
    child = spawn(process.execPath, parameters, { env, stdio: 'ignore' })
    child.once('exit', () => stopping || start())
  }
  start()
  return {
    kill: () => child.kill('SIGKILL'),
    stop: async () => {
      stopping = true
      child.kill('SIGTERM')
      await exited(child)
    },
  }
}

const isReady = (baseUrl: string): Promise<boolean> =>
  fetch(`${baseUrl}/readyz`).then(
    (response) => response.ok,
    () => false,
  )
/** Waits until the server says that it is ready. */
export const untilReady = async (baseUrl: string): Promise<void> => {
  const deadline = performance.now() + 60_000
  while (!(await isReady(baseUrl))) {
    if (performance.now() > deadline) throw new Error('not ready within 60 s')
    await setTimeout(20)
  }
}
