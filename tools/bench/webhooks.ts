import { fork, type ChildProcess } from 'node:child_process'
import { createSecretKey } from 'node:crypto'
import { existsSync } from 'node:fs'
import { loadavg } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { inTransaction } from '../../packages/server/src/platform/db/db.ts'
import { send } from '../../packages/server/src/platform/net/outbound.ts'
import { drainOutbox, publish } from '../../packages/server/src/platform/queue/outbox.ts'
import { startWorker } from '../../packages/server/src/platform/queue/worker.ts'
import * as webhooks from '../../packages/server/src/webhooks/index.ts'
import { signedHeadersOf } from '../../packages/server/src/webhooks/rules.ts'
import { cpuOfProcessTree } from '../../packages/server/test/fixtures/processes/cpu.ts'
import { openWebhookFixture, type WebhookFixture, type FixtureAgent } from '../chaos/webhook-fixture.ts'
import { closingAfter } from '../driver/closing.ts'
import { programOf, step } from '../driver/program.ts'
import { tableOfFigures, tableOfRecords, tableOfRounds } from '../driver/report.ts'
import { inTurns, median, mediansOf, quantile, rounded } from '../driver/rounds.ts'

type Arrival = { readonly path: string; readonly id: string; readonly at: number }
const peers = new URL('./peers/', import.meta.url)

const openReceiver = async () => {
  const child: ChildProcess = fork(fileURLToPath(new URL('webhook-receiver.ts', import.meta.url)))
  const next = <T>() => new Promise<T>((resolve) => child.once('message', (message) => resolve(message as T)))
  const { port } = await next<{ port: number }>()
  const ask = <T>(question: string): Promise<T> => {
    const answer = next<T>()
    child.send(question)
    return answer
  }
  return {
    url: (path: string) => `http://127.0.0.1:${port}${path}`,
    count: async () => (await ask<{ count: number }>('count')).count,
    take: async () => (await ask<{ arrivals: Arrival[] }>('take')).arrivals,
    close: () => child.kill(),
  }
}
type Receiver = Awaited<ReturnType<typeof openReceiver>>

const noContact = async () => undefined

const endpointCount = 32

/** Events of one agent with 32 endpoints, in few transactions: the queue is what is measured. */
const publishEvents = (fixture: WebhookFixture, agent: FixtureAgent, deliveries: number): Promise<void> =>
  inTransaction(fixture.ctx, agent.agentId, async (tx) => {
    for (let n = 0; n < deliveries / endpointCount; n++)
      await publish(tx, {
        agentId: agent.agentId,
        mode: 'test',
        type: 'credential.issued',
        subject: `credential ${n}`,
        data: { credentialId: `crd_${n}`, kind: 'view', quality: 0.8, sessionId: `ses_${n}` },
      })
  })

const isQueueEmpty = async (fixture: WebhookFixture): Promise<boolean> => {
  const client = await fixture.ctx.db.pool.connect()
  try {
    await client.query('begin; set local "pohf.tenant" = \'system\'')
    const { rowCount } = await client.query("select from webhook_deliveries where state = 'pending' limit 1")
    await client.query('commit')
    return rowCount === 0
  } finally {
    client.release()
  }
}

type Round = { readonly perSecond: number; readonly nodeCpuUs: number; readonly databaseCpuUs: number }

const measureRound = async (
  fixture: WebhookFixture,
  deliveries: number,
  work: () => Promise<void>,
): Promise<Round> => {
  const cpu = process.cpuUsage()
  const database = cpuOfProcessTree(fixture.postgres.pid())
  const startedAt = performance.now()
  await work()
  const seconds = (performance.now() - startedAt) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  return {
    perSecond: deliveries / seconds,
    nodeCpuUs: (user + system) / deliveries,
    databaseCpuUs: (cpuOfProcessTree(fixture.postgres.pid()) - database) / deliveries,
  }
}

/** Sends one event to every endpoint: until its first 2xx an endpoint waits for its host, and here all have the same host. */
const proveReceivers = async (fixture: WebhookFixture, agent: FixtureAgent): Promise<void> => {
  await publishEvents(fixture, agent, endpointCount)
  while ((await drainOutbox(fixture.ctx, 'event', { withinTransaction: webhooks.fanOut })) > 0);
  const job = webhooks.deliveryJob(fixture.ctx, noContact)
  while (!(await isQueueEmpty(fixture))) if ((await job.run()) === 0) await setTimeout(100)
}

/** From queued deliveries to all of them taken and written down. */
const measureOurQueue = async (
  fixture: WebhookFixture,
  agent: FixtureAgent,
  deliveries: number,
): Promise<Round> => {
  await publishEvents(fixture, agent, deliveries)
  while ((await drainOutbox(fixture.ctx, 'event', { withinTransaction: webhooks.fanOut })) > 0);
  const job = webhooks.deliveryJob(fixture.ctx, noContact)
  const round = await measureRound(fixture, deliveries, async () => {
    while ((await job.run()) > 0);
  })
  if (!(await isQueueEmpty(fixture)))
    throw new Error(`the queue is not empty after ${deliveries} deliveries of agent ${agent.agentId}`)
  return round
}

type GraphileUtils = {
  migrate: () => Promise<void>
  addJobs: (jobs: readonly object[]) => Promise<unknown>
  release: () => Promise<void>
  withPgClient: <T>(
    work: (client: { query: (sql: string) => Promise<{ rowCount: number }> }) => T,
  ) => Promise<T>
}
type Graphile = {
  Logger: new (make: () => () => void) => object
  makeWorkerUtils: (options: object) => Promise<GraphileUtils>
  run: (options: object) => Promise<{ stop: () => Promise<void> }>
}

const addGraphileJobs = async (
  utils: GraphileUtils,
  receiver: Receiver,
  deliveries: number,
): Promise<void> => {
  const body = JSON.stringify({ id: 'evt_x', type: 'credential.issued', data: { credentialId: 'crd_x' } })
  for (let from = 0; from < deliveries; from += 500)
    await utils.addJobs(
      Array.from({ length: Math.min(500, deliveries - from) }, (_, n) => ({
        identifier: 'deliver',
        payload: { url: receiver.url(`/g/${n % endpointCount}`), body },
      })),
    )
}

type JobHelpers = {
  readonly job: { readonly id: string }
  readonly query: (sql: string, values: readonly unknown[]) => Promise<unknown>
}
const postJob = async (payload: unknown, id: string, headers: Readonly<Record<string, string>>) => {
  const { url, body } = payload as { url: string; body: string }
  return send({
    url,
    body,
    method: 'POST',
    timeoutMs: 15_000,
    responseBytesMax: 65_536,
    headers: { ...headers, 'webhook-id': id },
    trust: 'user',
    allowLoopback: true,
    idempotent: true,
    connectionOwner: 'bench',
  })
}
const benchKey = createSecretKey(Buffer.alloc(24, 7))

/** A job that only posts, and one that also does what a delivery of ours does: sign, and record the attempt. */
const graphileTasks = {
  posts: async (payload: unknown, { job }: JobHelpers) => {
    await postJob(payload, job.id, { 'content-type': 'application/json' })
  },
  records: async (payload: unknown, { job, query }: JobHelpers) => {
    const { body } = payload as { body: string }
    const startedAt = performance.now()
    const response = await postJob(
      payload,
      job.id,
      signedHeadersOf([benchKey], { id: job.id, at: new Date(), body }),
    )
    await query('insert into bench_attempts values ($1, $2, 1, now(), $3, $4)', [
      'agt_bench',
      job.id,
      response.status,
      Math.round(performance.now() - startedAt),
    ])
  },
}
const attemptsTable = `create table if not exists bench_attempts (agent_id text, delivery_id text, attempt int,
  at timestamptz, status int, duration_ms int, primary key (agent_id, delivery_id, attempt, at))`

/** The same POSTs by the same sender from graphile-worker, with everything that it has for batches. */
const measureGraphileWorker = async (
  fixture: WebhookFixture,
  receiver: Receiver,
  deliveries: number,
  task: keyof typeof graphileTasks,
): Promise<Round> => {
  const { Logger, makeWorkerUtils, run } = (await import(
    new URL('node_modules/graphile-worker/dist/index.js', peers).href
  )) as Graphile
  const connectionString = fixture.environment.DATABASE_URL
  const logger = new Logger(() => () => undefined)
  const utils = await makeWorkerUtils({ connectionString, logger })
  await utils.migrate()
  await utils.withPgClient((client) => client.query(attemptsTable))
  await addGraphileJobs(utils, receiver, deliveries)
  const preset = {
    worker: {
      connectionString,
      logger,
      concurrentJobs: 128,
      maxPoolSize: 10,
      pollInterval: 100,
      localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
      completeJobBatchDelay: 5,
      failJobBatchDelay: 5,
    },
  }
  const countJobs = async (): Promise<number> =>
    (await utils.withPgClient((client) => client.query('select from graphile_worker._private_jobs limit 1')))
      .rowCount
  const round = await measureRound(fixture, deliveries, async () => {
    const runner = await run({ preset, taskList: { deliver: graphileTasks[task] }, noHandleSignals: true })
    do await setTimeout(10)
    while ((await countJobs()) > 0)
    await runner.stop()
  })
  await utils.release()
  return round
}

const bytesPerDelivery = async (fixture: WebhookFixture, deliveries: number): Promise<number> => {
  const { rows } = await fixture.ctx.db.pool.query<{ bytes: bigint }>(
    `select sum(pg_total_relation_size(oid))::bigint as bytes from pg_class
     where relname ~ '^webhook_(deliveries|attempts|health)(_\\d|$)' and relkind = 'r'`,
  )
  return Number(rows[0]?.bytes ?? 0n) / deliveries
}

/** Our queue beside graphile-worker's, in rounds that take turns. */
const compareQueues = (deliveries: number, rounds: number) =>
  closingAfter(async (defer) => {
    const fixture = await openWebhookFixture({ max_connections: '100' })
    defer(fixture.close)
    const receiver = await openReceiver()
    defer(receiver.close)
    const agent = await fixture.register()
    for (let n = 0; n < endpointCount; n++)
      await fixture.subscribe(agent, receiver.url(`/${n}`), ['credential.issued'])
    await proveReceivers(fixture, agent)
    await measureOurQueue(fixture, agent, 320)
    await measureGraphileWorker(fixture, receiver, 320, 'posts')
    const measured = await inTurns(rounds, {
      ours: (round) => {
        step(`round ${round + 1} of the queues`)
        return measureOurQueue(fixture, agent, deliveries)
      },
      graphile: () => measureGraphileWorker(fixture, receiver, deliveries, 'posts'),
      graphileRecording: () => measureGraphileWorker(fixture, receiver, deliveries, 'records'),
    })
    const bytes = await bytesPerDelivery(fixture, 320 + deliveries * rounds)
    const ratiosTo = (side: 'graphile' | 'graphileRecording') =>
      measured.map(({ ours, [side]: others }) => rounded(ours.perSecond / others.perSecond, 2))
    const figuresOf = (side: 'ours' | 'graphile' | 'graphileRecording') =>
      mediansOf(
        measured.map((round) => round[side]),
        0,
      )
    return {
      deliveriesEach: deliveries,
      ratio: median(ratiosTo('graphile')),
      rounds: ratiosTo('graphile'),
      ratioRecording: median(ratiosTo('graphileRecording')),
      roundsRecording: ratiosTo('graphileRecording'),
      ours: figuresOf('ours'),
      graphile: figuresOf('graphile'),
      graphileRecording: figuresOf('graphileRecording'),
      oursBytesStored: rounded(bytes, 0),
    }
  })

const blackholeAgentCount = 10

/** Time from commit to arrival at healthy endpoints, with so many of 100 that never answer. */
const measureLatency = (holes: number, seconds: number) =>
  closingAfter(async (defer) => {
    step(`${holes} of 100 endpoints never answer, for ${seconds} s`)
    const fixture = await openWebhookFixture({ max_connections: '100' })
    defer(fixture.close)
    const receiver = await openReceiver()
    const agents: FixtureAgent[] = []
    for (let a = 0; a < blackholeAgentCount; a++) {
      const agent = await fixture.register()
      agents.push(agent)
      for (let e = 0; e < 10; e++) {
        const isHole = e === 0 && a < holes
        await fixture.subscribe(agent, receiver.url(`/${isHole ? 'hole' : 'ok'}/${a}-${e}`), ['key.revoked'])
      }
    }
    const worker = startWorker(fixture.ctx, [
      {
        name: 'events',
        everyMs: 500,
        run: () => drainOutbox(fixture.ctx, 'event', { withinTransaction: webhooks.fanOut }),
      },
      webhooks.deliveryJob(fixture.ctx, noContact),
      webhooks.endpointMonitorJob(fixture.ctx, noContact),
    ])
    // What hangs in a hole would be waited for.
    defer(() => Promise.race([worker.stop(), setTimeout(17_000)]))
    defer(receiver.close)
    for (const agent of agents) await fixture.publishEvent(agent, 'first event')
    for (let arrived = 0; arrived < agents.length * 10; await setTimeout(100))
      arrived += (await receiver.take()).length
    const committedAt = new Map<string, number>()
    const end = performance.now() + seconds * 1_000
    for (let n = 0; performance.now() < end; n++) {
      const agent = agents[n % agents.length] as FixtureAgent
      const id = await fixture.publishEvent(agent, `subject ${n}`)
      committedAt.set(id, Date.now())
      await setTimeout(80)
    }
    const healthy =
      committedAt.size * 10 - [...committedAt.keys()].filter((_, n) => n % agents.length < holes).length
    const arrivals: Arrival[] = []
    for (let attempt = 0; attempt < 200 && arrivals.length < healthy; attempt++) {
      arrivals.push(...(await receiver.take()).filter(({ path }) => path.startsWith('/ok/')))
      await setTimeout(100)
    }
    const times = arrivals.map(({ id, at }) => at - (committedAt.get(id) ?? at))
    return {
      holes,
      expected: healthy,
      arrived: new Set(arrivals.map(({ id, path }) => `${id} ${path}`)).size,
      p50Ms: rounded(median(times), 0),
      p95Ms: rounded(quantile(times, 0.95), 0),
    }
  })

const compareBlackhole = async (rounds: number, seconds: number) => {
  const measured = await inTurns(rounds, {
    none: () => measureLatency(0, seconds),
    ten: () => measureLatency(10, seconds),
  })
  const p95 = (side: 'none' | 'ten') => median(measured.map((round) => round[side].p95Ms))
  return {
    runs: measured.flatMap(({ none, ten }) => [none, ten]),
    baselineP95Ms: p95('none'),
    blackholedP95Ms: p95('ten'),
    ratio: rounded(p95('ten') / p95('none'), 2),
  }
}

/** Ours beside graphile-worker, then healthy receivers with and without ten of a hundred that never answer. */
export const webhooksBench = programOf({
  command: 'bench -- webhooks',
  title: "Webhooks beside graphile-worker's queue, and beside receivers that never answer",
  about: `From queued deliveries to all of them taken and written down, ${endpointCount} endpoints, the same POSTs by the same sender from graphile-worker, with everything that it has for batches; once only posting, once signing and recording as ours does. In turns. Then the time from commit to arrival at healthy endpoints, with none and with ten of a hundred that never answer. Goals: ours / theirs of at least 1.0, p95 beside unreachable endpoints below twice that without.`,
  options: { rounds: 9, deliveries: 6_400, seconds: 40, only: '' },
  smoke: { rounds: 3, deliveries: 1_600, seconds: 20 },
  minutes: ({ rounds, deliveries, seconds }) => 20 + (rounds * deliveries) / 5_000 + (rounds * seconds) / 20,
  missing: ({ only }) =>
    only === 'blackout' || existsSync(new URL('node_modules', peers))
      ? undefined
      : 'graphile-worker is not installed: npm ci --ignore-scripts --prefix tools/bench/peers',
  run: async ({ rounds, deliveries, seconds, only }) => {
    const queue = only === 'blackout' ? undefined : await compareQueues(deliveries, rounds)
    const blackout = only === 'queue' ? undefined : await compareBlackhole(Math.ceil(rounds / 3), seconds)
    return {
      figures: {
        ratio: queue?.ratio,
        rounds: queue?.rounds,
        queue,
        blackout,
        loadAverage: loadavg().map((load) => rounded(load)),
      },
      tables: [
        ...(queue
          ? [
              tableOfRecords(
                [
                  { queue: 'ours', ...queue.ours },
                  { queue: 'graphile-worker, posts', ...queue.graphile },
                  { queue: 'graphile-worker, signs and records', ...queue.graphileRecording },
                ],
                'Deliveries a second and CPU of each, medians:',
              ),
              tableOfRounds(
                queue.rounds.map((ratio, n) => ({ ratio, ratioRecording: queue.roundsRecording[n] ?? NaN })),
                { title: 'Ours over theirs:', goals: { ratio: '>= 1.0' } },
              ),
              tableOfFigures({ 'bytes stored for each delivery': queue.oursBytesStored }),
            ]
          : []),
        ...(blackout ? [tableOfRecords(blackout.runs, 'Healthy endpoints:'), tableOfFigures(blackout)] : []),
      ],
      holds: 'the queue was empty after each round',
    }
  },
})
