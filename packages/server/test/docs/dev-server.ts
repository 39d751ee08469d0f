import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { freePort } from '../../dev/cluster.ts'
import { portsCount } from '../../dev/ports.ts'
import { makeDatabase } from '../fixtures/harness.ts'
import { inheritedEnvironment } from '../fixtures/processes/child-processes.ts'
import { pollUntil } from '../fixtures/polling.ts'
import { findPortBlock } from '../../dev/free-ports.ts'
import { repositoryRoot } from './markdown.ts'
import type { RunOptions } from './run-page.ts'

/** What `npm run dev` runs, with the options behind `--`. */
const devCommand = (parameters: readonly string[]): string[] => {
  const file = readFileSync(join(repositoryRoot, 'package.json'), 'utf8')
  const { scripts } = JSON.parse(file) as { scripts: { dev: string } }
  return [...scripts.dev.split(' ').slice(1), ...parameters]
}

/**
 * The server of `npm run dev` on a database and ports of its own. Stopped at the end of the test file. It builds no pages:
 * other tests read them meanwhile.
 */
export const startDevServer = async (...parameters: readonly string[]): Promise<RunOptions> => {
  const { url, drop } = await makeDatabase()
  const folder = mkdtempSync(join(tmpdir(), 'pohf-dev-'))
  const dataDir = join(folder, 'secrets')
  const first = await findPortBlock(portsCount)
  const ports = { 3000: first, 3001: first + 1, 4000: await freePort() }
  const child = spawn(process.execPath, devCommand(['--no-pages', ...parameters]), {
    cwd: repositoryRoot,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...inheritedEnvironment,
      DATABASE_URL: url,
      DATA_DIR: dataDir,
      PORT: String(ports[3000]),
    },
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (printed += chunk.toString()))
  const ended = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
    await drop()
    rmSync(folder, { recursive: true, force: true })
  }
  const isReady = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`npm run dev ended:\n${printed}`)
    return printed.includes('PoHF is ready')
  }
  // The start takes about 13 s of CPU. A failure before the first test must stop it here: no `after` runs then.
  await pollUntil('npm run dev is ready', isReady, 90_000).catch(async (error: unknown) => {
    await stop()
    throw new Error(`npm run dev is not ready:\n${printed}`, { cause: error })
  })
  after(stop)
  return { ports, dataDir }
}
