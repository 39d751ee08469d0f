import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { test } from 'node:test'
import {
  filesToRepeat,
  groupFilesByProcess,
  isolatedFiles,
  timedFiles,
  writeEntries,
} from './test-processes.ts'
import { parseTestResults } from './test-results.ts'

test('every file is in one list, the longest lists are first, and files that run alone exist', () => {
  const modules = Array.from({ length: 13 }, (_, n) => `packages/server/src/part-${n}/one.test.ts`)
  const others = [
    'packages/web/test/one.test.ts',
    'packages/web/test/two.test.ts',
    'packages/server/test/http/one.test.ts',
    'tools/ci/one.test.ts',
    'packages/tag/test/one.test.ts',
    'packages/tag/test/two.test.ts',
    ...isolatedFiles,
  ]
  const lists = groupFilesByProcess([...modules, ...others])
  assert.deepEqual(lists.flat().toSorted(), [...modules, ...others].toSorted())
  assert.deepEqual(
    lists.map((list) => list.length),
    // Folders of tests and tools, then modules.
    [2, 1, 1, 1, 1, 1, 1, 7, 6, 1],
  )
  for (const file of [...isolatedFiles, ...timedFiles]) assert.ok(existsSync(file), file)
})

const failing = `import { test } from 'node:test'
test('fails', () => { throw new Error('planted') })
`
/** Starts something late, uses it in its test, and ends it after the test, as files with a server do. */
const textOfFile = (name: string) => `import { after, test } from 'node:test'
await new Promise((resolve) => setTimeout(resolve, 20))
console.log('${name} starts')
after(() => console.log('${name} ends'))
test('${name} works', () => console.log('${name} works'))
`
test('files that share a process run one after another, and one that fails or cannot be loaded fails all', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-processes-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const runFiles = (texts: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text)
    const [entry = ''] = writeEntries(folder, [Object.keys(texts).map((name) => join(folder, name))])
    const { NODE_TEST_CONTEXT: _ours, ...env } = process.env
    return spawnSync(process.execPath, [entry], { env, encoding: 'utf8' })
  }
  const good = runFiles({ 'a.mjs': textOfFile('a'), 'b.mjs': textOfFile('b') })
  assert.equal(good.status, 0, good.stdout)
  assert.deepEqual(good.stdout.match(/^[ab] \w+$/gm), [
    'a starts',
    'a works',
    'a ends',
    'b starts',
    'b works',
    'b ends',
  ])
  assert.equal(runFiles({ 'c.mjs': failing, 'd.mjs': textOfFile('d') }).status, 1)
  assert.equal(runFiles({ 'e.mjs': textOfFile('e'), 'f.mjs': "import './missing.mjs'" }).status, 1)
})

const failedIn = (...files: string[]) => [
  { code: 1, results: files.map((file) => ({ file, hasPassed: false, seconds: 1 })) },
]
const passed = { code: 0, results: [{ file: 'c.test.ts', hasPassed: true, seconds: 1 }] }
test('a few files that failed run again; many, unknown ones, and a run that failed otherwise do not', () => {
  const all = ['a.test.ts', 'b.test.ts', 'c.test.ts', 'd.test.ts']
  assert.deepEqual(filesToRepeat(all, failedIn('b.test.ts', 'a.test.ts', 'b.test.ts')), [
    'b.test.ts',
    'a.test.ts',
  ])
  assert.deepEqual(filesToRepeat(all, [passed, ...failedIn('a.test.ts')]), ['a.test.ts'])
  assert.deepEqual(filesToRepeat(all, [passed]), [])
  assert.deepEqual(filesToRepeat(all, failedIn(...all)), [])
  assert.deepEqual(filesToRepeat(all, failedIn('a.test.ts', 'files-000.test.mjs')), [])
  assert.deepEqual(filesToRepeat(all, failedIn()), [])
  assert.deepEqual(filesToRepeat(all, [{ code: 1, results: [] }, ...failedIn('a.test.ts')]), [])
})

test('the reporter names the file of a failed test, of a helper too, or that cannot be loaded, and the entry of a process that ended', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-reporter-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const listFailed = (texts: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text)
    const paths = Object.keys(texts).map((name) => join(folder, name))
    const { NODE_TEST_CONTEXT: _ours, ...env } = process.env
    const reporter = resolve('tools/ci/test-results.ts')
    const entries = writeEntries(folder, [paths])
    const { stdout } = spawnSync(process.execPath, ['--test', `--test-reporter=${reporter}`, ...entries], {
      env,
      encoding: 'utf8',
    })
    return parseTestResults(stdout).flatMap((result) =>
      result.file === undefined || result.hasPassed ? [] : [basename(result.file)],
    )
  }
  const good = { 'a.mjs': textOfFile('a') }
  assert.deepEqual(listFailed({ ...good, 'b.mjs': textOfFile('b') }), [])
  assert.deepEqual(listFailed({ ...good, 'c.mjs': failing }), ['c.mjs'])
  const helper = `import { test } from 'node:test'
export const check = (name, body) => test(name, body)
`
  writeFileSync(join(folder, 'helper.mjs'), helper)
  const byHelper =
    "import { check } from './helper.mjs'\ncheck('fails', () => { throw new Error('planted') })"
  assert.deepEqual(listFailed({ ...good, 'f.mjs': byHelper }), ['f.mjs'])
  assert.deepEqual(listFailed({ ...good, 'd.mjs': "import './missing.mjs'" }), ['d.mjs'])
  assert.deepEqual(listFailed({ ...good, 'e.mjs': 'process.exit(3)' }), ['files-000.test.mjs'])
})
