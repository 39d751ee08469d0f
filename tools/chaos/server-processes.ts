import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createDatabase, freePort } from '../../packages/server/dev/cluster.ts'
import {
  runToEnd,
  startWithRestarts,
  waitForExit,
} from '../../packages/server/test/fixtures/processes/restarts.ts'

export const main = fileURLToPath(new URL('../../packages/server/src/main.ts', import.meta.url))

/** A migrated database, free ports and the environment for the server's processes; logs and limits out of the way. */
export const prepareServer = async (
  cluster: Parameters<typeof createDatabase>[0],
  folder: string,
  settings: Readonly<Record<string, string>> = {},
) => {
  const databaseUrl = await createDatabase(cluster, 'pohf')
  const port = await freePort()
  const env = {
    ...process.env,
    DATABASE_URL: databaseUrl,
    DATA_DIR: join(folder, 'secrets'),
    PORT: String(port),
    OPERATOR_PORT: String(await freePort()),
    KEY_LIMIT_PER_MINUTE: '10000000',
    LOG_LEVEL: 'fatal',
    ...settings,
  }
  await runToEnd([main, 'migrate'], env)
  mkdirSync(env.DATA_DIR, { recursive: true, mode: 0o700 })
  return { baseUrl: `http://127.0.0.1:${port}`, databaseUrl, env }
}

/** One role of the server as a process that is started again whenever it ends. */
export const startRole = (role: 'api' | 'signer' | 'worker', env: NodeJS.ProcessEnv) =>
  startWithRestarts([main, role], env)

/** A process of the server that the battery starts and stops as an operator does. */
export type ServerProcess = {
  readonly pid: () => number
  readonly hasEnded: () => boolean
  readonly start: () => void
  /** Sends SIGTERM, waits for the end and returns the exit code or the signal. */
  readonly terminate: () => Promise<number | string>
}

/** One role of the server, or its supervisor, that is not started again when it ends. */
export const makeServerProcess = (
  parameters: readonly string[],
  env: NodeJS.ProcessEnv,
  logFile: string,
): ServerProcess => {
  let child: ChildProcess
  const start = () => {
    const log = openSync(logFile, 'a')
    child = spawn(process.execPath, [main, ...parameters], { env, stdio: ['ignore', log, log] })
    closeSync(log)
  }
  start()
  return {
    pid: () => child.pid ?? 0,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    start,
    terminate: async () => {
      child.kill('SIGTERM')
      await waitForExit(child)
      return child.exitCode ?? child.signalCode ?? ''
    },
  }
}

/** mulberry32: the same seed gives the same numbers. */
export const randomFrom = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
