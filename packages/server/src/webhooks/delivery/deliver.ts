import type { Ctx } from '../../platform/ops/context.ts'
import { currentSpan, inCausedSpan } from '../../platform/ops/tracing.ts'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import { OutboundRefused, send } from '../../platform/net/outbound.ts'
import { publish } from '../../platform/queue/outbox.ts'
import type { Job } from '../../platform/queue/worker.ts'
import { updateReceiversProven } from './hosts/store.ts'
import {
  claimDeliveries,
  findClaimHolds,
  updateClaimsReturned,
  type ClaimedDelivery,
} from './claims/store.ts'
import { outcomeOf } from './rules.ts'
import type { AttemptOutcome, AttemptResult, EndpointPosition, EndpointReply } from './rules.ts'
import {
  insertAttempts,
  updateDeliveriesDelivered,
  updateDeliveryDead,
  updateDeliveryDue,
  updateEndpointsHealthy,
  type SettledAttempt,
} from './store.ts'
import {
  firstMonitorMs,
  signedHeadersOf,
  isFailingTooLong,
  circuitOpenMsAfter,
  retryDelayMsAfter,
} from '../rules.ts'
import { openSigningKey } from '../endpoints/signing-key.ts'
import {
  updateEndpointDisabled,
  updateEndpointFailing,
  updateEndpointCircuitOpen,
  type EndpointKey,
} from '../endpoints/store.ts'
import { makeInFlight } from './in-flight.ts'
import { makeDeliverySlots, type DeliverySlots } from './slots.ts'
import { returnPostponed, sendToUnproven } from './unproven.ts'
import { makeAcknowledgementWriter, type AcknowledgementWriter } from './acknowledged.ts'
import { mailNotice, type FindConfirmedContactEmail } from './monitor.ts'

/** Deliveries that one worker sends at a time: mostly waiting on sockets, so far more than its database connections. */
const activeMax = 128
/** Deliveries to one endpoint that one worker sends at a time. */
const perEndpoint = 4
/** Claimed ahead for a healthy endpoint, four rounds. A worker that crashes delays them by a lease. */
const claimedPerEndpointMax = 16
/** One at a time shows whether a failing endpoint is back, and it takes 128 such endpoints to fill a worker. */
const perFailingEndpoint = 1
/** Claimed deliveries that wait for a host whose receivers have not answered 2xx yet. */
const perUnprovenHost = 16
/** The delay of an endpoint when the queue of its host is full. */
const crowdedWaitMs = 2_000
/** Held by one worker, waiting or being sent. */
const heldMax = 384
/** Must be longer than the timeout plus settling, or a slow delivery is sent twice. */
const leaseSeconds = 60
/** A claim that is not started after this time is returned: 15 s of sending and the settling still fit the lease. */
const claimWaitMsMax = 25_000
const timeoutMsDefault = 15_000
const responseBytesMax = 65_536

/** Of one agent. The other slots stay free for all other agents. */
const perAgent = activeMax - 32
/** Slow endpoints get half of the slots together: receivers that take their time must not delay all others. */
const slowActiveMax = activeMax / 2
const slowAfterMs = 3_000
const slowForMs = 600_000

const slotLimits = {
  activeMax,
  perAgent,
  perEndpoint,
  slowActiveMax,
  slowAfterMs,
  slowForMs,
  perUnprovenHost,
  waitMsMax: claimWaitMsMax,
}

type WorkerState = {
  readonly held: ReadonlyMap<string, number>
  readonly slow: ReadonlySet<string>
  readonly position: EndpointPosition
}
const initialPosition: EndpointPosition = { scannedTo: undefined, grantedTo: undefined }
const nothingHeld: WorkerState = { held: new Map(), slow: new Set(), position: initialPosition }

export const claimBatch = (ctx: Ctx, limit: number, { held, slow, position } = nothingHeld) =>
  inTransaction(ctx, 'system', (tx) =>
    claimDeliveries(tx, {
      limit,
      leaseSeconds,
      perEndpoint: claimedPerEndpointMax,
      perFailingEndpoint,
      inFlight: held,
      slow,
      position,
    }),
  )

/** A code for the attempts log. Never the error's own message: it may quote the URL, which may hold a secret. */
const faultOf = (error: unknown): string => {
  if (error instanceof OutboundRefused) return 'address_refused'
  if (!(error instanceof Error)) return 'unknown'
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return 'timeout'
  return 'code' in error && typeof error.code === 'string' ? error.code.slice(0, 64) : 'connection_failed'
}

type SendOptions = {
  readonly timeoutMs?: number | undefined
  readonly beforeConnect?: (address: string) => Promise<void>
}

/** Sends one attempt. Whatever the receiver does is a reply; only our own errors throw. */
export const sendAttempt = async (
  ctx: Ctx,
  claimed: ClaimedDelivery,
  { timeoutMs = timeoutMsDefault, beforeConnect }: SendOptions = {},
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
      headers: signedHeadersOf(keys, { id: claimed.eventId, at: ctx.clock.now(), body: claimed.body }),
      body: claimed.body,
      timeoutMs,
      responseBytesMax,
      trust: 'user',
      allowLoopback: ctx.config.loopback,
      // A delivery may arrive twice. The connections of an agent carry nothing of another.
      idempotent: true,
      connectionOwner: claimed.agentId,
      ...(beforeConnect === undefined ? {} : { beforeConnect }),
    })
    return finished({ status: response.status, retryAfter: response.headers['retry-after'] })
  } catch (error) {
    return finished({ fault: faultOf(error) })
  }
}

/** Records acknowledged deliveries. A delivery changes state only if this worker still holds its claim. */
export const settleAcknowledged = (ctx: Ctx, attempts: readonly SettledAttempt[]): Promise<void> =>
  inTransaction(ctx, 'system', async (tx) => {
    const claims = attempts.map(({ claimed }) => claimed)
    await updateEndpointsHealthy(tx, claims)
    await updateReceiversProven(
      tx,
      claims.filter(({ hostLimit }) => hostLimit !== undefined),
    )
    await updateDeliveriesDelivered(tx, claims)
    await insertAttempts(tx, attempts)
  })

type FailedEndpoint = EndpointKey & { readonly failingSince: Date; readonly failures: number }

/** Counts the failure for the endpoint and for those whose deliveries the request carried; oldest endpoint first. */
const countFailures = async (tx: Tx, claimed: ClaimedDelivery): Promise<FailedEndpoint[]> => {
  const failed: FailedEndpoint[] = []
  const endpointIds = [claimed, ...claimed.carried].map(({ endpointId }) => endpointId)
  for (const endpointId of endpointIds.toSorted()) {
    const key = { agentId: claimed.agentId, endpointId }
    const failing = await updateEndpointFailing(tx, key, firstMonitorMs)
    if (failing) failed.push({ ...key, ...failing })
  }
  return failed
}

/** Disables an endpoint, and tells its owner. */
const disable = async (
  tx: Tx,
  ctx: Ctx,
  findContact: FindConfirmedContactEmail,
  { endpoint, claimed, gone }: { endpoint: FailedEndpoint; claimed: ClaimedDelivery; gone: boolean },
): Promise<void> => {
  const { agentId, endpointId, failingSince } = endpoint
  await updateEndpointDisabled(tx, endpoint, gone ? 'gone' : 'failing')
  await mailNotice(tx, ctx, findContact, {
    agentId,
    endpointId,
    url: claimed.url,
    failingSince,
    notice: { kind: gone ? 'gone' : 'disabled' },
  })
  await publish(tx, {
    agentId: claimed.agentId,
    mode: claimed.mode,
    type: 'endpoint.disabled',
    subject: endpointId,
    data: { endpointId, since: failingSince.toISOString() },
  })
}

/** Records a failure, and reschedules or ends the delivery if this worker still holds its claim. */
const settleFailed = async (
  ctx: Ctx,
  findContact: FindConfirmedContactEmail,
  settled: SettledAttempt,
): Promise<void> => {
  const { claimed, outcome, reply } = settled
  const gone = outcome === 'gone'
  await inTransaction(ctx, claimed.agentId, async (tx) => {
    const failed = (await findClaimHolds(tx, claimed)) ? await countFailures(tx, claimed) : []
    await insertAttempts(tx, [settled])
    // Another worker holds the claim now, or has disabled the endpoint and with it this delivery.
    if (!failed.some(({ endpointId }) => endpointId === claimed.endpointId)) return
    const at = await readNow(tx)
    const retryDelayMs =
      claimed.kind === 'event'
        ? retryDelayMsAfter(claimed.retryStep, reply, { at, fraction: ctx.ids.randomFraction() })
        : undefined
    if (retryDelayMs === undefined) await updateDeliveryDead(tx, claimed)
    else await updateDeliveryDue(tx, claimed, retryDelayMs)
    for (const endpoint of failed) {
      const openMs = circuitOpenMsAfter(endpoint.failures, reply, at)
      if (gone || isFailingTooLong(endpoint.failingSince, at))
        await disable(tx, ctx, findContact, { endpoint, claimed, gone })
      else if (openMs > 0) await updateEndpointCircuitOpen(tx, endpoint, openMs)
    }
  })
}

type DeliveryDeps = {
  readonly findContact: FindConfirmedContactEmail
  readonly writeAcknowledged: AcknowledgementWriter['write']
}

/** Records the outcome of an attempt. */
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

/** Sends an attempt, within the limits of its host if the receiver has not answered 2xx yet. */
const sendLimited = (ctx: Ctx, claimed: ClaimedDelivery, timeoutMs = timeoutMsDefault) => {
  const { hostLimit } = claimed
  if (hostLimit === undefined) return sendAttempt(ctx, claimed, { timeoutMs })
  return sendToUnproven(ctx, { ...claimed, hostLimit }, timeoutMs, (options) =>
    sendAttempt(ctx, claimed, options),
  )
}

/** The span of an attempt. The receiver learns nothing of it: our traces are no business of third parties. */
const inDeliverySpan = (claimed: ClaimedDelivery, send: () => Promise<void>): Promise<void> => {
  const attributes = { 'pohf.attempt': claimed.attempt }
  return inCausedSpan('webhook delivery', { kind: 'client', causes: [claimed.trace], attributes }, send)
}

/** Notes an attempt: how long its event has waited for it, and what came of it. */
const noteResult = (ctx: Ctx, { firstWait }: ClaimedDelivery, { reply, durationMs }: AttemptResult): void => {
  if (firstWait)
    ctx.metrics.webhookWait.observe(
      (firstWait.ms + performance.now() - firstWait.claimedAt - durationMs) / 1_000,
    )
  currentSpan()?.set({
    'pohf.outcome': outcomeOf(reply),
    ...('status' in reply ? { 'http.response.status_code': reply.status } : { 'error.type': reply.fault }),
  })
}

/** Returns unused claims: due at once, or after a wait of their endpoints, and not counted as attempts. */
const returnClaims = async (ctx: Ctx, claims: readonly ClaimedDelivery[], waitMs = 0): Promise<void> => {
  if (claims.length === 0) return
  const returned =
    waitMs > 0
      ? returnPostponed(ctx, claims, waitMs)
      : inTransaction(ctx, 'system', (tx) => updateClaimsReturned(tx, claims))
  await returned.catch((error: unknown) =>
    // Their leases run out, and they are claimed again.
    ctx.log.warn(
      {
        err: error,
        claims: claims.length,
        deliveryIds: claims.slice(0, 10).map(({ deliveryId }) => deliveryId),
      },
      'webhook claims not returned; their leases expire',
    ),
  )
}

/** Records the result of an attempt. An error here is ours: the lease runs out and the delivery is retried. */
const recordResult = async (
  ctx: Ctx,
  deps: DeliveryDeps,
  claimed: ClaimedDelivery,
  result: AttemptResult,
): Promise<void> => {
  const { deliveryId, endpointId, eventId, attempt } = claimed
  const logFields = { deliveryId, endpointId, eventId, attempt }
  try {
    const outcome = await settle(ctx, deps, claimed, result)
    ctx.metrics.webhookAttempts.inc({ outcome })
    if (outcome === 'delivered') return
    const reason = 'fault' in result.reply ? { fault: result.reply.fault } : { status: result.reply.status }
    ctx.log.info({ ...logFields, ...reason }, 'webhook delivery failed')
  } catch (error) {
    ctx.log.error({ ...logFields, err: error }, 'webhook attempt not recorded; it will be repeated')
  }
}

/** The claims of one worker, each of which begins where the last one stopped. */
const makeClaims = (ctx: Ctx, slots: DeliverySlots) => {
  let position = initialPosition
  return {
    claimNext: async (free: number): Promise<readonly ClaimedDelivery[]> => {
      const batch = await claimBatch(ctx, free, { held: slots.held(), slow: slots.slow(), position })
      position = batch.position
      return batch.claimed
    },
    /** 1 where the last claim did not look at all endpoints. */
    unscanned: (): number => (position.scannedTo === undefined ? 0 : 1),
  }
}

/**
 * Keeps deliveries in flight: claims ahead while they are sent and never waits for the slowest. `run` returns 0 only when
 * nothing is due, nothing is in flight and nothing has ended since the last call: a delivery that ends may have published an
 * event.
 */
export const deliveryJob = (
  ctx: Ctx,
  findContact: FindConfirmedContactEmail,
  options: { readonly timeoutMs?: number } = {},
): Job => {
  const { write } = makeAcknowledgementWriter((attempts) => settleAcknowledged(ctx, attempts))
  const deps = { findContact, writeAcknowledged: write }
  const inFlight = makeInFlight()
  const sendOne = async (claimed: ClaimedDelivery): Promise<void> => {
    const sending = Promise.withResolvers<void>()
    inFlight.track(sending.promise)
    try {
      const result = await sendLimited(ctx, claimed, options.timeoutMs)
      if ('waitMs' in result) {
        inFlight.track(returnClaims(ctx, [claimed], result.waitMs))
        return
      }
      noteResult(ctx, claimed, result)
      // The waiting deliveries of this endpoint are returned: the next claim takes the failure into account.
      if (outcomeOf(result.reply) !== 'delivered')
        inFlight.track(returnClaims(ctx, slots.removeWaiting(claimed.endpointId)))
      // The slot is free when the receiver has answered; recording the result takes none.
      inFlight.track(recordResult(ctx, deps, claimed, result))
    } catch (error) {
      const { deliveryId, endpointId, attempt } = claimed
      ctx.log.error(
        { deliveryId, endpointId, attempt, err: error },
        'webhook attempt not sent; it will be repeated',
      )
    } finally {
      sending.resolve()
    }
  }
  const slots = makeDeliverySlots({
    ...slotLimits,
    now: () => performance.now(),
    send: (claimed) => inDeliverySpan(claimed, () => sendOne(claimed)),
    onStale: (claims) => inFlight.track(returnClaims(ctx, claims)),
  })
  const claims = makeClaims(ctx, slots)
  return {
    name: 'webhooks',
    everyMs: 500,
    run: async () => {
      const free = heldMax - slots.heldCount()
      // In large batches: each costs the same few statements.
      const claimed = free >= heldMax / 3 ? await claims.claimNext(free) : []
      const crowded = slots.add(claimed)
      if (crowded.length > 0) inFlight.track(returnClaims(ctx, crowded, crowdedWaitMs))
      if (inFlight.size() > 0) await inFlight.waitForOne()
      return claims.unscanned() + claimed.length + inFlight.takeEndedCount() + inFlight.size()
    },
    finish: async () => {
      await returnClaims(ctx, slots.removeWaiting())
      await inFlight.waitForAll()
    },
  }
}
