import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { readSources, serverRoot } from './import-rules.ts'
import { circlesOf } from './module-graph.ts'
import {
  filesPerFolderMax,
  folderFaults,
  lengthFaults,
  linesMax,
  listSources,
  readLength,
} from './size-rules.ts'

const root = join(serverRoot, '../..')
const paths = listSources(root)

test('no folder has more than 20 source files', (t) => {
  t.diagnostic(`saw ${paths.length} source files`)
  assert.ok(paths.length >= 800)
  assert.deepEqual(folderFaults(paths), [])
})

test('no hand-written file is longer than 400 lines', () => {
  assert.deepEqual(lengthFaults(new Map(paths.map((path) => [path, readLength(root, path)]))), [])
})

test('no files of the server import each other in a circle, types included', () => {
  assert.deepEqual(circlesOf(readSources()), [])
})

test('a planted violation is seen: a folder with too many files', () => {
  const files = Array.from({ length: filesPerFolderMax + 1 }, (_, n) => `packages/x/src/${n}.ts`)
  assert.deepEqual(folderFaults(files), ['packages/x/src has 21 source files'])
  assert.deepEqual(folderFaults([...files.slice(1), 'packages/x/src/0.test.ts']), [])
})

test('a planted violation is seen: a file that is too long', () => {
  assert.deepEqual(lengthFaults(new Map([['packages/x/src/long.ts', linesMax + 1]])), [
    'packages/x/src/long.ts has 401 lines',
  ])
  assert.deepEqual(lengthFaults(new Map([['packages/x/src/long.ts', linesMax]])), [])
})

test('a planted violation is seen: files that import each other in a circle', () => {
  const circle = circlesOf([
    { path: 'work/a.ts', text: "import type { B } from './units/b.ts'" },
    { path: 'work/units/b.ts', text: "import { a } from '../a.ts'" },
  ])
  assert.deepEqual(circle, [['work/a.ts', 'work/units/b.ts', 'work/a.ts']])
})
