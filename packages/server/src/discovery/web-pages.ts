import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from '../platform/http/call.ts'
import { html, pageHeaders, renderPage, type Template } from '../platform/http/html.ts'
import { staticPage } from '../platform/http/static-page.ts'

const builtFolder = fileURLToPath(new URL('../../../web/dist', import.meta.url))

const mediaTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

/** Path and file of every page that the web package builds for the public listener. */
const entries = {
  '/verify': 'verify.html',
  '/console': 'console.html',
  '/me/recording': 'recording.html',
} as const
/** The page of the operators' listener, in a separate folder. */
const operatorFile = 'operator/operator.html'

export const isWebBuilt = (folder = builtFolder): boolean =>
  [...Object.values(entries), operatorFile].every((file) => existsSync(join(folder, file)))

/** Says how to build a page that `npm run build` writes. */
export const notBuiltPage = renderPage(
  'Not built',
  html`<h1>This page is not built yet.</h1>
    <p>Build it and start the service again:</p>
    <p><code>npm run build</code></p>`,
  503,
)
const notBuilt = (path: string): Page => ({ path, handler: async () => notBuiltPage })

/** A built page whose placeholders, `{{name}}`, its module fills in. */
export const templateOf = (file: 'work.html' | 'approve.html', folder = builtFolder): Template => {
  if (!existsSync(join(folder, file))) return () => notBuiltPage
  const text = readFileSync(join(folder, file), 'utf8')
  return (values, headers) => ({
    mediaType: 'text/html; charset=utf-8',
    text: text.replaceAll(/\{\{([\w-]+)\}\}/g, (_, name: string) => html`${values[name] ?? ''}`.text),
    headers: { ...headers, 'cache-control': 'no-cache' },
  })
}

const entryPage = (path: string, file: string, issuer: string): Page => {
  const text = readFileSync(file, 'utf8').replaceAll('{{issuer}}', html`${issuer}`.text)
  return staticPage(path, {
    mediaType: 'text/html; charset=utf-8',
    text,
    headers: { ...pageHeaders, 'cache-control': 'no-cache' },
  })
}

/** Their names contain a hash of their content, so they may be cached for ever. */
const assetPages = (folder: string, base: string): Page[] =>
  readdirSync(folder).flatMap((name) => {
    const mediaType = mediaTypes[extname(name)]
    if (mediaType === undefined) return []
    const text = readFileSync(join(folder, name), 'utf8')
    const headers = { 'cache-control': 'public, max-age=31536000, immutable' }
    return [staticPage(`${base}/${name}`, { mediaType, text, headers })]
  })

/** The public pages of the web package, read once at the start. Their only parameter is the issuer. */
export const webPages = (issuer: string, folder = builtFolder): Page[] => {
  if (!isWebBuilt(folder)) return Object.keys(entries).map(notBuilt)
  return [
    ...Object.entries(entries).map(([path, file]) => entryPage(path, join(folder, file), issuer)),
    ...assetPages(join(folder, 'assets'), '/assets'),
  ]
}

const operatorHome: Page = {
  path: '/',
  handler: async () => ({
    status: 302,
    mediaType: 'text/plain',
    text: '/operator\n',
    headers: { location: '/operator' },
  }),
}

/** The operators' pages, only for their listener. Its root leads to them. */
export const operatorPages = (issuer: string, folder = builtFolder): Page[] => {
  if (!isWebBuilt(folder)) return [operatorHome, notBuilt('/operator')]
  return [
    operatorHome,
    entryPage('/operator', join(folder, operatorFile), issuer),
    ...assetPages(join(folder, 'operator/assets'), '/operator/assets'),
  ]
}
