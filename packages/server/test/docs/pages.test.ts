import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listPages } from './markdown.ts'
import { groups, notRunReasons, withoutBlocks } from './pages.ts'

test('every page with examples is run by one test file', () => {
  const pages = listPages(['README.md', 'docs/{quickstart,guides,operate,reference}/*.md'])
  assert.ok(pages.length >= 24, `${pages.length} pages`)
  assert.deepEqual(Object.values(groups).flat().toSorted(), pages)
  const known = new Set(pages)
  for (const page of [...Object.keys(notRunReasons), ...withoutBlocks]) assert.ok(known.has(page), page)
})
