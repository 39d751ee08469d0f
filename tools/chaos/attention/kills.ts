import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { closingAfter } from '../../driver/closing.ts'
import { step } from '../../driver/program.ts'
import { inTransaction } from '../../../packages/server/src/platform/db/db.ts'
import { compareStored, findSpoolState } from '../../../packages/server/src/tracking/index.ts'
import { pollUntil } from '../../../packages/server/test/fixtures/polling.ts'
import { addViews, openDeployment, sendUntilAnswered, type Deployment } from './load.ts'
import { waitUntilReady } from '../../driver/service.ts'

export type KillOptions = {
  readonly engine: 'postgresql' | 'clickhouse'
  readonly kills: number
  /** ClickHouse without tokens: a batch that is sent again is stored again. */
  readonly plantDuplicates: boolean
}

const views = 400
const clients = 8
/** A beacon of each view is an engagement. */
const types = ['load', 'scroll'] as const

const register = async (baseUrl: string): Promise<{ agentId: string; apiKey: string }> => {
  const answer = await fetch(`${baseUrl}/api/agents/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Battery', contactEmail: 'battery@example.com', mode: 'live' }),
  })
  return (await answer.json()) as { agentId: string; apiKey: string }
}

/** Beacons of any views from several clients at once, until it is stopped. Returns the acknowledged event ids. */
const startLoad = (baseUrl: string, tokens: readonly string[]) => {
  const stop = new AbortController()
  const acknowledged = new Set<string>()
  const seen = new Set<string>()
  const run = async (client: number): Promise<void> => {
    for (let n = client; !stop.signal.aborted; n += clients) {
      const vt = tokens[n % tokens.length] ?? ''
      const eventId = randomUUID()
      const type = types[Math.floor(n / tokens.length) % 2] ?? 'load'
      if (!(await sendUntilAnswered(baseUrl, { vt, eventId, type, path: '/' }, stop.signal))) return
      acknowledged.add(eventId)
      seen.add(vt)
      // A view takes 60 beacons a minute, and one above that is answered and not stored: 8 clients send 48 to each of 400 views.
      await setTimeout(25)
    }
  }
  const running = Array.from({ length: clients }, (_, client) => run(client))
  return {
    acknowledged,
    seen,
    stop: async () => {
      stop.abort()
      await Promise.all(running)
    },
  }
}

type WithClickHouse = Deployment & { readonly clickhouse: NonNullable<Deployment['clickhouse']> }
const usesClickHouse = (deployment: Deployment): deployment is WithClickHouse =>
  deployment.clickhouse !== undefined

/** Whether ClickHouse has stored a batch that is not marked as delivered yet. */
const hasUnmarkedBatch = async ({ owner, clickhouse }: WithClickHouse): Promise<boolean> => {
  const [stored] = await clickhouse.select<{ n: number }>(
    `SELECT toUInt32(count()) AS n FROM ${clickhouse.database}.beacons`,
  )
  const { rows } = await owner.query<{ n: number }>(
    'select coalesce(sum(beacons), 0)::int as n from attention_batches where delivered_at is not null',
  )
  return (stored?.n ?? 0) > (rows[0]?.n ?? 0)
}

/** A worker that was killed before may have left its lease, which lasts a minute. */
const unmarkedMs = 90_000
const attemptsMax = 3

/**
 * Kills the worker after ClickHouse has stored a batch and before it is marked as delivered, so that it is sent again: left to
 * chance, that depends on the speed of the machine. Returns how many kills it took.
 */
const killWithinDelivery = async (deployment: WithClickHouse): Promise<number> => {
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    await pollUntil(
      'ClickHouse has a batch that is not marked as delivered',
      () => hasUnmarkedBatch(deployment).catch(() => false),
      unmarkedMs,
    )
    await deployment.kills.worker()
    // The lease of the killed worker keeps the next one from delivering.
    if (await hasUnmarkedBatch(deployment)) return attempt
  }
  throw new Error(`${attemptsMax} workers marked their batch as delivered before they were killed`)
}

/** Kills in turn. Only the last worker is killed within a delivery: its lease stops all deliveries for a minute. */
const killInTurn = async (deployment: Deployment, count: number) => {
  const { kills, baseUrl } = deployment
  const names = Object.keys(kills) as (keyof typeof kills)[]
  const counts: Record<string, number> = {}
  const kill = async (name: (typeof names)[number], isLast: boolean): Promise<number> => {
    if (name === 'worker' && isLast && usesClickHouse(deployment)) return killWithinDelivery(deployment)
    await kills[name]?.()
    return 1
  }
  for (let n = 0; n < count; n += 1) {
    const name = names[n % names.length] ?? 'api'
    await setTimeout(400 + Math.random() * 1_200)
    counts[name] = (counts[name] ?? 0) + (await kill(name, n + names.length >= count))
  }
  await waitUntilReady(baseUrl)
  return counts
}

const storedIds = async ({ owner, clickhouse }: Deployment): Promise<string[]> => {
  if (clickhouse)
    return (
      // Without FINAL: what is stored twice must be seen.
      (
        await clickhouse.select<{ id: string }>(
          `SELECT assumeNotNull(client_event_id) AS id FROM ${clickhouse.database}.beacons WHERE client_event_id IS NOT NULL`,
        )
      ).map(({ id }) => id)
    )
  const { rows } = await owner.query<{ id: string }>('select client_event_id as id from track_events')
  return rows.map(({ id }) => id)
}

const hourSums = async ({ owner, clickhouse }: Deployment) => {
  if (clickhouse) {
    const [row] = await clickhouse.select<{ landed: number; engaged: number }>(
      `SELECT sum(landed) AS landed, sum(engaged) AS engaged FROM ${clickhouse.database}.beacon_hours`,
    )
    return row
  }
  const { rows } = await owner.query<{ landed: number; engaged: number }>(
    'select sum(landed)::int as landed, sum(engaged)::int as engaged from beacon_hours',
  )
  return rows[0]
}

const countsOfViews = async ({ owner }: Deployment) => {
  const { rows } = await owner.query<{ beacons: number; landed: number; engaged: number }>(
    `select sum(beacons)::int as beacons, count(*) filter (where beacons > 0)::int as landed,
       count(*) filter (where engaged)::int as engaged from track_views`,
  )
  return rows[0] ?? { beacons: 0, landed: 0, engaged: 0 }
}

/** Kills processes under load and compares what was acknowledged with what is stored and counted. */
export const runAttentionKills = (options: KillOptions) =>
  closingAfter(async (defer) => {
    const deployment = await openDeployment(options.engine, {
      // Widens the time in which a batch is stored and not acknowledged.
      answerDelayMs: 300,
      ignoreTokens: options.plantDuplicates,
    })
    defer(deployment.close)
    const { agentId } = await register(deployment.baseUrl)
    const load = startLoad(deployment.baseUrl, await addViews(deployment, agentId, views))
    step(`${options.kills} kills with ${options.engine}`)
    const kills = await killInTurn(deployment, options.kills)
    await load.stop()
    await pollUntil(
      'everything is delivered',
      async () => (await inTransaction(deployment.ctx, 'system', findSpoolState)).entries === 0,
      // The lease of a killed worker runs out after a minute.
      150_000,
    )
    const ids = await storedIds(deployment)
    const stored = new Set(ids)
    const [figures, truth] = [await hourSums(deployment), await countsOfViews(deployment)]
    const lost = [...load.acknowledged].filter((id) => !stored.has(id)).length
    const faults = [
      ...(lost > 0 ? [`${lost} acknowledged beacons are not stored`] : []),
      ...(ids.length === stored.size ? [] : [`${ids.length - stored.size} beacons are stored twice`]),
      ...(ids.length === truth.beacons
        ? []
        : [`${ids.length} beacons are stored, and ${truth.beacons} were counted`]),
      ...(figures?.landed === truth.landed && figures.engaged === truth.engaged
        ? []
        : [`figures are ${JSON.stringify(figures)}, and should be ${JSON.stringify(truth)}`]),
    ]
    const { clickhouse } = deployment
    const found = clickhouse && (await compareStored(deployment.ctx, clickhouse, 100_000))
    if (found && !found.ok) faults.push('inspect finds a difference')
    return {
      engine: options.engine,
      kills,
      acknowledged: load.acknowledged.size,
      stored: ids.length,
      batches: found?.batches ?? 0,
      lost,
      faults,
    }
  })
