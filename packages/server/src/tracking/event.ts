import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, readNow, type Tenant, type Tx } from '../platform/db/db.ts'
import type { RateLimiter } from '../platform/http/rate-limiter.ts'
import { findSession, readViewToken, type View } from '../sessions/index.ts'
import {
  beaconsByToken,
  beaconsPerViewMax,
  deduplicateBeacons,
  isTokenValid,
  isVerifiedView,
  perViewLimit,
  viewsPerBodyMax,
  type Beacon,
} from './rules.ts'
import {
  findTrackedView,
  insertBeacons,
  insertTrackedView,
  listClaimedEventIds,
  type TrackedView,
} from './store.ts'

type Outcome = 'stored' | 'duplicate' | 'limited' | 'full' | 'forged' | 'expired' | 'unknown'
type OutcomeCounts = Partial<Record<Outcome, number>>

/** Locks the row of the view. Only the first beacon of a view reads the session. */
const lockView = async (tx: Tx, view: View): Promise<TrackedView | undefined> => {
  const known = await findTrackedView(tx, view)
  if (known) return known
  const session = await findSession(tx, view)
  if (!session || !isVerifiedView(session)) return undefined
  await insertTrackedView(tx, view, session.at)
  return findTrackedView(tx, view)
}

const storeBeacons = async (tx: Tx, view: View, beacons: readonly Beacon[]): Promise<OutcomeCounts> => {
  if (!isTokenValid(view.viewedAt, await readNow(tx))) return { expired: beacons.length }
  const tracked = await lockView(tx, view)
  if (!tracked) return { unknown: beacons.length }
  const eventIds = beacons.flatMap(({ eventId }) => (eventId === null ? [] : [eventId]))
  const unseen = deduplicateBeacons(beacons, new Set(await listClaimedEventIds(tx, view, eventIds)))
  const accepted = unseen.slice(0, beaconsPerViewMax - tracked.beacons)
  await insertBeacons(tx, view, tracked, accepted)
  return {
    stored: accepted.length,
    duplicate: beacons.length - unseen.length,
    full: unseen.length - accepted.length,
  }
}

const recordView = async (
  ctx: Ctx,
  limiter: RateLimiter,
  view: View,
  beacons: readonly Beacon[],
): Promise<OutcomeCounts> => {
  const limitKey = `${view.agentId}:${view.mode}:${view.sessionId}`
  const allowed = beacons.filter(() => limiter.take(perViewLimit, limitKey).allowed)
  const limited = beacons.length - allowed.length
  if (allowed.length === 0) return { limited }
  const counts = await inTransaction(ctx, view.agentId as Tenant, (tx) => storeBeacons(tx, view, allowed))
  return { ...counts, limited }
}

/** Accepts any JSON: beacons with an authentic view token are stored, others are only counted. */
export const event = async (ctx: Ctx, limiter: RateLimiter, body: unknown) => {
  let recorded = 0
  let views = 0
  for (const [token, beacons] of beaconsByToken(body)) {
    const view = readViewToken(ctx, token)
    if (view) views += 1
    // Each view has its own transaction, under the tenant of its token.
    const counts: OutcomeCounts = !view
      ? { forged: beacons.length }
      : views > viewsPerBodyMax
        ? { limited: beacons.length }
        : await recordView(ctx, limiter, view, beacons)
    recorded += counts.stored ?? 0
    for (const [outcome, count] of Object.entries(counts)) ctx.metrics.beacons.inc({ outcome }, count)
  }
  return { ok: true as const, recorded }
}
