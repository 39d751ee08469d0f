import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort, makeClusterFolder, ownerOf } from '../../../packages/server/dev/cluster.ts'
import { waitForExit } from '../../../packages/server/test/fixtures/processes/restarts.ts'
import { installDebianPackages } from '../../driver/child.ts'
import { processTree, signalAll } from '../../driver/closing.ts'

const kitFolder = fileURLToPath(new URL('../../../deploy/ha/', import.meta.url))
const debianPackages = ['patroni', 'etcd-server', 'haproxy', 'pgbackrest', 'postgresql']
/** Debian's folder of the programs of PostgreSQL. */
export const postgresFolder = '/usr/lib/postgresql/15/bin'
const programs = ['patroni', 'etcd', 'haproxy', 'pgbackrest']

/** Installs what the kit needs. Returns what is missing all the same. */
export const installPrograms = (): string | undefined => installDebianPackages(debianPackages, programs)

const firstLine = (program: string, parameter: string): string =>
  spawnSync(program, [parameter], { encoding: 'utf8' }).stdout.split('\n')[0] ?? ''

/** The versions of what was run. */
export const readVersions = (): string =>
  [
    firstLine('patroni', '--version'),
    firstLine('etcd', '--version'),
    firstLine('haproxy', '-v').split(' - ')[0],
    firstLine(join(postgresFolder, 'postgres'), '--version'),
    firstLine('pgbackrest', 'version'),
  ].join(', ')

/** Which API of etcd Patroni uses: `etcd` is v2. */
type EtcdApi = 'etcd' | 'etcd3'

/** A database machine: etcd, Patroni and PostgreSQL on a loopback address of its own. */
export type PatroniNode = {
  readonly name: string
  readonly address: string
  readonly dataFolder: string
  readonly etcdPid: () => number
  readonly patroniPid: () => number
  /** The first process of PostgreSQL; undefined where none was started. */
  readonly postmasterPid: () => number | undefined
  /** Starts Patroni as the service manager of a machine does when it boots. */
  readonly startPatroni: () => void
  /** Runs pgBackRest as the user of PostgreSQL and returns what it printed. */
  readonly pgbackrest: (parameters: readonly string[]) => string
}

type Member = {
  readonly name: string
  readonly role: string
  readonly state: string
  readonly timeline?: number
}

export type PatroniCluster = {
  readonly folder: string
  readonly nodes: readonly PatroniNode[]
  /** Addresses of HAProxy. */
  readonly apiUrl: string
  readonly apiPorts: readonly [number, number]
  readonly databaseUrl: (user: string, password: string, database: string) => string
  readonly superuserUrl: (database: string) => string
  /** Past HAProxy. */
  readonly superuserUrlAt: (address: string, database: string) => string
  readonly etcdHealthUrls: readonly string[]
  /** The members as Patroni knows them; none where no Patroni answers. */
  readonly readMembers: () => Promise<readonly Member[]>
  readonly findLeader: () => Promise<PatroniNode | undefined>
  /** Asks Patroni for an orderly change of the primary, and waits for it. */
  readonly requestSwitchover: (leader: string, candidate: string) => Promise<void>
  readonly haproxyCommand: (command: string) => Promise<string>
  /** Waits for one leader and two synchronous replicas, all on one timeline. False where that does not happen. */
  readonly waitUntilWhole: (ms: number) => Promise<boolean>
  readonly close: () => Promise<void>
}

/** Secrets of a cluster that lives for one battery, on loopback. */
const password = 'batteryPassword0000'

const fetchJson = async (url: string, init: RequestInit = {}): Promise<{ status: number; body: unknown }> => {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000), ...init })
  const answer = await response.text()
  try {
    return { status: response.status, body: JSON.parse(answer) as unknown }
  } catch {
    return { status: response.status, body: answer }
  }
}

const spawnLogged = (
  program: string,
  parameters: readonly string[],
  options: { logFile: string; env?: NodeJS.ProcessEnv; isDatabaseUser?: boolean },
): ChildProcess => {
  const log = openSync(options.logFile, 'a')
  const child = spawn(program, parameters, {
    ...(options.isDatabaseUser ? ownerOf() : {}),
    cwd: '/',
    env: { ...process.env, ...options.env },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  return child
}

const settingsOf = async (folder: string, addresses: readonly string[], etcdApi: EtcdApi) => ({
  CLUSTER: 'pohf',
  ...Object.fromEntries(
    addresses.flatMap((address, index) => [
      [`NODE_${index + 1}_NAME`, `pg${index + 1}`],
      [`NODE_${index + 1}_ADDRESS`, address],
    ]),
  ),
  // A connection between loopback addresses comes from 127.0.0.1.
  NODE_NETWORK: '127.0.0.0/8',
  APP_NETWORK: '127.0.0.0/8',
  API_1: `127.0.0.1:${await freePort()}`,
  API_2: `127.0.0.1:${await freePort()}`,
  API_LISTEN: `127.0.0.1:${await freePort()}`,
  DATABASE_LISTEN: `127.0.0.1:${await freePort()}`,
  SUPERUSER_PASSWORD: password,
  REPLICATION_PASSWORD: password,
  REWIND_PASSWORD: password,
  PATRONI_PASSWORD: password,
  BACKUP_PASSPHRASE: password,
  POSTGRES_PORT: String(await freePort()),
  PATRONI_PORT: String(await freePort()),
  ETCD_CLIENT_PORT: String(await freePort()),
  ETCD_PEER_PORT: String(await freePort()),
  ETCD_API: etcdApi,
  // It would restart this machine.
  WATCHDOG: 'off',
  BIN_FOLDER: postgresFolder,
  DATA_FOLDER: join(folder, '@NODE_NAME@', 'data'),
  SOCKET_FOLDER: join(folder, '@NODE_NAME@'),
  PGPASS_FILE: join(folder, '@NODE_NAME@', 'pgpass'),
  ETCD_FOLDER: join(folder, 'etcd-@NODE_NAME@'),
  HAPROXY_SOCKET: join(folder, 'haproxy.sock'),
  // Of Debian's package.
  HAPROXY_USER: 'haproxy',
  HAPROXY_GROUP: 'haproxy',
  HAPROXY_CHROOT: '/var/lib/haproxy',
  PGBACKREST_FILE: join(folder, 'kit', '@NODE_NAME@', 'pgbackrest.conf'),
  BACKUP_FOLDER: join(folder, 'backup'),
  BACKUP_LOG_FOLDER: join(folder, '@NODE_NAME@'),
  BACKUP_LOCK_FOLDER: join(folder, '@NODE_NAME@', 'lock'),
})
type KitSettings = Awaited<ReturnType<typeof settingsOf>>

/** Fills in the kit as an operator does. PostgreSQL's user reads the files of its machines. */
const fillInKit = (folder: string, settings: KitSettings, names: readonly string[]): void => {
  const file = join(folder, 'cluster.env')
  const lines = Object.entries({ ...settings, BASE_URL: `http://${settings.API_LISTEN}` })
  writeFileSync(file, lines.map(([name, value]) => `${name}=${value}\n`).join(''))
  const filled = spawnSync(join(kitFolder, 'fill-in.sh'), [file, join(folder, 'kit')], { encoding: 'utf8' })
  if (filled.status !== 0) throw new Error(`fill-in.sh failed: ${filled.stderr}`)
  chmodSync(join(folder, 'kit'), 0o755)
  mkdirSync(join(folder, 'backup'))
  const owner = ownerOf()
  for (const name of names) mkdirSync(join(folder, name), { mode: 0o700 })
  const owned = names.flatMap((name) => [
    join(folder, name),
    join(folder, 'kit', name),
    join(folder, 'kit', name, 'patroni.yml'),
    join(folder, 'kit', name, 'pgbackrest.conf'),
  ])
  if (owner) for (const path of [join(folder, 'backup'), ...owned]) chownSync(path, owner.uid, owner.gid)
}

const etcdEnvironment = (file: string): NodeJS.ProcessEnv =>
  Object.fromEntries(
    [...readFileSync(file, 'utf8').matchAll(/^([A-Z0-9_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [
      name,
      value,
    ]),
  )

const startNode = (folder: string, name: string, address: string): PatroniNode => {
  const kit = join(folder, 'kit', name)
  const dataFolder = join(folder, name, 'data')
  const etcd = spawnLogged('etcd', [], {
    logFile: join(folder, `etcd-${name}.log`),
    env: etcdEnvironment(join(kit, 'etcd.env')),
  })
  let patroni: ChildProcess
  const startPatroni = () => {
    patroni = spawnLogged('patroni', [join(kit, 'patroni.yml')], {
      logFile: join(folder, `patroni-${name}.log`),
      env: { HOME: join(folder, name) },
      isDatabaseUser: true,
    })
  }
  startPatroni()
  return {
    name,
    address,
    dataFolder,
    etcdPid: () => etcd.pid ?? 0,
    patroniPid: () => patroni.pid ?? 0,
    postmasterPid: () => {
      try {
        return Number(readFileSync(join(dataFolder, 'postmaster.pid'), 'utf8').split('\n')[0])
      } catch {
        return undefined
      }
    },
    startPatroni,
    pgbackrest: (parameters) => {
      const ran = spawnSync(
        'pgbackrest',
        [`--config=${join(kit, 'pgbackrest.conf')}`, '--stanza=pohf', ...parameters],
        { ...ownerOf(), cwd: '/', encoding: 'utf8', env: { ...process.env, HOME: join(folder, name) } },
      )
      if (ran.status !== 0) throw new Error(`pgbackrest ${parameters.join(' ')}: ${ran.stdout}${ran.stderr}`)
      return ran.stdout
    },
  }
}

const isWhole = (members: readonly Member[]): boolean => {
  const roles = members.map(({ role }) => role).toSorted()
  const timelines = new Set(members.map(({ timeline }) => timeline))
  return (
    roles.join() === 'leader,sync_standby,sync_standby' &&
    timelines.size === 1 &&
    members.every(({ state }) => state === 'running' || state === 'streaming')
  )
}

const makePatroniClient = (nodes: readonly PatroniNode[], port: string) => {
  const urlOf = ({ address }: PatroniNode, path: string) => `http://${address}:${port}${path}`
  const readMembers = async (): Promise<readonly Member[]> => {
    for (const node of nodes)
      try {
        const { status, body } = await fetchJson(urlOf(node, '/cluster'))
        if (status === 200) return (body as { members: Member[] }).members
      } catch {
        // This machine is away: ask the next.
      }
    return []
  }
  const findLeader = async (): Promise<PatroniNode | undefined> => {
    const answers = await Promise.all(
      nodes.map((node) =>
        fetchJson(urlOf(node, '/primary')).then(
          ({ status }) => status === 200,
          () => false,
        ),
      ),
    )
    return nodes[answers.indexOf(true)]
  }
  const requestSwitchover = async (leader: string, candidate: string): Promise<void> => {
    const node = nodes.find(({ name }) => name === leader) ?? nodes[0]
    if (!node) throw new Error(`there is no machine ${leader}`)
    const { status, body } = await fetchJson(urlOf(node, '/switchover'), {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`patroni:${password}`)}` },
      body: JSON.stringify({ leader, candidate }),
      signal: AbortSignal.timeout(60_000),
    })
    if (status !== 200)
      throw new Error(
        `switchover from ${leader} to ${candidate} was refused: ${status} ${JSON.stringify(body)}`,
      )
  }
  return { readMembers, findLeader, requestSwitchover }
}

export type PatroniClusterOptions = {
  readonly etcdApi: EtcdApi
  /** Whether the folder with data and logs is kept. */
  readonly keep: boolean
}

/** Starts three database machines and HAProxy on loopback with the files of the kit. */
export const startPatroniCluster = async ({
  etcdApi,
  keep,
}: PatroniClusterOptions): Promise<PatroniCluster> => {
  const folder = makeClusterFolder('pohf-failover-')
  chmodSync(folder, 0o755)
  // A network of its own for each battery: two can run at once.
  const network = `127.${64 + (process.pid % 128)}.${(process.pid >> 7) % 250}`
  const addresses = [1, 2, 3].map((each) => `${network}.${each}`)
  const settings = await settingsOf(folder, addresses, etcdApi)
  fillInKit(folder, settings, ['pg1', 'pg2', 'pg3'])
  const nodes = addresses.map((address, index) => startNode(folder, `pg${index + 1}`, address))
  const haproxy = spawnLogged('haproxy', ['-db', '-f', join(folder, 'kit', 'app', 'haproxy.cfg')], {
    logFile: join(folder, 'haproxy.log'),
  })
  const patroni = makePatroniClient(nodes, settings.PATRONI_PORT)
  const close = async (): Promise<void> => {
    const pids = nodes.flatMap((node) => [node.patroniPid(), node.postmasterPid() ?? 0, node.etcdPid()])
    signalAll(
      pids.filter((pid) => pid > 0).flatMap((pid) => processTree(pid)),
      'SIGKILL',
    )
    haproxy.kill('SIGKILL')
    await waitForExit(haproxy)
    if (!keep) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
  }
  const [, apiPort1 = ''] = settings.API_1.split(':')
  const [, apiPort2 = ''] = settings.API_2.split(':')
  const databaseUrl = (user: string, secret: string, database: string) =>
    `postgres://${user}:${secret}@${settings.DATABASE_LISTEN}/${database}`
  return {
    folder,
    nodes,
    apiUrl: `http://${settings.API_LISTEN}`,
    apiPorts: [Number(apiPort1), Number(apiPort2)],
    databaseUrl,
    superuserUrl: (database) => databaseUrl('postgres', password, database),
    superuserUrlAt: (address, database) => `postgres://postgres:${password}@${address}/${database}`,
    etcdHealthUrls: addresses.map((address) => `http://${address}:${settings.ETCD_CLIENT_PORT}/health`),
    ...patroni,
    haproxyCommand: (command) => {
      const connection = connect(settings.HAPROXY_SOCKET)
      connection.end(`${command}\n`)
      return text(connection)
    },
    waitUntilWhole: async (ms) => {
      const deadline = performance.now() + ms
      while (!isWhole(await patroni.readMembers())) {
        if (performance.now() > deadline) return false
        await setTimeout(250)
      }
      return true
    },
    close,
  }
}
