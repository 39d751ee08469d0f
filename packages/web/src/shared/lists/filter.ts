export type Filter = {
  readonly name: string
  readonly label: string
  /** The first is the one without a filter; its value is empty. */
  readonly options: readonly (readonly [value: string, label: string])[]
}

/** The parameters of the address that this list knows, without its cursor: a changed filter begins at the newest entry. */
export const filterValues = (
  query: URLSearchParams,
  names: readonly string[],
): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(names.map((name) => [name, query.get(name) ?? undefined]))

const hourMs = 3_600_000
const spans: readonly (readonly [value: string, label: string, ms: number])[] = [
  ['1h', 'Last hour', hourMs],
  ['24h', 'Last 24 hours', 24 * hourMs],
  ['7d', 'Last 7 days', 168 * hourMs],
  ['30d', 'Last 30 days', 720 * hourMs],
]

/** The filter by time. A link with it means the time before it is opened. */
export const periodFilter = (longestDays = 30): Filter => ({
  name: 'period',
  label: 'Time',
  options: [
    ['', 'Any time'],
    ...spans
      .filter(([, , ms]) => ms <= longestDays * 24 * hourMs)
      .map(([value, label]) => [value, label] as const),
  ],
})

/** When a period began, to the minute: the address of the call stays the same between two refreshes of a page. */
export const periodStart = (period: string | null, now: number): string | undefined => {
  const ms = spans.find(([value]) => value === period)?.[2]
  return ms === undefined ? undefined : new Date(Math.floor((now - ms) / 60_000) * 60_000).toISOString()
}
