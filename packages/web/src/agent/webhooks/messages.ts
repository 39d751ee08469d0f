import type { WebhookDelivery, WebhookEndpoint } from '@pohf/protocol'
import { formatDuration } from '../../shared/design/duration.ts'
import { timeAgo, pluralize, secondsBetween } from '../../shared/design/time.ts'

const failureDuration = (seconds: number): string => (seconds < 60 ? 'a moment' : formatDuration(seconds))

/** The first line of the page: what is so, in words. */
export const endpointsHeadline = (endpoints: readonly WebhookEndpoint[]): string => {
  if (endpoints.length === 0) return 'Nothing is sent anywhere yet.'
  const failing = endpoints.filter(({ state }) => state === 'failing').length
  const off = endpoints.filter(({ state }) => state === 'disabled').length
  const healthy = endpoints.length - failing - off
  if (failing + off === 0)
    return healthy === 1
      ? 'Your endpoint takes what it is sent.'
      : `All ${healthy} endpoints take what they are sent.`
  const parts = [
    ...(failing > 0 ? [`${pluralize(failing, 'endpoint')} failing`] : []),
    ...(off > 0 ? [`${off} switched off`] : []),
    ...(healthy > 0 ? [`${healthy} healthy`] : []),
  ]
  return `${parts.join(', ')}.`
}

const disabledReasonTexts = {
  gone: 'it answered 410, which asks for no more',
  failing: 'it had failed for five days without a break',
  owner: 'you did that',
} as const

/** What an endpoint's state means, and what next. */
export const endpointStatusText = (endpoint: WebhookEndpoint, now: number): string => {
  if (endpoint.recoveringSince) return 'What it missed is being queued and sent.'
  if (endpoint.state === 'healthy')
    return endpoint.health.length === 0
      ? 'On. Nothing was sent in the last 24 hours.'
      : 'On, and it takes what it is sent.'
  if (endpoint.state === 'failing' && endpoint.failingSince)
    return `Has taken nothing for ${failureDuration(secondsBetween(endpoint.failingSince, now))}. We keep trying; after five days it is switched off.`
  return `Switched off ${endpoint.disabledAt ? timeAgo(endpoint.disabledAt, now) : ''}: ${disabledReasonTexts[endpoint.disabledReason ?? 'owner']}. Nothing is lost: recover sends what it missed.`
}

export const endpointTone = (state: WebhookEndpoint['state']): string =>
  ({ healthy: 'ok', failing: 'warn', disabled: 'stop' })[state]

/** Figures of the last 24 hours in words. */
export const healthSummary = (endpoint: WebhookEndpoint): string => {
  const delivered = endpoint.health.reduce((sum, hour) => sum + hour.delivered, 0)
  const failed = endpoint.health.reduce((sum, hour) => sum + hour.failed, 0)
  if (delivered + failed === 0) return 'nothing sent in 24 hours'
  const total = endpoint.health.reduce(
    (sum, hour) => sum + hour.averageMs * (hour.delivered + hour.failed),
    0,
  )
  return `${delivered} taken, ${failed} failed, ${Math.round(total / (delivered + failed))} ms on average`
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
  ({ delivered: ['taken', 'ok'], pending: ['waiting', 'warn'], dead: ['given up', 'stop'] })[state] as [
    string,
    string,
  ]

/** Where a recovery starts unless somebody says otherwise: an hour before the trouble began. */
export const defaultRecoverSince = (endpoint: WebhookEndpoint, now: number): string => {
  const hourMs = 3_600_000
  const known = endpoint.failingSince ?? endpoint.disabledAt
  const from = (known ? Date.parse(known) : now - 23 * hourMs) - hourMs
  return new Date(Math.max(from, now - 30 * 24 * hourMs + hourMs)).toISOString().slice(0, 16)
}
