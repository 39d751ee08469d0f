import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  findOldNames,
  findWord,
  readRenamedNames,
  readRepositorySources,
  readWhereabouts,
  repositoryRoot,
  whereaboutsFault,
} from './vocabulary.ts'

const sources = readRepositorySources()
const renamed = readRenamedNames()

test('no renamed symbol, file or message is found under its old name', (t) => {
  t.diagnostic(`looked for ${renamed.length} old names in ${sources.length} files`)
  assert.ok(sources.length >= 700 && renamed.length >= 1_000)
  assert.deepEqual(findOldNames(sources, renamed), [])
})

test('a planted old name is found: a symbol, a file and a message', () => {
  const [symbol, file, message] = (['symbol', 'file', 'message'] as const).map((kind) =>
    renamed.find((name) => name.kind === kind && (kind === 'file' || name.scope === '*')),
  )
  assert.ok(symbol && file && message)
  const path = 'packages/server/src/planted.ts'
  const planted = (text: string, at = path) => findOldNames([{ path: at, text }], [symbol, file, message])
  assert.deepEqual(planted(`export const ${symbol.oldName} = 1`), [`${path}: ${symbol.oldName}`])
  assert.deepEqual(planted(`// ${symbol.oldName} is a word of a comment`), [])
  assert.deepEqual(planted(`throw new Error('${message.oldName}')`), [`${path}: ${message.oldName}`])
  assert.deepEqual(planted('', file.oldName), [`${file.oldName} exists again`])
})

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
  for (const answer of whereabouts) {
    const found = findWord(sources, answer)
    assert.ok(
      found.length <= foundMax,
      `"${answer.word}" is found in ${found.length} files: ${answer.question}`,
    )
  }
})

test('planted words that are too common are found: in source files and in any case, not in tests', () => {
  const answer = { question: '', word: 'retry', symbol: 'retryDelaysMs', path: 'packages/a/src/0.ts' }
  const planted = (folder: string, ending: string) =>
    Array.from({ length: foundMax + 1 }, (_, n) => ({
      path: `packages/a/${folder}/${n}${ending}`,
      text: '// Retry',
    }))
  assert.ok(findWord(planted('src', '.ts'), answer).length > foundMax)
  assert.ok(findWord(planted('src', '.tsx'), answer).length > foundMax)
  assert.deepEqual(findWord([...planted('src', '.test.ts'), ...planted('test', '.ts')], answer), [])
  assert.deepEqual(findWord(planted('src', '.ts'), { ...answer, word: 'retry schedule' }), [])
})
