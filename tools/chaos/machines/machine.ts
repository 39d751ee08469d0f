import { mkdirSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectOperatorSocket } from '../../../packages/server/src/signing/index.ts'
import { mainFile } from '../../../packages/server/test/fixtures/processes/child-processes.ts'
import { startWithRestarts } from '../../../packages/server/test/fixtures/processes/restarts.ts'
import type { MachineNetwork } from './network.ts'

export const roles = ['signer', 'api', 'worker'] as const
export type Role = (typeof roles)[number]

/** An application machine: a proxy, an api, a worker and a signer with a key folder of its own. */
export type Machine = {
  readonly name: string
  readonly address: string
  /** As clients reach it. */
  readonly baseUrl: string
  readonly keysFolder: string
  readonly operators: ReturnType<typeof connectOperatorSocket>
  /** Starts these roles; each is started again when it ends. */
  readonly start: (more: readonly (Role | 'proxy')[], settings?: Readonly<Record<string, string>>) => void
  /** SIGKILL. It is started again at once. */
  readonly kill: (role: Role) => void
  /** The machine loses its power: no packet leaves it any more, and every process is gone. */
  readonly cut: () => Promise<void>
  /** The machine boots with everything that ran before. */
  readonly boot: () => void
  readonly stop: () => Promise<void>
}

/** Ports of a machine. Each has a network of its own, so the ports are the same. */
export const ports = { public: 80, api: 3000, operators: 3001, signer: 8443 }

/**
 * The api listens on loopback, because only such a service may deliver webhooks to a private address. The proxy brings calls
 * to it, and webhooks from loopback to the receiver outside. It passes bytes on and answers nothing itself.
 */
const proxyConfig = (
  address: string,
  receiver: { readonly host: string; readonly port: number },
): string => `global
  maxconn 500
defaults
  mode tcp
  timeout connect 2s
  timeout client 60s
  timeout server 60s
listen api
  bind ${address}:${ports.public}
  server api 127.0.0.1:${ports.api}
listen receiver
  bind 127.0.0.1:${receiver.port}
  server receiver ${receiver.host}:${receiver.port}
`

type MachineOptions = {
  readonly name: string
  readonly folder: string
  readonly network: MachineNetwork
  readonly env: NodeJS.ProcessEnv
  readonly receiver: { readonly host: string; readonly port: number }
}

export const makeMachine = ({ name, folder, network, env, receiver }: MachineOptions): Machine => {
  const keysFolder = join(folder, 'keys')
  mkdirSync(keysFolder, { recursive: true, mode: 0o700 })
  const proxyFile = join(folder, 'haproxy.cfg')
  writeFileSync(proxyFile, proxyConfig(network.address, receiver))
  const operatorSocket = join(folder, 'operator.sock')
  let settings: NodeJS.ProcessEnv = {
    ...env,
    KEYS_DIR: keysFolder,
    SIGNER_SOCKET: join(folder, 'signer.sock'),
    SIGNER_OPERATOR_SOCKET: operatorSocket,
  }
  const running = new Map<Role | 'proxy', ReturnType<typeof startWithRestarts>>()
  const logs = new Map<Role | 'proxy', number>()
  const commandOf = (role: Role | 'proxy'): string[] =>
    role === 'proxy' ? ['haproxy', '-db', '-f', proxyFile] : [process.execPath, mainFile, role]
  const startOne = (role: Role | 'proxy'): void => {
    const [program = '', ...parameters] = [...network.enter, ...commandOf(role)]
    const output = logs.get(role) ?? openSync(join(folder, `${role}.log`), 'a')
    logs.set(role, output)
    running.set(role, startWithRestarts(parameters, settings, { program, output }))
  }
  const endAll = async (signal: NodeJS.Signals): Promise<(Role | 'proxy')[]> => {
    const [names, processes] = [[...running.keys()], [...running.values()]]
    running.clear()
    await Promise.all(processes.map((each) => each.stop(signal)))
    return names
  }
  let before: (Role | 'proxy')[] = []
  return {
    name,
    address: network.address,
    baseUrl: `http://${network.address}:${ports.public}`,
    keysFolder,
    operators: connectOperatorSocket(operatorSocket),
    start: (more, added = {}) => {
      settings = { ...settings, ...added }
      for (const role of more) startOne(role)
    },
    kill: (role) => {
      running.get(role)?.kill()
    },
    cut: async () => {
      network.setLink('down')
      before = await endAll('SIGKILL')
    },
    boot: () => {
      network.setLink('up')
      for (const role of before) startOne(role)
    },
    stop: async () => {
      await endAll('SIGTERM')
    },
  }
}
