import { sql } from 'kysely'
import {
  apiVersion,
  events,
  type EventData,
  type EventEnvelope,
  type EventType,
  type Mode,
} from '@pohf/protocol'
import type { Ctx } from '../ops/context.ts'
import { inTransaction, now, readNow, type Tx } from '../db/db.ts'
import { claimDue } from './leases.ts'

type Publication<T extends EventType> = {
  readonly agentId: string
  readonly mode: Mode
  readonly type: T
  /** What the event is about. Deliveries keep no order, also not those of one subject. */
  readonly subject: string
  readonly data: EventData<T>
}

/** The envelope of an event that is true now; by itself it tells nobody. */
export const envelopeOf = async <T extends EventType>(
  tx: Tx,
  event: Omit<Publication<T>, 'subject'>,
): Promise<EventEnvelope> => ({
  id: tx.ids.make('evt_'),
  type: event.type,
  timestamp: (await readNow(tx)).toISOString(),
  test: event.mode === 'test',
  apiVersion,
  agentId: event.agentId,
  data: events[event.type].data.parse(event.data),
})

/** Publishes an event in the transaction that makes it true: both are there, or neither is. */
export const publish = async <T extends EventType>(tx: Tx, event: Publication<T>): Promise<string> => {
  const eventId = tx.ids.make('evt_')
  const data = events[event.type].data.parse(event.data)
  await sql`
    select outbox_publish(${[event.agentId]}::text[], ${[event.mode]}::text[], ${[event.type]}::text[],
      ${[event.subject]}::text[], ${[JSON.stringify(data)]}::jsonb[], ${[eventId]}::text[], ${apiVersion})`.execute(
    tx,
  )
  return eventId
}

/** A place in an agent's list of events; `at` is text, because the database counts finer than a Date. */
export type EventPosition = { readonly at: string; readonly eventId: string }
type ListedEvent = { readonly position: EventPosition; readonly envelope: EventEnvelope }
type EventRow = {
  agent_id: string
  event_id: string
  at_text: string
  at: Date
  type: string
  data: Record<string, unknown>
}

/**
 * Events of an agent in their order, from behind a position on. With `whole`, only as far as no event can still
 * appear in front: who goes on from the last one misses none.
 */
export const listEvents = async (
  tx: Tx,
  query: {
    readonly agentId: string
    readonly mode: Mode
    readonly after: EventPosition
    readonly whole: boolean
    readonly limit: number
  },
): Promise<ListedEvent[]> => {
  const { agentId, mode, after, whole, limit } = query
  const { rows } = await sql<EventRow>`
    select agent_id, event_id, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at_text, at, type, data
    from events
    where agent_id = ${agentId} and mode = ${mode} and (at, event_id) > (${after.at}::timestamptz, ${after.eventId})
      and (not ${whole} or at < (select pohf_events_whole_until()))
    order by at, event_id limit ${limit}`.execute(tx)
  return rows.map((row) => ({
    position: { at: row.at_text, eventId: row.event_id },
    envelope: {
      id: row.event_id,
      type: row.type,
      timestamp: row.at.toISOString(),
      test: mode === 'test',
      apiVersion,
      agentId: row.agent_id,
      data: row.data,
    },
  }))
}

export type Topic = 'event' | 'mail'
export type OutboxRow = {
  readonly agentId: string
  readonly outboxId: string
  readonly payload: unknown
  readonly attempts: number
}

/** Adds work to be done after the commit, at least once. */
export const enqueue = async (
  tx: Tx,
  row: { readonly agentId: string; readonly topic: Topic; readonly payload: unknown },
): Promise<void> => {
  await tx
    .insertInto('outbox')
    .values({
      agent_id: row.agentId,
      outbox_id: tx.ids.make('evt_'),
      topic: row.topic,
      payload: JSON.stringify(row.payload),
    })
    .execute()
}

const batchMax = 100
const leaseSeconds = 60
/** 5 s, 25 s, 2 min, 10 min, then every 30 min: a mail server may be away for days. */
const retryDelaySeconds = (attempts: number) => Math.min(1_800, 5 ** Math.min(attempts, 5))

const claim = async (ctx: Ctx, topic: Topic): Promise<OutboxRow[]> =>
  inTransaction(ctx, 'system', async (tx) => {
    const rows = await claimDue<{ agent_id: string; outbox_id: string; payload: unknown; attempts: number }>(
      tx,
      {
        table: 'outbox',
        id: 'outbox_id',
        condition: sql`topic = ${topic}`,
        limit: batchMax,
        leaseSeconds,
      },
    )
    return rows.map((row) => ({
      agentId: row.agent_id,
      outboxId: row.outbox_id,
      payload: row.payload,
      attempts: row.attempts,
    }))
  })

/** Removes rows that are done and returns them, without those whose lease ran out and that another worker has now. */
const deleteClaimed = async (tx: Tx, rows: readonly OutboxRow[]): Promise<OutboxRow[]> => {
  const { rows: removed } = await sql<{ outbox_id: string }>`
    delete from outbox where (agent_id, outbox_id, attempts) in (
      select * from unnest(${rows.map((row) => row.agentId)}::text[], ${rows.map((row) => row.outboxId)}::text[],
        ${rows.map((row) => row.attempts)}::int[]))
    returning outbox_id`.execute(tx)
  const ids = new Set(removed.map((row) => row.outbox_id))
  return rows.filter((row) => ids.has(row.outboxId))
}

const scheduleRetry = async (tx: Tx, row: OutboxRow, reason: string): Promise<void> => {
  await tx
    .updateTable('outbox')
    .set({
      due_at: sql<Date>`${now()} + make_interval(secs => ${retryDelaySeconds(row.attempts)})`,
      last_error: reason.slice(0, 500),
    })
    .where('agent_id', '=', row.agentId)
    .where('outbox_id', '=', row.outboxId)
    .where('attempts', '=', row.attempts)
    .execute()
}

/**
 * What happens to rows of a topic: `before` may call the network, `within` joins the transaction that removes them.
 * Without `before` a batch goes in one transaction.
 */
export type OutboxHandler = {
  readonly beforeTransaction?: (row: OutboxRow) => Promise<void>
  readonly withinTransaction?: (tx: Tx, rows: readonly OutboxRow[]) => Promise<void>
}

/** Removes and handles rows in one transaction; those whose lease ran out are left to who has them now. */
const completeBatch = async (
  ctx: Ctx,
  rows: readonly OutboxRow[],
  within: OutboxHandler['withinTransaction'],
): Promise<void> =>
  inTransaction(ctx, 'system', async (tx) => {
    const removed = await deleteClaimed(tx, rows)
    if (removed.length > 0) await within?.(tx, removed)
  })

/** Works off one batch of a topic and says how many rows it took. */
export const drainOutbox = async (ctx: Ctx, topic: Topic, handler: OutboxHandler): Promise<number> => {
  const claimedAt = ctx.clock.now().getTime()
  const rows = await claim(ctx, topic)
  if (!handler.beforeTransaction && rows.length > 1) {
    try {
      await completeBatch(ctx, rows, handler.withinTransaction)
      return rows.length
    } catch (error) {
      // One bad row must not hold up the others: each is tried by itself below.
      ctx.log.warn({ topic, err: error }, 'outbox batch failed; its rows are retried one by one')
    }
  }
  for (const row of rows) {
    // The rest of a slow batch is left to its next claim: half-way through the lease another worker is near.
    if (ctx.clock.now().getTime() - claimedAt > leaseSeconds * 500) break
    try {
      await handler.beforeTransaction?.(row)
      await completeBatch(ctx, [row], handler.withinTransaction)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      ctx.log.warn(
        { topic, outboxId: row.outboxId, attempts: row.attempts, reason },
        'outbox row failed; it will be retried',
      )
      await inTransaction(ctx, 'system', (tx) => scheduleRetry(tx, row, reason))
    }
  }
  return rows.length
}

const topics: readonly Topic[] = ['event', 'mail']

/** Sets the age of the oldest waiting row of each topic, for whoever reads the metrics. */
export const measureOutbox = async (ctx: Ctx): Promise<void> => {
  const rows = await inTransaction(ctx, 'system', (tx) =>
    tx
      .selectFrom('outbox')
      .select(['topic', sql<number>`extract(epoch from pohf_now() - min(created_at))::float8`.as('seconds')])
      .groupBy('topic')
      .execute(),
  )
  for (const topic of topics)
    ctx.metrics.outboxAge.set({ topic }, rows.find((row) => row.topic === topic)?.seconds ?? 0)
}

/** Erasure: what was told about a subject is emptied; that something was told stays. Names the events. */
export const eraseEvents = async (tx: Tx, agentId: string, subject: string): Promise<string[]> => {
  const rows = await tx
    .updateTable('events')
    .set({ subject: 'erased', data: '{}' })
    .where('agent_id', '=', agentId)
    .where('subject', '=', subject)
    .returning('event_id')
    .execute()
  return rows.map((row) => row.event_id)
}
