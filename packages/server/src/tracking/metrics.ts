import { ApiResponse, type Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, readNow } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { findViewSummary, listViews } from '../sessions/index.ts'
import { csvMediaType } from '../platform/http/csv.ts'
import { writeCsv } from './csv.ts'
import { readCursor, metricsRowOf, windowStart, writeCursor, type ViewCursor } from './rules.ts'

type Query = {
  readonly format: 'json' | 'csv'
  readonly since?: Date | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

const defaultDays = 7
const defaultLimit = 100
const limitMax = { json: 1_000, csv: 10_000 } as const

const refuse = (path: string, code: string, message: string): never => {
  throw new Refusal('validation_failed', { details: [{ path, code, message }] })
}

const readPosition = (cursor: string | undefined): ViewCursor | undefined =>
  cursor === undefined
    ? undefined
    : (readCursor(cursor) ?? refuse('query.cursor', 'invalid', 'must be a nextCursor of this endpoint'))

/** One page of views, oldest first, and the summary of the whole window. */
const readPage = async (ctx: Ctx, agent: Agent, query: Query) => {
  const limit = query.limit ?? defaultLimit
  if (limit > limitMax[query.format])
    refuse('query.limit', 'too_big', `must be at most ${limitMax[query.format]} as ${query.format}`)
  const after = readPosition(query.cursor)
  return inTransaction(ctx, agent.agentId, async (tx) => {
    const until = await readNow(tx)
    const since = windowStart(query.since, until, defaultDays)
    const tenant = { agentId: agent.agentId, mode: agent.mode }
    const found = await listViews(tx, {
      ...tenant,
      // A cursor older than the default window still continues from its position.
      since: query.since === undefined && after ? after.at : since,
      ...(after ? { after } : {}),
      limit: limit + 1,
    })
    const page = found.slice(0, limit)
    const last = page.at(-1)
    const hasMore = found.length > limit
    const summary = await findViewSummary(tx, { ...tenant, since })
    return {
      summary: { ...summary, since: since.toISOString(), until: until.toISOString() },
      rows: page.map(metricsRowOf),
      nextCursor: hasMore && last ? writeCursor(last) : null,
      hasMore,
    }
  })
}

export const metrics = async (ctx: Ctx, agent: Agent, query: Query) => {
  const page = await readPage(ctx, agent, query)
  if (query.format === 'json') return new ApiResponse(page)
  return new ApiResponse(undefined, {
    headers: {
      'content-disposition': 'attachment; filename="metrics.csv"',
      ...(page.nextCursor === null ? {} : { 'x-next-cursor': page.nextCursor }),
    },
    raw: { mediaType: csvMediaType, text: writeCsv(page.rows) },
  })
}
