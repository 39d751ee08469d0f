import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import type { FrozenAnswer } from '../platform/db/columns.ts'
import { executePrepared, type Tx } from '../platform/db/db.ts'
import type { AgentId } from '../platform/ops/ids.ts'
import { claimDue } from '../platform/queue/leases.ts'
import type { PurchaseState } from './rules.ts'

export type PurchaseKey = {
  readonly agentId: AgentId
  readonly mode: Mode
  readonly purchaseId: string
}
export type Purchase = PurchaseKey & {
  readonly secretHash: Buffer
  readonly workflowId: string
  readonly state: PurchaseState
  readonly network: string
  readonly payer: string
  readonly amountUsdcMicro: bigint
  /**
   * True only for purchases of earlier versions whose payment was in a block before it was sent here. Their id does not
   * prove the buyer, only the wallet does.
   */
  readonly needsWallet: boolean
  readonly unitRef: string | null
  readonly frozen: FrozenAnswer | null
  /** The question that is paid for; null for a unit from stock. */
  readonly orderId: string | null
  readonly transactionHash: string | null
  readonly credentialId: string | null
  readonly response: string | null
  readonly reason: string | null
  readonly createdAt: Date
  readonly changedAt: Date
  readonly attempts: number
}

type NewPurchase = Pick<
  Purchase,
  | 'agentId'
  | 'mode'
  | 'purchaseId'
  | 'secretHash'
  | 'workflowId'
  | 'network'
  | 'payer'
  | 'amountUsdcMicro'
  | 'unitRef'
  | 'frozen'
  | 'orderId'
>

/** The lease of a call on its purchase; after it a worker or the next caller advances the purchase. */
const leaseSeconds = 15

export const insertPurchase = async (tx: Tx, purchase: NewPurchase): Promise<void> => {
  const query = tx.insertInto('purchases').values({
    agent_id: purchase.agentId,
    mode: purchase.mode,
    purchase_id: purchase.purchaseId,
    secret_hash: purchase.secretHash,
    workflow_id: purchase.workflowId,
    network: purchase.network,
    payer: purchase.payer,
    amount_usdc_micro: purchase.amountUsdcMicro,
    unit_ref: purchase.unitRef,
    frozen: purchase.frozen && JSON.stringify(purchase.frozen),
    order_id: purchase.orderId,
    due_at: sql<Date>`pohf_now() + make_interval(secs => ${leaseSeconds})`,
  })
  await executePrepared(tx, 'purchases_insert', query)
}

const columns = [
  'agent_id',
  'mode',
  'purchase_id',
  'secret_hash',
  'workflow_id',
  'state',
  'network',
  'payer',
  'amount_usdc_micro',
  'needs_wallet',
  'unit_ref',
  'frozen',
  'order_id',
  'transaction_hash',
  'credential_id',
  'response',
  'reason',
  'created_at',
  'changed_at',
  'attempts',
] as const
const selectPurchases = (tx: Tx) => tx.selectFrom('purchases').select(columns)
type Row = Awaited<ReturnType<ReturnType<typeof selectPurchases>['executeTakeFirstOrThrow']>>
const purchaseOf = (row: Row): Purchase => ({
  agentId: row.agent_id as AgentId,
  mode: row.mode,
  purchaseId: row.purchase_id,
  secretHash: row.secret_hash,
  workflowId: row.workflow_id,
  state: row.state,
  network: row.network,
  payer: row.payer,
  amountUsdcMicro: row.amount_usdc_micro,
  needsWallet: row.needs_wallet,
  unitRef: row.unit_ref,
  frozen: row.frozen,
  orderId: row.order_id,
  transactionHash: row.transaction_hash,
  credentialId: row.credential_id,
  response: row.response,
  reason: row.reason,
  createdAt: row.created_at,
  changedAt: row.changed_at,
  attempts: row.attempts,
})

/** The purchase with this public id, of any agent. */
export const findPurchase = async (tx: Tx, purchaseId: string): Promise<Purchase | undefined> => {
  const row = await selectPurchases(tx).where('purchase_id', '=', purchaseId).limit(1).executeTakeFirst()
  return row && purchaseOf(row)
}

export const findPurchaseForUpdate = async (tx: Tx, key: PurchaseKey): Promise<Purchase> => {
  const row = await selectPurchases(tx)
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('purchase_id', '=', key.purchaseId)
    .forUpdate()
    .executeTakeFirstOrThrow(
      () => new Error(`purchase ${key.purchaseId} of ${key.agentId} not found while locking it`),
    )
  return purchaseOf(row)
}

/** Leases purchases that are due, so that one worker at a time advances each. */
export const claimDuePurchases = async (tx: Tx, limit: number): Promise<Purchase[]> => {
  const rows = await claimDue<Row>(tx, { table: 'purchases', id: 'purchase_id', limit, leaseSeconds })
  return rows.map(purchaseOf)
}

/** Leases one purchase where it is due; undefined where another lease runs, or the purchase has ended. */
export const claimPurchase = async (tx: Tx, purchaseId: string): Promise<Purchase | undefined> => {
  const only = sql`purchase_id = ${purchaseId}`
  const rows = await claimDue<Row>(tx, {
    table: 'purchases',
    id: 'purchase_id',
    condition: only,
    limit: 1,
    leaseSeconds,
  })
  return rows[0] && purchaseOf(rows[0])
}

const purchaseUpdate = (tx: Tx, key: PurchaseKey) =>
  tx
    .updateTable('purchases')
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('purchase_id', '=', key.purchaseId)

/** Marks a purchase as submitted or uncertain, unless it has been settled or ended meanwhile. */
export const updatePending = async (
  tx: Tx,
  key: PurchaseKey,
  pending: { readonly state: 'broadcast' | 'uncertain'; readonly retryDelay: number },
): Promise<void> => {
  await purchaseUpdate(tx, key)
    .set({
      state: pending.state,
      due_at: sql<Date>`pohf_now() + make_interval(secs => ${pending.retryDelay})`,
    })
    .where('state', 'in', ['reserved', 'broadcast', 'uncertain'])
    .execute()
}

export const updateRetryAt = async (tx: Tx, key: PurchaseKey, retryDelay: number): Promise<void> => {
  await purchaseUpdate(tx, key)
    .set({ due_at: sql<Date>`pohf_now() + make_interval(secs => ${retryDelay})` })
    .where('due_at', 'is not', null)
    .execute()
}

export const updateSettled = async (
  tx: Tx,
  key: PurchaseKey,
  settled: { readonly transactionHash: string; readonly retryDelay: number },
): Promise<boolean> => {
  const result = await purchaseUpdate(tx, key)
    .set({
      state: 'settled',
      transaction_hash: settled.transactionHash,
      due_at: sql<Date>`pohf_now() + make_interval(secs => ${settled.retryDelay})`,
    })
    .where('state', 'in', ['reserved', 'broadcast', 'uncertain'])
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

type NewDelivery = {
  readonly transactionHash: string
  /** Both are null for a question. */
  readonly credentialId: string | null
  readonly response: string | null
}
/** Stores the delivery. The response now contains the copied answer. */
export const updateDelivered = async (tx: Tx, key: PurchaseKey, delivery: NewDelivery): Promise<boolean> => {
  const query = purchaseUpdate(tx, key)
    .set({
      state: 'delivered',
      transaction_hash: delivery.transactionHash,
      credential_id: delivery.credentialId,
      response: delivery.response,
      frozen: null,
      due_at: null,
    })
    .where('state', 'in', ['reserved', 'broadcast', 'uncertain', 'settled'])
    .returning('purchase_id')
  return (await executePrepared(tx, 'purchases_delivered', query)).length === 1
}

/**
 * Ends a purchase that was not paid or is to be refunded, also a delivered one. The database refuses a transition that
 * does not exist.
 */
export const updateEnded = async (
  tx: Tx,
  key: PurchaseKey,
  outcome: { readonly state: 'void' | 'refund_due'; readonly reason: string },
): Promise<void> => {
  await purchaseUpdate(tx, key)
    .set({ state: outcome.state, reason: outcome.reason, frozen: null, due_at: null })
    .execute()
}

export const updateRefunded = async (
  tx: Tx,
  key: PurchaseKey,
  refund: { readonly transactionHash: string; readonly reason: string },
): Promise<void> => {
  await purchaseUpdate(tx, key)
    .set({ state: 'refunded', refund_transaction_hash: refund.transactionHash, reason: refund.reason })
    .execute()
}

/** Whether a payment of this question is under way, or has paid it. */
export const hasPurchaseOfOrder = async (
  tx: Tx,
  key: { readonly agentId: string; readonly mode: Mode; readonly orderId: string },
): Promise<boolean> => {
  const row = await tx
    .selectFrom('purchases')
    .select('purchase_id')
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('order_id', '=', key.orderId)
    // As text, so that the partial index is used.
    .where(sql<boolean>`state not in ('void', 'refund_due', 'refunded')`)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Serializes refunds by one transaction: those of two agents would not see each other. */
export const lockRefundTransaction = async (tx: Tx, transactionHash: string): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`refund ${transactionHash}`}, 0))`.execute(tx)
}

/** Whether a transaction is already recorded as the refund of a purchase. */
export const existsRefundTransaction = async (tx: Tx, transactionHash: string): Promise<boolean> => {
  const row = await tx
    .selectFrom('purchases')
    .select('purchase_id')
    .where('refund_transaction_hash', '=', transactionHash)
    .executeTakeFirst()
  return row !== undefined
}

/** A position in the list. `at` is text, because PostgreSQL has microseconds and a Date has milliseconds. */
export type PurchaseCursor = { readonly at: string; readonly purchaseId: string }
export const listPurchases = async (
  tx: Tx,
  page: {
    readonly agentId: string
    readonly mode: Mode
    readonly before: PurchaseCursor | undefined
    readonly limit: number
  },
): Promise<(Purchase & { readonly position: PurchaseCursor })[]> => {
  const { before } = page
  let rows = selectPurchases(tx)
    .select(sql<string>`created_at::text`.as('at_text'))
    .where('agent_id', '=', page.agentId)
    .where('mode', '=', page.mode)
  if (before)
    rows = rows.where(
      sql<boolean>`(created_at, purchase_id) < (${before.at}::timestamptz, ${before.purchaseId})`,
    )
  const found = await rows
    .orderBy('created_at', 'desc')
    .orderBy('purchase_id', 'desc')
    .limit(page.limit)
    .execute()
  return found.map((row) => ({
    ...purchaseOf(row),
    position: { at: row.at_text, purchaseId: row.purchase_id },
  }))
}

/** Purchases of all agents in one state, longest in it first, after a position. */
export const listPurchasesByState = async (
  tx: Tx,
  state: PurchaseState,
  page: { readonly after: PurchaseCursor | undefined; readonly limit: number },
): Promise<(Purchase & { readonly position: PurchaseCursor })[]> => {
  const { after } = page
  let rows = selectPurchases(tx)
    .select(sql<string>`changed_at::text`.as('at_text'))
    .where('state', '=', state)
  if (after)
    rows = rows
      // The index ends with the time, so a second condition compares time and id as a row.
      .where('changed_at', '>=', sql<Date>`${after.at}::timestamptz`)
      .where(sql<boolean>`(changed_at, purchase_id) > (${after.at}::timestamptz, ${after.purchaseId})`)
  const found = await rows.orderBy('changed_at').orderBy('purchase_id').limit(page.limit).execute()
  return found.map((row) => ({
    ...purchaseOf(row),
    position: { at: row.at_text, purchaseId: row.purchase_id },
  }))
}

/** How many purchases are in a state; the count stops at `max`. */
export const countPurchasesByState = async (tx: Tx, state: PurchaseState, max: number): Promise<number> => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (
      select from purchases where state = ${state} limit ${max}) first`.execute(tx)
  return rows[0]?.count ?? 0
}

/** How many purchases are due for the worker, and for how long the oldest; the count stops at `max`. */
export const countDuePurchases = async (
  tx: Tx,
  max: number,
): Promise<{ readonly waiting: number; readonly oldestSeconds: number | null }> => {
  const { rows } = await sql<{ waiting: number; seconds: number | null }>`
    select count(*)::int as waiting, extract(epoch from pohf_now() - min(due_at))::float8 as seconds from (
      select due_at from purchases where due_at <= pohf_now() order by due_at limit ${max}) first`.execute(tx)
  return { waiting: rows[0]?.waiting ?? 0, oldestSeconds: rows[0]?.seconds ?? null }
}

type LedgerReference = { readonly agentId: string; readonly mode: Mode; readonly reference: string }
/** Purchases of all agents that were paid within this time, at most `rowsMax`: each must have a ledger entry. */
export const listPaidPurchases = async (
  tx: Tx,
  span: { readonly from: Date; readonly to: Date; readonly rowsMax: number },
): Promise<LedgerReference[]> => {
  const rows = await tx
    .selectFrom('purchases')
    .select(['agent_id', 'mode', 'purchase_id'])
    .where('transaction_hash', 'is not', null)
    .where('changed_at', '>=', span.from)
    .where('changed_at', '<', span.to)
    .limit(span.rowsMax)
    .execute()
  return rows.map((row) => ({
    agentId: row.agent_id,
    mode: row.mode,
    reference: row.purchase_id,
  }))
}

/** The postings without a paid purchase. */
export const listPostingsWithoutPurchase = async (
  tx: Tx,
  keys: readonly LedgerReference[],
): Promise<LedgerReference[]> => {
  const { rows } = await sql<LedgerReference>`
    select key.agent_id as "agentId", key.mode, key.reference
    from unnest(${keys.map((key) => key.agentId)}::text[], ${keys.map((key) => key.mode)}::text[],
      ${keys.map((key) => key.reference)}::text[]) key (agent_id, mode, reference)
    left join lateral (
      select true as paid from purchases p where p.agent_id = key.agent_id and p.mode = key.mode
        and p.purchase_id = key.reference and p.transaction_hash is not null
      limit 1) known on true
    where known.paid is null`.execute(tx)
  return rows
}
