import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { initialHash, isChainIntact } from './rules.ts'
import { findAuditHash, listAudit } from './store.ts'

/** Reads a page of the log and checks that it is unchanged and continues the entry before it. */
export const audit = async (ctx: Ctx, page: { after?: number | undefined; limit?: number | undefined }) =>
  inTransaction(ctx, 'system', async (tx) => {
    const after = BigInt(page.after ?? 0)
    const rows = await listAudit(tx, after, page.limit ?? 100)
    const previous = after === 0n ? { seq: 0n, hash: initialHash } : await findAuditHash(tx, after)
    const entries = rows.map((row) => ({
      seq: row.seq,
      at: row.at,
      operatorId: row.operator_id,
      action: row.action,
      target: row.target,
      details: row.details,
      prevHash: row.prev_hash,
      hash: row.hash,
    }))
    return {
      entries: entries.map((entry) => ({
        ...entry,
        seq: Number(entry.seq),
        at: entry.at.toISOString(),
        hash: entry.hash.toString('hex'),
      })),
      intact: previous !== undefined && isChainIntact(previous, entries),
    }
  })
