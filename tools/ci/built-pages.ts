import { globSync, statSync } from 'node:fs'

/** What `npm run build` builds, from which folders, and one file of the result. */
const builds = [
  {
    name: 'packages/web',
    result: 'packages/web/dist/console.html',
    sources: 'packages/web/{src/**/*,*.html,*.ts}',
  },
  { name: 'packages/tag', result: 'packages/tag/dist/tag.js', sources: 'packages/tag/{src/**/*,*.ts}' },
  {
    name: 'packages/docs',
    result: 'packages/docs/dist/index.html',
    sources: 'packages/docs/{src/**/*,client/**/*,*.ts}',
  },
] as const

/** Tests that open built pages. */
const opensPages =
  /^(?:packages\/(?:web|tag|docs|demo|arena)\/test|packages\/server\/test\/verification|tools\/(?:demo|bench|contact))\//

const modifiedAt = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** The packages that have to be built before these tests: they were never built, or a source is newer than the result. */
export const missingBuilds = (tests: readonly string[]): string[] =>
  tests.some((path) => opensPages.test(path))
    ? builds
        .filter(({ result, sources }) =>
          globSync(sources).some((path) => modifiedAt(path) > modifiedAt(result)),
        )
        .map(({ name }) => name)
    : []
