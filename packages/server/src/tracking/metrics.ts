import { ApiResponse, type Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, readNow } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { findViewPageEnd, listViews } from '../sessions/index.ts'
import { csvMediaType } from '../platform/http/csv.ts'
import type { AttentionStore } from './engines/port.ts'
import { csvPieces } from './csv.ts'
import { readCursor, metricsRowOf, windowStart, writeCursor, type ViewCursor } from './rules.ts'

type Query = {
  readonly format: 'json' | 'csv'
  readonly since?: Date | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

const defaultDays = 7
const defaultLimit = 100
/** Rows in memory at a time. */
const pieceRows = 1_000
const limitMax = { json: 1_000, csv: 10_000 } as const

const refuse = (path: string, code: string, message: string): never => {
  throw new Refusal('validation_failed', { details: [{ path, code, message }] })
}

const readPosition = (cursor: string | undefined): ViewCursor | undefined =>
  cursor === undefined
    ? undefined
    : (readCursor(cursor) ?? refuse('query.cursor', 'invalid', 'must be a nextCursor of this endpoint'))

/** The rows that a query asks for. */
const pageOf = (agent: Agent, query: Query, now: Date) => {
  const after = readPosition(query.cursor)
  const since = windowStart(query.since, now, defaultDays)
  const page = {
    agentId: agent.agentId,
    mode: agent.mode,
    // A cursor older than the default window still continues from its position.
    since: query.since === undefined && after ? after.at : since,
    after,
    limit: query.limit ?? defaultLimit,
  }
  return { since, page }
}

/** One page of views, oldest first, and the summary of the whole window. */
const readPage = (ctx: Ctx, store: AttentionStore, agent: Agent, query: Query) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const until = await readNow(tx)
    const { since, page } = pageOf(agent, query, until)
    const found = await listViews(tx, { ...page, limit: page.limit + 1 })
    const rows = found.slice(0, page.limit)
    const last = rows.at(-1)
    const hasMore = found.length > page.limit
    const { agentId, mode } = page
    const window = { agentId, mode, since, until: null, site: null, workflow: null }
    const summary = await store.summary(tx, window)
    return {
      summary: { ...summary, since: since.toISOString(), until: until.toISOString() },
      rows: rows.map(metricsRowOf),
      nextCursor: hasMore && last ? writeCursor(last) : null,
      hasMore,
    }
  })

type Page = ReturnType<typeof pageOf>['page']

/** The rows of a page, some at a time, each in a transaction of its own: a slow reader holds neither a connection nor memory. */
const readPieces = async function* (ctx: Ctx, agent: Agent, page: Page, upTo: ViewCursor) {
  for (let after = page.after; ;) {
    const rows = await inTransaction(ctx, agent.agentId, (tx) =>
      listViews(tx, { ...page, after, upTo, limit: pieceRows }),
    )
    yield rows.map(metricsRowOf)
    const last = rows.at(-1)
    if (!last || rows.length < pieceRows) return
    after = last
  }
}

const noRows = async function* (): AsyncGenerator<never> {}

/** The same rows as CSV. Where the page ends is known before the first row is sent, for the header with the cursor. */
const streamCsv = async (ctx: Ctx, agent: Agent, query: Query) => {
  const { page, end } = await inTransaction(ctx, agent.agentId, async (tx) => {
    const asked = pageOf(agent, query, await readNow(tx))
    return { page: asked.page, end: await findViewPageEnd(tx, asked.page) }
  })
  return new ApiResponse(undefined, {
    headers: {
      'content-disposition': 'attachment; filename="metrics.csv"',
      ...(end?.hasMore ? { 'x-next-cursor': writeCursor(end.last) } : {}),
    },
    stream: {
      mediaType: csvMediaType,
      pieces: csvPieces(end ? readPieces(ctx, agent, page, end.last) : noRows()),
    },
  })
}

export const metrics = async (ctx: Ctx, store: AttentionStore, agent: Agent, query: Query) => {
  if ((query.limit ?? defaultLimit) > limitMax[query.format])
    refuse('query.limit', 'too_big', `must be at most ${limitMax[query.format]} as ${query.format}`)
  return query.format === 'csv'
    ? streamCsv(ctx, agent, query)
    : new ApiResponse(await readPage(ctx, store, agent, query))
}
