import { spawnSync } from 'node:child_process'
import { appendFileSync, chownSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import {
  findSystemPostgres,
  freePort,
  ownerOf,
  startCluster,
  type Cluster,
} from '../../../packages/server/dev/cluster.ts'
import { pollUntil } from '../../../packages/server/test/fixtures/polling.ts'

/** A PostgreSQL with a base backup and an archive of its log, which can go back to a named point. */
export type PointInTimeCluster = {
  readonly url: Cluster['url']
  readonly takeBaseBackup: () => void
  readonly createRestorePoint: (name: string) => Promise<void>
  /** Stops the cluster as a crash does, puts the base backup in place, and replays the log up to the point. */
  readonly restoreTo: (name: string) => Promise<void>
  readonly stop: () => Promise<void>
}

const run = (program: string, parameters: readonly string[], owner: Owner | undefined) => {
  const ended = spawnSync(program, parameters, { ...owner, cwd: '/', encoding: 'utf8' })
  if (ended.status !== 0) throw new Error(`${program} failed: ${ended.stderr || String(ended.error)}`)
}

type Files = { readonly folder: string; readonly archive: string; readonly owner: Owner | undefined }
type Owner = { readonly uid: number; readonly gid: number }

/** Puts the base backup in place of the data, and says up to where the log is replayed. */
const putBaseBackup = ({ folder, archive, owner }: Files, name: string): void => {
  const data = join(folder, 'data')
  rmSync(data, { recursive: true })
  renameSync(join(folder, 'base'), data)
  appendFileSync(
    join(data, 'postgresql.auto.conf'),
    `restore_command = 'cp ${archive}/%f %p'\nrecovery_target_name = '${name}'\nrecovery_target_action = 'promote'\n`,
  )
  const signal = join(data, 'recovery.signal')
  writeFileSync(signal, '')
  if (owner) chownSync(signal, owner.uid, owner.gid)
}

const settingsOf = (archive: string) => ({
  archive_mode: 'on',
  // A file appears when it is complete: a crash may come while it is copied.
  archive_command: `cp %p ${archive}/%f.new && mv ${archive}/%f.new ${archive}/%f`,
  wal_level: 'replica',
  max_wal_senders: '4',
})

/** Makes the folder of the archive. */
const prepareFiles = (folder: string): Files => {
  const archive = join(folder, 'archive')
  mkdirSync(archive, { recursive: true })
  const owner = ownerOf()
  if (owner) chownSync(archive, owner.uid, owner.gid)
  return { folder, archive, owner }
}

/** Starts a cluster that archives its log. It needs the programs of a PostgreSQL of Debian. */
export const openPointInTimeCluster = async (folder: string): Promise<PointInTimeCluster> => {
  const bin = findSystemPostgres()
  if (bin === undefined) throw new Error('pg_basebackup is needed: apt-get install postgresql')
  const files = prepareFiles(folder)
  const port = await freePort()
  const settings = settingsOf(files.archive)
  let cluster = await startCluster({ folder, port, settings })
  const query = async <T extends object>(text: string): Promise<T | undefined> => {
    const client = new Client({ connectionString: cluster.url('postgres') })
    await client.connect()
    try {
      return (await client.query<T>(text)).rows[0]
    } finally {
      await client.end()
    }
  }
  const base = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres', '-D', join(folder, 'base')]
  return {
    url: (database) => cluster.url(database),
    takeBaseBackup: () =>
      run(join(bin, 'pg_basebackup'), [...base, '-X', 'stream', '-c', 'fast'], files.owner),
    createRestorePoint: async (name) => {
      await query(`select pg_create_restore_point('${name}')`)
    },
    restoreTo: async (name) => {
      const last = await query<{ file: string }>('select pg_walfile_name(pg_switch_wal()) as file')
      const segment = join(files.archive, last?.file ?? '')
      await pollUntil('the log is archived', async () => existsSync(segment), 60_000)
      const crashed = new Promise<void>((resolve) => cluster.process.once('exit', () => resolve()))
      cluster.process.kill('SIGQUIT')
      await crashed
      putBaseBackup(files, name)
      cluster = await startCluster({ folder, port, settings })
      await pollUntil('the cluster is promoted', async () => {
        const row = await query<{ standby: boolean }>('select pg_is_in_recovery() as standby')
        return row?.standby === false
      })
    },
    stop: () => cluster.stop(),
  }
}
