import { loadavg } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { audit, waitForDeliveries, type Audit } from '../verify-load/audit.ts'
import { startLoad, waitForProgress } from '../verify-load/load.ts'
import { figuresOf, findBrokenBounds, type RunFigures, type RunRecord } from './accounting.ts'
import { openHaDeployment, type HaDeployment } from './deployment.ts'
import { chooseFaults, type FailoverFault } from './faults.ts'
import type { PatroniClusterOptions } from './patroni-cluster.ts'
import { randomFrom } from '../../driver/rounds.ts'
import { withDatabase } from '../../driver/service.ts'

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
/** Without failures for this time, the service has recovered. */
const quietMs = 3_000
const recoveryMsMax = 60_000
const wholeMsMax = 90_000
const answerMsMax = 60_000
const deliveryPatienceMs = 90_000

type Load = ReturnType<typeof startLoad>

/** Asks for the public keys four times a second, and records when that failed. */
const watchKeys = (baseUrl: string) => {
  const failed: number[] = []
  const end = new AbortController()
  const asking = (async () => {
    while (!end.signal.aborted) {
      const isOk = await fetch(`${baseUrl}/.well-known/jwks.json`, {
        signal: AbortSignal.timeout(5_000),
      }).then(
        async (response) => response.ok && (await response.text()).includes('"keys"'),
        () => false,
      )
      if (!isOk) failed.push(performance.now())
      await setTimeout(250)
    }
  })()
  return {
    failed,
    stop: async () => {
      end.abort()
      await asking
    },
  }
}

/** Waits until calls succeed and none has failed for a while; false where that does not happen. */
const waitForRecovery = async (load: Load, since: number): Promise<boolean> => {
  const deadline = performance.now() + recoveryMsMax
  for (;;) {
    const from = Math.max(since, performance.now() - quietMs)
    const recent = load.calls.filter(({ endedAt }) => endedAt >= from)
    // A call that hangs has not failed yet.
    const isQuiet = load.pendingSince() > from && recent.every(({ status }) => status > 0 && status < 500)
    const isLongEnough = performance.now() - since >= quietMs
    if (isLongEnough && isQuiet && recent.some(({ status }) => status === 200)) return true
    if (performance.now() > deadline) return false
    await setTimeout(100)
  }
}

/** Begins a fault, keeps it for its time, makes sure that it took place, and ends it. */
const bringAbout = async (fault: FailoverFault, deployment: HaDeployment) => {
  const beganAt = performance.now()
  const active = await fault.begin(deployment.patroni)
  await setTimeout(Math.max(0, beganAt + fault.seconds * 1_000 - performance.now()))
  let [proof, faults]: [string, string[]] = ['', []]
  try {
    proof = await active.proof()
  } catch (error) {
    faults = [error instanceof Error ? error.message : String(error)]
  }
  await active.end()
  return { beganAt, proof, faults, endedAt: performance.now() }
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
    const { beganAt, endedAt, proof, faults } = await bringAbout(fault, deployment)
    const isRecovered = await waitForRecovery(load, endedAt)
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
    return { fault, run, proof, machineLoad: loadavg()[0] ?? 0, record, figures, reasons }
  } finally {
    void Promise.all([keys.stop(), load.stop(0)])
  }
}

const findUndelivered = async (deployment: HaDeployment): Promise<number> => {
  const { events } = await auditDeployment(deployment)
  return waitForDeliveries(events, deployment.received, deliveryPatienceMs)
}

const describeError = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)

/**
 * Runs each fault so many times under load. All runs of a fault share a deployment as long as every bound holds; the run after
 * a broken one gets a new deployment. A broken run ends the deployment without waiting for its webhooks.
 */
const runFault = async (
  fault: FailoverFault,
  options: FailoverOptions,
  report: (run: FailoverRun) => void,
  setOpen: (deployment: HaDeployment | undefined) => void,
): Promise<FailoverRun[]> => {
  const results: FailoverRun[] = []
  let deployment: HaDeployment | undefined
  for (let run = 1; run <= options.runs; run++) {
    let result: FailoverRun
    try {
      deployment ??= await openHaDeployment({ ...options, sessions: 100_000 })
      setOpen(deployment)
      if (options.keep) console.log(`data and logs: ${deployment.patroni.folder}`)
      result = await runFaultOnce(fault, run, deployment, options)
      const undelivered =
        run === options.runs && result.reasons.length === 0 ? await findUndelivered(deployment) : 0
      if (undelivered > 0) result = { ...result, reasons: [`${undelivered} events were not delivered`] }
    } catch (error) {
      const reasons = [`the battery could not go on: ${describeError(error)}`]
      result = { fault, run, proof: '', machineLoad: loadavg()[0] ?? 0, reasons }
    }
    results.push(result)
    report(result)
    if (result.reasons.length > 0 || run === options.runs) {
      await deployment?.close()
      deployment = undefined
      setOpen(undefined)
    }
  }
  return results
}

export const runFailover = async (
  options: FailoverOptions,
  report: (run: FailoverRun) => void,
): Promise<FailoverRun[]> => {
  const results: FailoverRun[] = []
  let open: HaDeployment | undefined
  const onSignal = () => void (open?.close() ?? Promise.resolve()).finally(() => process.exit(1))
  // Whoever ends the battery does not want to look for a dozen processes.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, onSignal)
  for (const fault of chooseFaults(options.faults))
    results.push(...(await runFault(fault, options, report, (deployment) => (open = deployment))))
  return results
}
