import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  createDatabase,
  findSystemPostgres,
  startCluster,
  type Cluster,
} from '../../packages/server/dev/cluster.ts'
import { migrate } from '../../packages/server/src/platform/db/migrate.ts'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const cacheFolder = here('../../node_modules/.cache')

/** The connections of the service have jit off themselves; those of the tests' owner compile statements that run once. */
const settings = { max_connections: '400', jit: 'off' }

/**
 * Everything that the prepared files depend on: the migrations, how a cluster is made, which PostgreSQL made it, and the day:
 * migrations create the partitions of the next days.
 */
const nameOfPrepared = (): string => {
  const hash = createHash('sha256')
  hash.update(
    `${findSystemPostgres() ?? ''} ${process.env['POHF_POSTGRES'] ?? ''} ${process.getuid?.() ?? ''} ${new Date().toISOString().slice(0, 10)}`,
  )
  const sources = ['../../packages/server/dev/cluster.ts', '../../package-lock.json'].map(here)
  const migrations = globSync(here('../../packages/server/migrations/*.sql')).toSorted()
  for (const file of [...sources, ...migrations]) hash.update(readFileSync(file))
  return `test-cluster-${hash.digest('hex').slice(0, 16)}`
}

/** Keeps owner and rights of the files, which Node's cpSync does not: they belong to the user that runs PostgreSQL. */
const copyFolder = (from: string, to: string): void => {
  const { status, stderr } = spawnSync('cp', ['-a', from, to], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${from} could not be copied to ${to}: ${stderr}`)
}

/** Initialises a cluster in `folder` with the migrated database `pohf_template`, and keeps a copy of its files as `prepared`. */
const prepare = async (folder: string, prepared: string): Promise<void> => {
  const cluster = await startCluster({ folder, settings })
  try {
    await migrate(await createDatabase(cluster, 'pohf_template'))
  } finally {
    await cluster.stop()
  }
  mkdirSync(cacheFolder, { recursive: true })
  const copy = mkdtempSync(join(cacheFolder, 'test-cluster-new-'))
  copyFolder(join(folder, 'data'), copy)
  const isOld = (name: string) => /^test-cluster-[0-9a-f]{16}$/.test(name) && name !== basename(prepared)
  for (const old of readdirSync(cacheFolder).filter(isOld))
    rmSync(join(cacheFolder, old), { recursive: true, force: true })
  // Another run may have been first: then its copy is as good.
  if (existsSync(prepared)) rmSync(copy, { recursive: true })
  else renameSync(copy, prepared)
}

/**
 * Starts a cluster in `folder` whose database `pohf_template` has all migrations. The first run takes about 5 s for it and keeps
 * the files; those after it copy them in 0.5 s, until a migration or the day changes.
 */
export const startTestCluster = async (folder: string): Promise<Cluster> => {
  const prepared = join(cacheFolder, nameOfPrepared())
  if (existsSync(prepared)) copyFolder(join(prepared, 'data'), folder)
  else await prepare(folder, prepared)
  return startCluster({ folder, settings })
}
