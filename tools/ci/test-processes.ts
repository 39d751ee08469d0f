import { writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

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

/**
 * The files to run once more, alone, after a run of all (0437): none if nothing failed, if too many did, or if something else than
 * a test of a known file did, such as a process that ended.
 */
export const filesToRepeat = (
  all: readonly string[],
  results: readonly { readonly code: number; readonly failed: readonly string[] }[],
): string[] => {
  const isExplained = results.every(({ code, failed }) => (code === 0) === (failed.length === 0))
  const files = [...new Set(results.flatMap(({ failed }) => failed.map((file) => relative('.', file))))]
  return isExplained && files.length <= repeatsMax && files.every((file) => all.includes(file)) ? files : []
}
