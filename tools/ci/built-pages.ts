import { globSync, statSync } from 'node:fs'

/** Their sources are in the pages too. */
const shared = 'packages/{protocol,verify,scorer}/src/**/*.ts'

/** What `npm run build` builds, from which files, and one file of the result. */
const builds = [
  {
    name: 'packages/web',
    result: 'packages/web/dist/console.html',
    sources: ['packages/web/{src/**/*,*.html,*.ts}', shared],
  },
  {
    name: 'packages/tag',
    result: 'packages/tag/dist/tag.js',
    sources: ['packages/tag/{src/**/*,*.ts}', shared],
  },
  {
    name: 'packages/docs',
    result: 'packages/docs/dist/index.html',
    sources: ['packages/docs/{src/**/*,client/**/*,*.ts}', shared],
  },
] as const

/** Tests that open the pages as the service serves them. Those of the pages' own packages build what they need. */
const opensPages =
  /^(?:packages\/arena\/test|packages\/server\/test\/(?:verification|http)|tools\/(?:demo|bench|contact))\/|\/docs\/(?:one-of-each|with)/

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
