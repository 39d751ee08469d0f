import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { ownerOf, freePort } from '../../../packages/server/dev/cluster.ts'
import { startLoad } from '../verify-load/load.ts'
import { openHaDeployment, type HaDeployment } from './deployment.ts'
import { postgresFolder, type PatroniCluster, type PatroniNode } from './patroni-cluster.ts'
import { closingAfter, processTree, signalAll } from '../../driver/closing.ts'
import { step } from '../../driver/program.ts'
import { randomFrom } from '../../driver/rounds.ts'
import { withDatabase } from '../../driver/service.ts'

export type BackupOptions = {
  readonly seed: number
  readonly clients: number
  /** How long the load goes on before all three machines are lost. */
  readonly seconds: number
  readonly keep: boolean
}
export type BackupFigures = {
  readonly acknowledged: number
  readonly fullBackupSeconds: number
  /** From the oldest acknowledged credential that the restored database lacks to the loss of the machines; 0 where it has all. */
  readonly lostSeconds: number
  readonly lostCredentials: number
  /** The longest time between two segments that reached the archive, under load: the worst that lostSeconds can be. */
  readonly archiveGapSeconds: number
  /** Restore of the newest state, until PostgreSQL accepts writes. */
  readonly restoreSeconds: number
  readonly pointInTimeSeconds: number
  /** Acknowledged before the point in time and not there, or minted after it and there. */
  readonly pointInTimeDifferences: number
  /** Until Patroni had a leader and two replicas on the restored data. */
  readonly clusterSeconds: number
  readonly faults: readonly string[]
}

/** What is promised for the loss of all three machines. */
export const lostSecondsMax = 60

const storedSql = `select k.agent_id || ' ' || k.reference as name, c.jwt from credential_claims k
  join credentials c on c.agent_id = k.agent_id and c.credential_id = k.credential_id and c.at = k.at`

const readStored = (url: string): Promise<Map<string, string>> =>
  withDatabase(url, async (client) => {
    const { rows } = await client.query<{ name: string; jwt: string }>(storedSql)
    return new Map(rows.map(({ name, jwt }) => [name, jwt]))
  })

/** When a credential was minted, in whole seconds: not later than it was acknowledged. */
const mintedAtMs = (jwt: string): number => {
  const claims = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString()) as { iat: number }
  return claims.iat * 1_000
}

const loadFor = async (deployment: HaDeployment, options: BackupOptions, seconds: number): Promise<void> => {
  const load = startSlowLoad(deployment, options)
  await setTimeout(seconds * 1_000)
  await load.stop(30_000)
}

/** Slow, so that a segment is never full: only archive_timeout moves it to the archive. */
const startSlowLoad = ({ baseUrl, agents, record }: HaDeployment, { seed, clients }: BackupOptions) =>
  startLoad([baseUrl], agents, record, {
    clients,
    random: randomFrom(seed),
    twice: 0.15,
    idempotencyKeys: false,
    pauseMs: 300,
    timeoutMs: 15_000,
  })

const readArchived = (url: string): Promise<{ at: number; now: number }> =>
  withDatabase(url, async (client) => {
    const { rows } = await client.query<{ at: string; now: string }>(
      'select extract(epoch from last_archived_time) as at, extract(epoch from clock_timestamp()) as now from pg_stat_archiver',
    )
    return { at: Number(rows[0]?.at ?? NaN), now: Number(rows[0]?.now ?? NaN) }
  })

/** The longest age of the newest archived segment, seen once a second. */
const watchArchive = async (url: string, seconds: number): Promise<number> => {
  const until = performance.now() + seconds * 1_000
  let longest = 0
  while (performance.now() < until) {
    const { at, now } = await readArchived(url)
    longest = Math.max(longest, Number.isNaN(at) ? Infinity : now - at)
    await setTimeout(1_000)
  }
  return longest
}

/** Kills PostgreSQL and Patroni everywhere, and deletes what is on their disks. The archive is elsewhere. */
const loseAllMachines = (patroni: PatroniCluster): number => {
  const pids = patroni.nodes.flatMap((node) => [node.patroniPid(), node.postmasterPid() ?? node.patroniPid()])
  signalAll(
    pids.flatMap((pid) => processTree(pid)),
    'SIGKILL',
  )
  const lostAtMs = Date.now()
  for (const { dataFolder } of patroni.nodes) rmSync(dataFolder, { recursive: true, force: true })
  return lostAtMs
}

const secondsSince = (startedAt: number): number => (performance.now() - startedAt) / 1_000

const pgCtl = (parameters: readonly string[]): void => {
  const ran = spawnSync(join(postgresFolder, 'pg_ctl'), parameters, {
    ...ownerOf(),
    cwd: '/',
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  if (ran.status !== 0)
    throw new Error(
      `pg_ctl ${parameters.join(' ')} ended with ${ran.status}; --keep keeps its log: ${ran.stderr}`,
    )
}

/** Restores into the data folder of a machine, starts PostgreSQL without Patroni on loopback, and looks at it. */
const restoreAndRead = async (
  { patroni }: HaDeployment,
  node: PatroniNode,
  parameters: readonly string[],
): Promise<{ stored: Map<string, string>; seconds: number }> => {
  const startedAt = performance.now()
  node.pgbackrest(['restore', ...parameters])
  const port = await freePort()
  // The settings in a backup name the folders of the machine that it was taken on. Elsewhere all machines have the same.
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'synchronous_standby_names=',
    `unix_socket_directories=${join(patroni.folder, node.name)}`,
    `hba_file=${join(node.dataFolder, 'pg_hba.conf')}`,
    `ident_file=${join(node.dataFolder, 'pg_ident.conf')}`,
  ]
  const log = join(patroni.folder, node.name, 'restore.log')
  pgCtl([
    'start',
    '-D',
    node.dataFolder,
    '-l',
    log,
    '-w',
    '-t',
    '120',
    '-o',
    settings.map((each) => `-c ${each}`).join(' '),
  ])
  try {
    const url = patroni.superuserUrlAt(`127.0.0.1:${port}`, 'pohf')
    // Reads are answered during recovery; the restore is over when writes are.
    for (let count = 0; count < 600; count++) {
      const inRecovery = await withDatabase(url, async (client) => {
        const { rows } = await client.query<{ yes: boolean }>('select pg_is_in_recovery() as yes')
        return rows[0]?.yes
      })
      if (inRecovery === false) break
      await setTimeout(100)
    }
    const seconds = secondsSince(startedAt)
    return { stored: await readStored(url), seconds }
  } finally {
    pgCtl(['stop', '-D', node.dataFolder, '-m', 'fast', '-w'])
  }
}

/** Patroni forgets the lost cluster, takes the restored data as its first member, and copies it to the others. */
const startPatroniOnRestored = async (
  { patroni }: HaDeployment,
  [first, ...others]: readonly PatroniNode[],
) => {
  if (!first) throw new Error('there is no machine to start')
  const startedAt = performance.now()
  const removed = spawnSync(
    'patronictl',
    ['-c', join(patroni.folder, 'kit', first.name, 'patroni.yml'), 'remove', 'pohf'],
    {
      input: 'pohf\nYes I am aware\n',
      encoding: 'utf8',
    },
  )
  if (removed.status !== 0) throw new Error(`patronictl remove failed: ${removed.stdout}${removed.stderr}`)
  for (const { dataFolder } of others) rmSync(dataFolder, { recursive: true, force: true })
  // A machine with an empty folder that starts first creates an empty cluster, and takes the leader key from the restored one.
  first.startPatroni()
  for (let count = 0; count < 240 && (await patroni.findLeader())?.name !== first.name; count++)
    await setTimeout(250)
  for (const node of others) node.startPatroni()
  const isWhole = await patroni.waitUntilWhole(120_000)
  return { isWhole, seconds: secondsSince(startedAt) }
}

const requireNode = (node: PatroniNode | undefined): PatroniNode => {
  if (!node) throw new Error('the cluster has no leader')
  return node
}

/** A full backup and two loads with a switchover between them: the archive has two timelines. Returns a point in time. */
const backUpAndLoad = async (deployment: HaDeployment, options: BackupOptions) => {
  const { patroni } = deployment
  const leader = requireNode(await patroni.findLeader())
  const startedAt = performance.now()
  leader.pgbackrest(['backup', '--type=full'])
  const fullBackupSeconds = secondsSince(startedAt)
  await loadFor(deployment, options, 10)
  const standby = (await patroni.readMembers()).find(({ role }) => role === 'sync_standby')
  await patroni.requestSwitchover(leader.name, standby?.name ?? '')
  await patroni.waitUntilWhole(90_000)
  requireNode(await patroni.findLeader()).pgbackrest(['check'])
  await loadFor(deployment, options, 10)
  const acknowledgedBefore = new Map(deployment.record.acknowledged)
  await setTimeout(1_500)
  const target = await withDatabase(deployment.databaseUrl, async (client) => {
    const { rows } = await client.query<{ now: string }>('select clock_timestamp()::text as now')
    return rows[0]?.now ?? ''
  })
  await setTimeout(1_500)
  return { fullBackupSeconds, target, acknowledgedBefore }
}

const measure = async (deployment: HaDeployment, options: BackupOptions): Promise<BackupFigures> => {
  const { patroni, record, databaseUrl } = deployment
  step('a full backup and two loads')
  const { fullBackupSeconds, target, acknowledgedBefore } = await backUpAndLoad(deployment, options)
  step('a load, then the loss of all machines')
  const load = startSlowLoad(deployment, options)
  // At any moment between two segments.
  const seconds = options.seconds + randomFrom(options.seed)() * 30
  const archiveGapSeconds = await watchArchive(databaseUrl, seconds)
  const lostAtMs = loseAllMachines(patroni)
  await load.stop(0)
  const acknowledged = new Map(record.acknowledged)

  const [first, second] = patroni.nodes.map((node) => node)
  step('restoring the newest state')
  const newest = await restoreAndRead(deployment, requireNode(first), [])
  const lost = [...acknowledged]
    .filter(([name, jwt]) => newest.stored.get(name) !== jwt)
    .map(([, jwt]) => jwt)
  step('restoring a point in time')
  const pointInTime = await restoreAndRead(deployment, requireNode(second), [
    '--type=time',
    `--target=${target}`,
    '--target-action=promote',
    // What this copy writes must not reach the archive of the cluster.
    '--archive-mode=off',
  ])
  const missing = [...acknowledgedBefore].filter(([name, jwt]) => pointInTime.stored.get(name) !== jwt)
  const later = [...pointInTime.stored.keys()].filter((name) => !acknowledgedBefore.has(name))
  step('Patroni on the restored data')
  const restoredCluster = await startPatroniOnRestored(deployment, patroni.nodes)
  const after = await readStored(databaseUrl)
  const lostSeconds = lost.length === 0 ? 0 : (lostAtMs - Math.min(...lost.map(mintedAtMs))) / 1_000
  return {
    acknowledged: acknowledged.size,
    fullBackupSeconds,
    lostSeconds,
    lostCredentials: lost.length,
    archiveGapSeconds,
    restoreSeconds: newest.seconds,
    pointInTimeSeconds: pointInTime.seconds,
    pointInTimeDifferences: missing.length + later.length,
    clusterSeconds: restoredCluster.seconds,
    faults: [
      ...(acknowledgedBefore.size === 0 ? ['nothing was acknowledged: this says nothing'] : []),
      ...(acknowledged.size === acknowledgedBefore.size
        ? ['nothing was acknowledged after the point in time']
        : []),
      ...(lostSeconds > lostSecondsMax ? [`${lostSeconds} s of acknowledged credentials are lost`] : []),
      ...(archiveGapSeconds > lostSecondsMax
        ? [`${archiveGapSeconds} s passed between two archived segments`]
        : []),
      ...(missing.length > 0
        ? [`${missing.length} credentials from before the point in time are missing`]
        : []),
      ...(later.length > 0 ? [`${later.length} credentials from after the point in time are there`] : []),
      ...(restoredCluster.isWhole
        ? []
        : ['the cluster on the restored data did not get a leader and two replicas']),
      ...(after.size === newest.stored.size
        ? []
        : [`the cluster has ${after.size} of ${newest.stored.size} credentials`]),
    ],
  }
}

/** Backs up a Patroni cluster under load, loses all of it, and restores the newest state and a point in time. */
export const runBackup = (options: BackupOptions): Promise<BackupFigures> =>
  closingAfter(async (defer) => {
    const deployment = await openHaDeployment({ etcdApi: 'etcd', keep: options.keep, sessions: 20_000 })
    defer(deployment.close)
    if (options.keep) console.error(`data and logs: ${deployment.patroni.folder}`)
    return measure(deployment, options)
  })
