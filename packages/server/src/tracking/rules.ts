import type { MetricsRow } from '@pohf/protocol'
import type { ListedView, Session } from '../sessions/index.ts'

const dayMs = 86_400_000

/** The validity of a view token, for beacons and conversions. */
export const tokenDays = 30
/** The limit of beacons in one body; the rest is dropped. */
const beaconsMax = 100
/** A constraint of the database has the same number. */
export const beaconsPerViewMax = 500
/** A page has one view token; no real page sends more than this in one body. */
export const viewsPerBodyMax = 10
export const perViewLimit = { name: 'vt', quota: 60, windowSeconds: 60 } as const
/** Beacons of one site, that is an agent in one mode, in each process. */
export const siteLimit = (quota: number) => ({ name: 'site', quota, windowSeconds: 60 }) as const

/** Beacon types that count as engagement. */
const engagementTypes = ['engaged', 'scroll', 'click', 'dwell', 'input'] as const

const propsMax = 20

/** One beacon, sanitized for storage. */
export type Beacon = {
  readonly type: string
  readonly eventId: string | null
  readonly clientAt: Date | null
  readonly path: string | null
  readonly props: Readonly<Record<string, string | number | boolean | null>> | null
}

const engagements: ReadonlySet<string> = new Set(engagementTypes)
/** Whether a beacon counts as engagement; the case of its type does not matter. */
export const isEngagement = ({ type }: Pick<Beacon, 'type'>): boolean => engagements.has(type.toLowerCase())

/** Text that PostgreSQL can store, at most `max` long: no NUL, and no lone surrogate, not even one from the truncation. */
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

/** The time of the client's clock, as ISO text or milliseconds; null for anything else, or outside this century. */
const instantOrNull = (value: unknown): Date | null => {
  if (typeof value !== 'string' && typeof value !== 'number') return null
  const at = new Date(value)
  return at.getTime() >= earliestMs && at.getTime() < latestMs ? at : null
}

/** The path without query and fragment, which may contain names and tokens of people. */
const pathOrNull = (value: unknown): string | null =>
  typeof value === 'string' ? textOrNull(value.split(/[?#]/, 1)[0], 512) : null

const scalarOf = (value: unknown): string | number | boolean | null | undefined => {
  if (typeof value === 'string') return cleanText(value, 256)
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  return typeof value === 'boolean' || value === null ? value : undefined
}

/** The first 20 scalar values; nested values are dropped. */
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

/** The beacons of any body, grouped by their token. */
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

/** Whether the token of a view of this time is still valid. */
export const isTokenValid = (viewedAt: Date, now: Date): boolean =>
  now.getTime() - viewedAt.getTime() <= tokenDays * dayMs

/** Beacons and conversions count only for views that were scored as human. */
export const isVerifiedView = (session: Session): boolean =>
  session.kind === 'view' && session.verified === true

/** The start of a window: the requested time, clamped between 1970 and now, or `defaultDays` ago. */
export const windowStart = (requestedSince: Date | undefined, now: Date, defaultDays: number): Date => {
  const start = requestedSince?.getTime() ?? now.getTime() - defaultDays * dayMs
  return new Date(Math.min(now.getTime(), Math.max(0, start)))
}

/** A share of the views. Two reads a moment apart may disagree by one, so it is limited to 1. */
export const rateOf = (part: number, views: number): number => (views === 0 ? 0 : Math.min(1, part / views))

export const metricsRowOf = (session: ListedView): MetricsRow => ({
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

/** A position in the list of views. */
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

/** The position of a cursor; undefined where the cursor is invalid. */
export const readCursor = (cursor: string): ViewCursor | undefined => {
  const value = parse(Buffer.from(cursor, 'base64url').toString('utf8'))
  if (!Array.isArray(value) || value.length !== 2) return undefined
  const [at, sessionId] = value as [unknown, unknown]
  if (typeof at !== 'number' || !Number.isInteger(at) || at < 0 || at > 253_402_300_799_999) return undefined
  if (typeof sessionId !== 'string' || cleanText(sessionId, 1_000) !== sessionId) return undefined
  return { at: new Date(at), sessionId }
}
