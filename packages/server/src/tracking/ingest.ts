import { Refusal } from '../platform/http/errors.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { makeCoalescer, runBisected, type Outcome as ItemOutcome } from '../platform/queue/coalesce.ts'
import type { View } from '../sessions/index.ts'
import type { AttentionStore, BeaconBatch, RecordedOutcome } from './engines/port.ts'
import type { Beacon } from './rules.ts'
import { nameOf } from './store.ts'

type BeaconOutcome = RecordedOutcome | 'limited' | 'forged'
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

/** One batch of submissions: each view once, and their beacons in the order in which they came. */
const batchOf = (submissions: readonly BeaconSubmission[]): BeaconBatch => {
  const places = new Map<string, number>()
  const views: View[] = []
  const beacons = submissions.flatMap(({ view, beacons: submitted }) => {
    const name = nameOf(view)
    const place = places.get(name) ?? views.push(view) - 1
    places.set(name, place)
    return submitted.map((beacon) => ({ place, beacon }))
  })
  return { views, beacons }
}

const countOutcomes = (outcomes: readonly RecordedOutcome[]): OutcomeCounts => {
  const counts: OutcomeCounts = {}
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1
  return counts
}

/** Stores submissions of any agents: nothing of one view is read for another, and each has its own outcome. */
const recordSubmissions = async (
  ctx: Ctx,
  store: AttentionStore,
  submissions: readonly BeaconSubmission[],
): Promise<ItemOutcome<OutcomeCounts>[]> => {
  const outcomes = await store.recordBeacons(ctx, batchOf(submissions))
  let first = 0
  return submissions.map(({ beacons }) => {
    const own = outcomes.slice(first, first + beacons.length)
    first += beacons.length
    return { value: countOutcomes(own) }
  })
}

/**
 * Batches beacons of many requests into one statement, which is acknowledged when it is committed. A batch that fails is
 * split, down to the submission at fault.
 */
export const makeBeaconQueue = (ctx: Ctx, store: AttentionStore) =>
  makeCoalescer<BeaconSubmission, OutcomeCounts>({
    run: (batch) =>
      runBisected(
        batch,
        (part) => recordSubmissions(ctx, store, part),
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
