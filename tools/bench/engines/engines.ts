import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { Pool } from 'pg'
import { createDatabase, makeClusterFolder } from '../../../packages/server/dev/cluster.ts'
import { inTransaction } from '../../../packages/server/src/platform/db/db.ts'
import { openClickHouse, type ClickHouse } from '../../../packages/server/src/platform/db/clickhouse.ts'
import { migrate } from '../../../packages/server/src/platform/db/migrate.ts'
import { readConfig } from '../../../packages/server/src/platform/ops/config.ts'
import type { Ctx } from '../../../packages/server/src/platform/ops/context.ts'
import { makeLogger } from '../../../packages/server/src/platform/ops/log.ts'
import { applySchema } from '../../../packages/server/src/roles/attention.ts'
import type { BeaconBatch } from '../../../packages/server/src/tracking/engines/port.ts'
import { deliverBatch, makeAttentionStore } from '../../../packages/server/src/tracking/index.ts'
import { buildContext } from '../../../packages/server/src/wiring/index.ts'
import { installClickHouse, startClickHouse } from '../../clickhouse/start.ts'
import { closingAfter, makeFolder, open } from '../../driver/closing.ts'
import { programOf, starting, step } from '../../driver/program.ts'
import { openPostgres } from '../../driver/service.ts'
import { clickhouseQuestions, days, fillClickHouse, fillPostgres, postgresQuestions } from './rows.ts'
import { quantile } from '../../driver/rounds.ts'

const agentId = 'agt_aa00000000000000000000000b'
const figureCalls = 100
const questionCalls = 3

/** p50 and p99 in milliseconds. */
const measure = async (calls: number, work: () => Promise<unknown>): Promise<string> => {
  await work()
  const times: number[] = []
  for (let n = 0; n < calls; n += 1) {
    const startedAt = performance.now()
    await work()
    times.push(performance.now() - startedAt)
  }
  const shown = (share: number) => quantile(times, share).toFixed(1)
  return calls < 20 ? shown(0.5) : `${shown(0.5)} / ${shown(0.99)}`
}

const ratePerSecond = async (rows: number, work: () => Promise<unknown>): Promise<string> => {
  const startedAt = performance.now()
  await work()
  return Math.round(rows / ((performance.now() - startedAt) / 1_000)).toLocaleString('en')
}

type EngineFigures = Record<string, string>

const windowOf = () => ({
  agentId,
  mode: 'live' as const,
  since: new Date(Date.now() - (days - 1) * 86_400_000 - 1_234_567),
  until: null,
  site: null,
  workflow: null,
})

/** Beacons of views that sent none before. */
const batchOf = (round: number, count: number): BeaconBatch => {
  const viewedAt = new Date()
  const views = Array.from({ length: count }, (_, n) => ({
    agentId,
    mode: 'live' as const,
    sessionId: `ses_ingest_${round}_${n}`,
    viewedAt,
  }))
  const beacons = views.map((_, place) => ({
    place,
    beacon: {
      type: 'load',
      eventId: `${round}-${place}-5f3759df5f3759df`,
      clientAt: viewedAt,
      path: '/page/7',
      props: { depth: 0.5, dwell: 1_200 },
    },
  }))
  return { views, beacons }
}

const ingestRounds = 40
const ingestRows = 500

/** The rows of the views of `batchOf`, as the first beacon of a verified view leaves them. */
const insertViews = (ctx: Ctx): Promise<unknown> =>
  inTransaction(ctx, 'system', (tx) =>
    sql`
      insert into track_views (agent_id, mode, session_id, viewed_at)
      select ${agentId}, 'live', format('ses_ingest_%s_%s', round, n), pohf_now()
      from generate_series(0, ${ingestRounds - 1}::int) round, generate_series(0, ${ingestRows - 1}::int) n
      on conflict do nothing`.execute(tx),
  )

const measureStore = async (ctx: Ctx): Promise<EngineFigures> => {
  const store = makeAttentionStore(ctx)
  await insertViews(ctx)
  return {
    'funnel, p50 / p99': await measure(figureCalls, () => store.funnel(ctx, windowOf())),
    'attention report, p50 / p99': await measure(figureCalls, () => store.attention(ctx, windowOf())),
    'rows/s into PostgreSQL, 500 in a transaction': await ratePerSecond(
      ingestRounds * ingestRows,
      async () => {
        for (let round = 0; round < ingestRounds; round += 1)
          await store.recordBeacons(ctx, batchOf(round, ingestRows))
      },
    ),
  }
}

const measurePostgres = async (ctx: Ctx, owner: Pool, rows: number): Promise<EngineFigures> => {
  await fillPostgres(owner, agentId, rows)
  const { rows: sizes } = await owner.query<{ bytes: string }>(
    "select sum(pg_total_relation_size(inhrelid)) as bytes from pg_inherits where inhparent = 'track_events'::regclass",
  )
  const figures: EngineFigures = {}
  for (const [name, question] of Object.entries(postgresQuestions))
    figures[name] = await measure(questionCalls, () => owner.query(question, [agentId]))
  return {
    ...(await measureStore(ctx)),
    ...figures,
    'bytes a beacon': (Number(sizes[0]?.bytes) / rows).toFixed(0),
  }
}

const measureClickHouse = async (ctx: Ctx, db: ClickHouse, rows: number): Promise<EngineFigures> => {
  await fillClickHouse(db, agentId, rows)
  const [size] = await db.select<{ bytes: number; n: number }>(
    `SELECT sum(bytes_on_disk) AS bytes, sum(rows) AS n FROM system.parts WHERE database = '${db.database}' AND table = 'beacons' AND active`,
  )
  const figures: EngineFigures = {}
  for (const [name, question] of Object.entries(clickhouseQuestions(db)))
    figures[name] = await measure(questionCalls, () => db.select(question, { agent: agentId }))
  const store = await measureStore(ctx)
  const delivered = await ratePerSecond(ingestRounds * ingestRows, async () => {
    while ((await deliverBatch(ctx, db)) > 0) continue
  })
  return {
    ...store,
    ...figures,
    'bytes a beacon': ((size?.bytes ?? NaN) / (size?.n ?? NaN)).toFixed(1),
    'rows/s from the spool to ClickHouse': delivered,
  }
}

/** Both databases, empty, with a context for each engine. */
const openEngines = () =>
  open(async (defer) => {
    starting('PostgreSQL and ClickHouse')
    const folder = makeFolder('engines', defer)
    const clusterFolder = makeClusterFolder('pohf-engines-database-')
    defer(() => rmSync(clusterFolder, { recursive: true, force: true }))
    const postgres = await openPostgres({ folder: clusterFolder, settings: { shared_buffers: '2GB' } })
    defer(postgres.stop)
    const server = await startClickHouse(join(folder, 'clickhouse'))
    defer(server.stop)
    const url = `${server.url}/pohf`
    const databaseUrl = await createDatabase(postgres, 'pohf')
    await migrate(databaseUrl)
    await applySchema(url, undefined)
    const environment = {
      DATABASE_URL: databaseUrl,
      DATA_DIR: join(folder, 'secrets'),
      DATABASE_STATEMENT_SECONDS: '600',
    }
    const contextOf = (more: Record<string, string>): Ctx => {
      const config = readConfig({ ...environment, ...more })
      const ctx = buildContext({ config, log: makeLogger('silent'), name: 'pohf-bench' })
      defer(() => ctx.db.end())
      return ctx
    }
    const [plain, withClickHouse] = [contextOf({}), contextOf({ CLICKHOUSE_URL: url })]
    const owner = new Pool({ connectionString: databaseUrl, max: 1 })
    defer(() => owner.end())
    const db = openClickHouse(url)
    defer(() => db.close())
    return { plain, withClickHouse, owner, db }
  })

/** Both engines with the same rows of one agent. */
export const engines = programOf({
  command: 'bench -- engines',
  title: 'Engines of beacons',
  about: `One agent, ${days} days, three beacons a view, synthetic rows; a window of 29 days that begins within an hour. Milliseconds, one call at a time: ${figureCalls} calls of a report, the median of ${questionCalls} of a question over rows. ClickHouse is chdb behind HTTP.`,
  options: { rows: 1_000_000, engine: 'both' },
  smoke: { rows: 3_000 },
  minutes: ({ rows }) => 30 + rows / 100_000,
  missing: () => installClickHouse(),
  run: ({ rows, engine }) =>
    closingAfter(async (defer) => {
      const { plain, withClickHouse, owner, db, close } = await openEngines()
      defer(close)
      const none: EngineFigures = {}
      step('ClickHouse')
      const clickhouse = engine === 'postgresql' ? none : await measureClickHouse(withClickHouse, db, rows)
      step('PostgreSQL')
      const postgres = engine === 'clickhouse' ? none : await measurePostgres(plain, owner, rows)
      const names = [...new Set([...Object.keys(clickhouse), ...Object.keys(postgres)])]
      return {
        figures: { rows, postgres, clickhouse },
        tables: [
          {
            title: `With ${rows.toLocaleString('en')} rows:`,
            head: ['What', 'PostgreSQL', 'ClickHouse'],
            rows: names.map((name) => [name, postgres[name] ?? '-', clickhouse[name] ?? '-']),
          },
        ],
        holds: 'measured',
      }
    }),
})
