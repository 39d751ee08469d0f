import { readFileSync } from 'node:fs'
import type { Epoch, ForgingFile } from '@pohf/protocol'
import type { ErrorPage, Page, PageResponse } from '../platform/http/call.ts'
import { acceptsHtml } from '../platform/http/negotiation.ts'
import { staticPage } from '../platform/http/static-page.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Branding } from './branding.ts'
import { makeErrorPage } from './error-page.ts'
import { iconPages } from './icons.ts'
import { makeCachedReader } from './cached-reader.ts'
import { landing } from './landing.ts'
import { makeLayout } from './layout.ts'
import { pricing } from './pricing.ts'
import type { PartStates } from './rules.ts'
import { makeStatusReader, statusPage } from './status.ts'
import { indexCacheSeconds, indexPage } from './vhh.ts'

export type WebsiteDeps = {
  readonly ctx: Pick<Ctx, 'config' | 'clock'>
  readonly branding: Branding
  readonly forging: ForgingFile
  readonly acceptsCards: boolean
  /** The agent whose check visitors can try. */
  readonly demoSite: string | undefined
  /** Where the documentation is. */
  readonly docsPath: string
  /** What `/` answers to programs. */
  readonly programHome: Page
  readonly readParts: () => Promise<PartStates>
  /** The months of the index, oldest first. */
  readonly readIndex: () => Promise<readonly Epoch[]>
}

const scriptPage = (name: string): Page =>
  staticPage(`/assets/${name}`, {
    mediaType: 'text/javascript; charset=utf-8',
    text: readFileSync(new URL(`../../assets/${name}`, import.meta.url), 'utf8'),
    headers: { 'cache-control': 'public, max-age=300' },
  })

/** A page that is the same for everybody, rendered once. */
const fixedPage = (path: string, render: () => PageResponse): Page => {
  const open = () => {
    const page = render()
    return staticPage(path, {
      ...page,
      headers: {
        ...page.headers,
        'cache-control': 'no-cache',
        link: '</.well-known/api-catalog>; rel="api-catalog"',
      },
    })
  }
  let opened: Page | undefined
  return { path, handler: (request) => (opened ??= open()).handler(request) }
}

/** Browsers get the page, programs the answer that they always got. */
const homePage = (forBrowsers: Page, forPrograms: Page): Page => ({
  path: '/',
  handler: async (request) => {
    const { handler } = acceptsHtml(request.header('accept')) ? forBrowsers : forPrograms
    const answer = await handler(request)
    return { ...answer, headers: { ...answer.headers, vary: 'accept, accept-encoding' } }
  },
})

/** The pages for people who do not know the service yet, and the page of an error. */
export const makeWebsite = (deps: WebsiteDeps): { readonly pages: Page[]; readonly errorPage: ErrorPage } => {
  const { ctx, branding, forging, acceptsCards, demoSite, docsPath } = deps
  const { config } = ctx
  const render = makeLayout({ branding, baseUrl: config.BASE_URL, docsPath })
  const landingPage = fixedPage('/', () => render(landing({ config, branding, forging, docsPath, demoSite })))
  return {
    pages: [
      homePage(landingPage, deps.programHome),
      fixedPage('/pricing', () => render(pricing({ config, acceptsCards }))),
      statusPage(render, makeStatusReader(ctx.clock, deps.readParts)),
      indexPage(
        render,
        { docsPath, baseUrl: config.BASE_URL },
        makeCachedReader(ctx.clock, indexCacheSeconds, deps.readIndex),
      ),
      scriptPage('vhh.js'),
      scriptPage('landing.js'),
      scriptPage('seal.js'),
      ...iconPages(branding),
    ],
    errorPage: makeErrorPage(render, config.BASE_URL),
  }
}
