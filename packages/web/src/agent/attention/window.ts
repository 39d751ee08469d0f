import type { Filter } from '../../shared/lists/filter.ts'

const dayMs = 86_400_000

type Period = {
  readonly value: string
  readonly label: string
  readonly days: number
  /** How long before now it ends. */
  readonly agoDays: number
}
/** The first has no name in the address. */
const periods: readonly [Period, ...Period[]] = [
  { value: '', label: 'Last 30 days', days: 30, agoDays: 0 },
  { value: '24h', label: 'Last 24 hours', days: 1, agoDays: 0 },
  { value: '7d', label: 'Last 7 days', days: 7, agoDays: 0 },
  { value: '90d', label: 'Last 90 days', days: 90, agoDays: 0 },
  { value: 'before', label: 'The 30 days before', days: 30, agoDays: 30 },
]

export const periodLabel = (value: string | null): string =>
  (periods.find((period) => period.value === value) ?? periods[0]).label

/** What the pages about views can be narrowed to; an address with a site that is not listed still counts. */
export const viewFilters = (sites: readonly string[], query: URLSearchParams): readonly Filter[] => {
  const site = query.get('site')
  const known = [...new Set([...sites, ...(site === null ? [] : [site])])]
  return [
    { name: 'period', label: 'Time', options: periods.map(({ value, label }) => [value, label] as const) },
    {
      name: 'site',
      label: 'Site',
      options: [['', 'All sites'], ...known.map((host) => [host, host] as const)],
    },
  ]
}

export const isNarrowed = (query: URLSearchParams): boolean =>
  query.get('site') !== null || query.get('workflow') !== null

/** The hosts of the origins that an agent allows. */
export const hostsOf = (origins: readonly string[]): readonly string[] => [
  ...new Set(origins.flatMap((origin) => (URL.canParse(origin) ? [new URL(origin).hostname] : []))),
]

/** The parameters of a call: times to the minute, so that the address stays the same between two refreshes. */
export const windowParameters = (query: URLSearchParams, now: number): URLSearchParams => {
  const { days, agoDays } = periods.find(({ value }) => value === query.get('period')) ?? periods[0]
  const minute = Math.floor(now / 60_000) * 60_000
  const at = (ago: number) => new Date(minute - ago * dayMs).toISOString()
  const parameters = new URLSearchParams({ since: at(days + agoDays) })
  if (agoDays > 0) parameters.set('until', at(agoDays))
  for (const name of ['site', 'workflow']) {
    const value = query.get(name)
    if (value) parameters.set(name, value)
  }
  return parameters
}
