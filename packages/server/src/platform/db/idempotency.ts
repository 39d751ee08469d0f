import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Ctx } from '../ops/context.ts'
import { inTransaction, type Tenant, type Tx } from './db.ts'
import { Refusal } from '../http/errors.ts'
import { openFor, sealFor } from '../ops/secrets.ts'

/** What names a stored answer: the caller, the operation and the caller's own key. */
export type IdempotencyScope = {
  readonly agentId: Tenant
  readonly method: string
  readonly path: string
  readonly key: string
}
export type StoredResponse = { readonly status: number; readonly body: string }

/** A call that died without an answer frees its key after this time. */
const leaseSeconds = 60
const retentionHours = 24

/** 1 to 255 printable characters, bare or as a quoted string; undefined where none was sent. */
export const readIdempotencyKey = (header: string | undefined): string | undefined => {
  if (header === undefined) return undefined
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header
  if (/^[\x20-\x7e]{1,255}$/.test(key)) return key
  throw new Refusal('validation_failed', {
    details: [
      { path: 'header.Idempotency-Key', code: 'invalid', message: 'must be 1 to 255 printable characters' },
    ],
  })
}

const fingerprintOf = (body: unknown): Buffer =>
  createHash('sha256')
    .update(JSON.stringify(body ?? {}))
    .digest()

type Row = {
  fingerprint: Buffer
  status: number | null
  body: string | null
  sealed: boolean
  stale: boolean
}

const findRow = async (tx: Tx, slot: IdempotencyScope): Promise<Row | undefined> =>
  tx
    .selectFrom('idempotency_keys')
    .select(['fingerprint', 'status', 'body', 'sealed'])
    .select(
      sql<boolean>`created_at < pohf_now() - make_interval(hours => ${retentionHours}) or (status is null and lease_until < pohf_now())`.as(
        'stale',
      ),
    )
    .where('agent_id', '=', slot.agentId)
    .where('method', '=', slot.method)
    .where('path', '=', slot.path)
    .where('key', '=', slot.key)
    .forUpdate()
    .executeTakeFirst()

/** Takes the slot: true where this call is the first, or the first after a dead or outlived one. */
const claimIdempotencyKey = async (tx: Tx, slot: IdempotencyScope, fingerprint: Buffer): Promise<boolean> => {
  const { rows } = await sql`
    insert into idempotency_keys as stored (agent_id, method, path, key, fingerprint, lease_until)
    values (${slot.agentId}, ${slot.method}, ${slot.path}, ${slot.key}, ${fingerprint}, pohf_now() + make_interval(secs => ${leaseSeconds}))
    on conflict (agent_id, method, path, key) do update
      set fingerprint = excluded.fingerprint, lease_until = excluded.lease_until, created_at = pohf_now(), status = null, body = null, sealed = false
      where stored.created_at < pohf_now() - make_interval(hours => ${retentionHours})
         or (stored.status is null and stored.lease_until < pohf_now())
    returning 1`.execute(tx)
  return rows.length === 1
}

const storedResponseOf = (row: Row, secret: string): StoredResponse => {
  if (row.status === null || row.body === null)
    throw new Refusal('idempotency_in_progress', { headers: { 'retry-after': '1' } })
  if (!row.sealed) return { status: row.status, body: row.body }
  try {
    return { status: row.status, body: openFor(secret, row.body) }
  } catch {
    throw new Refusal('idempotency_key_reused', {
      message: 'The first answer shows a secret and was sealed for another API key.',
    })
  }
}

/** Begins a call: undefined means go ahead, an answer means repeat it. Refuses while the first is under way. */
export const beginIdempotent = async (
  ctx: Ctx,
  slot: IdempotencyScope,
  request: { body: unknown; secret: string },
): Promise<StoredResponse | undefined> =>
  inTransaction(ctx, slot.agentId, async (tx) => {
    const fingerprint = fingerprintOf(request.body)
    if (await claimIdempotencyKey(tx, slot, fingerprint)) return undefined
    const row = await findRow(tx, slot)
    if (!row) throw new Refusal('idempotency_in_progress', { headers: { 'retry-after': '1' } })
    if (!row.fingerprint.equals(fingerprint)) throw new Refusal('idempotency_key_reused')
    return storedResponseOf(row, request.secret)
  })

/** Keeps the answer for a day; one that shows a secret is sealed for the caller alone. */
export const completeIdempotent = async (
  ctx: Ctx,
  slot: IdempotencyScope,
  answer: StoredResponse & { readonly sealWith?: string },
): Promise<void> =>
  inTransaction(ctx, slot.agentId, async (tx) => {
    const sealed = answer.sealWith !== undefined
    const body = answer.sealWith === undefined ? answer.body : sealFor(answer.sealWith, answer.body)
    await tx
      .updateTable('idempotency_keys')
      .set({ status: answer.status, body, sealed, lease_until: null })
      .where('agent_id', '=', slot.agentId)
      .where('method', '=', slot.method)
      .where('path', '=', slot.path)
      .where('key', '=', slot.key)
      .execute()
  })

/** Frees the slot after an answer that is not kept: 401, 429, validation faults and our own faults. */
export const releaseIdempotent = async (ctx: Ctx, slot: IdempotencyScope): Promise<void> =>
  inTransaction(ctx, slot.agentId, async (tx) => {
    await tx
      .deleteFrom('idempotency_keys')
      .where('agent_id', '=', slot.agentId)
      .where('method', '=', slot.method)
      .where('path', '=', slot.path)
      .where('key', '=', slot.key)
      .where('status', 'is', null)
      .execute()
  })

/** Drops what is older than a day; the maintenance job calls it. */
export const deleteExpiredIdempotencyKeys = async (tx: Tx): Promise<void> => {
  await sql`delete from idempotency_keys where created_at < pohf_now() - make_interval(hours => ${retentionHours})`.execute(
    tx,
  )
}
