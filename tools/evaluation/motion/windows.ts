// Sessions turned into strokes' features once, and into windows as often as needed.
import { groupStrokes, strokeFeatures, summarise } from '../../../packages/scorer/src/features.ts'
import { toStrokes } from '../../../packages/scorer/src/index.ts'
import type { Session } from '../data.ts'
import type { Origin } from './split.ts'

export type FeaturedSession = Omit<Session, 'points'> & { readonly strokes: readonly (readonly number[])[] }
export type FeatureWindow = Origin & {
  readonly unit: string
  readonly source: Session['source']
  readonly features: readonly number[]
}

export function extractFeatures({ points, ...session }: Session): FeaturedSession {
  return { ...session, strokes: toStrokes(points).map(strokeFeatures) }
}

/** Makes the features of a window from those of its strokes. */
export type WindowSummary = (strokes: FeaturedSession['strokes']) => number[]

/** One window after the other, as a session is scored. */
export function windowsOf(
  sessions: readonly FeaturedSession[],
  seconds: number,
  summary: WindowSummary = summarise,
): FeatureWindow[] {
  return sessions.flatMap(({ strokes, ...origin }) =>
    groupStrokes(strokes, seconds).map((group) => ({ ...origin, features: summary(group) })),
  )
}

/** Windows that overlap, about `density` times as many: people are few, and a window may begin at any stroke. */
export function overlappingWindowsOf(
  sessions: readonly FeaturedSession[],
  seconds: number,
  density: number,
  summary: WindowSummary,
): FeatureWindow[] {
  return sessions.flatMap(({ strokes, ...origin }) => {
    const rows: FeatureWindow[] = []
    let since = Infinity
    for (let first = 0; first < strokes.length; first += 1) {
      if (since >= seconds / density) {
        const end = endOfWindow(strokes, first, seconds)
        if (end === undefined) break
        rows.push({ ...origin, features: summary(strokes.slice(first, end)) })
        since = 0
      }
      since += strokes[first]?.[0] ?? 0
    }
    return rows
  })
}

function endOfWindow(
  strokes: FeaturedSession['strokes'],
  first: number,
  seconds: number,
): number | undefined {
  let motion = 0
  for (let index = first; index < strokes.length; index += 1) {
    motion += strokes[index]?.[0] ?? 0
    if (motion >= seconds) return index + 1
  }
  return undefined
}

/** At most `limit` rows, evenly spaced. */
export function sampleEvenly(rows: readonly FeatureWindow[], limit: number): FeatureWindow[] {
  if (rows.length <= limit) return [...rows]
  return Array.from({ length: limit }, (_, index) => rows[Math.floor((index * rows.length) / limit)]).flatMap(
    (row) => row ?? [],
  )
}
