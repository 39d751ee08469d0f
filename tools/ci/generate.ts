// Writes every generated file, or with --check fails where one is not what it should be.
import { existsSync, globSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { contractsFile } from '../../packages/chain/src/compile.ts'
import { endpoints, openApiDocument } from '../../packages/protocol/src/index.ts'
import { approvalAttackFiles } from './pages/approval-attacks.ts'
import { architectureFiles } from './pages/architecture.ts'
import { checkFiles } from './pages/checks.ts'
import { cliFiles } from './pages/cli.ts'
import { endpointFiles } from './pages/endpoints.ts'
import { errorFiles, errorsFolder } from './pages/errors.ts'
import { eventFiles } from './pages/events.ts'
import { indexRateFiles } from './pages/index-rate.ts'
import { root } from './pages/markdown.ts'
import { masterKeyFiles } from './pages/master-key.ts'
import { metricFiles } from './pages/metrics.ts'
import { repositoryFiles } from './pages/repository.ts'
import { settingFiles } from './pages/settings.ts'
import { wordFiles } from './pages/words.ts'
import { storyFiles } from './pages/story.ts'
import { databaseFiles } from './schema/database.ts'

const check = process.argv.includes('--check')

/**
 * What the client must know of each endpoint at run time; the rest of it is types. Rows with the key in the body are for
 * clients of other services: the client of this one has `credentials.verify`. Rows under /console are for our page alone, a
 * body of text is that of the card provider, and an image is for the page of a worker. packages/sdk/test/coverage.test.ts
 * names these exceptions.
 */
const sdkOperations = (): string => {
  const rows = endpoints
    .filter(({ auth, path }) => auth !== 'secret' && !path.startsWith('/console/'))
    .filter(({ textBody, mediaType }) => !textBody && mediaType !== 'image/webp')
    .map(
      ({ publicId, method, path, auth }) =>
        `  { publicId: '${publicId}', method: '${method}', path: '${path}', keyed: ${auth !== 'public' && auth !== 'member'} },`,
    )
  return `// Written by npm run generate.\n// prettier-ignore\nexport const operations = [\n${rows.join('\n')}\n] as const\n`
}

const depthMax = 5
const widthMax = 100

/**
 * The OpenAPI document with a line for each response and for each field of a component, so that a diff shows which one
 * changed. With every value on lines of its own it would have twice the length.
 */
const printDocument = (value: unknown, depth = 0): string => {
  const line = JSON.stringify(value)
  if (typeof value !== 'object' || value === null) return line
  if (depth === depthMax || depth + line.length <= widthMax) return line
  const [start, end] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const parts = Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .map(([key, inner]) => {
      const text = printDocument(inner, depth + 1)
      return `${' '.repeat(depth + 1)}${Array.isArray(value) ? '' : `${JSON.stringify(key)}: `}${text}`
    })
  return `${start}\n${parts.join(',\n')}\n${' '.repeat(depth)}${end}`
}

const expectedFiles = new Map<string, string>([
  ...approvalAttackFiles(),
  ...architectureFiles(),
  ...checkFiles(),
  ...cliFiles(),
  ...(await endpointFiles()),
  ...errorFiles(),
  ...eventFiles(),
  ...indexRateFiles(),
  ...masterKeyFiles(),
  ...metricFiles(),
  ...repositoryFiles(),
  ...settingFiles(),
  ...wordFiles(),
  ...storyFiles(),
  ['docs/openapi.json', `${printDocument(openApiDocument())}\n`],
  ['packages/chain/src/contracts.ts', contractsFile()],
  ['packages/sdk/src/operations.ts', sdkOperations()],
  ...(await databaseFiles()),
])

mkdirSync(join(root, errorsFolder), { recursive: true })
const stray = [
  ...readdirSync(join(root, errorsFolder)).map((name) => `${errorsFolder}/${name}`),
  ...globSync('packages/server/src/**/schema.sql', { cwd: root }),
].filter((path) => !expectedFiles.has(path))
const stale = [...expectedFiles]
  .filter(([path, text]) => !existsSync(join(root, path)) || readFileSync(join(root, path), 'utf8') !== text)
  .map(([path]) => path)
if (check) {
  if (stale.length > 0 || stray.length > 0) {
    console.error(
      `Not up to date: ${[...stale, ...stray].join(', ')}\nRun npm run generate and commit the result.`,
    )
    process.exitCode = 1
  } else console.log(`${expectedFiles.size} generated files are up to date`)
} else {
  for (const [path, text] of expectedFiles) writeFileSync(join(root, path), text)
  for (const path of stray) rmSync(join(root, path))
  console.log(`${expectedFiles.size} generated files written, ${stale.length} changed`)
}
