import type { WebhookDelivery, WebhookEndpoint } from '@pohf/protocol'
import { formatDuration } from '../../shared/design/duration.ts'
import { timeAgo, pluralize, secondsBetween } from '../../shared/design/time.ts'

const failureDuration = (seconds: number): string => (seconds < 60 ? 'a moment' : formatDuration(seconds))

/** The first line of the page: the state of all endpoints. */
export const endpointsHeadline = (endpoints: readonly WebhookEndpoint[]): string => {
  if (endpoints.length === 0) return 'No endpoint yet, so no event is sent'
  const failing = endpoints.filter(({ state }) => state === 'failing').length
  const off = endpoints.filter(({ state }) => state === 'disabled').length
  const healthy = endpoints.length - failing - off
  if (failing + off === 0)
    return healthy === 1 ? 'Your endpoint is healthy' : `All ${healthy} endpoints are healthy`
  const parts = [
    ...(failing > 0 ? [`${pluralize(failing, 'endpoint')} failing`] : []),
    ...(off > 0 ? [`${off} disabled`] : []),
    ...(healthy > 0 ? [`${healthy} healthy`] : []),
  ]
  return parts.join(', ')
}

const disabledReasonTexts = {
  gone: 'it answered 410',
  failing: 'every delivery failed for five days',
  owner: 'by you',
} as const

/** What an endpoint's state means, and what next. */
export const endpointStatusText = (endpoint: WebhookEndpoint, now: number): string => {
  if (endpoint.recoveringSince) return 'Missed events are being queued and sent.'
  if (endpoint.state === 'healthy')
    return endpoint.health.length === 0
      ? 'Enabled. Nothing was sent in the last 24 hours.'
      : 'Enabled, and deliveries succeed.'
  if (endpoint.state === 'failing' && endpoint.failingSince)
    return `No delivery has succeeded for ${failureDuration(secondsBetween(endpoint.failingSince, now))}. Deliveries are retried; after five days the endpoint is disabled.`
  return `Disabled ${endpoint.disabledAt ? timeAgo(endpoint.disabledAt, now) : ''}: ${disabledReasonTexts[endpoint.disabledReason ?? 'owner']}. Recovery sends the events that it missed in the last 30 days.`
}

export const endpointTone = (state: WebhookEndpoint['state']): string =>
  ({ healthy: 'ok', failing: 'warn', disabled: 'stop' })[state]

/** The figures of the last 24 hours. */
export const healthSummary = (endpoint: WebhookEndpoint): string => {
  const delivered = endpoint.health.reduce((sum, hour) => sum + hour.delivered, 0)
  const failed = endpoint.health.reduce((sum, hour) => sum + hour.failed, 0)
  if (delivered + failed === 0) return 'nothing sent in 24 hours'
  const total = endpoint.health.reduce(
    (sum, hour) => sum + hour.averageMs * (hour.delivered + hour.failed),
    0,
  )
  return `${delivered} delivered, ${failed} failed, ${Math.round(total / (delivered + failed))} ms on average`
}

/** The last 24 hours, oldest first, with hours without an attempt as zeros. */
export const hourlyHealth = (
  endpoint: WebhookEndpoint,
  now: number,
): readonly { readonly label: string; readonly delivered: number; readonly failed: number }[] => {
  const hourMs = 3_600_000
  const last = Math.floor(now / hourMs) * hourMs
  return Array.from({ length: 24 }, (_, index) => {
    const start = last - (23 - index) * hourMs
    const found = endpoint.health.find(({ hour }) => Date.parse(hour) === start)
    const label = `${new Date(start).toISOString().slice(11, 13)}:00`
    return { label, delivered: found?.delivered ?? 0, failed: found?.failed ?? 0 }
  })
}

export const deliveryStatusLabel = (state: WebhookDelivery['state']): readonly [word: string, tone: string] =>
  ({ delivered: ['delivered', 'ok'], pending: ['pending', 'warn'], dead: ['failed', 'stop'] })[state] as [
    string,
    string,
  ]

/** The default start of a recovery: an hour before the failures began. */
export const defaultRecoverSince = (endpoint: WebhookEndpoint, now: number): string => {
  const hourMs = 3_600_000
  const known = endpoint.failingSince ?? endpoint.disabledAt
  const from = (known ? Date.parse(known) : now - 23 * hourMs) - hourMs
  return new Date(Math.max(from, now - 30 * 24 * hourMs + hourMs)).toISOString().slice(0, 16)
}
