import type { MetricsRow } from '@pohf/protocol'
import type { Session } from '../sessions/index.ts'

const dayMs = 86_400_000

/** How long a view token works, for beacons and conversions alike. */
export const tokenDays = 30
/** A body may hold this many beacons; the rest is left out. */
const beaconsMax = 100
/** The database holds the same number as a constraint. */
export const beaconsPerViewMax = 500
/** A page has one view token. A body that mixes more than this is nobody's page. */
export const viewsPerBodyMax = 10
export const perViewLimit = { name: 'vt', quota: 60, windowSeconds: 60 } as const

/** Beacon types that say that a person did something on the page. */
export const engagementTypes = ['engaged', 'scroll', 'click', 'dwell', 'input'] as const

const propsMax = 20

/** One beacon, cleaned for storing. */
export type Beacon = {
  readonly type: string
  readonly eventId: string | null
  readonly clientAt: Date | null
  readonly path: string | null
  readonly props: Readonly<Record<string, string | number | boolean | null>> | null
}

/** Text that PostgreSQL can hold, at most `max` long: no NUL, no lone surrogate, not even one made by the cut. */
export const cleanText = (value: string, max: number): string =>
  value.replaceAll('\u0000', '').slice(0, max).toWellFormed()

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const textOrNull = (value: unknown, max: number): string | null => {
  if (typeof value !== 'string' && typeof value !== 'number') return null
  const text = cleanText(String(value), max)
  return text === '' ? null : text
}

const earliestMs = Date.UTC(2000, 0, 1)
const latestMs = Date.UTC(2100, 0, 1)

/** The client's clock, as it says: ISO text or milliseconds. Anything else, or another century, is nothing. */
const instantOrNull = (value: unknown): Date | null => {
  if (typeof value !== 'string' && typeof value !== 'number') return null
  const at = new Date(value)
  return at.getTime() >= earliestMs && at.getTime() < latestMs ? at : null
}

/** The path without query and fragment: those are where pages keep names and tokens of people. */
const pathOrNull = (value: unknown): string | null =>
  typeof value === 'string' ? textOrNull(value.split(/[?#]/, 1)[0], 512) : null

const scalarOf = (value: unknown): string | number | boolean | null | undefined => {
  if (typeof value === 'string') return cleanText(value, 256)
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  return typeof value === 'boolean' || value === null ? value : undefined
}

/** The first 20 plain values; nested ones are left out. */
const propsOrNull = (value: unknown): Beacon['props'] => {
  if (!isRecord(value)) return null
  const entries = Object.entries(value)
    .map(([key, inner]) => [cleanText(key, 64), scalarOf(inner)] as const)
    .filter(
      (entry): entry is readonly [string, NonNullable<Beacon['props']>[string]] => entry[1] !== undefined,
    )
    .slice(0, propsMax)
  return entries.length === 0 ? null : Object.fromEntries(entries)
}

const beaconOf = (item: Record<string, unknown>): Beacon => ({
  type:
    (['type', 'event', 'name'] as const)
      .map((field) => textOrNull(item[field], 64))
      .find((name) => name !== null) ?? 'unnamed',
  eventId: textOrNull(item['eventId'], 128),
  clientAt: instantOrNull(item['ts']),
  path: pathOrNull(item['path']),
  props: propsOrNull(item['props']),
})

/** Every beacon of a body, whatever the body is, under the token it names. */
export const beaconsByToken = (body: unknown): Map<string, Beacon[]> => {
  const items = (Array.isArray(body) ? body.slice(0, beaconsMax) : [body]).filter(isRecord)
  const grouped = new Map<string, Beacon[]>()
  for (const item of items) {
    const token = typeof item['vt'] === 'string' ? item['vt'] : ''
    const known = grouped.get(token)
    if (known) known.push(beaconOf(item))
    else grouped.set(token, [beaconOf(item)])
  }
  return grouped
}

/** Whether a token for a view of this time still works. */
export const isTokenValid = (viewedAt: Date, now: Date): boolean =>
  now.getTime() - viewedAt.getTime() <= tokenDays * dayMs

/** Only views that were scored as human carry what follows: that is what makes the funnel a verified one. */
export const isVerifiedView = (session: Session): boolean =>
  session.kind === 'view' && session.verified === true

/** Beacons that were not seen before, in their order; an event id counts once. */
export const deduplicateBeacons = (beacons: readonly Beacon[], claimed: ReadonlySet<string>): Beacon[] => {
  const seen = new Set(claimed)
  return beacons.filter(({ eventId }) => {
    if (eventId === null) return true
    if (seen.has(eventId)) return false
    seen.add(eventId)
    return true
  })
}

/** The start of a window: what was asked, held between 1970 and now, else so many days ago. */
export const windowStart = (requestedSince: Date | undefined, now: Date, defaultDays: number): Date => {
  const start = requestedSince?.getTime() ?? now.getTime() - defaultDays * dayMs
  return new Date(Math.min(now.getTime(), Math.max(0, start)))
}

/** A share of the views. Two reads a moment apart may disagree by one, so it is held at 1. */
export const rateOf = (part: number, views: number): number => (views === 0 ? 0 : Math.min(1, part / views))

export const metricsRowOf = (session: Session): MetricsRow => ({
  sessionId: session.sessionId,
  credentialId: session.credentialId,
  at: session.at.toISOString(),
  focus: session.components?.focus ?? null,
  probe: session.components?.probe ?? null,
  input: session.components?.input ?? null,
  gaze: session.components?.gaze ?? null,
  quality: session.quality,
  flags: [...session.flags],
})

/** A place in the list of views. */
export type ViewCursor = { readonly at: Date; readonly sessionId: string }

export const writeCursor = (position: ViewCursor): string =>
  Buffer.from(JSON.stringify([position.at.getTime(), position.sessionId])).toString('base64url')

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The place that a cursor names; undefined where it is none of ours. */
export const readCursor = (cursor: string): ViewCursor | undefined => {
  const value = parse(Buffer.from(cursor, 'base64url').toString('utf8'))
  if (!Array.isArray(value) || value.length !== 2) return undefined
  const [at, sessionId] = value as [unknown, unknown]
  if (typeof at !== 'number' || !Number.isInteger(at) || at < 0 || at > 253_402_300_799_999) return undefined
  if (typeof sessionId !== 'string' || cleanText(sessionId, 1_000) !== sessionId) return undefined
  return { at: new Date(at), sessionId }
}
