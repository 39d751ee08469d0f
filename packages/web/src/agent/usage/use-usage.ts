import type { Api } from '../../shared/api/client.ts'
import { useQuery, type QueryState } from '../../shared/api/use-query.ts'
import type { Usage } from '../wire.ts'

const hourMs = 3_600_000

/** Periods of the plots, each with the buckets that keep it readable. */
export const usagePeriods = [
  { value: '48h', label: 'Last 48 hours', bucket: 'hour', hours: 47 },
  { value: '30d', label: 'Last 30 days', bucket: 'day', hours: 29 * 24 },
  { value: '90d', label: 'Last 90 days', bucket: 'day', hours: 89 * 24 },
] as const
export type UsagePeriod = (typeof usagePeriods)[number]

export const usagePeriodOf = (value: string | null): UsagePeriod =>
  usagePeriods.find((period) => period.value === value) ?? usagePeriods[1]

export const useUsage = (
  api: Api,
  { bucket, hours }: Pick<UsagePeriod, 'bucket' | 'hours'>,
): QueryState<Usage> => {
  const load = () => {
    const since = new Date(Math.floor(Date.now() / hourMs - hours) * hourMs).toISOString()
    return api.call<Usage>('GET', `/api/agents/usage?${new URLSearchParams({ bucket, since }).toString()}`)
  }
  return useQuery(load, `${bucket} ${hours}`, 15_000)
}
