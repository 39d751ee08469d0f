import { openClickHouse } from '../../platform/db/clickhouse.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { makeClickHouseStore } from './clickhouse.ts'
import type { AttentionStore } from './port.ts'
import { makePostgresStore } from './postgres/store.ts'

/** The engine that the settings name. */
export const makeAttentionStore = (ctx: Ctx): AttentionStore => {
  const { CLICKHOUSE_URL: url } = ctx.config
  return url === undefined ? makePostgresStore() : makeClickHouseStore(ctx, openClickHouse(url))
}
