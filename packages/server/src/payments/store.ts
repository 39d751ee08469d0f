import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tx } from '../platform/db/db.ts'
import type { CardEventOutcome } from './card/apply.ts'
import type { CardEvent, DisputeState } from './card/facts.ts'
import { checkoutHours, type CheckoutState, type NewCheckout } from './rules.ts'

type CheckoutKey = Pick<NewCheckout, 'agentId' | 'mode' | 'purpose' | 'reference'>
type RowKey = { readonly agentId: string; readonly checkoutId: string }

/** Closes the open checkout of this reference where it is too old or asks for another amount. */
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
type OpenColumns = {
  checkout_id: string
  expires_at: Date
  state: string
  provider_url: string | null
  provider_attempt: number
}
const openOf = (row: OpenColumns | undefined) =>
  row && {
    checkoutId: row.checkout_id,
    expiresAt: row.expires_at,
    state: row.state as CheckoutState,
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

/** Open, or an order's that a slow payment is under way for. */
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

/** By the id alone: the page is for whoever was given its address. */
export const findCheckout = async (tx: Tx, checkoutId: string) =>
  tx
    .selectFrom('checkouts')
    .select(['mode', 'state', 'purpose', 'amount_usd_cents', 'taken_usd_cents'])
    .select(['description', 'expires_at', 'provider_url'])
    .select(sql<boolean>`expires_at <= pohf_now()`.as('outlived'))
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

/** Closes a batch whose time is over and that no provider knows; rows that somebody works on wait for the next batch. */
export const updateDueExpired = async (tx: Tx, limit: number): Promise<number> => {
  const { numAffectedRows } = await sql`
    update checkouts set state = 'expired' where (agent_id, checkout_id) in (
      select agent_id, checkout_id from checkouts
      where state = 'created' and expires_at <= pohf_now() and provider_session_id is null
      order by expires_at limit ${limit} for update skip locked)`.execute(tx)
  return Number(numAffectedRows ?? 0n)
}

/** Keeps the provider's session; where another process was faster, it is the same session. */
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

/** The next question has another key. Only where no session is kept: a session that is, is the one. */
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
    mode: row.mode as Mode,
    purpose: row.purpose as 'credits' | 'order',
    reference: row.reference,
    state: row.state as CheckoutState,
    amountUsdCents: row.amount_usd_cents,
    providerSessionId: row.provider_session_id,
    paymentId: row.payment_id,
    reversedUsdCents: row.taken_usd_cents,
    reversalRevision: row.taken_revision,
    ownRefundsUsdCents: row.given_usd_cents,
  }
// Not the strongest lock: a refund that is asked for refers to its checkout, under the lock of what was paid for.
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
  after: { readonly takenUsdCents: bigint; readonly givenUsdCents: bigint },
): Promise<void> => {
  await tx
    .updateTable('checkouts')
    .set({
      taken_usd_cents: after.takenUsdCents,
      given_usd_cents: after.givenUsdCents,
      taken_revision: row.reversalRevision + 1,
    })
    .where('agent_id', '=', row.agentId)
    .where('checkout_id', '=', row.checkoutId)
    .execute()
}

/** Locks the row of a payment, made where it is new, and raises what was refunded to at least this. */
export const upsertPayment = async (tx: Tx, paymentId: string, refundedUsdCents: bigint) => {
  const { rows } = await sql<{ refunded_usd_cents: bigint }>`
    insert into card_payments as known (payment_id, refunded_usd_cents)
    values (${paymentId}, ${refundedUsdCents.toString()}::bigint)
    on conflict (payment_id) do update
      set refunded_usd_cents = greatest(known.refunded_usd_cents, excluded.refunded_usd_cents)
    returning refunded_usd_cents`.execute(tx)
  return { paymentId, refundedUsdCents: rows[0]?.refunded_usd_cents ?? 0n }
}

type Dispute = {
  readonly disputeId: string
  readonly paymentId: string
  readonly amountUsdCents: bigint
  readonly state: DisputeState
}
/** A closed dispute stays closed, and an inquiry may become a dispute but not the other way round. */
export const upsertDispute = async (tx: Tx, dispute: Dispute): Promise<void> => {
  await sql`
    insert into card_disputes as known (dispute_id, payment_id, amount_usd_cents, state)
    values (${dispute.disputeId}, ${dispute.paymentId}, ${dispute.amountUsdCents.toString()}::bigint, ${dispute.state})
    on conflict (dispute_id) do update set state = excluded.state, amount_usd_cents = excluded.amount_usd_cents
      where known.state not in ('won', 'lost') and not (known.state = 'open' and excluded.state = 'inquiry')`.execute(
    tx,
  )
}

export const listDisputes = async (tx: Tx, paymentId: string) => {
  const rows = await tx
    .selectFrom('card_disputes')
    .select(['state', 'amount_usd_cents'])
    .where('payment_id', '=', paymentId)
    .execute()
  return rows.map((row) => ({ state: row.state as DisputeState, amountUsdCents: row.amount_usd_cents }))
}

export const hasCardEvent = async (tx: Tx, eventId: string): Promise<boolean> => {
  const row = await tx
    .selectFrom('card_events')
    .select('event_id')
    .where('event_id', '=', eventId)
    .executeTakeFirst()
  return row !== undefined
}

/** Of the same message at the same time, one keeps the row; the other had nothing left to change. */
export const insertCardEvent = async (
  tx: Tx,
  event: Omit<CardEvent, 'fact'> & { readonly subject: string; readonly outcome: CardEventOutcome },
): Promise<void> => {
  await tx
    .insertInto('card_events')
    .values({
      event_id: event.eventId,
      type: event.type,
      subject: event.subject,
      outcome: event.outcome,
      said_at: event.occurredAt,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** From when on messages may be missing: an hour before the newest that was heard, three days back at most. */
export const findLastCardEvent = async (tx: Tx): Promise<Date> => {
  const { rows } = await sql<{ since: Date }>`
    select greatest(coalesce(max(said_at), '-infinity') - interval '1 hour', pohf_now() - interval '3 days') as since
    from card_events`.execute(tx)
  const row = rows[0]
  if (!row) throw new Error('the database gave no time')
  return row.since
}

export const listCardEventsKnown = async (
  tx: Tx,
  eventIds: readonly string[],
): Promise<ReadonlySet<string>> => {
  const { rows } = await sql<{ event_id: string }>`
    select event_id from card_events where event_id = any(${[...eventIds]}::text[])`.execute(tx)
  return new Set(rows.map((row) => row.event_id))
}

/** Messages that fit no checkout, newest first. */
export const listUnmatchedEvents = async (tx: Tx, limit: number) => {
  const rows = await tx
    .selectFrom('card_events')
    .select(['event_id', 'type', 'received_at'])
    .where('outcome', '=', 'unmatched')
    .orderBy('received_at', 'desc')
    .limit(limit)
    .execute()
  return rows.map((row) => ({ eventId: row.event_id, type: row.type, receivedAt: row.received_at }))
}

/** Messages that counted are kept for a year; one that comes again after that changes nothing. */
export const deleteOldCardEvents = async (tx: Tx, limit: number): Promise<number> => {
  const { numAffectedRows } = await sql`
    delete from card_events where event_id in (
      select event_id from card_events
      where received_at < pohf_now() - interval '365 days' and outcome <> 'unmatched'
      order by received_at limit ${limit} for update skip locked)`.execute(tx)
  return Number(numAffectedRows ?? 0n)
}

/** Checkouts at the provider that are ten minutes old, or older than ten minutes since the last question. */
export const listCheckoutsToPoll = async (tx: Tx, limit: number) => {
  const rows = await tx
    .selectFrom('checkouts')
    .select(['agent_id', 'checkout_id', 'provider_session_id'])
    .select(sql<boolean>`expires_at <= pohf_now()`.as('outlived'))
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
    outlived: row.outlived,
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

/** Paid live checkouts of a purpose in the order of their ids, for checking them against what was posted. */
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

const paidBetweenMax = 10_000
/** Live checkouts that were paid within this time. */
export const listPaidBetween = async (
  tx: Tx,
  span: { readonly purpose: 'credits' | 'order'; readonly from: Date; readonly to: Date },
) => {
  const rows = await paidQuery(tx, span.purpose)
    .where('paid_at', '>=', span.from)
    .where('paid_at', '<', span.to)
    .limit(paidBetweenMax)
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
