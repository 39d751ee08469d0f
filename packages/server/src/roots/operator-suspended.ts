import { inTransaction } from '../platform/db/db.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { listSuspensions } from './store.ts'

type Query = { readonly after?: string | undefined; readonly limit?: number | undefined }

/** A cursor is a kind, which has no space, and a name. */
const readCursor = (cursor: string) => {
  const space = cursor.indexOf(' ')
  return space < 0
    ? { kind: cursor, name: '' }
    : { kind: cursor.slice(0, space), name: cursor.slice(space + 1) }
}

/** Which models, apps and issuers no credential may rest on. */
export const operatorSuspended = (ctx: Ctx, { after = '', limit = 50 }: Query) =>
  inTransaction(ctx, 'system', async (tx) => {
    const rows = await listSuspensions(tx, { after: readCursor(after), limit })
    const last = rows.at(-1)
    return {
      suspended: rows.map((row) => ({
        kind: row.kind,
        name: row.name,
        suspendedAt: row.suspended_at.toISOString(),
        from: row.from_at?.toISOString() ?? null,
        reason: row.reason,
      })),
      nextCursor: last && rows.length === limit ? `${last.kind} ${last.name}` : null,
    }
  })
