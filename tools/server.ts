import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createDatabase, freePort, startCluster } from '../packages/server/dev/cluster.ts'

/** A whole server of its own for a tool: private PostgreSQL, free ports, everything gone at the end. */
export const startServer = async (
  environment: Record<string, string> = {},
): Promise<{
  baseUrl: string
  databaseUrl: string
  /** The processes at the head of both: their children do the work. */
  pids: { server: number; postgres: number }
  stop: () => Promise<void>
}> => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-tool-'))
  const cluster = await startCluster({ folder })
  const databaseUrl = await createDatabase(cluster, 'pohf')
  const port = await freePort()
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('../packages/server/src/main.ts', import.meta.url))],
    {
      env: {
        ...process.env,
        DATABASE_URL: databaseUrl,
        DATA_DIR: join(folder, 'secrets'),
        PORT: String(port),
        OPERATOR_PORT: String(await freePort()),
        LOG_LEVEL: 'error',
        ...environment,
      },
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  )
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
    await cluster.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  const baseUrl = `http://127.0.0.1:${port}`
  const deadline = performance.now() + 60_000
  while (performance.now() < deadline && child.exitCode === null) {
    if (
      await fetch(`${baseUrl}/readyz`).then(
        (response) => response.ok,
        () => false,
      )
    )
      return {
        baseUrl,
        databaseUrl,
        pids: { server: child.pid ?? 0, postgres: cluster.process.pid ?? 0 },
        stop,
      }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  await stop()
  throw new Error('the server did not get ready')
}
