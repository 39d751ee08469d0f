import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, makeClusterFolder, startCluster } from '../../../packages/server/dev/cluster.ts'
import { pollUntil } from '../../../packages/server/test/fixtures/polling.ts'
import { makeSignerAuthority } from '../../../packages/server/test/fixtures/signer-tls.ts'
import { networkSettings, openReceiver, seedAgents, type VerifyAgent } from '../verify-load/calls.ts'
import { open } from '../../driver/closing.ts'
import { starting } from '../../driver/program.ts'
import { makeMachine, ports, type Machine } from './machine.ts'
import { openNetwork, type Network } from './network.ts'
import { waitUntilReady, prepareServer } from '../../driver/service.ts'

export type MachinesDeployment = {
  readonly folder: string
  readonly machines: readonly [Machine, Machine]
  readonly databaseUrl: string
  readonly agents: readonly VerifyAgent[]
  readonly received: ReadonlyMap<string, number>
  readonly close: () => Promise<void>
}

/** PostgreSQL on this machine, which the application machines reach by the network. */
const openDatabase = async (folder: string, { outside, range }: Network) => {
  const accessFile = join(folder, 'access.conf')
  writeFileSync(accessFile, `host all all 127.0.0.1/32 trust\nhost all all ${range} trust\n`)
  return startCluster({
    folder: join(folder, 'postgres'),
    port: await freePort(),
    settings: { listen_addresses: `127.0.0.1,${outside}`, hba_file: accessFile, max_connections: '250' },
  })
}

/** Whether the signer of a machine answers operators. */
export const hasSigner = ({ operators }: Machine): Promise<boolean> =>
  operators.request({ op: 'list' }).then(
    () => true,
    () => false,
  )

/**
 * Follows docs/operate/keys.md: the second signer is admitted, both get keys in reserve, and the admission key leaves the
 * machines. So every key that takes over for a revoked one was admitted before.
 */
const admitSigners = async ([first, second]: readonly [Machine, Machine]): Promise<void> => {
  first.start(['signer'])
  await pollUntil('the first signer answers', () => hasSigner(first))
  const { admission } = (await first.operators.request({ op: 'show' })) as { admission: { kid: string } }
  const settings = { ADMISSION_KEY: admission.kid }
  second.start(['signer'], settings)
  await pollUntil('the second signer answers', () => hasSigner(second))
  await first.operators.request({ op: 'request', reserve: 3 })
  const request = await second.operators.request({ op: 'request', reserve: 3 })
  const { identity } = (await second.operators.request({ op: 'show' })) as { identity: string }
  await first.operators.request({ op: 'admit', request, atOnce: true, identities: [identity] })
  const { manifest } = (await first.operators.request({ op: 'show' })) as { manifest: string }
  await second.operators.request({ op: 'install', manifest })
  await first.operators.request({ op: 'forget' })
  first.start(['proxy', 'api', 'worker'], settings)
  second.start(['proxy', 'api', 'worker'])
}

type MachinesParts = {
  readonly folder: string
  readonly network: Network
  readonly databaseUrl: string
  readonly env: NodeJS.ProcessEnv
  readonly receiverPort: number
}
const makeMachines = async (parts: MachinesParts): Promise<[Machine, Machine]> => {
  const { folder, network, databaseUrl, env, receiverPort } = parts
  const authority = await makeSignerAuthority(folder, 'authority')
  const masterKey = `${randomBytes(32).toString('base64url')}\n`
  const remoteUrl = new URL(databaseUrl)
  remoteUrl.hostname = network.outside
  const make = async (own: 0 | 1): Promise<Machine> => {
    const [address, other] = [network.machines[own].address, network.machines[own === 0 ? 1 : 0].address]
    const [name, machineFolder] = [`app${own + 1}`, join(folder, `app${own + 1}`)]
    const dataFolder = join(machineFolder, 'data')
    mkdirSync(dataFolder, { recursive: true, mode: 0o700 })
    writeFileSync(join(dataFolder, 'master.key'), masterKey, { mode: 0o600 })
    return makeMachine({
      name,
      folder: machineFolder,
      network: network.machines[own],
      receiver: { host: network.outside, port: receiverPort },
      env: {
        ...env,
        // Compiled modules: processes that are started again and again take a second less of the processor.
        NODE_COMPILE_CACHE: join(machineFolder, 'modules'),
        ...(await authority.issue(address)),
        DATABASE_URL: remoteUrl.href,
        DATA_DIR: dataFolder,
        PORT: String(ports.api),
        OPERATOR_PORT: String(ports.operators),
        // The issuer of both.
        BASE_URL: `http://127.0.0.1:${ports.api}`,
        SIGNER_LISTEN: `${address}:${ports.signer}`,
        SIGNER_URL: `unix:${join(machineFolder, 'signer.sock')},https://${other}:${ports.signer}`,
      },
    })
  }
  return [await make(0), await make(1)]
}

/** Two application machines with a signer each, and outside of them PostgreSQL and a receiver of webhooks. */
export const openMachines = (options: {
  readonly sessions: number
  readonly keep: boolean
}): Promise<MachinesDeployment> =>
  open(async (defer) => {
    starting('two machines')
    const folder = makeClusterFolder('pohf-machines-')
    // PostgreSQL has a user of its own. What is secret is in folders with a mode of their own.
    chmodSync(folder, 0o755)
    defer(() => options.keep || rmSync(folder, { recursive: true, force: true }))
    const network = openNetwork()
    defer(network.close)
    const cluster = await openDatabase(folder, network)
    defer(cluster.stop)
    const receiver = await openReceiver(network.outside)
    defer(receiver.close)
    const { databaseUrl, env } = await prepareServer(cluster, folder, {
      ...networkSettings,
      LOG_LEVEL: 'warn',
    })
    const machines = await makeMachines({ folder, network, databaseUrl, env, receiverPort: receiver.port })
    defer(() => Promise.all(machines.map((machine) => machine.stop())))
    await admitSigners(machines)
    for (const machine of machines) await waitUntilReady(machine.baseUrl)
    const agents = await seedAgents({
      baseUrl: machines[0].baseUrl,
      databaseUrl,
      sessions: options.sessions,
      networks: 10_000,
      webhookUrl: receiver.url,
    })
    return { folder, machines, databaseUrl, agents, received: receiver.received }
  })
