import { sql, type Selectable } from 'kysely'
import {
  apiVersion,
  events,
  type EventData,
  type EventEnvelope,
  type EventType,
  type Mode,
} from '@pohf/protocol'
import type { Ctx } from '../ops/context.ts'
import { inCausedSpan } from '../ops/tracing.ts'
import { inTransaction, now, readNow, type Tx } from '../db/db.ts'
import type { DB } from '../db/schema.ts'
import { claimDue } from './leases.ts'

export type Publication<T extends EventType> = {
  readonly agentId: string
  readonly mode: Mode
  readonly type: T
  /** What the event is about. Deliveries have no order, not even those of one subject. */
  readonly subject: string
  readonly data: EventData<T>
}

/** Builds the envelope of an event without publishing it. */
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

/** Publishes events in the transaction of their state changes: all commit, or none does. Returns their ids. */
export const publishAll = async <T extends EventType>(
  tx: Tx,
  published: readonly Publication<T>[],
): Promise<string[]> => {
  if (published.length === 0) return []
  const eventIds = published.map(() => tx.ids.make('evt_'))
  const data = published.map((event) => JSON.stringify(events[event.type].data.parse(event.data)))
  await sql`
    select outbox_publish(${published.map(({ agentId }) => agentId)}::text[], ${published.map(({ mode }) => mode)}::text[],
      ${published.map(({ type }) => type)}::text[], ${published.map(({ subject }) => subject)}::text[],
      ${data}::jsonb[], ${eventIds}::text[], ${apiVersion})`.execute(tx)
  tx.outboxIds.push(...eventIds)
  return eventIds
}

/** Publishes one event. */
export const publish = async <T extends EventType>(tx: Tx, event: Publication<T>): Promise<string> => {
  const [eventId] = await publishAll(tx, [event])
  if (eventId === undefined) throw new Error(`event ${event.type} of ${event.subject} got no id`)
  return eventId
}

/** A position in an agent's list of events; `at` is text, because the database has microseconds and Date has not. */
export type EventPosition = { readonly at: string; readonly eventId: string }
type ListedEvent = { readonly position: EventPosition; readonly envelope: EventEnvelope }
type EventRow = Pick<Selectable<DB['events']>, 'agent_id' | 'event_id' | 'at' | 'type' | 'data'> & {
  readonly at_text: string
}

/**
 * Lists events of an agent in order, after a position. With `stableOnly`, only up to the point before which no event can
 * still commit: a reader that continues from the last one misses none.
 */
export const listEvents = async (
  tx: Tx,
  query: {
    readonly agentId: string
    readonly mode: Mode
    readonly after: EventPosition
    readonly stableOnly: boolean
    readonly limit: number
  },
): Promise<ListedEvent[]> => {
  const { agentId, mode, after, stableOnly, limit } = query
  const { rows } = await sql<EventRow>`
    select agent_id, event_id, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at_text, at, type, data
    from events
    where agent_id = ${agentId} and mode = ${mode} and (at, event_id) > (${after.at}::timestamptz, ${after.eventId})
      -- PostgreSQL skips older partitions by this alone.
      and at >= ${after.at}::timestamptz
      and (not ${stableOnly} or at < (select pohf_events_whole_until()))
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

/** The classes of mails, in the order of their urgency. `mail` is everything else. */
export const mailTopics = ['mail_sign_in', 'mail_confirmation', 'mail'] as const
export type MailTopic = (typeof mailTopics)[number]
export type Topic = 'event' | 'erasure' | MailTopic
export type OutboxRow = {
  readonly agentId: string
  readonly outboxId: string
  readonly payload: unknown
  readonly attempts: number
  readonly createdAt: Date
  /** The span that queued it, where that was traced. */
  readonly trace: string | null
}

/** Queues work to be done after the commit, at least once; `delaySeconds` later if it is set. */
export const enqueue = async (
  tx: Tx,
  row: {
    readonly agentId: string
    readonly topic: Topic
    readonly payload: unknown
    readonly delaySeconds?: number
  },
): Promise<void> => {
  const outboxId = tx.ids.make('evt_')
  await tx
    .insertInto('outbox')
    .values({
      agent_id: row.agentId,
      outbox_id: outboxId,
      topic: row.topic,
      payload: JSON.stringify(row.payload),
      due_at: sql<Date>`${now()} + make_interval(secs => ${row.delaySeconds ?? 0})`,
    })
    .execute()
  tx.outboxIds.push(outboxId)
}

const batchMax = 100
/** Rows of a claim for each that is handled at a time: one that takes long keeps few others waiting. */
const rowsPerLane = 4
const leaseSeconds = 60
/** Backoff: 5 s, 25 s, 2 min, 10 min, then every 30 min: a mail server may be down for days. */
const retryDelaySeconds = (attempts: number) => Math.min(1_800, 5 ** Math.min(attempts, 5))

const claim = async (ctx: Ctx, topic: Topic, limit: number): Promise<OutboxRow[]> =>
  inTransaction(ctx, 'system', async (tx) => {
    const rows = await claimDue<Selectable<DB['outbox']>>(tx, {
      table: 'outbox',
      id: 'outbox_id',
      condition: sql`topic = ${topic}`,
      limit,
      leaseSeconds,
    })
    return rows.map((row) => ({
      agentId: row.agent_id,
      outboxId: row.outbox_id,
      payload: row.payload,
      attempts: row.attempts,
      createdAt: row.created_at,
      trace: row.trace,
    }))
  })

/** Deletes the rows whose claim still holds, and returns them; another worker has claimed the rest. */
const deleteClaimed = async (tx: Tx, rows: readonly OutboxRow[]): Promise<OutboxRow[]> => {
  const { rows: removed } = await sql<Pick<Selectable<DB['outbox']>, 'outbox_id'>>`
    delete from outbox where ctid = any(array(
      select found.ctid
      from unnest(${rows.map((row) => row.agentId)}::text[], ${rows.map((row) => row.outboxId)}::text[],
        ${rows.map((row) => row.attempts)}::int[]) given(agent_id, outbox_id, attempts),
      lateral (
        select ctid from outbox held where held.agent_id = given.agent_id and held.outbox_id = given.outbox_id
          and held.attempts = given.attempts
        limit 1 for update) found))
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
 * Handles rows of a topic: `beforeTransaction` may call the network, `withinTransaction` joins the transaction that deletes
 * them. Without `beforeTransaction` a batch is handled in one transaction. `concurrency`: how many rows `beforeTransaction`
 * handles at a time; 1 where it is not set.
 */
export type OutboxHandler = {
  readonly beforeTransaction?: (row: OutboxRow) => Promise<void>
  readonly concurrency?: number
  readonly withinTransaction?: (tx: Tx, rows: readonly OutboxRow[]) => Promise<void>
}

/** Deletes and handles rows in one transaction; rows whose lease ran out are left to the worker that holds them. */
const completeBatch = async (
  ctx: Ctx,
  rows: readonly OutboxRow[],
  within: OutboxHandler['withinTransaction'],
): Promise<void> =>
  inTransaction(ctx, 'system', async (tx) => {
    const removed = await deleteClaimed(tx, rows)
    if (removed.length > 0) await within?.(tx, removed)
  })

/** Runs the handling of rows below the span that queued the first of them. */
const inOutboxSpan = (topic: Topic, rows: readonly OutboxRow[], run: () => Promise<void>): Promise<void> => {
  const attributes = { 'pohf.topic': topic, 'pohf.batch_size': rows.length }
  return inCausedSpan('outbox batch', { causes: rows.map(({ trace }) => trace), attributes }, run)
}

/** Handles one row. One that fails is retried later. */
const handleRow = async (ctx: Ctx, topic: Topic, row: OutboxRow, handler: OutboxHandler): Promise<void> => {
  try {
    await inOutboxSpan(topic, [row], async () => {
      await handler.beforeTransaction?.(row)
      await completeBatch(ctx, [row], handler.withinTransaction)
    })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    ctx.log.warn(
      { topic, agentId: row.agentId, outboxId: row.outboxId, attempts: row.attempts, reason },
      'outbox row failed; it will be retried',
    )
    await inTransaction(ctx, 'system', (tx) => scheduleRetry(tx, row, reason))
  }
}

/** Processes one batch of a topic and returns how many rows it claimed. */
export const drainOutbox = async (ctx: Ctx, topic: Topic, handler: OutboxHandler): Promise<number> => {
  const claimedAt = ctx.clock.now().getTime()
  const { concurrency } = handler
  const rows = await claim(ctx, topic, concurrency === undefined ? batchMax : concurrency * rowsPerLane)
  if (!handler.beforeTransaction && rows.length > 1) {
    try {
      await inOutboxSpan(topic, rows, () => completeBatch(ctx, rows, handler.withinTransaction))
      return rows.length
    } catch (error) {
      // One bad row must not block the others: each is handled alone below.
      ctx.log.warn(
        { topic, rows: rows.length, err: error },
        'outbox batch failed; its rows are processed one by one',
      )
    }
  }
  const waiting = rows.values()
  const handleWaiting = async (): Promise<void> => {
    for (const row of waiting) {
      // After half of the lease, the rest of a slow batch is left to its next claim: another worker may soon hold it.
      if (ctx.clock.now().getTime() - claimedAt > leaseSeconds * 500) return
      await handleRow(ctx, topic, row, handler)
    }
  }
  await Promise.all(Array.from({ length: concurrency ?? 1 }, handleWaiting))
  return rows.length
}

/** The topics whose rows are due at once. Without a mail server, mails wait for one and are not late. */
const measuredTopics = ({ SMTP_URL: mailServer }: Ctx['config']): Topic[] =>
  mailServer === undefined ? ['event'] : ['event', ...mailTopics]

/** The age of a queue is read from the rows that are due first, so that a long queue does not make the metric slow. */
const measuredMax = 1_000

type QueueFigures = {
  readonly topic: Topic
  /** The count stops at 1,000. */
  readonly waiting: number
  readonly oldestSeconds: number | null
}
/** How many rows of each topic wait, and for how long the oldest. */
export const readQueues = async (tx: Tx, topics: readonly Topic[]): Promise<QueueFigures[]> => {
  const { rows } = await sql<{ topic: Topic; waiting: number; seconds: number | null }>`
    select given.topic, oldest.waiting,
      -- A row may have been made after this transaction began.
      greatest(0, extract(epoch from pohf_now() - oldest.created_at))::float8 as seconds
    from unnest(${topics}::text[]) given(topic),
    lateral (
      select count(*)::int as waiting, min(created_at) as created_at from (
        select created_at from outbox where outbox.topic = given.topic order by due_at limit ${measuredMax}) first) oldest`.execute(
    tx,
  )
  return rows.map(({ topic, waiting, seconds }) => ({ topic, waiting, oldestSeconds: seconds }))
}

/** Sets the metric of the oldest waiting row of each topic. */
export const measureOutbox = async (ctx: Ctx): Promise<void> => {
  const queues = await inTransaction(ctx, 'system', (tx) => readQueues(tx, measuredTopics(ctx.config)))
  for (const { topic, oldestSeconds } of queues) ctx.metrics.outboxAge.set({ topic }, oldestSeconds ?? 0)
}

/**
 * Erases the data of all events about a subject, except the notice of the erasure; keeps their rows, deletes what waits in
 * the outbox, and returns their ids. A fan-out that runs at the same moment has committed its deliveries when this returns.
 */
export const eraseEvents = async (tx: Tx, agentId: string, subject: string): Promise<string[]> => {
  const rows = await tx
    .updateTable('events')
    .set({ subject: 'erased', data: '{}' })
    .where('agent_id', '=', agentId)
    .where('subject', '=', subject)
    // The condition of the index: what a mint publishes is about a credential.
    .where('type', '<>', sql.lit('credential.issued'))
    .where('type', '<>', 'member.erased')
    .returning('event_id')
    .execute()
  const eventIds = rows.map((row) => row.event_id)
  await deleteOutboxRows(tx, agentId, eventIds)
  return eventIds
}

/** What of one topic waits for an agent. */
export const listOutboxRows = async (
  tx: Tx,
  agentId: string,
  topic: Topic,
): Promise<Pick<OutboxRow, 'outboxId' | 'payload'>[]> => {
  const rows = await tx
    .selectFrom('outbox')
    .select(['outbox_id', 'payload'])
    .where('agent_id', '=', agentId)
    .where('topic', '=', topic)
    .execute()
  return rows.map((row) => ({ outboxId: row.outbox_id, payload: row.payload }))
}

/** Removes what waits, so that nothing comes of it. */
export const deleteOutboxRows = async (
  tx: Tx,
  agentId: string,
  outboxIds: readonly string[],
): Promise<void> => {
  if (outboxIds.length > 0)
    await tx
      .deleteFrom('outbox')
      .where('agent_id', '=', agentId)
      .where('outbox_id', 'in', [...outboxIds])
      .execute()
}
