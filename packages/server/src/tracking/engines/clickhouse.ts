import { attentionPagesMax } from '@pohf/protocol'
import type { ClickHouse } from '../../platform/db/clickhouse.ts'
import { inSingleStatement, inTransaction, type Tenant } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { findFunnelFigures, listPageFigures } from '../clickhouse/store.ts'
import { beaconFields, conversionLine } from '../spool/body.ts'
import { findSpoolState, insertSpoolEntries, type SpoolState } from '../spool/store.ts'
import { recordBeacons } from '../store.ts'
import type { AttentionStore, RecordedView } from './port.ts'
import { makePostgresStore, readVerifiedViews, readViewFigures } from './postgres/store.ts'

const viewOf = ({ agentId, mode, sessionId, viewedAt, segment, page }: RecordedView) => ({
  agentId,
  mode,
  sessionId,
  viewedAt,
  segment,
  page,
})

/** How long a process relies on the size of the spool that it read last. */
const sizeKnownMs = 1_000

/**
 * Refuses with 503 while ClickHouse is away for so long that the spool is full: a caller must not be told that a beacon is
 * stored, and the disk of PostgreSQL must not fill up.
 */
const makeBound = (ctx: Ctx) => {
  let readAt = -Infinity
  let isFull = false
  return async (readState: () => Promise<SpoolState>): Promise<void> => {
    const now = ctx.clock.now().getTime()
    if (now - readAt >= sizeKnownMs) {
      readAt = now
      isFull = (await readState()).entries >= ctx.config.CLICKHOUSE_SPOOL_ENTRIES
    }
    if (isFull) throw new Refusal('overloaded', { headers: { 'retry-after': '30' } })
  }
}

/** While ClickHouse is away, beacons are still taken, and figures get 503. */
const orOverloaded = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((cause: unknown) => {
    throw new Refusal('overloaded', { cause, headers: { 'retry-after': '10' } })
  })

/**
 * Raw rows of beacons and conversions in ClickHouse, and their figures, which it counts by the hour. They get there by the
 * spool, so that figures are those of `countedUntil`. Figures of views stay with the sessions in PostgreSQL.
 */
export const makeClickHouseStore = (ctx: Ctx, clickhouse: ClickHouse): AttentionStore => {
  const postgres = makePostgresStore()
  const checkBound = makeBound(ctx)
  return {
    name: 'clickhouse',
    recordBeacons: async (recordCtx, batch) => {
      await checkBound(() => inTransaction(recordCtx, 'system', findSpoolState))
      return inSingleStatement(recordCtx, (tx) =>
        recordBeacons(tx, batch, {
          spooled: true,
          columnsOf: (beacon) => ({
            fields: beaconFields({ ...beacon, props: beacon.props && JSON.stringify(beacon.props) }),
          }),
        }),
      )
    },
    recordConversion: async (tx, conversion) => {
      await checkBound(() => findSpoolState(tx))
      await insertSpoolEntries(tx, [
        {
          ...viewOf(conversion.view),
          kind: 'conversions',
          withView: conversion.isFirstOfView,
          lines: [conversionLine(conversion)],
        },
      ])
    },
    summary: postgres.summary,
    funnel: async (readCtx, window) => {
      const { views, countedUntil } = await inTransaction(readCtx, window.agentId as Tenant, async (tx) => ({
        // Read before the figures: these then contain at least everything up to this time, and perhaps rows that were
        // delivered meanwhile.
        countedUntil: (await findSpoolState(tx)).oldestAt,
        views: await readVerifiedViews(tx, window),
      }))
      return { views, ...(await orOverloaded(findFunnelFigures(clickhouse, window))), countedUntil }
    },
    attention: async (readCtx, window) => {
      const figures = await inTransaction(readCtx, window.agentId as Tenant, async (tx) => ({
        countedUntil: (await findSpoolState(tx)).oldestAt,
        ...(await readViewFigures(tx, window)),
      }))
      return { ...figures, pages: await orOverloaded(listPageFigures(clickhouse, window, attentionPagesMax)) }
    },
  }
}
