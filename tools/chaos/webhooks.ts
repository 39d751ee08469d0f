import type { ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { closingAfter } from '../driver/closing.ts'
import { step } from '../driver/program.ts'
import { sum } from '../driver/rounds.ts'
import { startRole } from '../driver/service.ts'
import {
  RolledBackError,
  openReceivers,
  openWebhookFixture,
  type WebhookFixture,
  type FixtureAgent,
} from './webhook-fixture.ts'

export type WebhookKillOptions = {
  readonly seconds: number
  /** Commits one event without its place in the outbox: to see that the loss is found. */
  readonly plantLoss: boolean
}
export type WebhookFindings = {
  readonly seconds: number
  readonly workerKills: number
  readonly databaseKills: number
  readonly committed: number
  readonly rolledBack: number
  readonly unknownOutcomes: number
  readonly expected: number
  readonly arrived: number
  readonly duplicates: number
  readonly duplicatesPercent: number
  readonly outOfOrderPercent: number
  readonly drainSeconds: number
  readonly faults: readonly string[]
}

const agentCount = 4
const endpointsPerAgent = 3
/** Of each agent the last endpoint is a bad one: a tenth of its answers are failures, some come late. */
const respond = (path: string, response: ServerResponse): void => {
  const bad = path.endsWith(`/${endpointsPerAgent - 1}`)
  if (!bad || Math.random() > 0.15) return void response.writeHead(204).end()
  if (Math.random() < 0.66) return void response.writeHead(503).end()
  void setTimeout(300).then(() => response.writeHead(204).end())
}

/** Writers that commit events one after another, about subjects in turn; some transactions fail on purpose. */
const startWriters = (fixture: WebhookFixture, agents: readonly FixtureAgent[]) => {
  const committed = new Map<string, number>()
  const rolledBack = new Set<string>()
  const count = { unknown: 0 }
  const end = new AbortController()
  const write = async (agent: FixtureAgent, index: number) => {
    for (let n = 0; !end.signal.aborted; n++) {
      const subject = `subject ${n % 5} number ${String(n).padStart(6, '0')}`
      try {
        committed.set(
          await fixture.publishEvent(agent, subject, n % 17 === 0 ? 'rolled back' : 'committed'),
          index,
        )
      } catch (error) {
        if (error instanceof RolledBackError) rolledBack.add(error.eventId)
        else count.unknown++
      }
      await setTimeout(25)
    }
  }
  const all = Promise.all(agents.map(write))
  return {
    committed,
    rolledBack,
    count,
    stop: async () => {
      end.abort()
      await all
    },
  }
}

/** Of the arrivals of one endpoint, in how many cases one came after a later one about the same subject. */
const countOutOfOrder = (subjects: readonly string[]): number => {
  const latest = new Map<string, string>()
  let count = 0
  for (const text of subjects) {
    const [, subject = '', number = ''] = /^(subject \d+) number (\d+)$/.exec(text) ?? []
    if (number < (latest.get(subject) ?? '')) count++
    else latest.set(subject, number)
  }
  return count
}

const percent = (part: number, whole: number) => Math.round((part / Math.max(whole, 1)) * 10_000) / 100

const waitUntil = async (deadlineMs: number, done: () => boolean): Promise<number> => {
  const startedAt = performance.now()
  while (!done() && performance.now() - startedAt < deadlineMs) await setTimeout(200)
  return (performance.now() - startedAt) / 1_000
}

/** Agents with endpoints, and every arrival at them, by path. */
const openEndpoints = async (fixture: WebhookFixture) => {
  const arrived = new Map<string, Map<string, number>>()
  const subjects = new Map<string, string[]>()
  const receivers = await openReceivers(respond, ({ path, eventId, body }) => {
    const counts = arrived.get(path) ?? new Map<string, number>()
    arrived.set(path, counts.set(eventId, (counts.get(eventId) ?? 0) + 1))
    const { data } = JSON.parse(body) as { data: { keyId: string } }
    if (counts.get(eventId) === 1) subjects.set(path, [...(subjects.get(path) ?? []), data.keyId])
  })
  const agents: FixtureAgent[] = []
  for (let a = 0; a < agentCount; a++) {
    const agent = await fixture.register()
    agents.push(agent)
    for (let e = 0; e < endpointsPerAgent; e++)
      await fixture.subscribe(agent, receivers.url(`/${a}/${e}`), ['key.revoked'])
  }
  return { agents, arrived, subjects, close: receivers.close }
}
type Endpoints = Awaited<ReturnType<typeof openEndpoints>>

/** Kills the workers in turn, and after every fourth worker PostgreSQL, until the time is over. */
const killInTurn = async (
  fixture: WebhookFixture,
  workers: readonly { readonly kill: () => boolean }[],
  seconds: number,
) => {
  const kills = { worker: 0, database: 0 }
  const startedAt = performance.now()
  const elapsed = () => (performance.now() - startedAt) / 1_000
  while (elapsed() < seconds) {
    // Long enough for a worker to start, claim and be in the middle of sending.
    await setTimeout(1_500 + Math.random() * 2_500)
    if (kills.worker % 4 === 3 && kills.database <= kills.worker / 4) {
      kills.database++
      await fixture.postgres.restart('SIGKILL')
    }
    workers[kills.worker % workers.length]?.kill()
    kills.worker++
  }
  return { ...kills, seconds: elapsed() }
}

/** The events that were committed and did not reach every endpoint of their agent. */
const listMissing = (committed: ReadonlyMap<string, number>, arrived: Endpoints['arrived']): string[] =>
  [...committed].flatMap(([eventId, agent]) =>
    Array.from({ length: endpointsPerAgent }, (_, e) => `/${agent}/${e}`)
      .filter((path) => !arrived.get(path)?.has(eventId))
      .map((path) => `${eventId} never reached ${path}`),
  )

const countArrivals = ({ arrived, subjects }: Endpoints) => {
  const all = [...arrived.values()]
  const distinct = sum(all.map((counts) => counts.size))
  const total = sum(all.flatMap((counts) => [...counts.values()]))
  const outOfOrder = sum([...subjects.values()].map(countOutOfOrder))
  return {
    arrived: distinct,
    duplicates: total - distinct,
    duplicatesPercent: percent(total - distinct, distinct),
    outOfOrderPercent: percent(outOfOrder, distinct),
  }
}

/** Kills two workers and PostgreSQL again and again under load, then counts the deliveries to every endpoint. */
export const runWebhookKills = ({ seconds, plantLoss }: WebhookKillOptions): Promise<WebhookFindings> =>
  closingAfter(async (defer) => {
    const fixture = await openWebhookFixture()
    defer(fixture.close)
    const endpoints = await openEndpoints(fixture)
    defer(endpoints.close)
    const env = { ...process.env, ...fixture.environment, LOG_LEVEL: 'silent' }
    const workers = [startRole('worker', env), startRole('worker', env)]
    const stopWorkers = () => Promise.all(workers.map((worker) => worker.stop('SIGKILL')))
    defer(stopWorkers)
    const writers = startWriters(fixture, endpoints.agents)
    defer(writers.stop)
    step(`killing workers and PostgreSQL for ${seconds} s`)
    const kills = await killInTurn(fixture, workers, seconds)
    await writers.stop()
    const [firstAgent] = endpoints.agents
    if (plantLoss && firstAgent)
      writers.committed.set(await fixture.publishEvent(firstAgent, 'planted', 'lost'), 0)
    const missing = () => listMissing(writers.committed, endpoints.arrived)
    step('waiting for deliveries')
    // A lease of a killed worker lasts 60 s, and a failure waits up to five minutes for its third attempt.
    const drainSeconds = await waitUntil(plantLoss ? 90_000 : 420_000, () => missing().length === 0)
    await stopWorkers()
    const deliveredAlthoughRolledBack = [...writers.rolledBack].filter((id) =>
      [...endpoints.arrived.values()].some((counts) => counts.has(id)),
    )
    return {
      seconds: Math.round(kills.seconds),
      workerKills: kills.worker,
      databaseKills: kills.database,
      committed: writers.committed.size,
      rolledBack: writers.rolledBack.size,
      unknownOutcomes: writers.count.unknown,
      expected: writers.committed.size * endpointsPerAgent,
      ...countArrivals(endpoints),
      drainSeconds: Math.round(drainSeconds),
      faults: [
        ...missing(),
        ...deliveredAlthoughRolledBack.map((id) => `${id} was rolled back and delivered all the same`),
      ],
    }
  })
