import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

export const linesMax = 400
export const filesPerFolderMax = 20

/** Written by npm run generate or by a tool: their length is not ours to choose. */
const generated: ReadonlySet<string> = new Set([
  'packages/chain/src/contracts.ts',
  'packages/sdk/src/operations.ts',
  'packages/server/src/platform/db/schema.ts',
])
const isSource = (path: string): boolean => /\.(ts|tsx|js|mjs|css|sh)$/.test(path) && !generated.has(path)
const isTest = (path: string): boolean => /\.test\.tsx?$/.test(path)

/** Every source file that git knows in the repository, as paths below its root. */
export const listSources = (root: string): string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 16_777_216,
  })
    .split('\n')
    .filter(isSource)

export const readLength = (root: string, path: string): number =>
  readFileSync(join(root, path), 'utf8').trimEnd().split('\n').length

/** Folders with more source files than a reader can look over; tests are not counted. */
export const folderFaults = (paths: readonly string[]): string[] => {
  const folders = Map.groupBy(
    paths.filter((path) => !isTest(path)),
    (path) => posix.dirname(path),
  )
  return [...folders]
    .filter(([, files]) => files.length > filesPerFolderMax)
    .map(([folder, files]) => `${folder} has ${files.length} source files`)
}

/** Hand-written files above the limit. */
export const lengthFaults = (lengths: ReadonlyMap<string, number>): string[] =>
  [...lengths].filter(([, lines]) => lines > linesMax).map(([path, lines]) => `${path} has ${lines} lines`)
