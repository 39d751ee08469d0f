import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { waitUntilReady } from '../../packages/server/test/fixtures/processes/restarts.ts'
import { openPostgres } from './restarting-postgres.ts'
import { prepareServer, randomFrom, startRole } from './server-processes.ts'
import { audit, waitForDeliveries, withDatabase } from './verify-load/audit.ts'
import {
  networkSettings,
  openReceiver,
  seedAgents,
  seedNetworks,
  subscribeAgents,
} from './verify-load/calls.ts'
import { newRecord, startLoad, waitForProgress, type LoadOptions } from './verify-load/load.ts'

type Target = 'api' | 'signer' | 'worker' | 'postgres'
/** The api takes longest to start, and no call succeeds without it: one kill of six is for it. */
const targets: readonly Target[] = ['signer', 'postgres', 'worker', 'signer', 'postgres', 'api']

export type KillOptions = {
  readonly seconds: number
  readonly clients: number
  readonly seed: number
  readonly targets?: readonly Target[]
  /** How many networks the sessions come from; default 10,000. */
  readonly networks?: number
  /** Settings of the cluster, and a statement before the load: to see that a planted fault is found. */
  readonly settings?: Readonly<Record<string, string>>
  readonly plantedFaultSql?: string
}
export type KillFindings = {
  readonly seed: number
  readonly seconds: number
  readonly kills: number
  readonly acknowledged: number
  /** Acknowledged, and not stored as it was. */
  readonly lost: number
  /** Debits more than credentials, and sessions with more than one credential. */
  readonly doubleCharged: number
  /** Debits without their credential. */
  readonly missingCredential: number
  /** Events of credentials that never reached the webhook. */
  readonly undelivered: number
  /** Deliveries of an event that had been delivered. */
  readonly duplicates: number
  /** Calls without an answer, or with a 503: repeated until there was one. */
  readonly unknownOutcomes: number
  readonly faults: readonly string[]
}

/** A call is repeated until its outcome is known, for this time after the load has ended. */
const answerMsMax = 240_000
/** Kills wait until calls succeed again, so that they interrupt some; without a success in this time the next kill comes. */
const recoveryMsMax = 8_000

const loadOf = (random: () => number, clients: number): LoadOptions => ({
  clients,
  random,
  twice: 0.2,
  idempotencyKeys: false,
  pauseMs: 5,
  timeoutMs: 15_000,
})

type Kill = (target: Target) => void

/** Kills one target after another for the time of the run, while the load goes on. */
const killInTurn = async (
  options: KillOptions,
  random: () => number,
  acknowledgedCount: () => number,
  kill: Kill,
): Promise<{ kills: number; seconds: number }> => {
  const startedAt = performance.now()
  const chosen = options.targets ?? targets
  const killsMin = Math.floor(options.seconds / 4)
  const elapsed = () => (performance.now() - startedAt) / 1_000
  let kills = 0
  // A machine that is busy with other things gets more time, not fewer kills; but not without end.
  while (elapsed() < options.seconds || (kills < killsMin && elapsed() < 4 * options.seconds)) {
    await waitForProgress(acknowledgedCount, recoveryMsMax)
    await setTimeout(200 + random() * 1_500)
    kill(chosen[kills % chosen.length] ?? 'api')
    kills += 1
  }
  return { kills, seconds: Math.round(elapsed()) }
}

/** Kills processes at random moments under load, then compares what was answered, stored, paid and delivered. */
export const runProcessKills = async (options: KillOptions): Promise<KillFindings> => {
  const random = randomFrom(options.seed)
  const folder = mkdtempSync(join(tmpdir(), 'pohf-kills-'))
  const postgres = await openPostgres({ folder, settings: { max_connections: '60', ...options.settings } })
  const receiver = await openReceiver()
  const { baseUrl, databaseUrl, env } = await prepareServer(postgres, folder, networkSettings)
  const processes = {
    signer: startRole('signer', env),
    api: startRole('api', env),
    worker: startRole('worker', env),
  }
  let restarting = Promise.resolve()
  const kill = (target: Target): void => {
    if (target !== 'postgres') processes[target].kill()
    else restarting = restarting.then(() => postgres.restart('SIGKILL'))
  }
  try {
    await waitUntilReady(baseUrl)
    const agents = await withDatabase(databaseUrl, async (client) => {
      if (options.plantedFaultSql !== undefined) await client.query(options.plantedFaultSql)
      const seeded = await seedAgents(baseUrl, client, 200 * options.seconds)
      await seedNetworks(client, options.networks ?? 10_000)
      return seeded
    })
    await subscribeAgents(baseUrl, agents, receiver.url)
    const record = newRecord()
    const { acknowledged } = record
    const load = startLoad([baseUrl], agents, record, loadOf(random, options.clients))
    const { kills, seconds } = await killInTurn(options, random, () => acknowledged.size, kill)
    await restarting
    await waitUntilReady(baseUrl)
    await load.stop(answerMsMax)
    const { events, faults, ...counts } = await withDatabase(databaseUrl, (client) => audit(client, record))
    // A worker that was killed leaves leases of a minute behind. Where something was lost, there is no need to wait.
    const undelivered = await waitForDeliveries(events, receiver.received, counts.lost > 0 ? 0 : 90_000)
    const deliveries = [...receiver.received.values()].reduce((sum, times) => sum + times, 0)
    const internalErrors = load.calls
      .filter(({ status }) => status >= 500 && status !== 503)
      .map(({ status, error }) => `a call was answered ${status} ${error}`)
    return {
      seed: options.seed,
      seconds,
      kills,
      acknowledged: acknowledged.size,
      ...counts,
      undelivered,
      duplicates: deliveries - receiver.received.size,
      unknownOutcomes: load.calls.filter(({ status }) => status === 0 || status === 503).length,
      faults: [...internalErrors, ...load.faults, ...faults],
    }
  } finally {
    for (const each of Object.values(processes)) await each.stop()
    receiver.close()
    await postgres.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Whether nothing was lost, charged twice or forgotten. */
export const hasNoFaults = (findings: KillFindings): boolean =>
  findings.lost + findings.doubleCharged + findings.missingCredential + findings.undelivered === 0 &&
  findings.faults.length === 0
