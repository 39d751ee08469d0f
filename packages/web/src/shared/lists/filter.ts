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

/** When a period began that ends now. */
const periodStart = (period: string | undefined, now: number): string | undefined => {
  const ms = spans.find(([value]) => value === period)?.[2]
  return ms === undefined ? undefined : new Date(now - ms).toISOString()
}

/** A parameter of a list: a text, or the start of the last period, which moves on between two refreshes of a page. */
export type ListParameter = string | undefined | { readonly last: string | undefined }

export const listParameters = (
  parameters: Readonly<Record<string, ListParameter>>,
  now: number,
): URLSearchParams => {
  const search = new URLSearchParams()
  for (const [name, parameter] of Object.entries(parameters)) {
    const value = typeof parameter === 'object' ? periodStart(parameter.last, now) : parameter
    if (value !== undefined) search.set(name, value)
  }
  return search
}
