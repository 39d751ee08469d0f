import { setTimeout } from 'node:timers/promises'
import { closingAfter } from '../driver/closing.ts'
import { step } from '../driver/program.ts'
import { randomFrom } from '../driver/rounds.ts'
import { openService, waitUntilReady, withDatabase } from '../driver/service.ts'
import { compareAll, faultsOfCounts, type VerifyFindings } from './verify-load/audit.ts'
import { networkSettings, openReceiver, seedAgents } from './verify-load/calls.ts'
import { newRecord, startLoad, waitForProgress } from './verify-load/load.ts'

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
export type KillFindings = VerifyFindings & {
  readonly seed: number
  readonly seconds: number
  readonly kills: number
}

/** A call is repeated until its outcome is known, for this time after the load has ended. */
const answerMsMax = 240_000
/** Kills wait until calls succeed again, so that they interrupt some; without a success in this time the next kill comes. */
const recoveryMsMax = 8_000

/** The kills without which a run says nothing. */
export const killsMin = (seconds: number): number => Math.floor(seconds / 4)

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
  const elapsed = () => (performance.now() - startedAt) / 1_000
  let kills = 0
  // A machine that is busy with other things gets more time, not fewer kills; but not without end.
  while (
    elapsed() < options.seconds ||
    (kills < killsMin(options.seconds) && elapsed() < 4 * options.seconds)
  ) {
    await waitForProgress(acknowledgedCount, recoveryMsMax)
    await setTimeout(200 + random() * 1_500)
    kill(chosen[kills % chosen.length] ?? 'api')
    kills += 1
  }
  return { kills, seconds: Math.round(elapsed()) }
}

/** Kills processes at random moments under load, then compares what was answered, stored, paid and delivered. */
export const runProcessKills = (options: KillOptions): Promise<KillFindings> =>
  closingAfter(async (defer) => {
    const random = randomFrom(options.seed)
    const receiver = await openReceiver()
    defer(receiver.close)
    const { baseUrl, databaseUrl, postgres, processes, close } = await openService({
      name: 'kills',
      roles: ['signer', 'api', 'worker'],
      postgres: { max_connections: '60', ...options.settings },
      settings: networkSettings,
    })
    defer(close)
    let restarting = Promise.resolve()
    const kill = (target: Target): void => {
      if (target !== 'postgres') processes[target].kill()
      else restarting = restarting.then(() => postgres.restart('SIGKILL'))
    }
    const { plantedFaultSql } = options
    if (plantedFaultSql !== undefined)
      await withDatabase(databaseUrl, (client) => client.query(plantedFaultSql))
    const agents = await seedAgents({
      baseUrl,
      databaseUrl,
      sessions: 200 * options.seconds,
      networks: options.networks ?? 10_000,
      webhookUrl: receiver.url,
    })
    const record = newRecord()
    const load = startLoad([baseUrl], agents, record, {
      clients: options.clients,
      random,
      twice: 0.2,
      idempotencyKeys: false,
      pauseMs: 5,
      timeoutMs: 15_000,
    })
    step(`killing processes for ${options.seconds} s`)
    const ended = await killInTurn(options, random, () => record.acknowledged.size, kill)
    step('waiting for the answers of calls that have begun')
    await restarting
    await waitUntilReady(baseUrl)
    await load.stop(answerMsMax)
    const found = await compareAll(databaseUrl, record, load, receiver.received)
    const internalErrors = load.calls
      .filter(({ status }) => status >= 500 && status !== 503)
      .map(({ status, error }) => `a call was answered ${status} ${error}`)
    return { seed: options.seed, ...ended, ...found, faults: [...internalErrors, ...found.faults] }
  })

/** What was lost, charged twice or forgotten, and all else that does not add up. */
export const faultsOf = (findings: KillFindings): readonly string[] => [
  ...faultsOfCounts(findings),
  ...findings.faults,
]
