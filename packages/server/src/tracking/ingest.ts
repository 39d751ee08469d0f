import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { makeCoalescer, runBisected, type Outcome as ItemOutcome } from '../platform/queue/coalesce.ts'
import { findSessions, type View } from '../sessions/index.ts'
import type { AttentionStore, RecordedBeacon } from './engines/port.ts'
import {
  beaconsPerViewMax,
  deduplicateBeacons,
  isEngagement,
  isTokenValid,
  isVerifiedView,
  type Beacon,
} from './rules.ts'
import {
  claimLandingPages,
  insertTrackedViews,
  listClaimedEventIds,
  lockTrackedViews,
  nameOf,
  updateTrackedViews,
  type TrackedView,
} from './store.ts'

type BeaconOutcome = 'stored' | 'duplicate' | 'limited' | 'full' | 'forged' | 'expired' | 'unknown'
export type OutcomeCounts = Partial<Record<BeaconOutcome, number>>

/** Beacons of one view, as one request brought them. */
export type BeaconSubmission = { readonly view: View; readonly beacons: readonly Beacon[] }

/** Submissions in one transaction. Each has up to 100 beacons; most have one. */
const batchMax = 256
/** While one batch is written, the next is prepared. */
const inFlightMax = 2
/** Long enough for the callers of a returned batch to come back: a batch takes about as long. */
const batchWaitMs = 3
/** Submissions that wait; further ones are refused with Retry-After. */
const waitingMax = 10_000

/** Locks the rows of views. Only the first beacon of a view reads its session, and a view that is not verified gets no row. */
const lockViews = async (tx: Tx, views: readonly View[]): Promise<Map<string, TrackedView>> => {
  const known = new Map((await lockTrackedViews(tx, views)).map((view) => [nameOf(view), view]))
  const unknown = views.filter((view) => !known.has(nameOf(view)))
  if (unknown.length === 0) return known
  const sessions = await findSessions(tx, unknown)
  const found = unknown.flatMap((view, index) => {
    const session = sessions[index]
    return session && isVerifiedView(session) ? [{ ...view, session }] : []
  })
  if (found.length === 0) return known
  await insertTrackedViews(tx, found)
  for (const view of await lockTrackedViews(tx, found)) known.set(nameOf(view), view)
  return known
}

/** Decides under the lock which beacons of a view count. */
const countBeacons = (view: TrackedView, claimed: ReadonlySet<string>, beacons: readonly Beacon[]) => {
  const unseen = deduplicateBeacons(beacons, claimed)
  const accepted = unseen.slice(0, beaconsPerViewMax - view.beacons)
  const firstEngagement = view.engaged ? -1 : accepted.findIndex(isEngagement)
  const counted: TrackedView = {
    ...view,
    beacons: view.beacons + accepted.length,
    engaged: view.engaged || firstEngagement >= 0,
  }
  const counts: OutcomeCounts = {
    stored: accepted.length,
    duplicate: beacons.length - unseen.length,
    full: unseen.length - accepted.length,
  }
  return { counted, accepted, firstEngagement, counts }
}

/** What a batch adds: the views as they are afterwards, and their beacons. `claimed` are the event ids of each view. */
const makeChanges = (tracked: ReadonlyMap<string, TrackedView>, claimed: Map<string, Set<string>>) => {
  const views = new Map(tracked)
  const landings = new Map<string, { readonly view: TrackedView; readonly path: string | null }>()
  const beacons: { readonly name: string; readonly beacon: Omit<RecordedBeacon, 'view'> }[] = []
  const add = (name: string, view: TrackedView, submitted: readonly Beacon[]): OutcomeCounts => {
    const seen = claimed.get(name) ?? new Set()
    claimed.set(name, seen)
    const { counted, accepted, firstEngagement, counts } = countBeacons(view, seen, submitted)
    const [first] = accepted
    if (!first) return counts
    if (view.beacons === 0) landings.set(name, { view, path: first.path })
    for (const [index, beacon] of accepted.entries()) {
      if (beacon.eventId !== null) seen.add(beacon.eventId)
      const seq = view.beacons + index + 1
      beacons.push({ name, beacon: { ...beacon, seq, isFirstEngagement: index === firstEngagement } })
    }
    views.set(name, counted)
    return counts
  }
  return { views, landings, beacons, add }
}

/** Stores submissions of any agents: nothing of one view is read for another, and each has its own outcome. */
const storeBatch = async (
  tx: Tx,
  store: AttentionStore,
  batch: readonly BeaconSubmission[],
): Promise<ItemOutcome<OutcomeCounts>[]> => {
  const now = await readNow(tx)
  const valid = batch.filter(({ view }) => isTokenValid(view.viewedAt, now))
  const views = new Map(valid.map(({ view }) => [nameOf(view), view]))
  const tracked = views.size === 0 ? new Map<string, TrackedView>() : await lockViews(tx, [...views.values()])
  const ids = valid.flatMap(({ view, beacons }) =>
    tracked.has(nameOf(view))
      ? beacons.flatMap(({ eventId }) => (eventId === null ? [] : [{ ...view, eventId }]))
      : [],
  )
  const claimed = new Map<string, Set<string>>()
  for (const id of await listClaimedEventIds(tx, ids)) {
    const known = claimed.get(nameOf(id)) ?? new Set()
    claimed.set(nameOf(id), known.add(id.eventId))
  }
  const changes = makeChanges(tracked, claimed)
  const outcomes = batch.map(({ view, beacons }): ItemOutcome<OutcomeCounts> => {
    if (!isTokenValid(view.viewedAt, now)) return { value: { expired: beacons.length } }
    const name = nameOf(view)
    const current = changes.views.get(name)
    return { value: current ? changes.add(name, current, beacons) : { unknown: beacons.length } }
  })
  await writeChanges(tx, store, changes)
  return outcomes
}

const writeChanges = async (
  tx: Tx,
  store: AttentionStore,
  { views, landings, beacons }: ReturnType<typeof makeChanges>,
): Promise<void> => {
  if (beacons.length === 0) return
  const pages = await claimLandingPages(tx, [...landings.values()])
  for (const [index, name] of [...landings.keys()].entries()) {
    const view = views.get(name)
    if (view) views.set(name, { ...view, page: pages[index] ?? 0 })
  }
  const recorded = beacons.flatMap(({ name, beacon }): RecordedBeacon[] => {
    const view = views.get(name)
    return view ? [{ ...beacon, view }] : []
  })
  const changed = new Map(recorded.map(({ view }) => [nameOf(view), view as TrackedView]))
  await updateTrackedViews(
    tx,
    [...changed.values()],
    recorded.flatMap(({ view, eventId }) => (eventId === null ? [] : [{ ...view, eventId }])),
  )
  await store.recordBeacons(tx, recorded)
}

/**
 * Batches beacons of many requests into one transaction, which is acknowledged when it is committed. It works as the system,
 * because the views of a batch belong to several agents: every statement names the agent of the token. A batch that fails is
 * split, down to the submission at fault.
 */
export const makeBeaconQueue = (ctx: Ctx, store: AttentionStore) =>
  makeCoalescer<BeaconSubmission, OutcomeCounts>({
    run: (batch) =>
      runBisected(
        batch,
        (part) => inTransaction(ctx, 'system', (tx) => storeBatch(tx, store, part)),
        (error) => error instanceof Refusal,
      ),
    batchMax,
    inFlightMax,
    batchWaitMs,
    waitingMax,
    waitLimitMs: ctx.config.DATABASE_WAIT_SECONDS * 1_000,
    fullError: () => new Refusal('overloaded', { headers: { 'retry-after': '2' } }),
  })
export type BeaconQueue = ReturnType<typeof makeBeaconQueue>
