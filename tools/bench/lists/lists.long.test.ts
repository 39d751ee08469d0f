import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measureLists } from './lists.ts'

test('the bench of lists pages through every row and reports each pass', async () => {
  const { rows, passes, p99Ms } = await measureLists(300)
  assert.equal(rows, 300)
  assert.deepEqual(
    passes.filter(({ filter }) => filter === '').map((one) => [one.list, one.rows, one.pages]),
    [
      ['credentials', 300, 3],
      ['sessions', 300, 3],
      ['requests', 300, 3],
    ],
  )
  assert.ok(p99Ms > 0)
})
