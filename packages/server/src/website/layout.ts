import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { PageResponse } from '../platform/http/call.ts'
import { Html, html } from '../platform/http/html.ts'
import type { Language } from '../platform/http/negotiation.ts'
import { designSheet, type Branding } from './branding.ts'
import { doorSheet } from './door-pictures.ts'
import type { Palette } from './rules.ts'

/** The own parts of a page; the rest is the same for all. */
export type PageParts = {
  readonly title: string
  readonly description?: string
  /** The address of the page, for other sites; undefined for pages that nobody links to. */
  readonly path?: string
  readonly body: Html
  readonly language?: Language
  readonly status?: number
  readonly scripts?: readonly Html[]
  /** Pages of many sections have a menu, the others only the name. */
  readonly hasMenu?: boolean
}
export type RenderWebsitePage = (parts: PageParts) => PageResponse

const ownSheet = ['website.css', 'website-pages.css']
  .map((name) => readFileSync(new URL(`../../assets/${name}`, import.meta.url), 'utf8'))
  .join('\n')

const declarationsOf = (changed: Partial<Palette>): string =>
  Object.entries(changed)
    // The first plot has the colour of the seal.
    .flatMap(([name, value]) => [`--${name}:${value}`, ...(name === 'seal' ? [`--plot-1:${value}`] : [])])
    .join(';')

/** The stylesheet with the colours of the deployment. The files have no string with two spaces or a comment. */
const styleOf = ({ changedColours: { light, dark } }: Pick<Branding, 'changedColours'>): string =>
  [
    designSheet,
    ownSheet,
    doorSheet,
    `:root{${declarationsOf(light)}}`,
    `@media (prefers-color-scheme: dark){:root{${declarationsOf(dark)}}}`,
  ]
    .join('\n')
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([{};,]) ?/g, '$1')

const policyOf = (style: string, hasScripts: boolean): string =>
  [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    ...(hasScripts ? ["script-src 'self'", "connect-src 'self'"] : []),
    "img-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

const menuLinks = [
  ['/#doors', 'Uses'],
  ['/#costs', 'Costs'],
  ['/pricing', 'Pricing'],
] as const

const header = ({ name }: Branding, docsPath: string, hasMenu: boolean): Html =>
  html`<header class="top">
    <a class="name" href="/"
      ><svg class="mark" viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
        <circle cx="16" cy="16" r="13" />
        <path d="M10 16l4 5 8-10" /></svg
      >${name}</a
    >
    ${
      hasMenu
        ? html`<nav aria-label="Main">
            ${menuLinks.map(([href, label]) => html`<a class="wide" href="${href}">${label}</a>`)}
            <a href="${docsPath}">Docs</a><a class="btn" href="/console">Sign in</a>
          </nav>`
        : html``
    }
  </header>`

const footer = ({ footer: text, links }: Branding, docsPath: string): Html =>
  html`<footer class="foot">
    <nav aria-label="Footer">
      <a href="${docsPath}">Docs</a><a href="/pricing">Pricing</a><a href="/vhh">VHH index</a
      ><a href="/status">Status</a><a href="/verify">Verify a credential</a><a href="/work">Paid tasks</a
      ><a href="/me">Your data</a><a href="/openapi.json">OpenAPI</a
      ><a href="/.well-known/jwks.json">Public keys</a
      ><a href="/.well-known/pohf-forging.json">Price table</a>
      ${links.map(({ label, url }) => html`<a href="${url}">${label}</a>`)}
    </nav>
    <p class="faint small">${text}</p>
  </footer>`

/** What other sites and search engines show of a page. */
const socialTags = (branding: Branding, baseUrl: string, parts: PageParts): Html => {
  const { title, description, path } = parts
  if (path === undefined) return html`<meta name="robots" content="noindex" />`
  const card = `${baseUrl}/assets/card.png`
  return html`<link rel="canonical" href="${baseUrl}${path}" />
    <meta name="description" content="${description ?? branding.description}" />
    <meta property="og:type" content="website" />
    <meta property="og:site_name" content="${branding.name}" />
    <meta property="og:title" content="${title}" />
    <meta property="og:description" content="${description ?? branding.description}" />
    <meta property="og:url" content="${baseUrl}${path}" />
    ${
      branding.socialCard
        ? html`<meta property="og:image" content="${card}" />
            <meta property="og:image:width" content="1200" />
            <meta property="og:image:height" content="630" />
            <meta property="og:image:alt" content="${branding.name}: ${branding.headline}" />
            <meta name="twitter:card" content="summary_large_image" />`
        : html`<meta name="twitter:card" content="summary" />`
    }`
}

type LayoutOptions = {
  readonly branding: Branding
  readonly baseUrl: string
  /** Where the documentation is. */
  readonly docsPath: string
}

/** Makes the function that renders a whole page. The style is in the page, so that an error page needs no second request. */
export const makeLayout = ({ branding, baseUrl, docsPath }: LayoutOptions): RenderWebsitePage => {
  const style = styleOf(branding)
  return (parts) => {
    const { title, body, language = 'en', status = 200, scripts = [], hasMenu = true } = parts
    const { text } = html`<!doctype html>
      <html lang="${language}">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta
            name="theme-color"
            media="(prefers-color-scheme: light)"
            content="${branding.palettes.light.paper}"
          />
          <meta
            name="theme-color"
            media="(prefers-color-scheme: dark)"
            content="${branding.palettes.dark.paper}"
          />
          <title>${title.includes(branding.name) ? title : `${title} · ${branding.name}`}</title>
          <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
          <link rel="alternate icon" href="/favicon.ico" sizes="32x32" />
          ${socialTags(branding, baseUrl, parts)} ${new Html(`<style>${style}</style>`)} ${scripts}
        </head>
        <body>
          <a class="skip" href="#main">${language === 'de' ? 'Zum Inhalt' : 'Skip to content'}</a>
          <div class="page site">
            ${header(branding, docsPath, hasMenu)}
            <main id="main" tabindex="-1">${body}</main>
            ${hasMenu ? footer(branding, docsPath) : html``}
          </div>
        </body>
      </html>`
    return {
      status,
      mediaType: 'text/html; charset=utf-8',
      text,
      headers: { 'content-security-policy': policyOf(style, scripts.length > 0) },
    }
  }
}
