import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { installDebianPackages } from '../../driver/child.ts'

const debianPackages = ['iproute2', 'haproxy', 'util-linux']
const programs = ['ip', 'haproxy', 'nsenter']
const namespaceFolder = '/run/netns'

/** Installs what the battery needs. Returns what is missing all the same. */
export const installPrograms = (): string | undefined =>
  process.getuid?.() === 0 ? installDebianPackages(debianPackages, programs) : 'network namespaces need root'

const ip = (words: string): void => {
  const ran = spawnSync('ip', words.split(' '), { encoding: 'utf8' })
  if (ran.status !== 0) throw new Error(`ip ${words}: ${ran.stderr.trim()}`)
}

/** Deletes the namespaces of batteries that were killed: their names have the id of the process. */
const deleteAbandoned = (): void => {
  const names = existsSync(namespaceFolder) ? readdirSync(namespaceFolder) : []
  for (const name of names) {
    const pid = /^pohf-(\d+)-/.exec(name)?.[1]
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) ip(`netns del ${name}`)
  }
}

/** The network of one application machine. */
export type MachineNetwork = {
  readonly address: string
  /** The words before a command that runs it on the machine. */
  readonly enter: readonly string[]
  /** Takes the cable out of the switch, or puts it back. Nobody is told: packets are dropped. */
  readonly setLink: (state: 'up' | 'down') => void
}
export type Network = {
  /** What is outside of the machines: clients, database, receiver. */
  readonly outside: string
  /** All addresses, as PostgreSQL writes a network. */
  readonly range: string
  readonly machines: readonly [MachineNetwork, MachineNetwork]
  readonly close: () => void
}

/**
 * Two machines and this one at a switch. The switch has a namespace of its own, so that no firewall of this machine decides
 * what the machines may send to each other.
 */
export const openNetwork = (): Network => {
  deleteAbandoned()
  // A network of its own for each battery, of the range for tests of networks (RFC 2544).
  const network = `198.18.${process.pid % 250}`
  const prefix = `pohf-${process.pid}`
  const outsideLink = `pohf${process.pid}`
  const namespaces: string[] = []
  const addNamespace = (name: string): string => {
    ip(`netns add ${prefix}-${name}`)
    namespaces.push(`${prefix}-${name}`)
    return `${prefix}-${name}`
  }
  // An interface goes with its namespace, and takes the other end of its cable with it.
  const close = () => {
    for (const name of namespaces.splice(0)) ip(`netns del ${name}`)
  }
  try {
    const switchName = addNamespace('switch')
    ip(`-n ${switchName} link add switch type bridge`)
    ip(`-n ${switchName} link set switch up`)
    ip(`link add ${outsideLink} type veth peer name outside netns ${switchName}`)
    ip(`-n ${switchName} link set outside master switch up`)
    ip(`addr add ${network}.1/24 dev ${outsideLink}`)
    ip(`link set ${outsideLink} up`)
    const addMachine = (number: 1 | 2): MachineNetwork => {
      const [name, port, address] = [addNamespace(`app${number}`), `app${number}`, `${network}.${number + 1}`]
      ip(`-n ${switchName} link add ${port} type veth peer name eth0 netns ${name}`)
      ip(`-n ${switchName} link set ${port} master switch up`)
      ip(`-n ${name} addr add ${address}/24 dev eth0`)
      ip(`-n ${name} link set eth0 up`)
      ip(`-n ${name} link set lo up`)
      return {
        address,
        enter: ['nsenter', `--net=${namespaceFolder}/${name}`],
        setLink: (state) => ip(`-n ${switchName} link set ${port} ${state}`),
      }
    }
    return {
      outside: `${network}.1`,
      range: `${network}.0/24`,
      machines: [addMachine(1), addMachine(2)],
      close,
    }
  } catch (error) {
    close()
    throw error
  }
}
