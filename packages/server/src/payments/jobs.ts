import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, readNow } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Job } from '../platform/queue/worker.ts'
import { applyFact, applyCardEvent, type Settlers } from './card/apply.ts'
import { CardProviderError, type CardProvider } from './card/provider.ts'
import { sendRefunds } from './refunds/send-refunds.ts'
import { deleteOldCardEvents, listCardEventsKnown } from './card/store.ts'
import { listCheckoutsToPoll, updateCheckoutPolled, updateCheckoutState, updateDueExpired } from './store.ts'

const batchMax = 200
const pollMax = 20
const hourMs = 3_600_000
/** As long as the provider repeats a webhook. */
const readHoursMax = 72

/** A failed request loses nothing: the next run repeats it. */
const unlessProviderFails = async (work: () => Promise<number>): Promise<number> => {
  try {
    return await work()
  } catch (error) {
    if (error instanceof CardProviderError) return 0
    throw error
  }
}

/** Reads the sessions of checkouts that have been open for long: their event may be lost. */
const pollOpenCheckouts = async (ctx: Ctx, provider: CardProvider, settlers: Settlers): Promise<number> => {
  const due = await inTransaction(ctx, 'system', (tx) => listCheckoutsToPoll(tx, pollMax))
  for (const { sessionId, isPastExpiry, ...key } of due) {
    await inTransaction(ctx, 'system', (tx) => updateCheckoutPolled(tx, key))
    const found = await provider.findSession(sessionId)
    // The session belongs to another account, or to a simulator that lost its records. A payment that arrives later still
    // counts.
    if (found === 'unknown') {
      await inTransaction(ctx, 'system', (tx) => updateCheckoutState(tx, key, 'expired', 'created'))
      continue
    }
    // The checkout is past its expiry and the page still accepts money: expire the session first.
    const fact = found?.state === 'open' && isPastExpiry ? await provider.expireSession(sessionId) : found
    if (fact) await inTransaction(ctx, 'system', (tx) => applyFact(tx, settlers, fact))
  }
  return due.length
}

/**
 * Applies events since that time whose webhook did not arrive: refunds and disputes show nowhere else. Returns how many could
 * not be applied.
 */
const applyMissedEvents = async (
  ctx: Ctx,
  { provider, settlers }: { readonly provider: CardProvider; readonly settlers: Settlers },
  since: Date,
): Promise<number> => {
  const events = await provider.listCardEvents(since)
  const known = await inTransaction(ctx, 'system', (tx) =>
    listCardEventsKnown(
      tx,
      events.map(({ eventId }) => eventId),
    ),
  )
  const missed = events.filter(({ eventId }) => !known.has(eventId))
  let failed = 0
  for (const event of missed)
    try {
      await applyCardEvent(ctx, settlers, event)
    } catch (error) {
      // An outage concerns every event; any other failure must not keep those after it from being applied.
      if (error instanceof Refusal) throw error
      failed += 1
      ctx.log.error(
        { err: error, eventId: event.eventId },
        'missed card event was not applied; it will be retried',
      )
    }
  const applied = missed.length - failed
  if (applied > 0) ctx.log.warn({ missed: applied }, 'missed card events applied')
  return failed
}

/**
 * The first run of a process reads the events of three days, each later one those since an hour before the last run that
 * applied all of them. The newest stored event says nothing: its webhook may have arrived after the loss of an earlier one.
 */
const makeMissedEventsRun = (
  ctx: Ctx,
  parts: { readonly provider: CardProvider; readonly settlers: Settlers },
) => {
  let lastRun: Date | undefined
  return async (): Promise<number> => {
    const now = await inTransaction(ctx, 'system', readNow)
    const earliest = now.getTime() - readHoursMax * hourMs
    const since = lastRun ? Math.max(lastRun.getTime() - hourMs, earliest) : earliest
    const failed = await applyMissedEvents(ctx, parts, new Date(since))
    if (failed === 0) lastRun = now
    return 0
  }
}

export const jobs = (
  ctx: Ctx,
  parts: { readonly provider: CardProvider | undefined; readonly settlers: Settlers },
): Job[] => {
  const { provider, settlers } = parts
  const runMissedEvents = provider && makeMissedEventsRun(ctx, { provider, settlers })
  return [
    {
      name: 'expire checkouts',
      everyMs: 60_000,
      run: () => inTransaction(ctx, 'system', (tx) => updateDueExpired(tx, batchMax)),
    },
    {
      name: 'delete old card events',
      everyMs: 3_600_000,
      run: () => inTransaction(ctx, 'system', (tx) => deleteOldCardEvents(tx, batchMax)),
    },
    ...(provider && runMissedEvents
      ? [
          {
            name: 'send card refunds',
            everyMs: 5_000,
            run: () => sendRefunds(ctx, { provider, settlers }),
          },
          {
            name: 'poll open card checkouts',
            everyMs: 60_000,
            run: () => unlessProviderFails(() => pollOpenCheckouts(ctx, provider, settlers)),
          },
          {
            name: 'apply missed card events',
            everyMs: 300_000,
            run: () => unlessProviderFails(runMissedEvents),
          },
        ]
      : []),
  ]
}
