import type { Ctx } from '../platform/context.ts'
import { inTransaction, readNow } from '../platform/db.ts'
import { OutboundRefused, send } from '../platform/outbound.ts'
import { publish } from '../platform/outbox.ts'
import type { Duty } from '../platform/worker.ts'
import { headersOf, isFailingTooLong, outcomeOf, waitMsAfter, type Outcome, type Reply } from './rules.ts'
import {
  claimDeliveries,
  findClaimHolds,
  insertAttempt,
  updateDeliveryDue,
  updateDeliverySettled,
  updateEndpointDisabled,
  updateEndpointFailing,
  updateEndpointHealthy,
  type Claimed,
} from './store.ts'

/** Deliveries that one worker has under way: mostly waiting on sockets, so more than its database connections. */
const parallelMax = 32
/** At a time, from one worker. */
const perEndpoint = 4
/** One at a time shows whether a failing endpoint is back, and 32 dead ones are needed to fill a worker. */
const perFailingEndpoint = 1
/** Must be longer than the timeout and the settling after it, or a slow delivery is sent twice. */
const leaseSeconds = 60
const timeoutMsDefault = 15_000
const responseBytesMax = 65_536
/** How often a worker with something under way looks for what has become due. */
const lookMs = 250

type Result = { readonly reply: Reply; readonly durationMs: number }

export const claim = (ctx: Ctx, limit: number, busy: readonly string[] = []): Promise<Claimed[]> =>
  inTransaction(ctx, 'system', (tx) =>
    claimDeliveries(tx, { limit, leaseSeconds, perEndpoint, perFailingEndpoint, busy }),
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
  const secret = ctx.secrets.open('webhook', claimed.secretSealed)
  const startedAt = performance.now()
  const finished = (reply: Reply): Result => ({ reply, durationMs: performance.now() - startedAt })
  try {
    const response = await send({
      url: claimed.url,
      method: 'POST',
      headers: headersOf(secret, { id: claimed.eventId, at: ctx.clock.now(), body: claimed.body }),
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

/** Writes down what came of an attempt, and moves the delivery if it is still this worker's to move. */
export const settle = async (ctx: Ctx, claimed: Claimed, { reply, durationMs }: Result): Promise<Outcome> => {
  const outcome = outcomeOf(reply)
  await inTransaction(ctx, claimed.agentId, async (tx) => {
    await insertAttempt(tx, claimed, { outcome, reply, durationMs })
    if (!(await findClaimHolds(tx, claimed))) return
    if (outcome === 'delivered') {
      await updateEndpointHealthy(tx, claimed)
      await updateDeliverySettled(tx, claimed, 'delivered')
      return
    }
    const failingSince = await updateEndpointFailing(tx, claimed)
    // Switched off by another worker, together with this delivery.
    if (failingSince === undefined) return
    const at = await readNow(tx)
    if (outcome === 'gone' || isFailingTooLong(failingSince, at)) {
      await updateEndpointDisabled(tx, claimed, outcome === 'gone' ? 'gone' : 'failing')
      await publish(tx, {
        agentId: claimed.agentId,
        mode: claimed.mode,
        type: 'endpoint.disabled',
        subject: claimed.endpointId,
        data: { endpointId: claimed.endpointId, since: failingSince.toISOString() },
      })
      return
    }
    const waitMs = waitMsAfter(claimed.attempt, reply, { at, fraction: ctx.ids.fraction() })
    if (waitMs === undefined) await updateDeliverySettled(tx, claimed, 'dead')
    else await updateDeliveryDue(tx, claimed, waitMs)
  })
  return outcome
}

/** One delivery from claim to settlement. What throws here is ours: the lease runs out and it is tried again. */
const deliver = async (ctx: Ctx, claimed: Claimed, timeoutMs: number | undefined): Promise<void> => {
  const { deliveryId, endpointId, eventId } = claimed
  const about = { deliveryId, endpointId, eventId, attempt: claimed.attempt }
  try {
    const result = await attempt(ctx, claimed, timeoutMs)
    const outcome = await settle(ctx, claimed, result)
    ctx.metrics.webhookAttempts.inc({ outcome })
    if (outcome !== 'delivered') {
      const why = 'fault' in result.reply ? { fault: result.reply.fault } : { status: result.reply.status }
      ctx.log.info({ ...about, ...why }, 'a webhook was not taken')
    }
  } catch (error) {
    ctx.log.error({ ...about, err: error }, 'a webhook attempt could not be made or written down')
  }
}

/**
 * Keeps up to 32 deliveries under way: claims as places get free and never waits for the slowest. `run` answers 0
 * only when nothing is due, nothing is under way and nothing has ended since it was last asked: what ends may have
 * published.
 */
export const deliveryDuty = (ctx: Ctx, options: { readonly timeoutMs?: number } = {}): Duty => {
  const underWay = new Set<Promise<void>>()
  const busy = new Map<string, number>()
  let ended = 0
  const count = (endpointId: string, change: number) => {
    const next = (busy.get(endpointId) ?? 0) + change
    if (next === 0) busy.delete(endpointId)
    else busy.set(endpointId, next)
  }
  const start = async (claimed: Claimed): Promise<void> => {
    count(claimed.endpointId, 1)
    await deliver(ctx, claimed, options.timeoutMs)
    count(claimed.endpointId, -1)
    ended += 1
  }
  const run = async (): Promise<number> => {
    const free = parallelMax - underWay.size
    const claimed = free > 0 ? await claim(ctx, free, [...busy.keys()]) : []
    for (const delivery of claimed) {
      const started = start(delivery).finally(() => underWay.delete(started))
      underWay.add(started)
    }
    if (claimed.length > 0) return claimed.length
    if (underWay.size > 0) {
      const look = Promise.withResolvers<void>()
      const timer = setTimeout(look.resolve, lookMs)
      await Promise.race([...underWay, look.promise])
      clearTimeout(timer)
    }
    const seen = ended + underWay.size
    ended = 0
    return seen
  }
  return {
    name: 'webhooks',
    everyMs: 500,
    run,
    finish: async () => {
      await Promise.all(underWay)
    },
  }
}
