import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDuration } from '../src/shared/design/duration.ts'
import { ago, decimals } from '../src/shared/credential/messages.ts'

test('times are told in the largest unit that fits', () => {
  const told = [0, 4, 5, 41, 60, 119, 3_600, 7_200, 86_400, 864_000].map(ago)
  assert.deepEqual(told, [
    'just now',
    'just now',
    '5 seconds ago',
    '41 seconds ago',
    '1 minute ago',
    '1 minute ago',
    '1 hour ago',
    '2 hours ago',
    '1 day ago',
    '10 days ago',
  ])
  assert.equal(ago(-30), 'just now')
  assert.equal(formatDuration(0), '0 seconds')
})

test('scores have two decimals and no zero before the point', () => {
  assert.deepEqual([0, 0.3, 0.705, 0.999, 1].map(decimals), ['.00', '.30', '.70', '1.00', '1.00'])
})
