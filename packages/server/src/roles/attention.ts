/** The parts of the server that `pohf attention` uses. */
import { inTransaction } from '../platform/db/db.ts'
import { defaultDatabase, openClickHouse, type ClickHouse } from '../platform/db/clickhouse.ts'
import { readConfig } from '../platform/ops/config.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { makeLogger } from '../platform/ops/log.ts'
import * as tracking from '../tracking/index.ts'
import { buildContext } from '../wiring/context.ts'

export class ClickHouseNotConfigured extends Error {
  constructor() {
    super('CLICKHOUSE_URL is not set')
  }
}

const connect = (url: string | undefined): ClickHouse => {
  if (url === undefined) throw new ClickHouseNotConfigured()
  return openClickHouse(url)
}

/** The statements that make the tables. Needs no settings: the name of the database is that of CLICKHOUSE_URL, if given. */
export const readSchema = (url: string | undefined, cluster: string | undefined): string[] => {
  const database = url === undefined ? defaultDatabase : openClickHouse(url).database
  return tracking.schemaStatements(database, cluster)
}

export const applySchema = async (url: string | undefined, cluster: string | undefined): Promise<number> => {
  const clickhouse = connect(url)
  try {
    const statements = readSchema(url, cluster)
    for (const statement of statements) await clickhouse.run(statement)
    return statements.length
  } finally {
    await clickhouse.close()
  }
}

/** Works with the settings of the server, beside its processes. */
const withEngine = async <T>(work: (ctx: Ctx, clickhouse: ClickHouse) => Promise<T>): Promise<T> => {
  const config = readConfig()
  const clickhouse = connect(config.CLICKHOUSE_URL)
  const ctx = buildContext({ config, log: makeLogger('silent'), name: 'pohf-attention' })
  try {
    return await work(ctx, clickhouse)
  } finally {
    await Promise.all([ctx.db.end(), clickhouse.close()])
  }
}

export const compareStored = (batches: number): Promise<tracking.Inspection> =>
  withEngine((ctx, clickhouse) => tracking.compareStored(ctx, clickhouse, batches))

export const rebuild = (months: readonly number[] | undefined) =>
  withEngine((ctx, clickhouse) => tracking.rebuild(ctx, clickhouse, months))

export const backfill = (to: 'clickhouse' | 'postgresql', report: (copied: tracking.CopyProgress) => void) =>
  withEngine((ctx, clickhouse) =>
    to === 'clickhouse'
      ? tracking.backfill(ctx, clickhouse, report)
      : tracking.copyBack(ctx, clickhouse, report),
  )

export const erase = (agentId: string, sessionId: string | null) =>
  withEngine((ctx) =>
    inTransaction(ctx, 'system', (tx) => tracking.insertErasure(tx, { agentId, sessionId })),
  )
