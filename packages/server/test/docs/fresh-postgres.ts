import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { findSystemPostgres, startCluster, type PostgresSource } from '../../dev/cluster.ts'

/** As on a new machine: an administrator is there without a password, and every other role needs one. */
const accessRules = `host all postgres 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
`

type FreshPostgres = {
  readonly port: number
  /** The variables by which `psql` connects as the administrator. */
  readonly administrator: Readonly<Record<string, string>>
  readonly query: <T extends object>(database: string, text: string) => Promise<T[]>
  readonly stop: () => Promise<void>
}

/** A cluster of its own that has no role but `postgres`. */
export const startFreshPostgres = async (source: PostgresSource): Promise<FreshPostgres> => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-fresh-'))
  const cluster = await startCluster({ folder, source })
  const query = async <T extends object>(database: string, text: string): Promise<T[]> => {
    const client = new Client({ connectionString: cluster.url(database) })
    await client.connect()
    try {
      return (await client.query<T>(text)).rows
    } finally {
      await client.end()
    }
  }
  writeFileSync(join(folder, 'data/pg_hba.conf'), accessRules)
  await query('postgres', 'select pg_reload_conf()')
  return {
    port: cluster.port,
    administrator: { PGHOST: '127.0.0.1', PGPORT: String(cluster.port), PGUSER: 'postgres' },
    query,
    stop: async () => {
      await cluster.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Why no fresh cluster of this kind can be used here; undefined where one can. */
export const missingPostgres = (source: PostgresSource): string | undefined => {
  if (spawnSync('psql', ['--version']).status !== 0) return 'psql is not installed'
  return source === 'system' && findSystemPostgres() === undefined
    ? 'no PostgreSQL 15 to 18 is in /usr/lib/postgresql'
    : undefined
}
