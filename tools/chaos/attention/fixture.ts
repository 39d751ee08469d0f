import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { openClickHouse } from '../../../packages/server/src/platform/db/clickhouse.ts'
import { inTransaction } from '../../../packages/server/src/platform/db/db.ts'
import { applySchema } from '../../../packages/server/src/roles/attention.ts'
import { deliverBatch, findSpoolState } from '../../../packages/server/src/tracking/index.ts'
import { openHarness, type Harness } from '../../../packages/server/test/fixtures/harness.ts'
import { installClickHouse, startClickHouse } from '../../clickhouse/start.ts'

/** A ClickHouse of its own with the tables. */
export const openTables = async () => {
  const missing = installClickHouse()
  if (missing !== undefined) throw new Error(missing)
  const folder = mkdtempSync(join(tmpdir(), 'pohf-clickhouse-'))
  const server = await startClickHouse(folder)
  const url = `${server.url}/pohf`
  await applySchema(url, undefined)
  const clickhouse = openClickHouse(url)
  return {
    url,
    clickhouse,
    /** Sends all that waits, as the worker does. */
    deliver: async ({ ctx }: Pick<Harness, 'ctx'>): Promise<void> => {
      for (;;) {
        if ((await deliverBatch(ctx, clickhouse)) > 0) continue
        const { entries } = await inTransaction(ctx, 'system', findSpoolState)
        if (entries === 0) return
        // Another process has the lease.
        await setTimeout(20)
      }
    },
    close: async () => {
      await clickhouse.close()
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A server with ClickHouse as its engine, for the contract of engines. */
export const openOnClickHouse = async () => {
  const tables = await openTables()
  const harness = await openHarness({ CLICKHOUSE_URL: tables.url })
  return {
    tables,
    harness: {
      ...harness,
      close: async () => {
        await harness.close()
        await tables.close()
      },
    },
    deliver: () => tables.deliver(harness),
  }
}
