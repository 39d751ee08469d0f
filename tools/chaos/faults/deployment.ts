import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../packages/server/dev/cluster.ts'
import { pollUntil } from '../../../packages/server/test/fixtures/polling.ts'
import { open } from '../../driver/closing.ts'
import { starting } from '../../driver/program.ts'
import { startTcpProxy } from '../../../packages/server/test/fixtures/tcp-proxy.ts'
import { openReceiver, seedAgents, type VerifyAgent } from '../verify-load/calls.ts'
import { newRecord, type VerifyRecord } from '../verify-load/load.ts'
import {
  waitUntilReady,
  openPostgres,
  type RestartingPostgres,
  makeServerProcess,
  prepareServer,
  type ServerProcess,
} from '../../driver/service.ts'

/** What a deployment has besides PostgreSQL, a proxy before it and the server. */
export type DeploymentKind = 'plain' | 'disks' | 'clock' | 'haproxy'

export type Deployment = {
  readonly kind: DeploymentKind
  readonly folder: string
  readonly baseUrl: string
  /** Past the proxy. */
  readonly databaseUrl: string
  readonly postgres: RestartingPostgres
  readonly proxy: Awaited<ReturnType<typeof startTcpProxy>>
  /** The supervisor of `npm start`; behind HAProxy, the api processes. */
  readonly servers: readonly ServerProcess[]
  /** Waits until this one of `servers` is ready and, behind HAProxy, until HAProxy sends calls to it. */
  readonly waitUntilUsed: (index: number) => Promise<void>
  readonly paths: {
    readonly data: string
    readonly log: string
    readonly signerSocket: string
    /** The offset of PostgreSQL's clock. */
    readonly clock: string
  }
  readonly agents: readonly VerifyAgent[]
  readonly record: VerifyRecord
  readonly received: ReadonlyMap<string, number>
  readonly close: () => Promise<void>
}

const run = (command: string, parameters: readonly string[]) =>
  spawnSync(command, parameters, { encoding: 'utf8' })

/** Builds the library that moves the clock of PostgreSQL. */
const buildClockLibrary = (folder: string): string => {
  const library = join(folder, 'clock-offset.so')
  const source = fileURLToPath(new URL('clock-offset.c', import.meta.url))
  const built = run('cc', ['-shared', '-fPIC', '-O2', '-o', library, source])
  if (built.status !== 0) throw new Error(`clock-offset.c could not be built: ${built.stderr}`)
  return library
}

/** Sets the offset of the clock in seconds. The file is mapped, so every process sees it at once. */
export const writeClockOffset = (file: string, seconds: number): void => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64LE(BigInt(seconds))
  const descriptor = openSync(file, constants.O_WRONLY | constants.O_CREAT, 0o644)
  writeSync(descriptor, bytes, 0, bytes.length, 0)
  closeSync(descriptor)
}

const mountTmpfs = (folder: string, size: string): string | undefined => {
  mkdirSync(folder, { recursive: true })
  const mounted = run('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=755`, 'tmpfs', folder])
  return mounted.status === 0 ? undefined : (mounted.stderr ?? String(mounted.error)).trim()
}

const tryMount = (): string | undefined => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-mount-'))
  const refused = mountTmpfs(folder, '64k')
  if (refused === undefined) run('umount', [folder])
  rmSync(folder, { recursive: true, force: true })
  return refused
}

/** Why a deployment of this kind cannot be opened on this machine; undefined where it can. */
export const missingFor = (kind: DeploymentKind): string | undefined => {
  if (kind === 'clock' && run('cc', ['--version']).status !== 0)
    return 'no C compiler here: tools/ci/debian-packages.sh'
  if (kind === 'haproxy' && run('haproxy', ['-v']).status !== 0)
    return 'no haproxy here: tools/ci/debian-packages.sh'
  const refused = kind === 'disks' ? tryMount() : undefined
  return refused === undefined ? undefined : `tmpfs cannot be mounted: ${refused}`
}

const clockEnvironment = (kind: DeploymentKind, folder: string, clockFile: string): NodeJS.ProcessEnv =>
  kind === 'clock' ? { LD_PRELOAD: buildClockLibrary(folder), CLOCK_OFFSET_FILE: clockFile } : {}

/** A listener that stops closes its port before the next check sees it: the call goes to the other server then. */
const haproxyConfig = (port: number, serverPorts: readonly number[], socket: string): string => `global
  maxconn 500
  stats socket ${socket}
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  timeout check 2s
listen api
  bind 127.0.0.1:${port}
  option httpchk GET /readyz
  http-check expect status 200
  option redispatch 1
  retries 3
  retry-on conn-failure
  default-server inter 500ms fall 1 rise 1
${serverPorts.map((each, index) => `  server api${index + 1} 127.0.0.1:${each} check`).join('\n')}
`

/** The state of each server as HAProxy sees it, by name: "UP", "DOWN", … */
const readHaproxyStates = async (socket: string): Promise<Map<string, string>> => {
  const connection = connect(socket)
  connection.end('show stat\n')
  const [header = '', ...lines] = (await text(connection)).trim().split('\n')
  const columns = header.replace('# ', '').split(',')
  const [name, state] = [columns.indexOf('svname'), columns.indexOf('status')]
  return new Map(lines.map((line) => line.split(',')).map((cells) => [cells[name] ?? '', cells[state] ?? '']))
}

type Servers = Pick<Deployment, 'baseUrl' | 'servers' | 'waitUntilUsed'> & {
  readonly close: () => Promise<void>
}

const startSupervised = (baseUrl: string, env: NodeJS.ProcessEnv, logFile: string): Servers => {
  const server = makeServerProcess([], env, logFile)
  return {
    baseUrl,
    servers: [server],
    waitUntilUsed: () => waitUntilReady(baseUrl),
    close: async () => void (await server.terminate()),
  }
}

const startBehindHaproxy = async (
  folder: string,
  env: NodeJS.ProcessEnv,
  logFile: string,
): Promise<Servers> => {
  const port = await freePort()
  const others = ['signer', 'worker'].map((role) => makeServerProcess([role], env, logFile))
  const ports = [await freePort(), await freePort()]
  const servers: ServerProcess[] = []
  for (const each of ports)
    servers.push(
      makeServerProcess(
        ['api'],
        {
          ...env,
          PORT: String(each),
          OPERATOR_PORT: String(await freePort()),
          BASE_URL: `http://127.0.0.1:${port}`,
          // On loopback the default is 0. HAProxy looks twice a second.
          DRAIN_SECONDS: '2',
        },
        logFile,
      ),
    )
  const config = join(folder, 'haproxy.cfg')
  const socket = join(folder, 'haproxy.sock')
  writeFileSync(config, haproxyConfig(port, ports, socket))
  const haproxy = spawn('haproxy', ['-db', '-f', config], { stdio: 'ignore' })
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    servers,
    waitUntilUsed: async (index) => {
      await waitUntilReady(`http://127.0.0.1:${ports[index]}`)
      // HAProxy learns it at its next check. Until then the other server is the only one: to stop it fails calls.
      await pollUntil(
        `HAProxy uses api${index + 1}`,
        async () => (await readHaproxyStates(socket)).get(`api${index + 1}`) === 'UP',
      )
    },
    close: async () => {
      haproxy.kill('SIGTERM')
      for (const each of [...servers, ...others]) await each.terminate()
    },
  }
}

const openFolders = (kind: DeploymentKind) => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-faults-'))
  chmodSync(folder, 0o755)
  const paths = {
    data: join(folder, 'postgres'),
    log: join(folder, 'log'),
    signerSocket: join(folder, 'secrets', 'signer.sock'),
    clock: join(folder, 'clock'),
  }
  const mounts: string[] = []
  for (const [path, size] of [
    [paths.data, '512m'],
    [paths.log, '16m'],
  ] as const) {
    if (kind !== 'disks') mkdirSync(path)
    else if (mountTmpfs(path, size) === undefined) mounts.push(path)
  }
  writeClockOffset(paths.clock, 0)
  return {
    folder,
    paths,
    remove: () => {
      for (const each of mounts) run('umount', [each])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A server of real processes on a PostgreSQL of its own, with agents whose events go to a receiver. */
export const openDeployment = (
  kind: DeploymentKind,
  options: { readonly sessions: number; readonly keep: boolean },
): Promise<Deployment> =>
  open(async (defer) => {
    starting(`a deployment: ${kind}`)
    const { folder, paths, remove } = openFolders(kind)
    defer(() => (options.keep ? undefined : remove()))
    const postgres = await openPostgres({
      folder: paths.data,
      settings: { max_connections: '60', max_wal_size: '64MB', min_wal_size: '32MB' },
      env: clockEnvironment(kind, folder, paths.clock),
    })
    defer(postgres.stop)
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: postgres.port })
    defer(proxy.close)
    const { baseUrl, databaseUrl, env } = await prepareServer(postgres, folder, {
      DATABASE_URL: proxy.urlOf(postgres.url('pohf')),
      LOG_LEVEL: 'info',
    })
    const logFile = join(paths.log, 'server.log')
    const { close: stopServers, ...servers } =
      kind === 'haproxy'
        ? await startBehindHaproxy(folder, env, logFile)
        : startSupervised(baseUrl, env, logFile)
    defer(stopServers)
    const receiver = await openReceiver()
    defer(receiver.close)
    for (const index of servers.servers.keys()) await servers.waitUntilUsed(index)
    const agents = await seedAgents({
      baseUrl: servers.baseUrl,
      databaseUrl,
      sessions: options.sessions,
      webhookUrl: receiver.url,
    })
    const { received } = receiver
    return {
      kind,
      folder,
      databaseUrl,
      postgres,
      proxy,
      paths,
      agents,
      ...servers,
      record: newRecord(),
      received,
    }
  })
