import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, readNow } from '../../platform/db/db.ts'
import { OutboundRefused, send } from '../../platform/net/outbound.ts'
import { publish } from '../../platform/queue/outbox.ts'
import type { Job } from '../../platform/queue/worker.ts'
import { outcomeOf, type AttemptOutcome, type EndpointReply } from './rules.ts'
import {
  claimDeliveries,
  findClaimHolds,
  insertAttempts,
  updateClaimsReturned,
  updateDeliveriesDelivered,
  updateDeliveryDead,
  updateDeliveryDue,
  updateEndpointsHealthy,
  type ClaimedDelivery,
  type SettledAttempt,
} from './store.ts'
import {
  firstMonitorMs,
  headersOf,
  isFailingTooLong,
  circuitOpenMsAfter,
  retryDelayMsAfter,
} from '../rules.ts'
import { openSigningKey } from '../endpoints/signing-key.ts'
import { updateEndpointDisabled, updateEndpointFailing, updateEndpointCircuitOpen } from '../store.ts'
import { makeDeliverySlots } from './slots.ts'
import { makeAcknowledgementWriter, type AcknowledgementWriter } from './acknowledged.ts'
import { mailNotice, type FindConfirmedContactEmail } from './watch.ts'

/** Deliveries that one worker sends at a time: mostly waiting on sockets, so far more than its database connections. */
const activeMax = 128
/** At a time, from one worker. */
const perEndpoint = 4
/** Claimed ahead for an endpoint that is well, four rounds. Whoever dies holding them delays them by a lease. */
const claimedPerEndpointMax = 16
/** One at a time shows whether a failing endpoint is back, and 128 dead ones are needed to fill a worker. */
const perFailingEndpoint = 1
/** Held by one worker, waiting or being sent. */
const heldMax = 384
/** Must be longer than the timeout and the settling after it, or a slow delivery is sent twice. */
const leaseSeconds = 60
/** What was claimed and not begun after this long is given back: 15 s of sending and the settling still fit the lease. */
const claimWaitMsMax = 25_000
const timeoutMsDefault = 15_000
const responseBytesMax = 65_536
/** How often a worker with something under way looks for what has become due. */
const pollMs = 250
/** Deliveries end in clusters; a claim for each would cost more than this wait. */
const batchDelayMs = 5

type AttemptResult = { readonly reply: EndpointReply; readonly durationMs: number }
const noneInFlight: ReadonlyMap<string, number> = new Map()

export const claimBatch = (ctx: Ctx, limit: number, busy = noneInFlight): Promise<ClaimedDelivery[]> =>
  inTransaction(ctx, 'system', (tx) =>
    claimDeliveries(tx, {
      limit,
      leaseSeconds,
      perEndpoint: claimedPerEndpointMax,
      perFailingEndpoint,
      inFlight: busy,
    }),
  )

/** A word for the log. Never the error's own message: it may quote the address, which may hold a secret. */
const faultOf = (error: unknown): string => {
  if (error instanceof OutboundRefused) return 'address_refused'
  if (!(error instanceof Error)) return 'unknown'
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return 'timeout'
  return 'code' in error && typeof error.code === 'string' ? error.code.slice(0, 64) : 'connection_failed'
}

/** Sends one attempt. Whatever the receiver does is a reply; only our own faults throw. */
export const sendAttempt = async (
  ctx: Ctx,
  claimed: ClaimedDelivery,
  timeoutMs = timeoutMsDefault,
): Promise<AttemptResult> => {
  const keys = claimed.secretsSealed.map((sealed) => openSigningKey(ctx, sealed))
  const startedAt = performance.now()
  const finished = (reply: EndpointReply): AttemptResult => ({
    reply,
    durationMs: performance.now() - startedAt,
  })
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
export const settleAcknowledged = (ctx: Ctx, taken: readonly SettledAttempt[]): Promise<void> =>
  inTransaction(ctx, 'system', async (tx) => {
    const claims = taken.map(({ claimed }) => claimed)
    await updateEndpointsHealthy(tx, claims)
    await updateDeliveriesDelivered(tx, claims)
    await insertAttempts(tx, taken)
  })

/** Writes down a failure, and moves the delivery if it is still this worker's to move. */
const settleFailed = async (
  ctx: Ctx,
  findContact: FindConfirmedContactEmail,
  settled: SettledAttempt,
): Promise<void> => {
  const { claimed, outcome, reply } = settled
  const { agentId, endpointId } = claimed
  await inTransaction(ctx, agentId, async (tx) => {
    const failing = (await findClaimHolds(tx, claimed))
      ? await updateEndpointFailing(tx, claimed, firstMonitorMs)
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
    const openMs = circuitOpenMsAfter(failing.failures, reply, at)
    if (openMs > 0) await updateEndpointCircuitOpen(tx, claimed, openMs)
    const waitMs =
      claimed.kind === 'event'
        ? retryDelayMsAfter(claimed.retryStep, reply, { at, fraction: ctx.ids.randomFraction() })
        : undefined
    if (waitMs === undefined) await updateDeliveryDead(tx, claimed)
    else await updateDeliveryDue(tx, claimed, waitMs)
  })
}

type DeliveryDeps = {
  readonly findContact: FindConfirmedContactEmail
  readonly writeAcknowledged: AcknowledgementWriter['write']
}

/** Writes down what came of an attempt. */
export const settle = async (
  ctx: Ctx,
  deps: DeliveryDeps,
  claimed: ClaimedDelivery,
  { reply, durationMs }: AttemptResult,
): Promise<AttemptOutcome> => {
  const outcome = outcomeOf(reply)
  const settled = { claimed, outcome, reply, durationMs }
  if (outcome === 'delivered') await deps.writeAcknowledged(settled)
  else await settleFailed(ctx, deps.findContact, settled)
  return outcome
}

/** Gives claims back unused: due at once, and not counted as attempts. */
const returnClaims = async (ctx: Ctx, claims: readonly ClaimedDelivery[]): Promise<void> => {
  if (claims.length === 0) return
  await inTransaction(ctx, 'system', (tx) => updateClaimsReturned(tx, claims)).catch((error: unknown) =>
    // Their leases run out.
    ctx.log.warn({ err: error, claims: claims.length }, 'webhook claims not returned'),
  )
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/**
 * Keeps deliveries under way: claims ahead as they are sent and never waits for the slowest. `run` answers 0 only when
 * nothing is due, nothing is under way and nothing has ended since it was last asked: what ends may have published.
 */
export const deliveryJob = (
  ctx: Ctx,
  findContact: FindConfirmedContactEmail,
  options: { readonly timeoutMs?: number } = {},
): Job => {
  const deps = {
    findContact,
    writeAcknowledged: makeAcknowledgementWriter((taken) => settleAcknowledged(ctx, taken)).write,
  }
  const inFlight = new Set<Promise<void>>()
  let endedCount = 0
  let wake = Promise.withResolvers<void>()
  const track = (work: Promise<void>): void => {
    const tracked = work.finally(() => {
      inFlight.delete(tracked)
      endedCount += 1
      wake.resolve()
    })
    inFlight.add(tracked)
  }
  /** What throws here is ours: the lease runs out and it is tried again. */
  const recordResult = async (claimed: ClaimedDelivery, result: AttemptResult): Promise<void> => {
    const { deliveryId, endpointId, eventId } = claimed
    const logFields = { deliveryId, endpointId, eventId, attempt: claimed.attempt }
    try {
      const outcome = await settle(ctx, deps, claimed, result)
      ctx.metrics.webhookAttempts.inc({ outcome })
      if (outcome === 'delivered') return
      const why = 'fault' in result.reply ? { fault: result.reply.fault } : { status: result.reply.status }
      ctx.log.info({ ...logFields, ...why }, 'webhook delivery failed')
    } catch (error) {
      ctx.log.error({ ...logFields, err: error }, 'webhook attempt not recorded')
    }
  }
  const slots = makeDeliverySlots({
    activeMax,
    perEndpoint,
    waitMsMax: claimWaitMsMax,
    now: () => performance.now(),
    send: async (claimed) => {
      const sending = Promise.withResolvers<void>()
      track(sending.promise)
      try {
        const result = await sendAttempt(ctx, claimed, options.timeoutMs)
        // The rest waits for a claim that knows of the failure.
        if (outcomeOf(result.reply) !== 'delivered')
          track(returnClaims(ctx, slots.removeWaiting(claimed.endpointId)))
        // The place is free when the receiver has answered; writing that down takes none.
        track(recordResult(claimed, result))
      } catch (error) {
        ctx.log.error({ deliveryId: claimed.deliveryId, err: error }, 'webhook attempt not sent')
      } finally {
        sending.resolve()
      }
    },
    onStale: (claims) => track(returnClaims(ctx, claims)),
  })
  /** Until something ends, with what ends shortly after it, or it is time to look. */
  const waitForWork = async (): Promise<void> => {
    const look = Promise.withResolvers<void>()
    const timer = setTimeout(look.resolve, pollMs)
    await Promise.race([wake.promise, look.promise])
    clearTimeout(timer)
    await pause(batchDelayMs)
    wake = Promise.withResolvers<void>()
  }
  const run = async (): Promise<number> => {
    const free = heldMax - slots.heldCount()
    // In large helpings: each costs the same few statements.
    const claimed = free >= heldMax / 3 ? await claimBatch(ctx, free, slots.held()) : []
    slots.add(claimed)
    if (inFlight.size > 0) await waitForWork()
    const seen = claimed.length + endedCount + inFlight.size
    endedCount = 0
    return seen
  }
  return {
    name: 'webhooks',
    everyMs: 500,
    run,
    finish: async () => {
      await returnClaims(ctx, slots.removeWaiting())
      while (inFlight.size > 0) await Promise.all(inFlight)
    },
  }
}
