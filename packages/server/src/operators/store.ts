import { sql } from 'kysely'
import { now, readNow, type Tx } from '../platform/db/db.ts'
import { initialHash, hashEntry, type AuditEntry } from './rules.ts'

export const insertOperator = async (
  tx: Tx,
  operator: { operatorId: string; name: string; keyHash: Buffer; madeBy: string | null },
): Promise<void> => {
  await tx
    .insertInto('operators')
    .values({
      operator_id: operator.operatorId,
      name: operator.name,
      key_hash: operator.keyHash,
      made_by: operator.madeBy,
    })
    .execute()
}

export const findOperatorByKey = async (tx: Tx, keyHash: Buffer) =>
  tx
    .selectFrom('operators')
    .select(['operator_id', 'name', 'made_by'])
    .where('key_hash', '=', keyHash)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()

/**
 * Locks an operator against revocation until the commit; false if the operator is revoked. Rows that are inserted under the
 * lock commit before a waiting revocation continues, so the revocation deletes them.
 */
export const lockOperator = async (tx: Tx, operatorId: string): Promise<boolean> => {
  const row = await tx
    .selectFrom('operators')
    .select('operator_id')
    .where('operator_id', '=', operatorId)
    .where('revoked_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return row !== undefined
}

export const listOperators = async (tx: Tx) =>
  tx
    .selectFrom('operators')
    .select(['operator_id', 'name', 'created_at', 'revoked_at'])
    .orderBy('operator_id')
    .limit(1_000)
    .execute()

export const updateOperatorRevoked = async (tx: Tx, operatorId: string): Promise<boolean> => {
  const result = await tx
    .updateTable('operators')
    .set({ revoked_at: now() })
    .where('operator_id', '=', operatorId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

const auditColumns = ['seq', 'at', 'operator_id', 'action', 'target', 'details', 'prev_hash', 'hash'] as const

/** Appends the next entry of the chain. One at a time: the lock lasts until the commit. */
export const insertAudit = async (tx: Tx, entry: Omit<AuditEntry, 'seq' | 'at'>): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtextextended('operator_audit', 0))`.execute(tx)
  const last = await tx
    .selectFrom('operator_audit')
    .select(['seq', 'hash'])
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  const at = await readNow(tx)
  const line: AuditEntry = { ...entry, seq: (last?.seq ?? 0n) + 1n, at }
  const previous = last?.hash ?? initialHash
  await tx
    .insertInto('operator_audit')
    .values({
      seq: line.seq,
      at,
      operator_id: line.operatorId,
      action: line.action,
      target: line.target,
      details: JSON.stringify(line.details),
      prev_hash: previous,
      hash: hashEntry(previous, line),
    })
    .execute()
}

export const findAuditHash = async (tx: Tx, seq: bigint) =>
  tx.selectFrom('operator_audit').select(['seq', 'hash']).where('seq', '=', seq).executeTakeFirst()

/**
 * Entries after the number `after`, in the order of the log. With `isNewest`, the entries before `after`, newest first; 0
 * then means from the newest entry.
 */
export const listAudit = async (
  tx: Tx,
  page: { readonly after: bigint; readonly isNewest: boolean; readonly limit: number },
) => {
  const query = tx.selectFrom('operator_audit').select(auditColumns).limit(page.limit)
  if (!page.isNewest) return query.where('seq', '>', page.after).orderBy('seq').execute()
  return query
    .$if(page.after > 0n, (narrow) => narrow.where('seq', '<', page.after))
    .orderBy('seq', 'desc')
    .execute()
}

/** How many rows one statement deletes: a deletion of all at once would hold its locks for long. */
const batch = 1_000

/** Deletes expired challenges and sessions; called by the maintenance job. */
export const deleteExpired = async (tx: Tx): Promise<void> => {
  for (const name of ['operator_challenges', 'operator_sessions']) {
    const table = sql.table(name)
    for (let deleted = batch; deleted === batch;) {
      const { numAffectedRows } = await sql`
        delete from ${table} where ctid = any (array(
          select ctid from ${table} where expires_at < pohf_now() order by expires_at limit ${batch}))`.execute(
        tx,
      )
      deleted = Number(numAffectedRows ?? 0)
    }
  }
}

/** After a restore: a session may have ended in the lost span, and a challenge may have been used. */
export const voidSignIns = async (tx: Tx): Promise<number> => {
  await sql`delete from operator_challenges`.execute(tx)
  const { numAffectedRows } = await sql`delete from operator_sessions`.execute(tx)
  return Number(numAffectedRows ?? 0)
}
