// Writes every generated file, or with --check fails where one is not what it should be.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { contractsFile } from '../../packages/chain/src/compile.ts'
import { endpoints, errorCatalogue, errorCodes, openApiDocument } from '../../packages/protocol/src/index.ts'
import { settings } from '../../packages/server/src/platform/ops/settings.ts'
import { readSources } from '../../packages/server/test/architecture/import-rules.ts'
import { diagramOf, moduleGraphOf } from '../../packages/server/test/architecture/module-graph.ts'
import { schemaTypes } from './schema-types.ts'

const root = new URL('../../', import.meta.url).pathname
const check = process.argv.includes('--check')

const errorPage = (code: (typeof errorCodes)[number]): string => {
  const entry = errorCatalogue[code]
  return `# ${code}\n\nStatus ${entry.status}. ${entry.retryable ? 'The same call may succeed later.' : 'The same call will fail again.'}\n\n**What happened.** ${entry.message}\n\n**Why.** ${entry.why}\n\n**What to do.** ${entry.fix}\n`
}

const configPage = (): string => {
  const rows = Object.entries(settings.shape).map(([name, schema]) => {
    const { description = '' } = z.globalRegistry.get(schema) ?? {}
    const fallback = schema.safeParse(undefined)
    const shown = fallback.success
      ? fallback.data === undefined ||
        fallback.data === '' ||
        (Array.isArray(fallback.data) && fallback.data.length === 0)
        ? ''
        : `\`${String(fallback.data)}\``
      : '**required**'
    return `| \`${name}\` | ${shown} | ${description} |`
  })
  return `# Settings\n\nRead once from the environment. An empty variable counts as unset. All faults are named at once, before the database is touched.\n\n| Name | Default | Meaning |\n| --- | --- | --- |\n${rows.join('\n')}\n`
}

/** What the client must know of each endpoint at run time; the rest of it is types. */
const sdkOperations = (): string => {
  const rows = endpoints.map(
    ({ publicId, method, path, auth }) =>
      `  { publicId: '${publicId}', method: '${method}', path: '${path}', keyed: ${auth !== 'public' && auth !== 'member'} },`,
  )
  return `// Written by npm run generate.\n// prettier-ignore\nexport const operations = [\n${rows.join('\n')}\n] as const\n`
}

/** ARCHITECTURE.md with the diagram of the modules drawn from their imports. */
const architecturePage = (): string => {
  const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  const [start, end] = ['<!-- modules: written by npm run generate -->', '<!-- end of modules -->']
  const [before, after] = [page.indexOf(start), page.indexOf(end)]
  if (before === -1 || after < before) throw new Error('ARCHITECTURE.md has no markers for the modules')
  const diagram = diagramOf(moduleGraphOf(readSources()))
  return `${page.slice(0, before + start.length)}\n\n\`\`\`\n${diagram}\n\`\`\`\n\n${page.slice(after)}`
}

const expectedFiles = new Map<string, string>([
  ['ARCHITECTURE.md', architecturePage()],
  ['docs/openapi.json', `${JSON.stringify(openApiDocument(), null, 2)}\n`],
  ['docs/reference/settings.md', configPage()],
  ['packages/chain/src/contracts.ts', contractsFile()],
  ['packages/sdk/src/operations.ts', sdkOperations()],
  ['packages/server/src/platform/db/schema.ts', await schemaTypes()],
  ...errorCodes.map((code): [string, string] => [`docs/reference/errors/${code}.md`, errorPage(code)]),
])

mkdirSync(join(root, 'docs/reference/errors'), { recursive: true })
const stray = readdirSync(join(root, 'docs/reference/errors')).filter(
  (name) => !expectedFiles.has(`docs/reference/errors/${name}`),
)
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
  for (const name of stray) rmSync(join(root, 'docs/reference/errors', name))
  console.log(`${expectedFiles.size} generated files written, ${stale.length} changed`)
}
