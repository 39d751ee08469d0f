import { join } from 'node:path'
import { open } from '../../driver/closing.ts'
import { starting } from '../../driver/program.ts'
import { freePort } from '../../../packages/server/dev/cluster.ts'
import { openReceiver, seedAgents, type VerifyAgent } from '../verify-load/calls.ts'
import { newRecord, type VerifyRecord } from '../verify-load/load.ts'
import { startPatroniCluster, type PatroniCluster, type PatroniClusterOptions } from './patroni-cluster.ts'
import {
  waitUntilReady,
  makeServerProcess,
  prepareServer,
  type ServerProcess,
  withDatabase,
} from '../../driver/service.ts'

export type HaDeployment = {
  readonly patroni: PatroniCluster
  /** Two api processes, the worker and the signer. Nobody starts them again. */
  readonly servers: ReadonlyMap<string, ServerProcess>
  /** Through HAProxy. */
  readonly baseUrl: string
  /** As the superuser, through HAProxy. */
  readonly databaseUrl: string
  readonly agents: readonly VerifyAgent[]
  readonly record: VerifyRecord
  readonly received: ReadonlyMap<string, number>
  readonly close: () => Promise<void>
}

/** The roles of docs/operate/install.md. `createdb` lets the login role create its own database. */
const rolesSql = (password: string): string =>
  `create role pohf login createdb password '${password}'; create role pohf_app nologin;
   create role pohf_mint nologin; grant pohf_app, pohf_mint to pohf`

const startServers = async (
  patroni: PatroniCluster,
  env: NodeJS.ProcessEnv,
): Promise<Map<string, ServerProcess>> => {
  const start = (name: string, role: string, more: NodeJS.ProcessEnv) =>
    [name, makeServerProcess([role], { ...env, ...more }, join(patroni.folder, `${name}.log`))] as const
  const api = async (port: number, name: string) =>
    start(name, 'api', { PORT: String(port), OPERATOR_PORT: String(await freePort()) })
  const [port1, port2] = patroni.apiPorts
  return new Map([
    start('signer', 'signer', {}),
    start('worker', 'worker', {}),
    await api(port1, 'api1'),
    await api(port2, 'api2'),
  ])
}

/** The kit with the service on it: agents are seeded, and their events go to a receiver. */
export const openHaDeployment = (
  options: PatroniClusterOptions & { readonly sessions: number },
): Promise<HaDeployment> =>
  open(async (defer) => {
    starting('three database machines')
    const patroni = await startPatroniCluster(options)
    defer(patroni.close)
    if (!(await patroni.waitUntilWhole(90_000)))
      throw new Error(`the cluster in ${patroni.folder} has no leader with two replicas within 90 s`)
    // Until the stanza is there, the archive refuses the write-ahead log.
    const leader = await patroni.findLeader()
    leader?.pgbackrest(['stanza-create'])
    const password = 'servicePassword0000'
    await withDatabase(patroni.superuserUrl('postgres'), (client) => client.query(rolesSql(password)))
    const prepared = await prepareServer(
      { url: (database) => patroni.databaseUrl('pohf', password, database) },
      patroni.folder,
      { BASE_URL: patroni.apiUrl, LOG_LEVEL: 'info', DRAIN_SECONDS: '2' },
    )
    const servers = await startServers(patroni, prepared.env)
    defer(async () => {
      for (const server of servers.values()) if (!server.hasEnded()) await server.terminate()
    })
    const receiver = await openReceiver()
    defer(receiver.close)
    const baseUrl = patroni.apiUrl
    await waitUntilReady(baseUrl)
    const databaseUrl = patroni.superuserUrl('pohf')
    const agents = await seedAgents({
      baseUrl,
      databaseUrl,
      sessions: options.sessions,
      webhookUrl: receiver.url,
    })
    const { received } = receiver
    return { patroni, servers, baseUrl, databaseUrl, agents, record: newRecord(), received }
  })
