import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('.', import.meta.url))
const installLimitMs = 900_000

/** chdb has a library for these alone. */
const platforms = new Set(['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'])

/**
 * Installs chdb by the folder's own lockfile, where that has changed since the last time: about 550 MB. Returns why it is
 * not there, where it cannot be.
 */
export const installClickHouse = (): string | undefined => {
  const platform = `${process.platform}-${process.arch}`
  if (!platforms.has(platform)) return `chdb has no library for ${platform}`
  const installed = join(folder, 'node_modules/.package-lock.json')
  const lockfile = join(folder, 'package-lock.json')
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lockfile).mtimeMs) return undefined
  const { status } = spawnSync(
    'npm',
    ['ci', '--ignore-scripts', '--no-progress', '--no-audit', '--no-fund'],
    {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: installLimitMs,
    },
  )
  return status === 0 ? undefined : `npm ci in tools/clickhouse ended with status ${status}`
}

export type ClickHouseProcess = {
  readonly url: string
  readonly version: string
  /** SIGKILL; resolves when the process has ended. */
  readonly kill: () => Promise<void>
  readonly stop: () => Promise<void>
}

const end = async (child: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill(signal)
  await ended
}

type StartOptions = {
  /** 0 takes a free one. */
  readonly port?: number
  /** Waits so long between an insert and its answer, so that a kill meets a batch that is stored and not acknowledged. */
  readonly answerDelayMs?: number
  /** A planted fault: what is sent again is stored again. */
  readonly ignoreTokens?: boolean
}

/** Starts the server on a folder of its own. */
export const startClickHouse = async (
  dataFolder: string,
  { port = 0, answerDelayMs = 0, ignoreTokens = false }: StartOptions = {},
): Promise<ClickHouseProcess> => {
  const child = spawn(
    process.execPath,
    [
      join(folder, 'server.mjs'),
      `--folder=${dataFolder}`,
      `--port=${port}`,
      `--answer-delay-ms=${answerDelayMs}`,
      ...(ignoreTokens ? ['--ignore-tokens'] : []),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const lines = createInterface({ input: child.stdout })
  const first = await new Promise<string>((resolve, reject) => {
    lines.once('line', resolve)
    child.once('error', reject)
    child.once('exit', (code, signal) =>
      reject(new Error(`the ClickHouse process ended with ${signal ?? code} before it served`)),
    )
  })
  const { url, version } = JSON.parse(first) as { url: string; version: string }
  return { url, version, kill: () => end(child, 'SIGKILL'), stop: () => end(child, 'SIGTERM') }
}
