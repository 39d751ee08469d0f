import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, readNow } from '../../platform/db/db.ts'
import { OutboundRefused, send } from '../../platform/net/outbound.ts'
import { publish } from '../../platform/queue/outbox.ts'
import type { Duty } from '../../platform/queue/worker.ts'
import { outcomeOf, type Outcome, type Reply } from './rules.ts'
import {
  claimDeliveries,
  findClaimHolds,
  insertAttempts,
  updateClaimsReturned,
  updateDeliveriesTaken,
  updateDeliveryDead,
  updateDeliveryDue,
  updateEndpointsHealthy,
  type Claimed,
  type Settled,
} from './store.ts'
import { firstWatchMs, headersOf, isFailingTooLong, openMsAfter, waitMsAfter } from '../rules.ts'
import { openSigningKey } from '../endpoints/signing-key.ts'
import { updateEndpointDisabled, updateEndpointFailing, updateEndpointOpen } from '../store.ts'
import { makeLanes } from './slots.ts'
import { makeTakenBook, type TakenBook } from './acknowledged.ts'
import { mailNotice, type FindContact } from './watch.ts'

/** Deliveries that one worker sends at a time: mostly waiting on sockets, so far more than its database connections. */
const activeMax = 128
/** At a time, from one worker. */
const perEndpoint = 4
/** Claimed ahead for an endpoint that is well, four rounds. Whoever dies holding them delays them by a lease. */
const aheadPerEndpoint = 16
/** One at a time shows whether a failing endpoint is back, and 128 dead ones are needed to fill a worker. */
const perFailingEndpoint = 1
/** Held by one worker, waiting or being sent. */
const heldMax = 384
/** Must be longer than the timeout and the settling after it, or a slow delivery is sent twice. */
const leaseSeconds = 60
/** What was claimed and not begun after this long is given back: 15 s of sending and the settling still fit the lease. */
const waitMsMax = 25_000
const timeoutMsDefault = 15_000
const responseBytesMax = 65_536
/** How often a worker with something under way looks for what has become due. */
const lookMs = 250
/** Deliveries end in clusters; a claim for each would cost more than this wait. */
const gatherMs = 5

type Result = { readonly reply: Reply; readonly durationMs: number }
const none: ReadonlyMap<string, number> = new Map()

export const claim = (ctx: Ctx, limit: number, busy = none): Promise<Claimed[]> =>
  inTransaction(ctx, 'system', (tx) =>
    claimDeliveries(tx, { limit, leaseSeconds, perEndpoint: aheadPerEndpoint, perFailingEndpoint, busy }),
  )

/** A word for the log. Never the error's own message: it may quote the address, which may hold a secret. */
const faultOf = (error: unknown): string => {
  if (error instanceof OutboundRefused) return 'address_refused'
  if (!(error instanceof Error)) return 'unknown'
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return 'timeout'
  return 'code' in error && typeof error.code === 'string' ? error.code.slice(0, 64) : 'connection_failed'
}

/** Sends one attempt. Whatever the receiver does is a reply; only our own faults throw. */
export const attempt = async (ctx: Ctx, claimed: Claimed, timeoutMs = timeoutMsDefault): Promise<Result> => {
  const keys = claimed.secretsSealed.map((sealed) => openSigningKey(ctx, sealed))
  const startedAt = performance.now()
  const finished = (reply: Reply): Result => ({ reply, durationMs: performance.now() - startedAt })
  try {
    const response = await send({
      url: claimed.url,
      method: 'POST',
      headers: headersOf(keys, { id: claimed.eventId, at: ctx.clock.now(), body: claimed.body }),
      body: claimed.body,
      timeoutMs,
      responseBytesMax,
      trust: 'user',
      allowLoopback: ctx.config.loopback,
    })
    return finished({ status: response.status, retryAfter: response.headers['retry-after'] })
  } catch (error) {
    return finished({ fault: faultOf(error) })
  }
}

/** Writes down deliveries that were taken, each moved only if it is still this worker's to move. */
export const settleTaken = (ctx: Ctx, taken: readonly Settled[]): Promise<void> =>
  inTransaction(ctx, 'system', async (tx) => {
    const claims = taken.map(({ claimed }) => claimed)
    await updateEndpointsHealthy(tx, claims)
    await updateDeliveriesTaken(tx, claims)
    await insertAttempts(tx, taken)
  })

/** Writes down a failure, and moves the delivery if it is still this worker's to move. */
const settleFailed = async (ctx: Ctx, findContact: FindContact, settled: Settled): Promise<void> => {
  const { claimed, outcome, reply } = settled
  const { agentId, endpointId } = claimed
  await inTransaction(ctx, agentId, async (tx) => {
    const failing = (await findClaimHolds(tx, claimed))
      ? await updateEndpointFailing(tx, claimed, firstWatchMs)
      : undefined
    await insertAttempts(tx, [settled])
    // Taken over by another worker, or switched off by one, together with this delivery.
    if (failing === undefined) return
    const at = await readNow(tx)
    if (outcome === 'gone' || isFailingTooLong(failing.failingSince, at)) {
      const gone = outcome === 'gone'
      await updateEndpointDisabled(tx, claimed, gone ? 'gone' : 'failing')
      await mailNotice(tx, ctx, findContact, {
        agentId,
        endpointId,
        url: claimed.url,
        failingSince: failing.failingSince,
        notice: { kind: gone ? 'gone' : 'disabled' },
      })
      await publish(tx, {
        agentId,
        mode: claimed.mode,
        type: 'endpoint.disabled',
        subject: endpointId,
        data: { endpointId, since: failing.failingSince.toISOString() },
      })
      return
    }
    const openMs = openMsAfter(failing.failures, reply, at)
    if (openMs > 0) await updateEndpointOpen(tx, claimed, openMs)
    const waitMs =
      claimed.kind === 'event'
        ? waitMsAfter(claimed.step, reply, { at, fraction: ctx.ids.fraction() })
        : undefined
    if (waitMs === undefined) await updateDeliveryDead(tx, claimed)
    else await updateDeliveryDue(tx, claimed, waitMs)
  })
}

type Means = { readonly findContact: FindContact; readonly writeTaken: TakenBook['write'] }

/** Writes down what came of an attempt. */
export const settle = async (
  ctx: Ctx,
  means: Means,
  claimed: Claimed,
  { reply, durationMs }: Result,
): Promise<Outcome> => {
  const outcome = outcomeOf(reply)
  const settled = { claimed, outcome, reply, durationMs }
  if (outcome === 'delivered') await means.writeTaken(settled)
  else await settleFailed(ctx, means.findContact, settled)
  return outcome
}

/** Gives claims back unused: due at once, and not counted as attempts. */
const giveBack = async (ctx: Ctx, claims: readonly Claimed[]): Promise<void> => {
  if (claims.length === 0) return
  await inTransaction(ctx, 'system', (tx) => updateClaimsReturned(tx, claims)).catch((error: unknown) =>
    // Their leases run out.
    ctx.log.warn({ err: error, claims: claims.length }, 'claimed webhooks could not be given back'),
  )
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/**
 * Keeps deliveries under way: claims ahead as they are sent and never waits for the slowest. `run` answers 0 only when
 * nothing is due, nothing is under way and nothing has ended since it was last asked: what ends may have published.
 */
export const deliveryDuty = (
  ctx: Ctx,
  findContact: FindContact,
  options: { readonly timeoutMs?: number } = {},
): Duty => {
  const means = { findContact, writeTaken: makeTakenBook((taken) => settleTaken(ctx, taken)).write }
  const underWay = new Set<Promise<void>>()
  let ended = 0
  let wake = Promise.withResolvers<void>()
  const track = (work: Promise<void>): void => {
    const tracked = work.finally(() => {
      underWay.delete(tracked)
      ended += 1
      wake.resolve()
    })
    underWay.add(tracked)
  }
  /** What throws here is ours: the lease runs out and it is tried again. */
  const write = async (claimed: Claimed, result: Result): Promise<void> => {
    const { deliveryId, endpointId, eventId } = claimed
    const about = { deliveryId, endpointId, eventId, attempt: claimed.attempt }
    try {
      const outcome = await settle(ctx, means, claimed, result)
      ctx.metrics.webhookAttempts.inc({ outcome })
      if (outcome === 'delivered') return
      const why = 'fault' in result.reply ? { fault: result.reply.fault } : { status: result.reply.status }
      ctx.log.info({ ...about, ...why }, 'a webhook was not taken')
    } catch (error) {
      ctx.log.error({ ...about, err: error }, 'a webhook attempt could not be written down')
    }
  }
  const lanes = makeLanes({
    activeMax,
    perEndpoint,
    waitMsMax,
    now: () => performance.now(),
    send: async (claimed) => {
      const sending = Promise.withResolvers<void>()
      track(sending.promise)
      try {
        const result = await attempt(ctx, claimed, options.timeoutMs)
        // The rest waits for a claim that knows of the failure.
        if (outcomeOf(result.reply) !== 'delivered') track(giveBack(ctx, lanes.takeBack(claimed.endpointId)))
        // The place is free when the receiver has answered; writing that down takes none.
        track(write(claimed, result))
      } catch (error) {
        ctx.log.error({ deliveryId: claimed.deliveryId, err: error }, 'a webhook attempt could not be made')
      } finally {
        sending.resolve()
      }
    },
    onStale: (claims) => track(giveBack(ctx, claims)),
  })
  /** Until something ends, with what ends shortly after it, or it is time to look. */
  const rest = async (): Promise<void> => {
    const look = Promise.withResolvers<void>()
    const timer = setTimeout(look.resolve, lookMs)
    await Promise.race([wake.promise, look.promise])
    clearTimeout(timer)
    await pause(gatherMs)
    wake = Promise.withResolvers<void>()
  }
  const run = async (): Promise<number> => {
    const free = heldMax - lanes.heldCount()
    // In large helpings: each costs the same few statements.
    const claimed = free >= heldMax / 3 ? await claim(ctx, free, lanes.held()) : []
    lanes.add(claimed)
    if (underWay.size > 0) await rest()
    const seen = claimed.length + ended + underWay.size
    ended = 0
    return seen
  }
  return {
    name: 'webhooks',
    everyMs: 500,
    run,
    finish: async () => {
      await giveBack(ctx, lanes.takeBack())
      while (underWay.size > 0) await Promise.all(underWay)
    },
  }
}
