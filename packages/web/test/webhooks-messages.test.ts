import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WebhookEndpoint } from '@pohf/protocol'
import {
  endpointsHeadline,
  hourlyHealth,
  defaultRecoverSince,
  endpointStatusText,
} from '../src/agent/webhooks/messages.ts'
import { formatDuration } from '../src/shared/design/duration.ts'

const now = Date.parse('2026-11-15T12:30:00Z')
const endpoint: WebhookEndpoint = {
  id: 'whk_1',
  url: 'https://hooks.example.com/',
  events: ['*'],
  enabled: true,
  state: 'healthy',
  createdAt: '2026-11-01T00:00:00Z',
  failingSince: null,
  disabledAt: null,
  disabledReason: null,
  previousSecretUntil: null,
  recoveringSince: null,
  waiting: 0,
  health: [{ hour: '2026-11-15T12:00:00.000Z', delivered: 3, failed: 1, averageMs: 10 }],
}

test('the first line says how the endpoints are', () => {
  const failing = { ...endpoint, state: 'failing' } as const
  const off = { ...endpoint, state: 'disabled' } as const
  assert.equal(endpointsHeadline([]), 'No endpoint yet, so no event is sent')
  assert.equal(endpointsHeadline([endpoint]), 'Your endpoint is healthy')
  assert.equal(endpointsHeadline([endpoint, endpoint]), 'All 2 endpoints are healthy')
  assert.equal(
    endpointsHeadline([endpoint, failing, failing, off]),
    '2 endpoints failing, 1 disabled, 1 healthy',
  )
})

test('a state says since when, why, and what next', () => {
  const failing = { ...endpoint, state: 'failing', failingSince: '2026-11-15T09:30:00Z' } as const
  assert.match(
    endpointStatusText(failing, now),
    /^No delivery has succeeded for 3 hours\. Deliveries are retried/,
  )
  const gone = {
    ...endpoint,
    state: 'disabled',
    disabledAt: '2026-11-13T12:00:00Z',
    disabledReason: 'gone',
  } as const
  assert.match(
    endpointStatusText(gone, now),
    /^Disabled 2 days ago: it answered 410\. Recovery sends the events that it missed in the last 30 days\.$/,
  )
  assert.equal(formatDuration(0), '0 seconds')
})

test('24 hours are shown, the present one last, and empty ones as nothing', () => {
  const hours = hourlyHealth(endpoint, now)
  assert.equal(hours.length, 24)
  assert.deepEqual(hours.at(-1), { label: '12:00', delivered: 3, failed: 1 })
  assert.deepEqual(hours[0], { label: '13:00', delivered: 0, failed: 0 })
})

test('a recovery starts an hour before the trouble, and never further back than is allowed', () => {
  const failing = { ...endpoint, state: 'failing', failingSince: '2026-11-15T09:30:00Z' } as const
  assert.equal(defaultRecoverSince(failing, now), '2026-11-15T08:30')
  const old = { ...endpoint, state: 'disabled', disabledAt: '2026-01-01T00:00:00Z' } as const
  assert.equal(defaultRecoverSince(old, now), '2026-10-16T13:30')
})
