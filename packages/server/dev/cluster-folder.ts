// Where npm run dev keeps its own PostgreSQL, and whether it runs.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'

export const devDatabase = 'pohf_dev'

/** As root the cluster belongs to another user, who may not enter a private home folder. */
export const clusterFolder = (dataDir: string): string =>
  process.getuid?.() === 0
    ? join('/var/tmp', `pohf-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`)
    : join(dataDir, 'postgres')

/** The port of a cluster that an earlier start left running. */
export const runningPort = async (folder: string): Promise<number | undefined> => {
  const pidFile = join(folder, 'data/postmaster.pid')
  if (!existsSync(pidFile)) return undefined
  const port = Number(readFileSync(pidFile, 'utf8').split('\n')[3])
  const client = new Client({
    connectionString: `postgres://postgres@127.0.0.1:${port}/postgres`,
    connectionTimeoutMillis: 10_000,
  })
  try {
    await client.connect()
    await client.end()
    return port
  } catch {
    return undefined
  }
}

/** The address of a database in the cluster of `npm run dev`; undefined where that does not run. */
export const developmentUrl = async (dataDir: string, name = devDatabase): Promise<string | undefined> => {
  const port = await runningPort(clusterFolder(dataDir))
  return port === undefined ? undefined : `postgres://postgres@127.0.0.1:${port}/${name}`
}
