import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { repositoryRoot } from '../docs/markdown.ts'
import { findWord, readPackageSources, readWhereabouts, whereaboutsFault } from './whereabouts.ts'

const whereabouts = readWhereabouts()

test('every "Where is …?" of CONTRIBUTING.md is answered by a file that has the symbol and the word', () => {
  assert.ok(whereabouts.length >= 20, `saw only ${whereabouts.length} questions`)
  for (const answer of whereabouts) {
    const path = join(repositoryRoot, answer.path)
    const text = existsSync(path) ? readFileSync(path, 'utf8') : undefined
    assert.equal(whereaboutsFault(answer, text), undefined, answer.question)
  }
})

test('an answer that is not true is found: no file, no symbol, no word', () => {
  const answer = { question: '', word: 'retry', symbol: 'retryDelaysMs', path: 'a.ts' }
  assert.equal(whereaboutsFault(answer, 'const retryDelaysMs = []'), undefined)
  assert.match(whereaboutsFault(answer, undefined) ?? '', /does not exist/)
  assert.match(whereaboutsFault(answer, 'const waitsMs = [] // retryDelaysMs') ?? '', /has no retryDelaysMs/)
  assert.match(
    whereaboutsFault({ ...answer, word: 'backoff' }, 'const retryDelaysMs = []') ?? '',
    /"backoff"/,
  )
})

const foundMax = 12

test('the words of every answer are found in few source files', () => {
  const sources = readPackageSources()
  assert.ok(sources.length >= 700, `saw only ${sources.length} files`)
  for (const answer of whereabouts) {
    const found = findWord(sources, answer)
    assert.ok(
      found.length <= foundMax,
      `"${answer.word}" is found in ${found.length} files: ${answer.question}`,
    )
  }
})

test('planted words that are too common are found, in any case', () => {
  const answer = { question: '', word: 'retry', symbol: 'retryDelaysMs', path: 'packages/a/src/0.ts' }
  const planted = Array.from({ length: foundMax + 1 }, (_, n) => ({
    path: `packages/a/src/${n}.ts`,
    text: '// Retry',
  }))
  assert.ok(findWord(planted, answer).length > foundMax)
  assert.deepEqual(findWord(planted, { ...answer, word: 'retry schedule' }), [])
})
