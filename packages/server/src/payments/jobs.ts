import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import type { Job } from '../platform/queue/worker.ts'
import { applyFact, applyCardEvent, type Settlers } from './card/apply.ts'
import { CardProviderError, type CardProvider } from './card/provider.ts'
import { sendRefunds } from './refunds/send-refunds.ts'
import {
  deleteOldCardEvents,
  findLastCardEvent,
  listCardEventsKnown,
  listCheckoutsToPoll,
  updateCheckoutPolled,
  updateCheckoutState,
  updateDueExpired,
} from './store.ts'

const batchMax = 200
const pollMax = 20

/** Nothing is lost where the provider is away: the next look asks again. */
const unlessProviderFails = async (work: () => Promise<number>): Promise<number> => {
  try {
    return await work()
  } catch (error) {
    if (error instanceof CardProviderError) return 0
    throw error
  }
}

/** Asks how checkouts stand that have been open for long: their message may be lost. */
const pollOpenCheckouts = async (ctx: Ctx, provider: CardProvider, settlers: Settlers): Promise<number> => {
  const due = await inTransaction(ctx, 'system', (tx) => listCheckoutsToPoll(tx, pollMax))
  for (const { sessionId, outlived, ...key } of due) {
    await inTransaction(ctx, 'system', (tx) => updateCheckoutPolled(tx, key))
    const found = await provider.findSession(sessionId)
    // Another account, or a stand-in that has forgotten it. Should money come after all, it still counts.
    if (found === 'unknown') {
      await inTransaction(ctx, 'system', (tx) => updateCheckoutState(tx, key, 'expired', 'created'))
      continue
    }
    // Our time is over and the page still takes money: it is closed there first.
    const fact = found?.state === 'open' && outlived ? await provider.expireSession(sessionId) : found
    if (fact) await inTransaction(ctx, 'system', (tx) => applyFact(tx, settlers, fact))
  }
  return due.length
}

/** Reads what the provider has said and we may not have heard: refunds and disputes show nowhere else. */
const applyMissedEvents = async (ctx: Ctx, provider: CardProvider, settlers: Settlers): Promise<number> => {
  const since = await inTransaction(ctx, 'system', findLastCardEvent)
  const messages = await provider.listCardEvents(since)
  const known = await inTransaction(ctx, 'system', (tx) =>
    listCardEventsKnown(
      tx,
      messages.map(({ eventId }) => eventId),
    ),
  )
  const missed = messages.filter(({ eventId }) => !known.has(eventId))
  for (const message of missed) await applyCardEvent(ctx, settlers, message)
  if (missed.length > 0) ctx.log.warn({ missed: missed.length }, 'missed card events applied')
  return 0
}

export const jobs = (
  ctx: Ctx,
  parts: { readonly provider: CardProvider | undefined; readonly settlers: Settlers },
): Job[] => {
  const { provider, settlers } = parts
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
    ...(provider
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
            run: () => unlessProviderFails(() => applyMissedEvents(ctx, provider, settlers)),
          },
        ]
      : []),
  ]
}
