import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashFiles, hashInputs } from './kept-results.ts'

test('the hash of a step changes with its inputs and with nothing else', () => {
  const files = new Map([
    ['packages/scorer/src/score.ts', 'a'],
    ['packages/scorer-kit.ts', 'b'],
    ['package.json', 'c'],
  ])
  const before = hashInputs(files, ['packages/scorer/'])
  assert.equal(hashInputs(new Map([...files, ['packages/scorer-kit.ts', 'x']]), ['packages/scorer/']), before)
  assert.notEqual(
    hashInputs(new Map([...files, ['packages/scorer/src/new.ts', 'x']]), ['packages/scorer/']),
    before,
  )
  assert.notEqual(
    hashInputs(new Map([...files, ['packages/scorer/src/score.ts', 'x']]), ['packages/scorer/']),
    before,
  )
  assert.notEqual(hashInputs(new Map([...files, ['package.json', 'x']]), ['']), hashInputs(files, ['']))
})

test('every file of the checkout is hashed, also this one', () => {
  const files = hashFiles()
  assert.ok(files.size > 1_000, String(files.size))
  assert.match(files.get('tools/ci/kept-results.test.ts') ?? '', /^[0-9a-f]{40}$/)
})
