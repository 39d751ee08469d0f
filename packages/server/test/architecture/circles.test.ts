import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSources } from './import-rules.ts'
import { circlesOf } from './module-graph.ts'

const longLinesMin = 500

test('no files of the server import each other in a circle, types included', (t) => {
  const sources = readSources()
  assert.ok(sources.length >= 800)
  assert.deepEqual(circlesOf(sources), [])
  // Length is a sign and not a fault: a split that only moves code makes it worse.
  for (const { path, text } of sources) {
    const lines = text.split('\n').length
    if (lines > longLinesMin) t.diagnostic(`${path} has ${lines} lines: does it have two tasks?`)
  }
})

test('a planted violation is seen: files that import each other in a circle', () => {
  const circle = circlesOf([
    { path: 'work/a.ts', text: "import type { B } from './units/b.ts'" },
    { path: 'work/units/b.ts', text: "import { a } from '../a.ts'" },
  ])
  assert.deepEqual(circle, [['work/a.ts', 'work/units/b.ts', 'work/a.ts']])
})
