import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Client } from 'pg'
import { freePort } from '../../../packages/server/dev/cluster.ts'
import { makeFolder, open } from '../../driver/closing.ts'
import { starting, step } from '../../driver/program.ts'
import { randomFrom } from '../../driver/rounds.ts'
import { prepareServer, startRole, withDatabase, type RunningRole } from '../../driver/service.ts'
import { openMoney } from './money.ts'
import { openPointInTimeCluster } from './point-in-time.ts'

export type RestoreOptions = {
  readonly seed: number
  /** Credentials before the restore point, after it, and after the restore. */
  readonly before: number
  readonly lost: number
  readonly after: number
  /** Purchases on the chain in each of the three times. */
  readonly purchases: number
  readonly clients: number
  readonly journal: 'kept' | 'rewound'
  /** Changes the database behind the service's back, for planted faults. */
  readonly plant?: (phase: RestorePhase, client: Client) => Promise<unknown>
}
/** Before the loss, after the restore of the database, and after `restore apply`. */
export type RestorePhase = 'lost' | 'restored' | 'applied'
/** What happened when, in seconds since the start. */
export type TimelineEvent = { readonly at: number; readonly name: string }
/** A copy of the published status lists, as a CDN keeps one. */
const startMirror = async () => {
  const copies = new Map<string, string>()
  const server = createServer((asked, response) => {
    const copy = copies.get(asked.url ?? '')
    response.writeHead(copy === undefined ? 404 : 200).end(copy)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    lists: () => [...copies.values()],
    copyLists: async (uris: readonly string[]) => {
      for (const uri of new Set(uris)) copies.set(new URL(uri).pathname, await (await fetch(uri)).text())
    },
    close: () => server.close(),
  }
}

/** The service as processes, with a PostgreSQL that can go back, a chain, a card provider and a mirror of its lists. */
export const openService = (options: RestoreOptions) =>
  open(async (defer) => {
    starting('a PostgreSQL with an archive, a chain and a card provider')
    const startedAt = performance.now()
    const folder = makeFolder('restore', defer)
    const mirror = await startMirror()
    defer(mirror.close)
    const port = await freePort()
    const baseUrl = `http://127.0.0.1:${port}`
    const cluster = await openPointInTimeCluster(folder)
    defer(cluster.stop)
    const money = await openMoney(baseUrl, folder)
    defer(money.stop)
    const settings = {
      PORT: String(port),
      BASE_URL: baseUrl,
      ROOT_BUDGETS: 'off',
      STATUS_WITNESS_URL: mirror.url,
      KEYS_DIR: join(folder, 'keys'),
      // Every program is started twice or more: what it compiled the first time is read the second.
      NODE_COMPILE_CACHE: join(folder, 'compiled'),
      ...money.settings,
    }
    const { databaseUrl, env } = await prepareServer(cluster, folder, settings)
    const timeline: TimelineEvent[] = []
    const mints: number[] = []
    const now = () => (performance.now() - startedAt) / 1_000
    let roles: RunningRole[] = []
    const start = () => {
      roles = (['signer', 'api', 'worker'] as const).map((role) => startRole(role, env))
    }
    const stop = async () => {
      await Promise.all(roles.map((role) => role.stop()))
      roles = []
    }
    defer(stop)
    const operator = `http://127.0.0.1:${env.OPERATOR_PORT}`
    return {
      ...options,
      folder,
      mirror,
      money,
      cluster,
      baseUrl,
      operator,
      databaseUrl,
      env,
      timeline,
      mints,
      note: (name: string) => {
        step(`after: ${name}`)
        timeline.push({ at: now(), name })
      },
      noteMint: () => mints.push(now()),
      random: randomFrom(options.seed),
      start,
      stop,
      plantFault: async (phase: RestorePhase) => {
        const { plant } = options
        if (plant) await withDatabase(databaseUrl, (client) => plant(phase, client))
      },
    }
  })
export type Service = Awaited<ReturnType<typeof openService>>
