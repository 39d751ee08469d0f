import { createHash } from 'node:crypto'
import type { Agent } from './call.ts'
import { timeOfId } from '../ops/ids.ts'
import { readSignedToken, signToken, type SigningCtx } from '../ops/tokens.ts'
import { Refusal } from './errors.ts'

/** A position in a list of an agent, newest first. Times are whole milliseconds. */
export type Position = { readonly at: Date; readonly id: string }

/** The query parameters that every list accepts. */
export type PageQuery = {
  readonly since?: Date | undefined
  readonly until?: Date | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Which rows a statement reads for a page. */
export type PageScan = {
  readonly agentId: string
  readonly since: Date
  readonly until: Date | undefined
  readonly before: Position | undefined
  /** The most rows that it reads: those of the page and one more, or more where a filter drops some. */
  readonly rowsMax: number
}

/** A list that a cursor belongs to: the same rows for another agent, or with another filter, are another list. */
type List = { readonly name: string; readonly agent: Agent; readonly query: PageQuery }

const defaultLimit = 25
/** The most rows that a page with a filter reads: about 10 ms. */
const filteredRowsMax = 500
/** The clocks of two nodes differ by less than this. */
const clockToleranceMs = 86_400_000

const signerOf = ({ secrets, ids }: SigningCtx) => ({ keys: secrets.accepted('cursor'), cell: ids.cell })

/** The filters of a list as 128 bits. */
const filtersOf = ({ cursor: _cursor, limit: _limit, ...filters }: PageQuery): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.entries(filters).toSorted(([a], [b]) => (a < b ? -1 : 1))))
    .digest()
    .subarray(0, 16)
    .toString('base64url')

const writeCursor = (ctx: SigningCtx, { name, agent, query }: List, { at, id }: Position): string =>
  signToken(signerOf(ctx), 'cur_', [name, agent.agentId, filtersOf(query), at.getTime(), id])

/** The position of a cursor. Refuses one that is changed, of another list, of another agent or of other filters. */
const readCursor = (ctx: SigningCtx, { name, agent, query }: List, cursor: string): Position => {
  const [ofName, ofAgent, ofFilters, at, id] = readSignedToken(signerOf(ctx), 'cur_', cursor) ?? []
  const isOfList = ofName === name && ofAgent === agent.agentId && ofFilters === filtersOf(query)
  if (!isOfList || typeof at !== 'number' || typeof id !== 'string')
    throw new Refusal('validation_failed', {
      details: [
        {
          path: 'query.cursor',
          code: 'invalid',
          message: 'must be a nextCursor of this endpoint, with the same filters',
        },
      ],
    })
  return { at: new Date(at), id }
}

/**
 * Reads one page of a list (keyset pagination). `scan` reads at most `rowsMax` rows before a position, whatever the filter;
 * `isListed` drops those that the filter does not match. Where the statement read all it may, the list continues after the
 * last row that it read.
 */
export const readPage = async <Row extends Position>(
  ctx: SigningCtx,
  list: List,
  options: {
    readonly scan: (scan: PageScan) => Promise<readonly Row[]>
    /** Undefined where every row is listed. */
    readonly isListed: ((row: Row) => boolean) | undefined
  },
): Promise<{ page: Row[]; nextCursor: string | null; hasMore: boolean }> => {
  const { agent, query } = list
  const limit = query.limit ?? defaultLimit
  const { isListed } = options
  const rowsMax = isListed ? filteredRowsMax : limit + 1
  // No row is older than its agent: without this, the statement would look into every month.
  const madeAtMs = timeOfId('agt_', agent.agentId).getTime() - clockToleranceMs
  const rows = await options.scan({
    agentId: agent.agentId,
    since: new Date(Math.max(query.since?.getTime() ?? 0, madeAtMs, 0)),
    until: query.until,
    before: query.cursor === undefined ? undefined : readCursor(ctx, list, query.cursor),
    rowsMax,
  })
  const listed = isListed ? rows.filter(isListed) : [...rows]
  const page = listed.slice(0, limit)
  const last = listed.length > limit ? page.at(-1) : rows.length === rowsMax ? rows.at(-1) : undefined
  return { page, nextCursor: last ? writeCursor(ctx, list, last) : null, hasMore: last !== undefined }
}
