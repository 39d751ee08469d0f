import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const repositoryRoot = fileURLToPath(new URL('../../../', import.meta.url))

/** A page before it is rendered. `path` is its file below the root of the repository. */
export type Document = {
  readonly path: string
  readonly address: string
  readonly markdown: string
}

const sources = [
  'docs/**/*.md',
  '{ARCHITECTURE,CHANGELOG,CODE_OF_CONDUCT,CONTRIBUTING,SECURITY}.md',
  'conformance/README.md',
  'packages/*/README.md',
]
/** Files that documents link to and that are no pages. */
const fileSources = 'docs/**/*.{svg,csv,sh,mjs}'

/**
 * The address of a file or folder of the repository. A README is the page of its folder. The pages of error codes keep the
 * addresses that answers of the API name.
 */
export const pageAddressOf = (path: string): string => {
  const page = path.replace(/\/?README\.md$/, '').replace(/\.md$/, '')
  if (page !== 'docs' && !page.startsWith('docs/'))
    return `/docs/project/${page.toLowerCase().replaceAll('_', '-')}`
  return `/${page}`.replace('/docs/reference/errors', '/docs/errors').replace(/\/$/, '')
}

const list = (patterns: string | readonly string[]): string[] =>
  globSync(patterns, {
    cwd: repositoryRoot,
    exclude: (path) => path.endsWith('node_modules') || path.endsWith('dist'),
  }).toSorted()

export const readText = (path: string): string => readFileSync(join(repositoryRoot, path), 'utf8')

export const readDocuments = (): Document[] =>
  list(sources).map((path) => ({ path, address: pageAddressOf(path), markdown: readText(path) }))

export const listFiles = (): string[] => list(fileSources)

/** The text of the first heading of a document. */
export const documentTitleOf = ({ path, markdown }: Pick<Document, 'path' | 'markdown'>): string => {
  const title = /^# +(.+?) *$/m.exec(markdown)?.[1]
  if (title === undefined) throw new Error(`${path} has no heading of the first level`)
  return title.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '')
}
