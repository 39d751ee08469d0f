import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { TestResult } from './test-results.ts'

/**
 * Most files load the whole server, which takes 1.1 s of CPU, and need less than that for their tests. So the files of the modules
 * or of one folder of tests run in a few processes, one after another, each with a database and a server of its own. Not those of
 * the tag: their fixtures keep one browser for the process.
 */
const sharing = /^packages\/(?!tag\/)[^/]+\/(?:src\/|test\/(?:[^/]+\/)?)/

/** Files that change what belongs to the process: its environment. */
export const isolatedFiles: readonly string[] = [
  'packages/arena/test/person.test.ts',
  'packages/server/src/signing/pkcs11.test.ts',
  'packages/server/test/operations/plans.test.ts',
]

/**
 * Files in which a person of a test answers within seconds, in a real browser whose clock cannot be moved. They run after the
 * others, each in a process: they wait most of the time, but beside a file that computes, a slow machine makes a person late.
 */
export const timedFiles: readonly string[] = [
  'packages/arena/test/journey.long.test.ts',
  'packages/arena/test/work-journey.long.test.ts',
  'packages/demo/test/demo.long.test.ts',
  'packages/server/test/verification/ceremony.test.ts',
  'packages/tag/test/check-consent.test.ts',
  'packages/tag/test/check.test.ts',
  'packages/tag/test/compat.long.test.ts',
  'packages/tag/test/states.test.ts',
  'packages/web/test/approve-safety.test.ts',
  'packages/web/test/approve.test.ts',
  'packages/web/test/ask-human.long.test.ts',
  'packages/web/test/website.test.ts',
  'packages/web/test/work-images.long.test.ts',
  'packages/web/test/work-pointing.long.test.ts',
  'packages/web/test/work.test.ts',
]

/** Each file leaves some memory behind: 23 files took 960 MB. */
const filesPerProcess = 12

/** The runner begins with the first list. Tests outside the modules have browsers and processes and take longest. */
const rankOf = ([first = '']: readonly string[]): number => (first.includes('/src/') ? 1 : 0)

/** The lists of files that run in one process each, the longest first; a list of one is a file that runs alone. */
export const groupFilesByProcess = (files: readonly string[]): string[][] => {
  const folders = Map.groupBy(files, (file) =>
    isolatedFiles.includes(file) ? file : (sharing.exec(file)?.[0] ?? file),
  )
  const lists = [...folders.values()].flatMap((members) => {
    const processes = Math.ceil(members.length / filesPerProcess)
    const size = Math.ceil(members.length / processes)
    return Array.from({ length: processes }, (_, index) => members.slice(index * size, (index + 1) * size))
  })
  return lists.toSorted((a, b) => rankOf(a) - rankOf(b))
}

/**
 * What to give to Node's runner, which sorts files by name and starts a process for each: for a list a file in `folder` that
 * imports its files in order, each as a suite. `describe` resolves when the tests and the `after` of the suite have ended.
 */
export const writeEntries = (folder: string, lists: readonly (readonly string[])[]): string[] =>
  lists.map((list, index) => {
    const suites = list.map((file) => {
      const url = pathToFileURL(resolve(file)).href
      return `await describe(${JSON.stringify(file)}, () => import(${JSON.stringify(url)}))\n`
    })
    const entry = join(folder, `files-${String(index).padStart(3, '0')}.test.mjs`)
    writeFileSync(entry, `import { describe } from 'node:test'\n${suites.join('')}`)
    return entry
  })

/** More than this many files do not fail by chance. */
const repeatsMax = 3

const failedOf = (results: readonly TestResult[]): string[] =>
  results.flatMap((result) => (result.file === undefined || result.hasPassed ? [] : [result.file]))

/**
 * The files to run once more, alone, after a run of all: none if nothing failed, if too many did, or if something else than a test
 * of a known file did, such as a process that ended. A file that passes then is unsteady and has to be repaired.
 */
export const filesToRepeat = (
  all: readonly string[],
  runs: readonly { readonly code: number; readonly results: readonly TestResult[] }[],
): string[] => {
  const isExplained = runs.every(({ code, results }) => (code === 0) === (failedOf(results).length === 0))
  const files = [...new Set(runs.flatMap(({ results }) => failedOf(results)))]
  return isExplained && files.length <= repeatsMax && files.every((file) => all.includes(file)) ? files : []
}
