import type { Ctx } from '../platform/ops/context.ts'
import type { RateLimiter } from '../platform/http/rate-limiter.ts'
import type { SigningCtx } from '../platform/ops/tokens.ts'
import { readViewToken, type View } from '../sessions/index.ts'
import type { BeaconQueue, OutcomeCounts } from './ingest.ts'
import { beaconsByToken, perViewLimit, siteLimit, viewsPerBodyMax, type Beacon } from './rules.ts'

export type EventDeps = {
  readonly ctx: Ctx
  readonly limiter: RateLimiter
  readonly readView: ReturnType<typeof makeViewReader>
  readonly enqueue: BeaconQueue
}

/** About 4 MB. */
const knownTokensMax = 10_000

/**
 * Reads view tokens. A page sends several beacons with one token, and checking its HMAC was 15 % of the api's CPU for a
 * beacon: tokens that were valid are cached. A forged token is never cached, so that it displaces no valid one.
 */
export const makeViewReader = (ctx: SigningCtx) => {
  const known = new Map<string, View>()
  return (token: string): View | undefined => {
    const found = known.get(token)
    if (found) return found
    const view = readViewToken(ctx, token)
    if (!view) return undefined
    const [oldest] = known.keys()
    if (known.size >= knownTokensMax && oldest !== undefined) known.delete(oldest)
    known.set(token, view)
    return view
  }
}

/** The beacons of a view that are within the limits of the view and of its site. */
const takeWithinLimits = (
  { ctx, limiter }: EventDeps,
  view: View,
  beacons: readonly Beacon[],
): readonly Beacon[] => {
  const site = `${view.agentId}:${view.mode}`
  const ofSite = siteLimit(ctx.config.BEACONS_PER_MINUTE)
  // First the view, so that one visitor who floods takes little from the site.
  return beacons.filter(
    () => limiter.allows(perViewLimit, `${site}:${view.sessionId}`) && limiter.allows(ofSite, site),
  )
}

const recordView = async (
  deps: EventDeps,
  view: View,
  beacons: readonly Beacon[],
): Promise<OutcomeCounts> => {
  const allowed = takeWithinLimits(deps, view, beacons)
  const limited = beacons.length - allowed.length
  if (allowed.length === 0) return { limited }
  return { ...(await deps.enqueue({ view, beacons: allowed })), limited }
}

/** Accepts any JSON: beacons with an authentic view token are stored, others are only counted. */
export const event = async (deps: EventDeps, body: unknown) => {
  const { ctx, readView } = deps
  let views = 0
  const counted = await Promise.all(
    [...beaconsByToken(body)].map(async ([token, beacons]): Promise<OutcomeCounts> => {
      const view = readView(token)
      if (!view) return { forged: beacons.length }
      views += 1
      return views > viewsPerBodyMax ? { limited: beacons.length } : recordView(deps, view, beacons)
    }),
  )
  let recorded = 0
  for (const counts of counted) {
    recorded += counts.stored ?? 0
    for (const [outcome, count] of Object.entries(counts))
      if (count > 0) ctx.metrics.beacons.inc({ outcome }, count)
  }
  return { ok: true as const, recorded }
}
