import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from '../platform/call.ts'
import { html, pageHeaders, pageOf } from '../platform/html.ts'

const builtFolder = fileURLToPath(new URL('../../../console/dist', import.meta.url))

const mediaTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

/** Address and file of every page that the console builds. */
const entries = {
  '/verify': 'verify.html',
  '/console': 'console.html',
  '/me/recording': 'recording.html',
} as const

export const isConsoleBuilt = (folder = builtFolder): boolean =>
  Object.values(entries).every((file) => existsSync(join(folder, file)))

const notBuilt = (path: string): Page => ({
  path,
  handler: async () =>
    pageOf(
      'Not built',
      html`<h1>This page is not built yet.</h1>
        <p>Build it and start the service again:</p>
        <p><code>npm run build</code></p>`,
      503,
    ),
})

const entryPage = (path: string, file: string, issuer: string): Page => {
  const text = readFileSync(file, 'utf8').replaceAll('{{issuer}}', html`${issuer}`.text)
  return {
    path,
    handler: async () => ({
      mediaType: 'text/html; charset=utf-8',
      text,
      headers: { ...pageHeaders, 'cache-control': 'no-cache' },
    }),
  }
}

/** Their names hold a hash of their content, so they may be kept for ever. */
const assetPages = (folder: string): Page[] =>
  readdirSync(folder).flatMap((name) => {
    const mediaType = mediaTypes[extname(name)]
    if (mediaType === undefined) return []
    const text = readFileSync(join(folder, name), 'utf8')
    const headers = { 'cache-control': 'public, max-age=31536000, immutable' }
    return [{ path: `/assets/${name}`, handler: async () => ({ mediaType, text, headers }) }]
  })

/** The console's pages, read once at the start. They are told who the issuer is, and nothing else. */
export const consolePages = (issuer: string, folder = builtFolder): Page[] => {
  if (!isConsoleBuilt(folder)) return Object.keys(entries).map(notBuilt)
  return [
    ...Object.entries(entries).map(([path, file]) => entryPage(path, join(folder, file), issuer)),
    ...assetPages(join(folder, 'assets')),
  ]
}
