import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WebhookEndpoint } from '@pohf/protocol'
import { approvalsFinding } from '../../src/agent/approvals/messages.ts'
import { liveLead } from '../../src/agent/home/messages.ts'
import { membersFinding } from '../../src/agent/members/messages.ts'
import type { ListedApproval, Member } from '../../src/agent/wire.ts'
import { matchText } from '../../src/shared/lists/count.ts'

const now = Date.parse('2026-11-15T12:00:00Z')

test('nothing needs attention only where all of it was read and is well', () => {
  const runway = { available: 500, spentPerDay: 10, daysLeft: 50 }
  const healthy = { state: 'healthy' } as WebhookEndpoint
  const failing = { state: 'failing' } as WebhookEndpoint
  assert.equal(liveLead([healthy], runway), 'Nothing needs your attention.')
  assert.equal(liveLead([], undefined), ' ')
  assert.equal(liveLead(undefined, runway), ' ')
  const short = 'Your credits last less than a week at this pace.'
  assert.equal(liveLead(undefined, { ...runway, daysLeft: 3 }), short)
  assert.equal(
    liveLead([healthy, failing], { ...runway, daysLeft: 3 }),
    `${short} 1 webhook endpoint of yours is not healthy.`,
  )
})

const whole = { cursor: null, nextCursor: null }
const first = { cursor: null, nextCursor: 'c' }
const later = { cursor: 'c', nextCursor: null }
const places = [whole, first, later]

test('a page of a list does not speak for the rest of it', () => {
  assert.deepEqual(
    places.map((place) => matchText(10, 'request', place)),
    ['10 requests match', 'At least 10 requests match', '10 requests on this page'],
  )
  assert.deepEqual(
    places.map((place) => matchText(0, 'request', place)),
    ['No request matches', 'No request on this page', 'No request on this page'],
  )
  const member = { status: 'enrolled' } as Member
  assert.deepEqual(
    places.map((place) => membersFinding([member, member], place)),
    ['2 of 2 members enrolled', '2 of the latest 2 members enrolled', '2 of 2 members on this page enrolled'],
  )
})

const findingOf = (approvals: ListedApproval[], nextCursor: string | null) =>
  approvalsFinding({ approvals, nextCursor, hasMore: nextCursor !== null }, now, false, null)

test('nothing waits only where no older request can', () => {
  const denied = { status: 'denied', createdAt: '2026-11-15T11:00:00Z' } as ListedApproval
  const pending = { ...denied, status: 'pending' } as ListedApproval
  assert.equal(findingOf([denied], null), 'Nothing waits. The latest request came 1 hour ago')
  assert.equal(findingOf([denied, denied], 'c'), 'None of the latest 2 requests waits for a decision')
  assert.equal(findingOf([denied, pending], 'c'), '1 of the latest 2 requests waits for a decision')
})
