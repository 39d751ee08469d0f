import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Client } from 'pg'
import { createDatabase, freePort, startCluster, type Cluster } from '../../packages/server/dev/cluster.ts'
import { pollUntil } from '../../packages/server/test/fixtures/polling.ts'
import { mainFile } from '../../packages/server/test/fixtures/processes/child-processes.ts'
import {
  runToEnd,
  startWithRestarts,
  waitForExit,
} from '../../packages/server/test/fixtures/processes/restarts.ts'
import { makeFolder, open } from './closing.ts'
import { starting, step } from './program.ts'

export type Role = 'api' | 'signer' | 'worker'
type Settings = Readonly<Record<string, string>>

/** A start of several processes on a busy machine takes longer than a minute. */
const startMsMax = 120_000

const isReady = (baseUrl: string, path = '/readyz'): Promise<boolean> =>
  fetch(`${baseUrl}${path}`, { signal: AbortSignal.timeout(5_000) }).then(
    (response) => response.ok,
    () => false,
  )

/** Waits until the service at this address says that it is ready. */
export const waitUntilReady = async (baseUrl: string, path = '/readyz'): Promise<void> =>
  void (await pollUntil(`${baseUrl}${path} answers 200`, () => isReady(baseUrl, path), startMsMax))

/** Opens a connection as `system`, which sees the rows of every agent. */
export const withDatabase = async <T>(url: string, work: (client: Client) => Promise<T>): Promise<T> => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    // A lock that is never released must not stop the program.
    await client.query(`set "pohf.tenant" = 'system'; set statement_timeout = '60s'`)
    return await work(client)
  } finally {
    await client.end()
  }
}

/** A migrated database, free ports and the environment for the server's processes; logs and limits out of the way. */
export const prepareServer = async (
  cluster: Parameters<typeof createDatabase>[0],
  folder: string,
  settings: Settings = {},
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
  await runToEnd([mainFile, 'migrate'], env)
  for (const each of [env.DATA_DIR, settings['KEYS_DIR']])
    if (each !== undefined) mkdirSync(each, { recursive: true, mode: 0o700 })
  return { baseUrl: `http://127.0.0.1:${port}`, databaseUrl, env }
}

/** One role of the server as a process that is started again whenever it ends. Its errors are shown where `isShown`. */
export const startRole = (role: Role, env: NodeJS.ProcessEnv, isShown = false) =>
  startWithRestarts([mainFile, role], env, { output: isShown ? process.stderr.fd : 'ignore' })
export type RunningRole = ReturnType<typeof startRole>

export type RestartingPostgres = {
  readonly url: Cluster['url']
  readonly port: number
  readonly pid: () => number
  /** How often it was started, with the first time. */
  readonly starts: () => number
  /** Ends it with a signal, and waits until it accepts connections again. */
  readonly restart: (signal: NodeJS.Signals) => Promise<void>
  readonly stop: () => Promise<void>
}

/** A cluster that is started again on what is on its disk whenever it ends, as a service manager does. */
export const openPostgres = async (options: {
  folder: string
  settings?: Settings
  env?: NodeJS.ProcessEnv
}): Promise<RestartingPostgres> => {
  const state = { starts: 0, stopping: false }
  let running = Promise.resolve()
  let cluster = await startCluster(options)
  const { port } = cluster
  const watch = (): void => {
    state.starts += 1
    void waitForExit(cluster.process).then(() => {
      if (state.stopping) return
      running = startAgain()
      // Whoever waits for the start gets the error.
      running.catch(() => undefined)
    })
  }
  const startAgain = async (): Promise<void> => {
    // The other processes notice the kill of the first one a moment later; until then the memory is in use. A full disk
    // refuses every start until there is space.
    const deadline = performance.now() + startMsMax
    while (!state.stopping) {
      try {
        cluster = await startCluster({ ...options, port })
        watch()
        return
      } catch (error) {
        if (performance.now() > deadline) throw error
        await setTimeout(100)
      }
    }
  }
  watch()
  return {
    url: (database) => cluster.url(database),
    port,
    pid: () => cluster.process.pid ?? 0,
    starts: () => state.starts,
    restart: async (signal) => {
      const ending = cluster.process
      ending.kill(signal)
      await waitForExit(ending)
      // The new start is begun by a listener on the same event.
      await setTimeout(0)
      await running
    },
    stop: async () => {
      state.stopping = true
      await running
      await cluster.stop()
    },
  }
}

export type ServiceOptions = {
  /** A word for the names of its folders. */
  readonly name: string
  readonly roles: readonly Role[]
  /** Settings of PostgreSQL, and of the server, which may be in its folder. */
  readonly postgres?: Settings
  readonly settings?: Settings | ((folder: string) => Settings)
  /** Another program than the real signer: to see that its fault is found. */
  readonly signer?: readonly string[]
  /** Whether the errors of the processes are shown. */
  readonly isShown?: boolean
}

/** The service as processes on a PostgreSQL of its own, ready. All of them are started again when they end. */
export const openService = (options: ServiceOptions) =>
  open(async (defer) => {
    const { name, roles, settings = {}, signer, isShown = false } = options
    starting(`PostgreSQL and ${roles.join(', ')}`)
    const folder = makeFolder(name, defer)
    const postgres = await openPostgres({ folder, settings: options.postgres ?? {} })
    defer(postgres.stop)
    const prepared = await prepareServer(
      postgres,
      folder,
      typeof settings === 'function' ? settings(folder) : settings,
    )
    const start = (role: Role): RunningRole =>
      role === 'signer' && signer
        ? startWithRestarts(signer, prepared.env)
        : startRole(role, prepared.env, isShown)
    const processes = Object.fromEntries(roles.map((role) => [role, start(role)])) as Record<
      Role,
      RunningRole
    >
    defer(() => Promise.all(Object.values(processes).map((each) => each.stop())))
    await waitUntilReady(prepared.baseUrl)
    step('the service is ready')
    return { folder, postgres, processes, ...prepared }
  })

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
    child = spawn(process.execPath, [mainFile, ...parameters], { env, stdio: ['ignore', log, log] })
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
