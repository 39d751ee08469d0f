import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { Page, PageResponse } from '../platform/http/call.ts'
import { html, pageHeaders, renderPage } from '../platform/http/html.ts'
import { staticPage } from '../platform/http/static-page.ts'
import type { DocsPage } from './resources.ts'
import { notBuiltPage } from './web-pages.ts'

const builtFolder = fileURLToPath(new URL('../../../docs/dist', import.meta.url))

const mediaTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.csv': 'text/csv; charset=utf-8',
  '.sh': 'text/plain; charset=utf-8',
  '.mjs': 'text/plain; charset=utf-8',
}

const docsPagesSchema = z.array(z.object({ path: z.string(), title: z.string(), text: z.string() }))

export const isDocsBuilt = (folder = builtFolder): boolean => existsSync(join(folder, 'index.html'))

/** The guides and quick starts in Markdown, for programs; none before the documentation is built. */
export const readDocsPages = (folder = builtFolder): readonly DocsPage[] => {
  const file = join(folder, 'pages.json')
  return existsSync(file) ? docsPagesSchema.parse(JSON.parse(readFileSync(file, 'utf8'))) : []
}

/** The name of a file in `assets` contains a hash of its content; other files change with a new version. */
const cachingOf = (file: string, text: string): Record<string, string> =>
  file.startsWith('assets/')
    ? { 'cache-control': 'public, max-age=31536000, immutable' }
    : {
        'cache-control': 'no-cache',
        etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`,
      }

const pageAddressOf = (file: string): string =>
  file === 'index.html' ? '/docs' : `/docs/${file.replace(/\.html$/, '')}`

/** The pages and files of the built documentation, by address. There are hundreds, so each is read when it is first requested. */
const makeBuiltPages = (folder: string) => {
  const files = isDocsBuilt(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && extname(entry.name) in mediaTypes)
        .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    : []
  const byAddress = new Map(files.map((file) => [pageAddressOf(file), file]))
  const read = new Map<string, Page>()
  return (address: string): Page | undefined => {
    const file = byAddress.get(address)
    const known = read.get(address)
    if (known || file === undefined) return known
    const text = readFileSync(join(folder, file), 'utf8')
    const headers = { ...pageHeaders, ...cachingOf(file, text) }
    const page = staticPage(address, { mediaType: mediaTypes[extname(file)] ?? '', text, headers })
    read.set(address, page)
    return page
  }
}

const unknownPage: PageResponse = renderPage(
  'No such page',
  html`<h1>The documentation has no such page.</h1>
    <p><a href="/docs">All documents</a></p>`,
  404,
)

/**
 * The documentation at /docs. The API's error responses link to the pages of error codes, so these exist even without a
 * build: `errorPages` serves them then, and for unknown codes.
 */
export const docsPages = (errorPages: readonly Page[], folder = builtFolder): Page[] => {
  const findBuilt = makeBuiltPages(folder)
  const missing = isDocsBuilt(folder) ? unknownPage : notBuiltPage
  const serve =
    (addressIn: (params: Record<string, string>) => string, other: Page['handler']): Page['handler'] =>
    (request) =>
      (findBuilt(addressIn(request.params))?.handler ?? other)(request)
  return [
    {
      path: '/docs',
      handler: serve(
        () => '/docs',
        async () => missing,
      ),
    },
    {
      path: '/docs/*',
      handler: serve(
        ({ '*': rest = '' }) => `/docs/${rest}`.replace(/\/$/, ''),
        async () => missing,
      ),
    },
    ...errorPages.map(({ path, handler }) => ({
      path,
      handler: serve(({ code = '' }) => path.replace(':code', code), handler),
    })),
  ]
}
