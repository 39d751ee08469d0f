import { sql } from 'kysely'
import {
  apiVersion,
  events,
  type EventData,
  type EventEnvelope,
  type EventType,
  type Mode,
} from '@pohf/protocol'
import type { Ctx } from './context.ts'
import { inTransaction, now, readNow, type Tx } from './db.ts'
import { claimDue } from './leases.ts'

type Publication<T extends EventType> = {
  readonly agentId: string
  readonly mode: Mode
  readonly type: T
  /** What the event is about. Deliveries keep no order, also not those of one subject. */
  readonly subject: string
  readonly data: EventData<T>
}

/** Publishes an event in the transaction that makes it true: both are there, or neither is. */
export const publish = async <T extends EventType>(tx: Tx, event: Publication<T>): Promise<string> => {
  const eventId = tx.ids.make('evt_')
  const at = await readNow(tx)
  const data = events[event.type].data.parse(event.data)
  const envelope: EventEnvelope = {
    id: eventId,
    type: event.type,
    timestamp: at.toISOString(),
    test: event.mode === 'test',
    apiVersion,
    agentId: event.agentId,
    data,
  }
  await tx
    .insertInto('events')
    .values({
      agent_id: event.agentId,
      event_id: eventId,
      at,
      mode: event.mode,
      type: event.type,
      subject: event.subject,
      data: JSON.stringify(data),
    })
    .execute()
  await enqueue(tx, { agentId: event.agentId, topic: 'event', payload: { subject: event.subject, envelope } })
  return eventId
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

const batchMax = 50
const leaseSeconds = 60
/** 5 s, 25 s, 2 min, 10 min, then every 30 min: a mail server may be away for days. */
const waitSeconds = (attempts: number) => Math.min(1_800, 5 ** Math.min(attempts, 5))

const claim = async (ctx: Ctx, topic: Topic): Promise<OutboxRow[]> =>
  inTransaction(ctx, 'system', async (tx) => {
    const rows = await claimDue<{ agent_id: string; outbox_id: string; payload: unknown; attempts: number }>(
      tx,
      {
        table: 'outbox',
        id: 'outbox_id',
        only: sql`topic = ${topic}`,
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

/** Removes a row that is done; false where its lease ran out and another worker has it now. */
const finish = async (tx: Tx, row: OutboxRow): Promise<boolean> => {
  const result = await tx
    .deleteFrom('outbox')
    .where('agent_id', '=', row.agentId)
    .where('outbox_id', '=', row.outboxId)
    .where('attempts', '=', row.attempts)
    .executeTakeFirst()
  return result.numDeletedRows === 1n
}

const postpone = async (tx: Tx, row: OutboxRow, reason: string): Promise<void> => {
  await tx
    .updateTable('outbox')
    .set({
      due_at: sql<Date>`${now()} + make_interval(secs => ${waitSeconds(row.attempts)})`,
      last_error: reason.slice(0, 500),
    })
    .where('agent_id', '=', row.agentId)
    .where('outbox_id', '=', row.outboxId)
    .where('attempts', '=', row.attempts)
    .execute()
}

/** What happens to a row of a topic: `before` may call the network, `within` joins the transaction that removes the row. */
export type OutboxHandler = {
  readonly before?: (row: OutboxRow) => Promise<void>
  readonly within?: (tx: Tx, row: OutboxRow) => Promise<void>
}

/** Works off one batch of a topic and says how many rows it took. */
export const drainOutbox = async (ctx: Ctx, topic: Topic, handler: OutboxHandler): Promise<number> => {
  const claimedAt = ctx.clock.now().getTime()
  const rows = await claim(ctx, topic)
  for (const row of rows) {
    // The rest of a slow batch is left to its next claim: half-way through the lease another worker is near.
    if (ctx.clock.now().getTime() - claimedAt > leaseSeconds * 500) break
    try {
      await handler.before?.(row)
      await inTransaction(ctx, 'system', async (tx) => {
        if (await finish(tx, row)) await handler.within?.(tx, row)
      })
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      ctx.log.warn(
        { topic, outboxId: row.outboxId, attempts: row.attempts, reason },
        'outbox row failed; it will be tried again',
      )
      await inTransaction(ctx, 'system', (tx) => postpone(tx, row, reason))
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

/** Erasure: what was told about a subject is emptied; that something was told stays. */
export const forgetEvents = async (tx: Tx, agentId: string, subject: string): Promise<void> => {
  await tx
    .updateTable('events')
    .set({ subject: 'erased', data: '{}' })
    .where('agent_id', '=', agentId)
    .where('subject', '=', subject)
    .execute()
}
