import assert from 'node:assert/strict'
import { test } from 'node:test'
import { examplePages, groups, notRunReasons } from './pages.ts'

test('every page that is named exists', () => {
  assert.ok(examplePages.length >= 24, `${examplePages.length} pages`)
  for (const page of [...groups.withChain, ...groups.install, ...Object.keys(notRunReasons)])
    assert.ok(examplePages.includes(page), page)
})
