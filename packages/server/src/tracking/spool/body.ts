import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import { findSegmentNames, findSessions, type SegmentNames, type Session } from '../../sessions/index.ts'
import type { RawTable } from '../clickhouse/schema.ts'
import { pageNames, type RecordedConversion } from '../engines/port.ts'
import type { Beacon } from '../rules.ts'

/** Rows of one view and kind, as they are sent. */
export type SealedEntry = {
  readonly agentId: string
  readonly mode: Mode
  readonly sessionId: string
  readonly viewedAt: Date
  readonly segment: number
  readonly page: number
  readonly kind: 'beacons' | 'conversions'
  /** Whether the view itself is sent, too. */
  readonly withView: boolean
  readonly recordedAt: Date
  /** The path on which the view began; null where `page` stands for none or for the rest. */
  readonly landing: string | null
  /** One line of JSON for each row. */
  readonly lines: string
}

/** What is sent to each table: one line of JSON for each row. */
export type Body = Partial<Record<RawTable, string>>

/** What a page sent, with `props` as text. */
type SentBeacon = Omit<Beacon, 'props'> & { readonly props: string | null }

/** The fields of a beacon that do not depend on its view. */
export const beaconFields = (beacon: SentBeacon): string =>
  JSON.stringify({
    type: beacon.type,
    client_event_id: beacon.eventId,
    client_at: beacon.clientAt?.toISOString() ?? null,
    path: beacon.path,
    props: beacon.props ?? '',
  })

/** `track_record_beacons` writes the same line. */
export const beaconLine = (
  beacon: SentBeacon & { readonly seq: number; readonly isFirstEngagement: boolean },
) =>
  `{"seq":${beacon.seq},"first_engagement":${beacon.isFirstEngagement ? 1 : 0},${beaconFields(beacon).slice(1)}`

export const conversionLine = (conversion: Omit<RecordedConversion, 'view'>): string =>
  JSON.stringify({
    event_id: conversion.eventId,
    name: conversion.name,
    // 15 digits, as PostgreSQL takes from a double.
    value: conversion.value === null ? null : conversion.value.toPrecision(15),
    currency: conversion.currency ?? 'XXX',
    first_of_view: conversion.isFirstOfView ? 1 : 0,
  })

const commonOf = (entry: SealedEntry, names: SegmentNames | undefined, batch: number) => ({
  agent_id: entry.agentId,
  mode: entry.mode,
  viewed_at: entry.viewedAt.toISOString(),
  session_id: entry.sessionId,
  site: names?.site ?? '',
  workflow: names?.workflow ?? '',
  segment: entry.segment,
  batch,
})

const landingOf = ({ landing, page }: SealedEntry): string =>
  landing ?? (page === 0 ? pageNames.none : pageNames.other)

/** The start of every line of an entry, without the closing brace. */
const lineStart = (entry: SealedEntry, common: ReturnType<typeof commonOf>): string =>
  JSON.stringify({
    ...common,
    at: entry.recordedAt.toISOString(),
    ...(entry.kind === 'beacons' ? { landing: landingOf(entry), page: entry.page } : {}),
  }).slice(0, -1)

const keyOf = ({ agentId, mode, sessionId }: SealedEntry) => ({ agentId, mode, sessionId })

const viewLine = (common: ReturnType<typeof commonOf>, session: Session | undefined): string =>
  JSON.stringify({ ...common, quality: session?.quality ?? null, flags: session?.flags ?? [] })

/** The lines of a batch. Each row carries the number of its batch, for `inspect`. */
export const readBody = async (tx: Tx, batch: number, entries: readonly SealedEntry[]): Promise<Body> => {
  const names = await findSegmentNames(tx, entries)
  const withView = entries.filter((entry) => entry.withView)
  const sessions = await findSessions(tx, withView.map(keyOf))
  const sessionOf = new Map(withView.map((entry, index) => [entry, sessions[index]]))
  const lines: Record<RawTable, string[]> = { views: [], beacons: [], conversions: [] }
  for (const [index, entry] of entries.entries()) {
    const common = commonOf(entry, names[index], batch)
    if (entry.withView) lines.views.push(viewLine(common, sessionOf.get(entry)))
    const start = lineStart(entry, common)
    for (const line of entry.lines.split('\n')) lines[entry.kind].push(`${start},${line.slice(1)}`)
  }
  return Object.fromEntries(
    Object.entries(lines).flatMap(([table, list]) => (list.length === 0 ? [] : [[table, list.join('\n')]])),
  )
}
