import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { freePort } from '../../packages/server/dev/cluster.ts'

const root = resolve(import.meta.dirname, '../..')

/** How this machine reaches the npm registry. A machine without a proxy has none of them. */
const network = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => /^(?:NODE_EXTRA_CA_CERTS|(?:https?|no)_proxy)$/i.test(name)),
)

export type Clone = {
  readonly folder: string
  readonly ports: { readonly 3000: number; readonly 3001: number; readonly 4000: number }
  /** The variables of the reader's shell: an empty home folder, and no program of the workspace on the path. */
  readonly environment: Readonly<Record<string, string>>
  readonly remove: () => void
}

/** A fresh clone of the last commit. */
export const makeClone = async (): Promise<Clone> => {
  const parent = mkdtempSync(join(tmpdir(), 'pohf-quickstarts-'))
  const [folder, home] = [join(parent, 'pohf'), join(parent, 'home')]
  mkdirSync(home)
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, folder])
  const ports = { 3000: await freePort(), 3001: await freePort(), 4000: await freePort() }
  const path = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((part) => !part.endsWith('node_modules/.bin'))
  return {
    folder,
    ports,
    environment: {
      ...network,
      HOME: home,
      NODE_COMPILE_CACHE: '',
      PATH: [dirname(process.execPath), ...path].join(delimiter),
      PORT: String(ports[3000]),
      OPERATOR_PORT: String(ports[3001]),
    },
    remove: () => rmSync(parent, { recursive: true, force: true }),
  }
}

const secondsSince = (startedAt: number): number => (performance.now() - startedAt) / 1_000

/** Runs `npm ci`; returns its seconds. */
export const install = ({ folder, environment }: Clone): number => {
  const startedAt = performance.now()
  execFileSync('npm', ['ci', '--no-progress'], {
    cwd: folder,
    env: environment,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return secondsSince(startedAt)
}

/** Longer than the slowest starts that were seen on a busy machine: 55 s, and 213 s with the data of the demo. */
const startSecondsMax = 600

/** Starts `npm run dev` and waits until it is ready; returns its seconds. */
export const startDev = async ({ folder, environment }: Clone, parameters: readonly string[] = []) => {
  const startedAt = performance.now()
  const child = spawn('npm', ['run', 'dev', '--', ...parameters], {
    cwd: folder,
    env: environment,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  /** As Ctrl-C does: every process of the terminal gets the signal. */
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.pid === undefined) return
    process.kill(-child.pid, 'SIGINT')
    await ended
  }
  let printed = ''
  const isReady = new Promise<void>((done, fail) => {
    const timer = setTimeout(
      () => fail(new Error(`npm run dev is not ready:\n${printed}`)),
      startSecondsMax * 1_000,
    )
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString()
      if (!printed.includes('PoHF is ready')) return
      clearTimeout(timer)
      done()
    })
    child.once('exit', () => fail(new Error(`npm run dev ended:\n${printed}`)))
  })
  await isReady.catch(async (error: unknown) => {
    await stop()
    throw error
  })
  return { seconds: secondsSince(startedAt), stop }
}
