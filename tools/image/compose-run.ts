import { spawnSync } from 'node:child_process'
import { setTimeout } from 'node:timers/promises'
import { join } from 'node:path'
import { composeFolder, startOrder, type Compose, type Service } from './compose.ts'
import { podman } from './podman.ts'

export type Images = Readonly<Record<'pohf' | 'postgres', string>>

type RunSetup = {
  /** The folder with pohf.env, signer.env and the folder of secrets. */
  readonly folder: string
  readonly images: Images
  /** The port of this machine at which the api is published. */
  readonly port: number
  /** Begins the name of each container, volume and network. */
  readonly prefix: string
}

const databaseSubnet = '172.30.86.0/24'
/** podman resolves no names on an internal network, so the database has a fixed address, and so has the api for the suite. */
const addresses: Readonly<Record<string, string>> = {
  'database database': '172.30.86.10',
  'api outside': '172.30.85.20',
}
export const databaseHost = ['--add-host', `database:${addresses['database database']}`]
export const apiUrl = `http://${addresses['api outside']}:3000`

const optional = (flag: string, value: string | number | undefined): string[] =>
  value === undefined ? [] : [flag, String(value)]
const each = (flag: string, values: readonly string[]): string[] => values.flatMap((value) => [flag, value])

const healthParameters = (check: Service['healthcheck']): string[] => {
  if (check === undefined) return []
  if ('disable' in check) return ['--no-healthcheck']
  // podman 4.3 runs the words by a shell; none of them holds a blank or a sign of the shell.
  const command = ['CMD-SHELL', ...check.test.slice(1)].join(' ')
  return [
    '--health-cmd',
    command,
    '--health-interval',
    `${check.interval}s`,
    '--health-timeout',
    `${check.timeout}s`,
    '--health-start-period',
    `${check.start_period}s`,
    '--health-retries',
    String(check.retries),
  ]
}

const networkParameters = (name: string, { network_mode, networks }: Service, prefix: string): string[] => {
  if (network_mode === 'none') return ['--network', 'none']
  const list = networks.map((network) => {
    const address = addresses[`${name} ${network}`]
    return `${prefix}-${network}${address === undefined ? '' : `:ip=${address}`}`
  })
  return [...each('--network', list), ...databaseHost]
}

const mountParameters = (service: Service, { secrets }: Compose, { folder, prefix }: RunSetup): string[] => [
  ...each(
    '--volume',
    service.volumes.map((volume) =>
      volume.startsWith('./') ? join(composeFolder, volume) : `${prefix}-${volume}`,
    ),
  ),
  ...each(
    '--volume',
    service.secrets.map((name) => `${join(folder, secrets[name]?.file ?? '')}:/run/secrets/${name}:ro`),
  ),
]

const parametersOf = (name: string, service: Service, compose: Compose, setup: RunSetup): string[] => [
  '--name',
  `${setup.prefix}-${name}`,
  '--read-only-tmpfs=false',
  ...(service.read_only ? ['--read-only'] : []),
  ...(service.init ? ['--init'] : []),
  ...each('--cap-drop', service.cap_drop),
  ...each('--security-opt', service.security_opt),
  ...each('--tmpfs', service.tmpfs),
  ...optional('--user', service.user),
  ...optional('--memory', service.mem_limit),
  ...optional('--pids-limit', service.pids_limit),
  ...optional('--shm-size', service.shm_size),
  ...optional('--stop-signal', service.stop_signal),
  '--stop-timeout',
  String(service.stop_grace_period),
  ...each(
    '--env-file',
    service.env_file.map((file) => join(setup.folder, file)),
  ),
  ...each(
    '--env',
    Object.entries(service.environment).map((entry) => entry.join('=')),
  ),
  ...networkParameters(name, service, setup.prefix),
  ...mountParameters(service, compose, setup),
  ...each(
    '--publish',
    service.ports.map((port) => port.replace(/^127\.0\.0\.1:\d+/, `127.0.0.1:${setup.port}`)),
  ),
  ...healthParameters(service.healthcheck),
  service.build ? setup.images.pohf : setup.images.postgres,
  ...(service.command ?? []),
]

/** The last lines of both streams of a container. */
const logsOf = (container: string): string => {
  const { stdout, stderr } = spawnSync('podman', ['logs', '--tail', '20', container], { encoding: 'utf8' })
  return `${stdout}${stderr}`
}

const healthLimitMs = 120_000
/** Runs the health check of a container, as Docker does, until it succeeds. podman needs systemd to do it by itself. */
const waitUntilHealthy = async (container: string): Promise<void> => {
  const deadline = performance.now() + healthLimitMs
  while (spawnSync('podman', ['healthcheck', 'run', container]).status !== 0) {
    if (performance.now() > deadline || podman('inspect', '-f', '{{.State.Running}}', container) !== 'true')
      throw new Error(`${container} is not healthy:\n${logsOf(container)}`)
    await setTimeout(200)
  }
}

export type StopResult = { readonly name: string; readonly seconds: number; readonly exitCode: number }

export type ComposeRun = {
  /** Runs a program of Node in a container and returns what it prints. */
  readonly execute: (name: string, program: string) => string
  readonly container: (name: string) => string
  /** Stops the containers in the order of Docker: each before those that it depends on. */
  readonly stop: () => StopResult[]
  readonly remove: () => void
}

/** Starts the services of a compose file with podman, each when those that it depends on are ready. */
export const startCompose = async (compose: Compose, setup: RunSetup): Promise<ComposeRun> => {
  const order = startOrder(compose)
  const container = (name: string) => `${setup.prefix}-${name}`
  const remove = () => {
    // Whatever of it exists.
    spawnSync('podman', ['rm', '--force', '--ignore', '--time', '5', ...order.map(container)])
    spawnSync('podman', ['volume', 'rm', ...Object.keys(compose.volumes).map(container)])
    spawnSync('podman', ['network', 'rm', ...Object.keys(compose.networks).map(container)])
  }
  // A run that was killed leaves them behind.
  remove()
  try {
    for (const [name, { internal, ipam }] of Object.entries(compose.networks)) {
      const subnet = ipam?.config[0]?.subnet ?? databaseSubnet
      podman('network', 'create', '--subnet', subnet, ...(internal ? ['--internal'] : []), container(name))
    }
    for (const name of order) {
      const service = compose.services[name]
      if (!service) continue
      for (const [other, { condition }] of Object.entries(service.depends_on))
        if (condition === 'service_healthy') await waitUntilHealthy(container(other))
        else if (podman('wait', container(other)) !== '0')
          throw new Error(`${other} failed:\n${logsOf(container(other))}`)
      podman('run', '--detach', ...parametersOf(name, service, compose, setup))
    }
    for (const name of order) {
      const check = compose.services[name]?.healthcheck
      if (check === undefined || !('disable' in check)) await waitUntilHealthy(container(name))
    }
  } catch (error) {
    remove()
    throw error
  }
  return {
    container,
    execute: (name, program) =>
      podman('exec', container(name), 'node', '--input-type=module', '--eval', program),
    stop: () =>
      order
        .toReversed()
        .filter((name) => compose.services[name]?.restart !== 'no')
        .map((name) => {
          const at = performance.now()
          podman('stop', container(name))
          const seconds = (performance.now() - at) / 1_000
          return {
            name,
            seconds,
            exitCode: Number(podman('inspect', '-f', '{{.State.ExitCode}}', container(name))),
          }
        }),
    remove,
  }
}
