import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { initialHash, isChainIntact } from './rules.ts'
import { findAuditHash, listAudit } from './store.ts'

type Query = {
  readonly operatorId?: string | undefined
  readonly action?: string | undefined
  readonly target?: string | undefined
  readonly order?: 'oldest' | 'newest' | undefined
  readonly after?: number | undefined
  readonly limit?: number | undefined
}
type Row = Awaited<ReturnType<typeof listAudit>>[number]

/** The most entries that a page with a filter reads: each is hashed again, about 10 ms for all. */
const filteredRowsMax = 1_000

const entryOf = (row: Row) => ({
  seq: row.seq,
  at: row.at,
  operatorId: row.operator_id,
  action: row.action,
  target: row.target,
  details: row.details,
  prevHash: row.prev_hash,
  hash: row.hash,
})

/** Whether these rows, in the order of the log, are unchanged and continue the entry `before` them. */
const isIntactAfter = async (tx: Tx, before: bigint, rows: readonly Row[]): Promise<boolean> => {
  const previous = before === 0n ? { seq: 0n, hash: initialHash } : await findAuditHash(tx, before)
  return previous !== undefined && isChainIntact(previous, rows.map(entryOf))
}

const isListed = (row: Row, { operatorId, action, target }: Query): boolean =>
  (operatorId === undefined || row.operator_id === operatorId) &&
  (action === undefined || row.action === action) &&
  (target === undefined || row.target === target)

const checkChain = async (
  tx: Tx,
  rows: readonly Row[],
  after: bigint,
  isNewest: boolean,
): Promise<boolean> => {
  if (!isNewest) return isIntactAfter(tx, after, rows)
  const [newest, oldest] = [rows[0], rows.at(-1)]
  // The log begins with entry 1, so only a page before entry 1, or of an empty log, may have no rows.
  if (!newest || !oldest) return after <= 1n
  const continues = after === 0n || newest.seq === after - 1n
  return continues && (await isIntactAfter(tx, oldest.seq - 1n, rows.toReversed()))
}

/** Reads a page of the log and checks that what it read is unchanged and continues the entry before it. */
export const audit = async (ctx: Ctx, query: Query) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { limit = 100 } = query
    const isNewest = query.order === 'newest'
    const after = BigInt(query.after ?? 0)
    const isFiltered = (query.operatorId ?? query.action ?? query.target) !== undefined
    const rowsMax = isFiltered ? filteredRowsMax : limit
    const rows = await listAudit(tx, { after, isNewest, limit: rowsMax })
    const listed = rows.filter((row) => isListed(row, query))
    const page = listed.slice(0, limit)
    const last = listed.length > limit ? page.at(-1) : rows.length === rowsMax ? rows.at(-1) : undefined
    return {
      entries: page.map(entryOf).map((entry) => ({
        ...entry,
        seq: Number(entry.seq),
        at: entry.at.toISOString(),
        prevHash: entry.prevHash.toString('hex'),
        hash: entry.hash.toString('hex'),
      })),
      intact: await checkChain(tx, rows, after, isNewest),
      nextCursor: last && !(isNewest && last.seq === 1n) ? Number(last.seq) : null,
    }
  })
