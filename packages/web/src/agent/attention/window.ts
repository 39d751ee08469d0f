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
  { value: '1h', label: 'Last hour', days: 1 / 24, agoDays: 0 },
  { value: '24h', label: 'Last 24 hours', days: 1, agoDays: 0 },
  { value: '7d', label: 'Last 7 days', days: 7, agoDays: 0 },
  { value: '90d', label: 'Last 90 days', days: 90, agoDays: 0 },
  { value: 'before', label: 'The 30 days before', days: 30, agoDays: 30 },
]

export const periodLabel = (value: string | null): string =>
  (periods.find((period) => period.value === value) ?? periods[0]).label

export const periodChoice: Filter = {
  name: 'period',
  label: 'Time',
  options: periods.map(({ value, label }) => [value, label] as const),
}

/** The site of a text that somebody typed or pasted: a host, or an address with it. */
export const siteOf = (text: string): string | undefined => {
  const address = text.trim()
  if (address === '') return undefined
  const url = /^https?:\/\//i.test(address) ? address : `https://${address}`
  return URL.canParse(url) ? new URL(url).hostname : address
}

export const isNarrowed = (query: URLSearchParams): boolean =>
  query.get('site') !== null || query.get('workflow') !== null

/** The hosts of the origins that an agent allows. */
export const hostsOf = (origins: readonly string[]): readonly string[] => [
  ...new Set(origins.flatMap((origin) => (URL.canParse(origin) ? [new URL(origin).hostname] : []))),
]

/** The parameters of a call, with times to the minute, as the page names them. */
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
