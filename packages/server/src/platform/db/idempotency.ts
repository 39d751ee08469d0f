import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Ctx } from '../ops/context.ts'
import { inTransaction, type Tenant, type Tx } from './db.ts'
import { Refusal } from '../http/errors.ts'
import { hmacOf, openFor, sealFor } from '../ops/secrets.ts'

/** Identifies a stored response: the caller, the operation and the Idempotency-Key. */
export type IdempotencyScope = {
  readonly agentId: Tenant
  readonly method: string
  readonly path: string
  readonly key: string
}
/**
 * A claimed key. The lease tells this claim from a later one: a call that outlived its lease, and whose key a repeat has
 * claimed since, can neither store a response nor release the key.
 */
export type IdempotencyClaim = IdempotencyScope & { readonly lease: string }
export type StoredResponse = { readonly status: number; readonly body: string }

/** A call that crashed without a response releases its key after this time. */
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

/**
 * Uses a key for people and operators: their requests may contain an account number, which could be found from a plain hash
 * by trying all numbers. The first is stored, and a stored one may be any of them.
 */
const fingerprintsOf = (
  { secrets }: Ctx,
  { agentId }: IdempotencyScope,
  body: unknown,
): readonly [Buffer, ...Buffer[]] => {
  const text = JSON.stringify(body ?? {})
  if (agentId !== 'system') return [createHash('sha256').update(text).digest()]
  const [key, ...others] = secrets.accepted('request-fingerprint')
  const fingerprintOf = (of: Buffer): Buffer => hmacOf(of).update(text).digest()
  return [fingerprintOf(key), ...others.map(fingerprintOf)]
}

const findResponse = async (tx: Tx, scope: IdempotencyScope) =>
  tx
    .selectFrom('idempotency_keys')
    .select(['fingerprint', 'status', 'body', 'sealed'])
    .where('agent_id', '=', scope.agentId)
    .where('method', '=', scope.method)
    .where('path', '=', scope.path)
    .where('key', '=', scope.key)
    .forUpdate()
    .executeTakeFirst()

/** Claims the key: the lease where this call is the first, or the first after a crashed or expired one. */
const claimIdempotencyKey = async (
  tx: Tx,
  scope: IdempotencyScope,
  fingerprint: Buffer,
  subject: string | undefined,
): Promise<string | undefined> => {
  const { rows } = await sql<{ lease: string }>`
    insert into idempotency_keys as stored (agent_id, method, path, key, fingerprint, subject, lease_until)
    values (${scope.agentId}, ${scope.method}, ${scope.path}, ${scope.key}, ${fingerprint}, ${subject ?? null}, pohf_now() + make_interval(secs => ${leaseSeconds}))
    on conflict (agent_id, method, path, key) do update
      set fingerprint = excluded.fingerprint, subject = excluded.subject, lease_until = excluded.lease_until, created_at = pohf_now(), status = null, body = null, sealed = false
      where stored.created_at < pohf_now() - make_interval(hours => ${retentionHours})
         or (stored.status is null and stored.lease_until < pohf_now())
    returning lease_until::text as lease`.execute(tx)
  return rows[0]?.lease
}

type StoredRow = NonNullable<Awaited<ReturnType<typeof findResponse>>>

const storedResponseOf = (row: StoredRow, secret: string): StoredResponse => {
  if (row.status === null || row.body === null)
    throw new Refusal('idempotency_in_progress', { headers: { 'retry-after': '1' } })
  if (!row.sealed) return { status: row.status, body: row.body }
  try {
    return { status: row.status, body: openFor(secret, row.body) }
  } catch {
    throw new Refusal('idempotency_key_reused', {
      message: 'The first response contains a secret and is encrypted for another API key.',
    })
  }
}

/** Begins a call: a claim means run it, a response means replay it. Refuses while the first call is in progress. */
export const beginIdempotent = async (
  ctx: Ctx,
  scope: IdempotencyScope,
  request: { body: unknown; secret: string; subject: string | undefined },
): Promise<{ readonly claim: IdempotencyClaim } | { readonly stored: StoredResponse }> =>
  inTransaction(ctx, scope.agentId, async (tx) => {
    const fingerprints = fingerprintsOf(ctx, scope, request.body)
    const lease = await claimIdempotencyKey(tx, scope, fingerprints[0], request.subject)
    if (lease !== undefined) return { claim: { ...scope, lease } }
    const row = await findResponse(tx, scope)
    if (!row) throw new Refusal('idempotency_in_progress', { headers: { 'retry-after': '1' } })
    if (!fingerprints.some((fingerprint) => row.fingerprint.equals(fingerprint)))
      throw new Refusal('idempotency_key_reused')
    return { stored: storedResponseOf(row, request.secret) }
  })

type NewResponse = StoredResponse & { readonly sealWith?: string }

/** True where the response was stored; false where it is stored already, or the claim is no longer held. */
const updateResponse = async (tx: Tx, claim: IdempotencyClaim, answer: NewResponse): Promise<boolean> => {
  const sealed = answer.sealWith !== undefined
  const body = answer.sealWith === undefined ? answer.body : sealFor(answer.sealWith, answer.body)
  const result = await tx
    .updateTable('idempotency_keys')
    .set({ status: answer.status, body, sealed, lease_until: null })
    .where('agent_id', '=', claim.agentId)
    .where('method', '=', claim.method)
    .where('path', '=', claim.path)
    .where('key', '=', claim.key)
    .where('status', 'is', null)
    .where('lease_until', '=', sql<Date>`${claim.lease}::timestamptz`)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/**
 * Stores the response in the transaction of the operation, so that value and response commit together. Refuses, and so
 * undoes the operation, where a repeat has claimed the key.
 */
export const storeIdempotent = async (
  tx: Tx,
  claim: IdempotencyClaim,
  answer: StoredResponse,
): Promise<void> => {
  if (!(await updateResponse(tx, claim, answer)))
    throw new Refusal('idempotency_in_progress', { headers: { 'retry-after': '1' } })
}

/** Stores the response for a day; one that shows a secret is encrypted with the caller's API key. */
export const completeIdempotent = async (
  ctx: Ctx,
  claim: IdempotencyClaim,
  answer: NewResponse,
): Promise<void> =>
  inTransaction(ctx, claim.agentId, async (tx) => {
    await updateResponse(tx, claim, answer)
  })

/** Releases the key after a response that is not stored: 401, 429, validation errors and our own errors. */
export const releaseIdempotent = async (ctx: Ctx, claim: IdempotencyClaim): Promise<void> =>
  inTransaction(ctx, claim.agentId, async (tx) => {
    await tx
      .deleteFrom('idempotency_keys')
      .where('agent_id', '=', claim.agentId)
      .where('method', '=', claim.method)
      .where('path', '=', claim.path)
      .where('key', '=', claim.key)
      .where('status', 'is', null)
      .where('lease_until', '=', sql<Date>`${claim.lease}::timestamptz`)
      .execute()
  })

/** Erasure: the stored responses to requests that named one of these subjects. A call in progress then stores none. */
export const eraseResponses = async (tx: Tx, agentId: string, subjects: readonly string[]): Promise<void> => {
  await tx
    .deleteFrom('idempotency_keys')
    .where('agent_id', '=', agentId)
    .where('subject', 'in', [...subjects])
    .execute()
}

/** Erasure: the stored responses of the operations under one path whose text holds an id. */
export const eraseResponsesHolding = async (
  tx: Tx,
  agentId: string,
  { path, id }: { readonly path: string; readonly id: string },
): Promise<void> => {
  await tx
    .deleteFrom('idempotency_keys')
    .where('agent_id', '=', agentId)
    .where('method', '=', 'POST')
    .where((where) => where.or([where('path', '=', path), where('path', 'like', `${path}/%`)]))
    .where(sql<boolean>`position(${id} in body) > 0`)
    .execute()
}

/** Deletes keys older than a day; called by the maintenance job. */
export const deleteExpiredIdempotencyKeys = async (tx: Tx): Promise<void> => {
  await sql`delete from idempotency_keys where created_at < pohf_now() - make_interval(hours => ${retentionHours})`.execute(
    tx,
  )
}
