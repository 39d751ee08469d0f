import { sql, type Selectable } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, permitBitmaps, type Tx } from '../../platform/db/db.ts'
import type { DB } from '../../platform/db/schema.ts'
import {
  mergeRefundState,
  nextOwnState,
  refundAttemptsMax,
  refundPollSeconds,
  refundRetryDelaySeconds,
  type OwnRefundState,
  type RefundState,
  type RefundStateFact,
} from './rules.ts'

/** A refund that a module requests. */
export type RefundRequest = {
  readonly agentId: string
  readonly mode: Mode
  readonly checkoutId: string
  readonly amountUsdCents: bigint
  /** Identifies the request: repeated under the same reference, it refunds nothing more. */
  readonly reference: string
  readonly reason: string
}
export type RefundRow = RefundRequest & {
  readonly refundId: string
  readonly state: OwnRefundState
  readonly providerRefundId: string | null
  readonly providerKey: number
  readonly attempts: number
  readonly fault: string | null
  readonly createdAt: Date
  readonly changedAt: Date
}
type RowKey = { readonly agentId: string; readonly refundId: string }

const columns = [
  'agent_id',
  'refund_id',
  'mode',
  'checkout_id',
  'reference',
  'amount_usd_cents',
  'reason',
  'state',
  'provider_refund_id',
  'provider_key',
  'attempts',
  'fault',
  'created_at',
  'changed_at',
] as const
const query = (tx: Tx) => tx.selectFrom('card_refunds').select(columns)
type StoredRefund = Pick<Selectable<DB['card_refunds']>, (typeof columns)[number]>
const rowOf = (row: StoredRefund): RefundRow => ({
  agentId: row.agent_id,
  refundId: row.refund_id,
  mode: row.mode,
  checkoutId: row.checkout_id,
  reference: row.reference,
  amountUsdCents: row.amount_usd_cents,
  reason: row.reason,
  state: row.state,
  providerRefundId: row.provider_refund_id,
  providerKey: row.provider_key,
  attempts: row.attempts,
  fault: row.fault,
  createdAt: row.created_at,
  changedAt: row.changed_at,
})

/** The new refund, or undefined where the reference has one. */
export const insertRefund = async (
  tx: Tx,
  refundId: string,
  request: RefundRequest,
): Promise<RefundRow | undefined> => {
  const row = await tx
    .insertInto('card_refunds')
    .values({
      agent_id: request.agentId,
      refund_id: refundId,
      mode: request.mode,
      checkout_id: request.checkoutId,
      reference: request.reference,
      amount_usd_cents: request.amountUsdCents,
      reason: request.reason,
    })
    .onConflict((conflict) => conflict.columns(['agent_id', 'mode', 'reference']).doNothing())
    .returning(columns)
    .executeTakeFirst()
  return row && rowOf(row)
}

export const findRefundByReference = async (
  tx: Tx,
  key: Pick<RefundRequest, 'agentId' | 'mode' | 'reference'>,
): Promise<RefundRow | undefined> => {
  const row = await query(tx)
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('reference', '=', key.reference)
    .executeTakeFirst()
  return row && rowOf(row)
}

export const findRefundForUpdate = async (tx: Tx, refundId: string): Promise<RefundRow | undefined> => {
  const row = await query(tx).where('refund_id', '=', refundId).forUpdate().executeTakeFirst()
  return row && rowOf(row)
}

/** Our refund that a fact is about: by the provider's id, else by our own. */
export const findRefundOfFact = async (
  tx: Tx,
  fact: Pick<RefundStateFact, 'providerRefundId' | 'refundId'>,
): Promise<RefundRow | undefined> => {
  await permitBitmaps(tx)
  const row = await query(tx)
    .where((where) =>
      where.or([
        where('provider_refund_id', '=', fact.providerRefundId),
        ...(fact.refundId === undefined ? [] : [where('refund_id', '=', fact.refundId)]),
      ]),
    )
    .orderBy(sql`provider_refund_id is not distinct from ${fact.providerRefundId}`, 'desc')
    .limit(1)
    .forUpdate()
    .executeTakeFirst()
  return row && rowOf(row)
}

const setState = async (
  tx: Tx,
  key: RowKey,
  state: OwnRefundState,
  more: { readonly provider_refund_id?: string | null; readonly fault?: string | null } = {},
): Promise<void> => {
  await tx
    .updateTable('card_refunds')
    .set({ state, ...more })
    .where('agent_id', '=', key.agentId)
    .where('refund_id', '=', key.refundId)
    .execute()
}

/** A sandbox refund has no provider: it is done as soon as it is posted. */
export const updateTestRefundDone = (tx: Tx, key: RowKey): Promise<void> => setState(tx, key, 'done')

export const updateRefundFailed = (tx: Tx, key: RowKey, fault: string): Promise<void> =>
  setState(tx, key, 'failed', { fault })

/** Changes the state of our refund after a fact of the provider; true where it changed. */
export const updateRefundByFact = async (
  tx: Tx,
  own: RefundRow,
  fact: Pick<RefundStateFact, 'providerRefundId' | 'state'>,
): Promise<boolean> => {
  const to = nextOwnState(own, fact)
  if (to === undefined) return false
  if (to === 'failed') {
    await setState(tx, own, 'failed', { fault: 'sent_back' })
    return true
  }
  // The provider knows it, so it was sent, whether or not the response arrived.
  if (own.state !== 'sent') {
    await setState(tx, own, 'sent', { provider_refund_id: fact.providerRefundId, fault: null })
    await tx
      .updateTable('card_refunds')
      .set({ next_at: sql<Date>`pohf_now() + make_interval(secs => ${refundPollSeconds})` })
      .where('agent_id', '=', own.agentId)
      .where('refund_id', '=', own.refundId)
      .execute()
  }
  if (to === 'done') await setState(tx, own, 'done')
  return true
}

/** Restarts a failed refund under a new idempotency key. */
export const updateRefundRetried = async (tx: Tx, row: RefundRow): Promise<void> => {
  await tx
    .updateTable('card_refunds')
    .set({
      state: 'wanted',
      provider_refund_id: null,
      provider_key: row.providerKey + 1,
      attempts: 0,
      next_at: now(),
    })
    .where('agent_id', '=', row.agentId)
    .where('refund_id', '=', row.refundId)
    .execute()
}

/**
 * Claims a due refund by moving its next attempt: a process that crashes loses nothing, and no other process sends it
 * meanwhile. Sent refunds are polled for a month.
 */
export const claimDueRefund = async (tx: Tx) => {
  const due = await query(tx)
    .where('mode', '=', 'live')
    .where('next_at', '<=', now())
    .where(
      sql<boolean>`(state = 'wanted' or (state = 'sent' and created_at > pohf_now() - interval '30 days'))`,
    )
    .orderBy('next_at')
    .limit(1)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst()
  if (!due) return undefined
  const isWanted = due.state === 'wanted'
  const attempts = isWanted ? Math.min(due.attempts + 1, 1_000) : due.attempts
  const seconds = isWanted ? refundRetryDelaySeconds(due.attempts) : refundPollSeconds
  await tx
    .updateTable('card_refunds')
    .set({ attempts, next_at: sql<Date>`pohf_now() + make_interval(secs => ${seconds})` })
    .where('agent_id', '=', due.agent_id)
    .where('refund_id', '=', due.refund_id)
    .execute()
  const refund = rowOf({ ...due, attempts })
  const { agentId, refundId, checkoutId } = refund
  const checkout = await tx
    .selectFrom('checkouts')
    .select('payment_id')
    .where('agent_id', '=', agentId)
    .where('checkout_id', '=', checkoutId)
    .executeTakeFirstOrThrow(
      () => new Error(`checkout ${checkoutId} not found while claiming refund ${refundId}`),
    )
  if (checkout.payment_id === null)
    throw new Error(
      `checkout ${checkoutId} has no provider payment while claiming refund ${refundId} (${due.state})`,
    )
  return { refund, paymentId: checkout.payment_id }
}

/**
 * Records a failed attempt, with a new idempotency key for the next one if it needs one. After the last attempt the refund
 * fails, and `given up` is returned.
 */
export const updateRefundAttemptFailed = async (
  tx: Tx,
  row: RefundRow,
  attempt: { readonly fault: string; readonly newKey: boolean },
): Promise<'again' | 'given up'> => {
  await tx
    .updateTable('card_refunds')
    .set({ fault: attempt.fault, provider_key: Math.min(1_000, row.providerKey + (attempt.newKey ? 1 : 0)) })
    .where('agent_id', '=', row.agentId)
    .where('refund_id', '=', row.refundId)
    .where('state', '=', 'wanted')
    .execute()
  if (row.attempts < refundAttemptsMax) return 'again'
  const { numUpdatedRows } = await tx
    .updateTable('card_refunds')
    .set({ state: 'failed', fault: 'given_up' })
    .where('agent_id', '=', row.agentId)
    .where('refund_id', '=', row.refundId)
    .where('state', '=', 'wanted')
    .executeTakeFirst()
  return numUpdatedRows === 1n ? 'given up' : 'again'
}

/** The total of a checkout's refunds that were requested and did not fail. */
export const sumRefundsRequested = async (
  tx: Tx,
  key: { readonly agentId: string; readonly checkoutId: string },
): Promise<bigint> => {
  const { rows } = await sql<{ requested: bigint }>`
    select coalesce(sum(amount_usd_cents), 0)::bigint as requested from card_refunds
    where agent_id = ${key.agentId} and checkout_id = ${key.checkoutId} and state <> 'failed'`.execute(tx)
  return rows[0]?.requested ?? 0n
}

/** Two operators must not refund the same money through two checkouts of one agent. */
export const lockRefundable = async (tx: Tx, agentId: string): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`card_spare ${agentId}`}, 0))`.execute(tx)
}

/** Refunds of an agent's orders that were requested and that no event has posted yet. */
export const sumRefundsOutstanding = async (
  tx: Tx,
  key: { readonly agentId: string; readonly mode: Mode },
): Promise<bigint> => {
  const { rows } = await sql<{ open: bigint }>`
    select coalesce(sum(greatest(r.requested - c.given_usd_cents, 0)), 0)::bigint as open
    from (select checkout_id, sum(amount_usd_cents) as requested from card_refunds
      where agent_id = ${key.agentId} and mode = ${key.mode} and state <> 'failed' group by checkout_id) r
    join checkouts c on c.agent_id = ${key.agentId} and c.checkout_id = r.checkout_id
    where c.purpose = 'order'`.execute(tx)
  return rows[0]?.open ?? 0n
}

/** Stores the later of the known and the new state of a refund; returns it, and whether it changed. */
export const upsertRefundFact = async (
  tx: Tx,
  fact: RefundStateFact,
): Promise<{ state: RefundState; isNew: boolean }> => {
  const known = await tx
    .selectFrom('card_refund_facts')
    .select('state')
    .where('provider_refund_id', '=', fact.providerRefundId)
    .executeTakeFirst()
  const state = mergeRefundState(known?.state, fact.state)
  if (known?.state === state) return { state, isNew: false }
  const { providerRefundId, paymentId, amountUsdCents } = fact
  await tx
    .insertInto('card_refund_facts')
    .values({
      provider_refund_id: providerRefundId,
      payment_id: paymentId,
      amount_usd_cents: amountUsdCents,
      state,
    })
    .onConflict((conflict) => conflict.column('provider_refund_id').doUpdateSet({ state }))
    .execute()
  return { state, isNew: true }
}

export const listRefundFacts = async (tx: Tx, paymentId: string) => {
  const rows = await tx
    .selectFrom('card_refund_facts')
    .select(['provider_refund_id', 'state', 'amount_usd_cents'])
    .where('payment_id', '=', paymentId)
    .execute()
  return rows.map((row) => ({
    providerRefundId: row.provider_refund_id,
    state: row.state,
    amountUsdCents: row.amount_usd_cents,
  }))
}

/** Refunds in the order of their ids. */
export const listRefunds = async (
  tx: Tx,
  page: {
    readonly state: OwnRefundState | undefined
    readonly agentId: string | undefined
    readonly after: string
    readonly limit: number
  },
): Promise<RefundRow[]> => {
  const { state, agentId } = page
  const after = query(tx).where('refund_id', '>', page.after)
  const rows = await (state === undefined ? after : after.where('state', '=', state))
    .$if(agentId !== undefined, (narrow) => narrow.where('agent_id', '=', agentId ?? ''))
    .orderBy('refund_id')
    .limit(page.limit)
    .execute()
  return rows.map(rowOf)
}

/** How many refunds failed and wait for an operator; the count stops at `max`. */
export const countFailedRefunds = async (tx: Tx, max: number): Promise<number> => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (
      select from card_refunds where state = 'failed' limit ${max}) first`.execute(tx)
  return rows[0]?.count ?? 0
}
