import { request } from 'node:http'
import { closingAfter } from '../../driver/closing.ts'
import { step } from '../../driver/program.ts'
import { randomFrom } from '../../driver/rounds.ts'
import { withDatabase } from '../../driver/service.ts'
import { audit, waitForDeliveries } from '../verify-load/audit.ts'
import { bringAbout, chooseNamed, describeError, repeat, waitForRecovery } from '../verify-load/faults.ts'
import { startLoad, waitForProgress } from '../verify-load/load.ts'
import { missingFor, openDeployment, type Deployment, type DeploymentKind } from './deployment.ts'
import {
  bounds,
  figuresOf,
  findBrokenBounds,
  type FaultFigures,
  type FaultRecord,
  type ReadinessProbe,
} from './judgement.ts'
import { faults, type FaultScenario } from './scenarios.ts'

export type BatteryOptions = {
  /** Names of faults and planned stops; all where it is empty. */
  readonly only: readonly string[]
  /** How long each fault lasts that has a duration; its own where undefined. */
  readonly seconds: number | undefined
  readonly clients: number
  readonly seed: number
  /** How often the supervisor is stopped. */
  readonly stops: number
  /** How often the api processes behind HAProxy are restarted in turn. */
  readonly rounds: number
  /** How long the load waits at its end for an Idempotency-Key that a dead call has claimed. */
  readonly claimedKeySeconds: number
  /** Sessions of each deployment; a load that has used all of them stands still. */
  readonly sessions: number
  /** How many times as long as promised the bounds of time are. */
  readonly slack: number
  /** Whether the folders with data and logs are kept. */
  readonly keep: boolean
}
export type FaultResult = {
  readonly name: string
  readonly title: string
  /** Why it was not run. */
  readonly skipped?: string
  /** By what the fault was seen. */
  readonly proof?: string
  readonly figures?: FaultFigures
  /** Why it does not hold; empty where every bound holds. */
  readonly reasons: readonly string[]
}

/** A call that hangs is given up after this time: far above the bound, so that the figure says how far. */
const callTimeoutMs = 75_000
const shareSentTwice = 0.15
const deliveryPatienceMs = 90_000
const observationMsMax = 45_000
/** How long a call that was refused after the recovery is repeated. */
const answerMsMax = 75_000

const probeReadiness = (baseUrl: string): Promise<ReadinessProbe> =>
  new Promise((resolve) => {
    const startedAt = performance.now()
    const done = (status: number) => resolve({ startedAt, endedAt: performance.now(), status })
    const probe = request(`${baseUrl}/readyz`, { agent: false })
    const deadline = setTimeout(() => probe.destroy(new Error('no answer')), bounds.probeMs)
    probe.on('close', () => clearTimeout(deadline))
    probe.on('error', () => done(0))
    probe.on('response', (response) => {
      response.resume().on('end', () => done(response.statusCode ?? 0))
    })
    probe.end()
  })

const startProbes = (baseUrl: string) => {
  const probes: ReadinessProbe[] = []
  return { probes, ...repeat(200, async () => probes.push(await probeReadiness(baseUrl))) }
}

type Observation = Omit<FaultRecord, 'beganAt' | 'endedAt' | 'kind'>

/** A load on a deployment, watched until it is stopped and audited. */
const watch = (deployment: Deployment, options: BatteryOptions, twice: number) => {
  const load = startLoad([deployment.baseUrl], deployment.agents, deployment.record, {
    clients: options.clients,
    random: randomFrom(options.seed),
    twice,
    idempotencyKeys: true,
    pauseMs: 50,
    arrivalMs: 500,
    timeoutMs: callTimeoutMs,
  })
  const readiness = startProbes(deployment.baseUrl)
  const succeeded = () => load.calls.filter(({ status }) => status === 200).length
  return {
    progress: (ms: number) => waitForProgress(succeeded, ms),
    recovery: (since: number) => waitForRecovery(load, since, observationMsMax),
    /** Ends the load without looking at what came of it. */
    abandon: (): void => void Promise.all([readiness.stop(), load.stop(0)]),
    stop: async (isRecovered: boolean): Promise<Observation> => {
      const observedUntil = performance.now()
      // A server that has not recovered gives no answers and delivers nothing: there is no need to wait.
      const [answerMs, claimedKeyMs] = isRecovered ? [answerMsMax, options.claimedKeySeconds * 1_000] : [0, 0]
      await Promise.all([readiness.stop(), load.stop(answerMs, claimedKeyMs)])
      const found = await withDatabase(deployment.databaseUrl, (client) => audit(client, deployment.record))
      return {
        calls: load.calls,
        probes: readiness.probes,
        observedUntil,
        lost: found.lost,
        doubled: found.doubleCharged + found.missingCredential,
        undelivered: await waitForDeliveries(
          found.events,
          deployment.received,
          isRecovered ? deliveryPatienceMs : 0,
        ),
        faults: [...load.faults.slice(0, 5), ...found.faults],
        restartedByHand: isRecovered ? 0 : 1,
      }
    },
  }
}

const resultOf = (
  { name, title }: Pick<FaultResult, 'name' | 'title'>,
  proof: string,
  record: FaultRecord,
  { slack }: BatteryOptions,
): FaultResult => ({
  name,
  title,
  proof,
  figures: figuresOf(record),
  reasons: findBrokenBounds(record, slack),
})

const runFault = async (
  fault: FaultScenario,
  deployment: Deployment,
  options: BatteryOptions,
): Promise<FaultResult> => {
  const watched = watch(deployment, options, fault.outlivesCredentials ? 0 : shareSentTwice)
  try {
    await watched.progress(30_000)
    const seconds = fault.seconds === 0 ? 0 : (options.seconds ?? fault.seconds)
    const { beganAt, proof, faults: unseen, ...ended } = await bringAbout(fault, deployment, seconds)
    const endedAt = fault.isMomentary ? beganAt : ended.endedAt
    const observed = await watched.stop(await watched.recovery(endedAt))
    const faults = [...unseen, ...observed.faults]
    const record: FaultRecord = { ...observed, beganAt, endedAt, faults, kind: 'unplanned' }
    return resultOf(fault, proof, record, options)
  } finally {
    watched.abandon()
  }
}

const plannedStops: readonly {
  name: string
  title: string
  deployment: DeploymentKind
  kind: 'stop' | 'rolling'
}[] = [
  { name: 'sigterm', title: 'SIGTERM to the supervisor under load', deployment: 'plain', kind: 'stop' },
  {
    name: 'rolling',
    title: 'rolling restart of two api processes behind HAProxy',
    deployment: 'haproxy',
    kind: 'rolling',
  },
]
type PlannedStop = (typeof plannedStops)[number]

const runStops = async (
  stop: PlannedStop,
  deployment: Deployment,
  options: BatteryOptions,
): Promise<FaultResult> => {
  const watched = watch(deployment, options, shareSentTwice)
  try {
    await watched.progress(30_000)
    const beganAt = performance.now()
    const exits: (number | string)[] = []
    const times = stop.kind === 'stop' ? options.stops : options.rounds
    for (let count = 0; count < times; count++)
      for (const [index, server] of deployment.servers.entries()) {
        exits.push(await server.terminate())
        server.start()
        await deployment.waitUntilUsed(index)
        await watched.progress(15_000)
      }
    const endedAt = performance.now()
    const observed = await watched.stop(true)
    const unclean = exits.filter((exit) => exit !== 0)
    const record: FaultRecord = {
      ...observed,
      beganAt,
      endedAt,
      faults: [
        ...(unclean.length > 0 ? [`${unclean.length} stops ended with ${unclean.join(', ')}`] : []),
        ...observed.faults,
      ],
      kind: stop.kind,
    }
    const proof = `${exits.length} processes stopped by SIGTERM and started again`
    return resultOf(stop, proof, record, options)
  } finally {
    watched.abandon()
  }
}

type Item = { readonly name: string; readonly title: string; readonly deployment: DeploymentKind } & (
  { readonly fault: FaultScenario } | { readonly stop: PlannedStop }
)
const items: readonly Item[] = [
  ...faults.map((fault) => ({ name: fault.name, title: fault.title, deployment: fault.deployment, fault })),
  ...plannedStops.map((stop) => ({ name: stop.name, title: stop.title, deployment: stop.deployment, stop })),
]
/**
 * Runs one fault after another under load. Faults of one kind share a deployment as long as all bounds hold; after a broken one
 * the next gets a new deployment.
 */
export const runFaults = (options: BatteryOptions): Promise<FaultResult[]> =>
  closingAfter(async (defer) => {
    const results: FaultResult[] = []
    let deployment: Deployment | undefined
    const closeDeployment = async () => {
      await deployment?.close()
      deployment = undefined
    }
    defer(closeDeployment)
    const runItem = async (item: Item): Promise<FaultResult> => {
      const { name, title } = item
      const skipped = missingFor(item.deployment)
      if (skipped !== undefined) return { name, title, skipped, reasons: [] }
      try {
        // Rows of a moved clock stay in the database.
        if (deployment?.kind !== item.deployment || item.deployment === 'clock') await closeDeployment()
        deployment ??= await openDeployment(item.deployment, options)
        if (options.keep) console.error(`data and logs: ${deployment.folder}`)
        step(title)
        return 'fault' in item
          ? await runFault(item.fault, deployment, options)
          : await runStops(item.stop, deployment, options)
      } catch (error) {
        return { name, title, reasons: [describeError(error)] }
      }
    }
    for (const item of chooseNamed(items, options.only)) {
      const result = await runItem(item)
      results.push(result)
      if (result.reasons.length > 0) await closeDeployment()
    }
    return results
  })
