// What the card provider says: payments, disputes and events.
import { sql } from 'kysely'
import type { Tx } from '../../platform/db/db.ts'
import type { CardEvent, CardEventOutcome, DisputeState } from './facts.ts'

/** Locks the row of a payment, inserted where it is new, and raises the refunded amount to at least this. */
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
  return rows.map((row) => ({ state: row.state, amountUsdCents: row.amount_usd_cents }))
}

export const hasCardEvent = async (tx: Tx, eventId: string): Promise<boolean> => {
  const row = await tx
    .selectFrom('card_events')
    .select('event_id')
    .where('event_id', '=', eventId)
    .executeTakeFirst()
  return row !== undefined
}

/** Of two concurrent deliveries of an event one inserts the row; the other had nothing to change. */
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

export const listCardEventsKnown = async (
  tx: Tx,
  eventIds: readonly string[],
): Promise<ReadonlySet<string>> => {
  const { rows } = await sql<{ event_id: string }>`
    select event_id from card_events where event_id = any(${[...eventIds]}::text[])`.execute(tx)
  return new Set(rows.map((row) => row.event_id))
}

/** Events that match no checkout, newest first. */
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

/** Events are stored for a year, unmatched ones for ever; an event that is repeated later changes nothing. */
export const deleteOldCardEvents = async (tx: Tx, limit: number): Promise<number> => {
  const { numAffectedRows } = await sql`
    delete from card_events where event_id in (
      select event_id from card_events
      where received_at < pohf_now() - interval '365 days' and outcome <> 'unmatched'
      order by received_at limit ${limit} for update skip locked)`.execute(tx)
  return Number(numAffectedRows ?? 0n)
}
