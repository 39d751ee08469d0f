import { existsSync, globSync, statSync } from 'node:fs'
import { relative, resolve } from 'node:path'

/** Files that are wide, slow or about other people's programs end in this: the battery `tests` runs them, the gate does not. */
const longSuffix = '.long.test.ts'

/** Every test file of the repository, as paths from its root. */
export const listTestFiles = (): string[] =>
  globSync([
    'packages/*/{src,test}/**/*.test.ts',
    'conformance/src/**/*.test.ts',
    'tools/**/*.test.ts',
  ]).toSorted()

export const isLong = (file: string): boolean => file.endsWith(longSuffix)

/** The test files that the paths name: each file, and of a folder those that are not long. Fails for a path without tests. */
export const resolveTestFiles = (paths: readonly string[], all: readonly string[]): string[] => {
  const named = paths.map((path) => relative('.', resolve(path)))
  return [
    ...new Set(
      named.flatMap((path) => {
        if (!existsSync(path)) throw new Error(`${path} does not exist`)
        const found = statSync(path).isDirectory()
          ? all.filter((file) => !isLong(file) && (path === '' || file.startsWith(`${path}/`)))
          : [path]
        if (found.length === 0) throw new Error(`${path} has no test file`)
        return found
      }),
    ),
  ]
}
