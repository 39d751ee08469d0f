import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findSentences, readRejectedSentences, readTexts } from './sentences.ts'

const sentences = readRejectedSentences()

test('no text of the repository contains a rejected sentence', (t) => {
  const texts = readTexts()
  t.diagnostic(`looked for ${sentences.length} sentences in ${texts.length} files`)
  assert.ok(texts.length >= 1_000 && sentences.length >= 15)
  assert.deepEqual(findSentences(texts, sentences), [])
})

test('a planted sentence is found across line breaks, comment marks, table cells and case', () => {
  const [sentence = ''] = sentences
  const [first = '', second = '', ...rest] = sentence.split(' ')
  const found = [`planted: ${sentence}`]
  const planted = (text: string) => findSentences([{ path: 'planted', text }], sentences)
  assert.deepEqual(planted(`before ${sentence}. After`), found)
  assert.deepEqual(planted(`/**\n * ${first}\n * ${second} ${rest.join('\n * ')}\n */`), found)
  assert.deepEqual(planted(`// ${first} ${second}\n// ${rest.join(' ')}`), found)
  assert.deepEqual(planted(`| x | ${sentence.toUpperCase()} |`), found)
  assert.deepEqual(planted(`-- ${first}\n-- ${second} **${rest.join(' ')}**`), found)
  assert.deepEqual(planted(`${first} ${rest.join(' ')}`), [])
})
