import { setTimeout } from 'node:timers/promises'
import { closingAfter } from '../../driver/closing.ts'
import { step } from '../../driver/program.ts'
import { loadNow, randomFrom } from '../../driver/rounds.ts'
import { withDatabase } from '../../driver/service.ts'
import { audit, waitForDeliveries, type Audit } from '../verify-load/audit.ts'
import { bringAbout, chooseNamed, describeError, repeat, waitForRecovery } from '../verify-load/faults.ts'
import { startLoad, waitForProgress } from '../verify-load/load.ts'
import { figuresOf, findBrokenBounds, type RunFigures, type RunRecord } from './accounting.ts'
import { openHaDeployment, type HaDeployment } from './deployment.ts'
import { failoverFaults, type FailoverFault } from './faults.ts'
import type { PatroniClusterOptions } from './patroni-cluster.ts'

export type FailoverOptions = PatroniClusterOptions & {
  /** Names of faults; all where it is empty. */
  readonly faults: readonly string[]
  /** How often each fault is brought about. */
  readonly runs: number
  readonly clients: number
  readonly seed: number
}
export type FailoverRun = {
  readonly fault: FailoverFault
  readonly run: number
  /** By what the fault was seen. */
  readonly proof: string
  /** The load of the machine, of which others may be a part. */
  readonly machineLoad: number
  readonly record?: RunRecord
  readonly figures?: RunFigures
  /** Why it does not hold; empty where every bound holds. */
  readonly reasons: readonly string[]
}

const shareSentTwice = 0.15
const callTimeoutMs = 40_000
const recoveryMsMax = 60_000
const wholeMsMax = 90_000
const answerMsMax = 60_000
const deliveryPatienceMs = 90_000

type Load = ReturnType<typeof startLoad>

/** Asks for the public keys four times a second, and records when that failed. */
const watchKeys = (baseUrl: string) => {
  const failed: number[] = []
  const ask = async (): Promise<void> => {
    const isOk = await fetch(`${baseUrl}/.well-known/jwks.json`, {
      signal: AbortSignal.timeout(5_000),
    }).then(
      async (response) => response.ok && (await response.text()).includes('"keys"'),
      () => false,
    )
    if (!isOk) failed.push(performance.now())
  }
  return { failed, ...repeat(250, ask) }
}

const auditDeployment = ({ databaseUrl, record }: HaDeployment): Promise<Audit> =>
  withDatabase(databaseUrl, (client) => audit(client, record))

const startVerifyLoad = (deployment: HaDeployment, clients: number, random: () => number): Load =>
  startLoad([deployment.baseUrl], deployment.agents, deployment.record, {
    clients,
    random,
    twice: shareSentTwice,
    // Verify is idempotent by the session. A key that a dead call has claimed would be free after a minute only.
    idempotencyKeys: false,
    pauseMs: 60,
    arrivalMs: 500,
    timeoutMs: callTimeoutMs,
  })

const runFaultOnce = async (
  fault: FailoverFault,
  run: number,
  deployment: HaDeployment,
  options: FailoverOptions,
): Promise<FailoverRun> => {
  const random = randomFrom(options.seed * 1_000 + run)
  const load = startVerifyLoad(deployment, options.clients, random)
  const keys = watchKeys(deployment.baseUrl)
  try {
    await waitForProgress(() => load.calls.filter(({ status }) => status === 200).length, 30_000)
    // At any moment of Patroni's loop of five seconds.
    await setTimeout(2_000 + random() * 5_000)
    const { beganAt, endedAt, proof, faults } = await bringAbout(fault, deployment.patroni)
    const isRecovered = await waitForRecovery(load, endedAt, recoveryMsMax)
    const observedUntil = performance.now()
    const isWhole = await deployment.patroni.waitUntilWhole(isRecovered ? wholeMsMax : 0)
    await Promise.all([keys.stop(), load.stop(isRecovered ? answerMsMax : 0)])
    const found = await auditDeployment(deployment)
    const record: RunRecord = {
      beganAt,
      endedAt,
      observedUntil,
      calls: load.calls,
      failedKeyRequests: keys.failed,
      acknowledged: deployment.record.acknowledged.size,
      lost: found.lost,
      doubled: found.doubleCharged + found.missingCredential,
      isRecovered,
      isWhole,
      endedProcesses: [...deployment.servers].filter(([, server]) => server.hasEnded()).map(([name]) => name),
      faults: [...faults, ...load.faults.slice(0, 5), ...found.faults],
    }
    const figures = figuresOf(record)
    const reasons = findBrokenBounds(record, fault.gapMsMax)
    return { fault, run, proof, machineLoad: loadNow(), record, figures, reasons }
  } finally {
    void Promise.all([keys.stop(), load.stop(0)])
  }
}

const findUndelivered = async (deployment: HaDeployment): Promise<number> => {
  const { events } = await auditDeployment(deployment)
  return waitForDeliveries(events, deployment.received, deliveryPatienceMs)
}

/**
 * Runs each fault so many times under load. All runs of a fault share a deployment as long as every bound holds; the run after
 * a broken one gets a new deployment. A broken run ends the deployment without waiting for its webhooks.
 */
const runFault = (fault: FailoverFault, options: FailoverOptions): Promise<FailoverRun[]> =>
  closingAfter(async (defer) => {
    const results: FailoverRun[] = []
    let deployment: HaDeployment | undefined
    const closeDeployment = async () => {
      await deployment?.close()
      deployment = undefined
    }
    defer(closeDeployment)
    for (let run = 1; run <= options.runs; run++) {
      let result: FailoverRun
      try {
        deployment ??= await openHaDeployment({ ...options, sessions: 100_000 })
        if (options.keep) console.error(`data and logs: ${deployment.patroni.folder}`)
        step(`${fault.title}, run ${run}`)
        result = await runFaultOnce(fault, run, deployment, options)
        const undelivered =
          run === options.runs && result.reasons.length === 0 ? await findUndelivered(deployment) : 0
        if (undelivered > 0) result = { ...result, reasons: [`${undelivered} events were not delivered`] }
      } catch (error) {
        result = { fault, run, proof: '', machineLoad: loadNow(), reasons: [describeError(error)] }
      }
      results.push(result)
      if (result.reasons.length > 0) await closeDeployment()
    }
    return results
  })

export const runFailover = async (
  options: FailoverOptions,
  done: (runs: readonly FailoverRun[]) => void,
): Promise<FailoverRun[]> => {
  const results: FailoverRun[] = []
  for (const fault of chooseNamed(failoverFaults, options.faults)) {
    results.push(...(await runFault(fault, options)))
    done(results)
  }
  return results
}
