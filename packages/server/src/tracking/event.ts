import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, readNow, type Tenant, type Tx } from '../platform/db/db.ts'
import type { Limiter } from '../platform/http/limits.ts'
import { findSession, readViewToken, type View } from '../sessions/index.ts'
import {
  beaconsByToken,
  beaconsPerViewMax,
  freshBeacons,
  isTokenAlive,
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
type Tally = Partial<Record<Outcome, number>>

/** The view's row, locked. The first beacon of a view reads the session; later ones do not. */
const lockView = async (tx: Tx, view: View): Promise<TrackedView | undefined> => {
  const known = await findTrackedView(tx, view)
  if (known) return known
  const session = await findSession(tx, view)
  if (!session || !isVerifiedView(session)) return undefined
  await insertTrackedView(tx, view, session.at)
  return findTrackedView(tx, view)
}

const store = async (tx: Tx, view: View, beacons: readonly Beacon[]): Promise<Tally> => {
  if (!isTokenAlive(view.viewedAt, await readNow(tx))) return { expired: beacons.length }
  const tracked = await lockView(tx, view)
  if (!tracked) return { unknown: beacons.length }
  const eventIds = beacons.flatMap(({ eventId }) => (eventId === null ? [] : [eventId]))
  const fresh = freshBeacons(beacons, new Set(await listClaimedEventIds(tx, view, eventIds)))
  const taken = fresh.slice(0, beaconsPerViewMax - tracked.beacons)
  await insertBeacons(tx, view, tracked, taken)
  return {
    stored: taken.length,
    duplicate: beacons.length - fresh.length,
    full: fresh.length - taken.length,
  }
}

const recordView = async (
  ctx: Ctx,
  limiter: Limiter,
  view: View,
  beacons: readonly Beacon[],
): Promise<Tally> => {
  const limitKey = `${view.agentId}:${view.mode}:${view.sessionId}`
  const allowed = beacons.filter(() => limiter.take(perViewLimit, limitKey).allowed)
  const limited = beacons.length - allowed.length
  if (allowed.length === 0) return { limited }
  const tally = await inTransaction(ctx, view.agentId as Tenant, (tx) => store(tx, view, allowed))
  return { ...tally, limited }
}

/** Takes any JSON: what carries a genuine view token is stored, the rest is only counted. */
export const event = async (ctx: Ctx, limiter: Limiter, body: unknown) => {
  const key = ctx.secrets.derive('vt')
  let recorded = 0
  let views = 0
  for (const [token, beacons] of beaconsByToken(body)) {
    const view = readViewToken(key, token)
    if (view) views += 1
    // Each view is a unit of work of its own, under the tenant that its token names.
    const tally: Tally = !view
      ? { forged: beacons.length }
      : views > viewsPerBodyMax
        ? { limited: beacons.length }
        : await recordView(ctx, limiter, view, beacons)
    recorded += tally.stored ?? 0
    for (const [outcome, count] of Object.entries(tally)) ctx.metrics.beacons.inc({ outcome }, count)
  }
  return { ok: true as const, recorded }
}
