import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import type { View, ViewSummary, ViewWindow } from '../../sessions/index.ts'
import type { Beacon } from '../rules.ts'

/** The view that a beacon or a conversion belongs to, as PostgreSQL knows it under the lock of the view. */
export type RecordedView = {
  readonly agentId: string
  readonly mode: Mode
  readonly sessionId: string
  readonly viewedAt: Date
  /** The number of its site and workflow on its day: attention_segments. */
  readonly segment: number
  /** The number of the path of its first beacon on its day: attention_pages. */
  readonly page: number
}

/** Beacons with their views. Each view is in the list once; `place` is the index of a beacon's view in it. */
export type BeaconBatch = {
  readonly views: readonly View[]
  readonly beacons: readonly { readonly place: number; readonly beacon: Beacon }[]
}

/** What became of a beacon. */
export type RecordedOutcome = 'stored' | 'duplicate' | 'full' | 'expired' | 'unknown'

export type RecordedConversion = {
  readonly view: RecordedView
  /** The id of the event that announces the conversion. */
  readonly eventId: string
  readonly isFirstOfView: boolean
  readonly name: string
  readonly value: number | null
  readonly currency: string | null
}

/**
 * The time up to which the figures contain all recorded beacons and conversions; of later ones they may contain some. Null:
 * they contain all that were recorded until now.
 */
export type CountedUntil = Date | null

export type FunnelFigures = {
  /** Verified views. */
  readonly views: number
  readonly landed: number
  readonly engaged: number
  readonly conversions: number
  /** Views with a conversion. */
  readonly converted: number
  /** The value of conversions by currency, added up in decimals; XXX where none was named. */
  readonly values: readonly { readonly code: string; readonly total: number }[]
  readonly countedUntil: CountedUntil
}

/** The figures of views that started in one hour in UTC; of a part of it at both ends of a window. */
export type HourFigures = {
  readonly hour: Date
  readonly views: number
  readonly verified: number
  readonly rejected: number
  readonly scored: number
  /** The sum over scored views. */
  readonly quality: number
}

export type PageFigures = { readonly path: string; readonly landed: number; readonly engaged: number }

type AttentionFigures = {
  readonly summary: ViewSummary
  /** In their order, without hours that have no view. */
  readonly hours: readonly HourFigures[]
  /** Scored views by quality, in `qualityBuckets` buckets: `floor(quality * 20)`, at most 19. */
  readonly qualities: readonly number[]
  readonly probes: number
  readonly passed: number
  readonly opened: number
  readonly finished: number
  readonly abandoned: number
  /** Finished views by duration: `durations[n]` is from `checkDurationBounds[n - 1]` up to `checkDurationBounds[n]` seconds. */
  readonly durations: readonly number[]
  /** Those with the most landed views first, then by path; at most `attentionPagesMax`. */
  readonly pages: readonly PageFigures[]
  readonly countedUntil: CountedUntil
}

/** The bins of durations, in seconds: ten for each factor of ten. */
export const checkDurationBounds = [
  1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.3, 8, 10, 12.5, 16, 20, 25, 32, 40, 50, 63, 80, 100, 125, 160, 200, 250,
  320, 400, 500, 630, 800, 1_000,
] as const

/** Names of pages that are no path. */
export const pageNames = { none: '(none)', other: '(other)' } as const

/**
 * Where raw rows of beacons and conversions are stored, and where figures are read. PostgreSQL always keeps the lock of a
 * view, the event ids that count once, the counters, and which beacon and conversion is the first of its view; sessions stay
 * there, too, and an engine learns of them by triggers of the table. Every figure is exact: it equals a count of the rows.
 */
export type AttentionStore = {
  readonly name: 'postgresql' | 'clickhouse'
  /** Counts and stores beacons of any agents in one transaction, and returns the outcome of each when it is committed. */
  readonly recordBeacons: (ctx: Ctx, batch: BeaconBatch) => Promise<readonly RecordedOutcome[]>
  readonly recordConversion: (tx: Tx, conversion: RecordedConversion) => Promise<void>
  /** A read that cannot apply a filter exactly refuses with `validation_failed`. */
  readonly summary: (tx: Tx, window: ViewWindow) => Promise<ViewSummary>
  /** These open transactions themselves: an engine may call the network between them. */
  readonly funnel: (ctx: Ctx, window: ViewWindow) => Promise<FunnelFigures>
  readonly attention: (ctx: Ctx, window: ViewWindow) => Promise<AttentionFigures>
}
