import { sql, type Selectable } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tx } from '../platform/db/db.ts'
import type { DB } from '../platform/db/schema.ts'
import { checkoutHours, type CheckoutState, type NewCheckout } from './rules.ts'

type CheckoutKey = Pick<NewCheckout, 'agentId' | 'mode' | 'purpose' | 'reference'>
type RowKey = { readonly agentId: string; readonly checkoutId: string }

/** Expires the open checkout of this reference where it is too old or has another amount. */
export const updateStaleExpired = async (tx: Tx, checkout: NewCheckout): Promise<void> => {
  await tx
    .updateTable('checkouts')
    .set({ state: 'expired' })
    .where('agent_id', '=', checkout.agentId)
    .where('mode', '=', checkout.mode)
    .where('purpose', '=', checkout.purpose)
    .where('reference', '=', checkout.reference)
    .where('state', '=', 'created')
    .where((where) =>
      where.or([where('expires_at', '<=', now()), where('amount_usd_cents', '<>', checkout.amountUsdCents)]),
    )
    .execute()
}

const openColumns = ['checkout_id', 'expires_at', 'state', 'provider_url', 'provider_attempt'] as const
type OpenRow = Pick<Selectable<DB['checkouts']>, (typeof openColumns)[number]>
const openOf = (row: OpenRow | undefined) =>
  row && {
    checkoutId: row.checkout_id,
    expiresAt: row.expires_at,
    state: row.state,
    providerUrl: row.provider_url,
    providerAttempt: row.provider_attempt,
  }

/** The new checkout, or undefined where one is open for this reference. */
export const insertCheckout = async (tx: Tx, checkoutId: string, checkout: NewCheckout) =>
  openOf(
    await tx
      .insertInto('checkouts')
      .values({
        agent_id: checkout.agentId,
        checkout_id: checkoutId,
        mode: checkout.mode,
        purpose: checkout.purpose,
        reference: checkout.reference,
        amount_usd_cents: checkout.amountUsdCents,
        description: checkout.description,
        expires_at: sql<Date>`pohf_now() + make_interval(hours => ${checkoutHours})`,
      })
      .onConflict((conflict) => conflict.doNothing())
      .returning(openColumns)
      .executeTakeFirst(),
  )

/** The open checkout; for an order also one with a slow payment in progress. */
export const findOpenCheckout = async (tx: Tx, key: CheckoutKey) =>
  openOf(
    await tx
      .selectFrom('checkouts')
      .select(openColumns)
      .where('agent_id', '=', key.agentId)
      .where('mode', '=', key.mode)
      .where('purpose', '=', key.purpose)
      .where('reference', '=', key.reference)
      .where('state', 'in', key.purpose === 'order' ? ['created', 'processing'] : ['created'])
      .executeTakeFirst(),
  )

/** Whether this live checkout belongs to the agent. */
export const hasLiveCheckout = async (tx: Tx, { agentId, checkoutId }: RowKey): Promise<boolean> => {
  const row = await tx
    .selectFrom('checkouts')
    .select('checkout_id')
    .where('agent_id', '=', agentId)
    .where('checkout_id', '=', checkoutId)
    .where('mode', '=', 'live')
    .executeTakeFirst()
  return row !== undefined
}

/** By the id alone: the id is the capability to see the page. */
export const findCheckout = async (tx: Tx, checkoutId: string) =>
  tx
    .selectFrom('checkouts')
    .select(['mode', 'state', 'purpose', 'amount_usd_cents', 'taken_usd_cents'])
    .select(['description', 'expires_at', 'provider_url'])
    .select(sql<boolean>`expires_at <= pohf_now()`.as('is_past_expiry'))
    .where('checkout_id', '=', checkoutId)
    .executeTakeFirst()

export const updateTestCompleted = async (tx: Tx, agentId: string, checkoutId: string): Promise<boolean> => {
  const result = await tx
    .updateTable('checkouts')
    .set({ state: 'completed' })
    .where('agent_id', '=', agentId)
    .where('checkout_id', '=', checkoutId)
    .where('mode', '=', 'test')
    .where('state', '=', 'created')
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** Expires a batch of due checkouts without a provider session; locked rows wait for the next batch. */
export const updateDueExpired = async (tx: Tx, limit: number): Promise<number> => {
  const { numAffectedRows } = await sql`
    update checkouts set state = 'expired' where (agent_id, checkout_id) in (
      select agent_id, checkout_id from checkouts
      where state = 'created' and expires_at <= pohf_now() and provider_session_id is null
      order by expires_at limit ${limit} for update skip locked)`.execute(tx)
  return Number(numAffectedRows ?? 0n)
}

/** Stores the provider's session; where another process was faster, it is the same session. */
export const updateProviderSession = async (
  tx: Tx,
  key: RowKey,
  session: { readonly sessionId: string; readonly url: string },
): Promise<void> => {
  await tx
    .updateTable('checkouts')
    .set({ provider_session_id: session.sessionId, provider_url: session.url })
    .where('agent_id', '=', key.agentId)
    .where('checkout_id', '=', key.checkoutId)
    .where((where) =>
      where.or([
        where('provider_session_id', 'is', null),
        where('provider_session_id', '=', session.sessionId),
      ]),
    )
    .execute()
}

/** Gives the next request another idempotency key, where no session is stored. */
export const updateProviderAttempt = async (tx: Tx, key: RowKey, attempt: number): Promise<void> => {
  await tx
    .updateTable('checkouts')
    .set({ provider_attempt: Math.min(attempt + 1, 1_000) })
    .where('agent_id', '=', key.agentId)
    .where('checkout_id', '=', key.checkoutId)
    .where('provider_attempt', '=', attempt)
    .where('provider_session_id', 'is', null)
    .execute()
}

export type CheckoutRow = {
  readonly agentId: string
  readonly checkoutId: string
  readonly mode: Mode
  readonly purpose: 'credits' | 'order'
  readonly reference: string
  readonly state: CheckoutState
  readonly amountUsdCents: bigint
  readonly providerSessionId: string | null
  readonly paymentId: string | null
  readonly reversedUsdCents: bigint
  readonly reversalRevision: number
  readonly ownRefundsUsdCents: bigint
}
const rowQuery = (tx: Tx) =>
  tx
    .selectFrom('checkouts')
    .select(['agent_id', 'checkout_id', 'mode', 'purpose', 'reference', 'state', 'amount_usd_cents'])
    .select(['provider_session_id', 'payment_id', 'taken_usd_cents', 'taken_revision', 'given_usd_cents'])
const rowOf = (
  row: Awaited<ReturnType<ReturnType<typeof rowQuery>['executeTakeFirst']>>,
): CheckoutRow | undefined =>
  row && {
    agentId: row.agent_id,
    checkoutId: row.checkout_id,
    mode: row.mode,
    purpose: row.purpose,
    reference: row.reference,
    state: row.state,
    amountUsdCents: row.amount_usd_cents,
    providerSessionId: row.provider_session_id,
    paymentId: row.payment_id,
    reversedUsdCents: row.taken_usd_cents,
    reversalRevision: row.taken_revision,
    ownRefundsUsdCents: row.given_usd_cents,
  }
// `for no key update`: a refund request inserts a row that references the checkout while its order is locked.
export const findCheckoutForUpdate = async (tx: Tx, checkoutId: string) =>
  rowOf(await rowQuery(tx).where('checkout_id', '=', checkoutId).forNoKeyUpdate().executeTakeFirst())
export const findCheckoutOfPaymentForUpdate = async (tx: Tx, paymentId: string) =>
  rowOf(await rowQuery(tx).where('payment_id', '=', paymentId).forNoKeyUpdate().executeTakeFirst())

export const updateCheckoutPaid = async (
  tx: Tx,
  key: RowKey,
  paid: { readonly sessionId: string; readonly paymentId: string },
): Promise<void> => {
  await tx
    .updateTable('checkouts')
    .set({
      state: 'completed',
      provider_session_id: paid.sessionId,
      payment_id: paid.paymentId,
      paid_at: now(),
    })
    .where('agent_id', '=', key.agentId)
    .where('checkout_id', '=', key.checkoutId)
    .execute()
}

export const updateCheckoutState = async (
  tx: Tx,
  key: RowKey,
  to: CheckoutState,
  from: CheckoutState,
): Promise<void> => {
  await tx
    .updateTable('checkouts')
    .set({ state: to })
    .where('agent_id', '=', key.agentId)
    .where('checkout_id', '=', key.checkoutId)
    .where('state', '=', from)
    .execute()
}

export const updateReversed = async (
  tx: Tx,
  row: RowKey & { readonly reversalRevision: number },
  after: { readonly reversedUsdCents: bigint; readonly ownRefundsUsdCents: bigint },
): Promise<void> => {
  await tx
    .updateTable('checkouts')
    .set({
      taken_usd_cents: after.reversedUsdCents,
      given_usd_cents: after.ownRefundsUsdCents,
      taken_revision: row.reversalRevision + 1,
    })
    .where('agent_id', '=', row.agentId)
    .where('checkout_id', '=', row.checkoutId)
    .execute()
}

/** Unpaid checkouts with a session that were created or last polled more than ten minutes ago. */
export const listCheckoutsToPoll = async (tx: Tx, limit: number) => {
  const rows = await tx
    .selectFrom('checkouts')
    .select(['agent_id', 'checkout_id', 'provider_session_id'])
    .select(sql<boolean>`expires_at <= pohf_now()`.as('is_past_expiry'))
    .where('state', 'in', ['created', 'processing'])
    .where('provider_session_id', 'is not', null)
    .where(sql<boolean>`coalesce(provider_asked_at, created_at) < pohf_now() - interval '10 minutes'`)
    .orderBy('provider_asked_at', (order) => order.asc().nullsFirst())
    .limit(limit)
    .execute()
  return rows.map((row) => ({
    agentId: row.agent_id,
    checkoutId: row.checkout_id,
    sessionId: row.provider_session_id ?? '',
    isPastExpiry: row.is_past_expiry,
  }))
}

export const updateCheckoutPolled = async (tx: Tx, key: RowKey): Promise<void> => {
  await tx
    .updateTable('checkouts')
    .set({ provider_asked_at: now() })
    .where('agent_id', '=', key.agentId)
    .where('checkout_id', '=', key.checkoutId)
    .execute()
}

const paidQuery = (tx: Tx, purpose: 'credits' | 'order') =>
  rowQuery(tx).where('mode', '=', 'live').where('state', '=', 'completed').where('purpose', '=', purpose)

/** Paid live checkouts of a purpose in the order of their ids, to compare them with the ledger. */
export const listPaidCheckouts = async (
  tx: Tx,
  page: { readonly purpose: 'credits' | 'order'; readonly after: string; readonly limit: number },
) => {
  const rows = await paidQuery(tx, page.purpose)
    .where('checkout_id', '>', page.after)
    .orderBy('checkout_id')
    .limit(page.limit)
    .execute()
  return rows.flatMap((row) => rowOf(row) ?? [])
}

/** Live checkouts that were paid within this time. */
export const listPaidBetween = async (
  tx: Tx,
  span: {
    readonly purpose: 'credits' | 'order'
    readonly from: Date
    readonly to: Date
    readonly rowsMax: number
  },
) => {
  const rows = await paidQuery(tx, span.purpose)
    .where('paid_at', '>=', span.from)
    .where('paid_at', '<', span.to)
    .limit(span.rowsMax)
    .execute()
  return rows.flatMap((row) => rowOf(row) ?? [])
}
export const findPaidCheckout = async (tx: Tx, checkoutId: string) =>
  rowOf(
    await rowQuery(tx)
      .where('checkout_id', '=', checkoutId)
      .where('mode', '=', 'live')
      .where('state', '=', 'completed')
      .executeTakeFirst(),
  )

/** Of these checkouts, those that were paid. */
export const listPaidAmong = async (tx: Tx, checkoutIds: readonly string[]): Promise<ReadonlySet<string>> => {
  const { rows } = await sql<{ checkout_id: string }>`
    select checkout_id from checkouts
    where checkout_id = any(${[...checkoutIds]}::text[]) and state = 'completed'`.execute(tx)
  return new Set(rows.map((row) => row.checkout_id))
}
