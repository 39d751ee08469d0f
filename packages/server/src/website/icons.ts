import { readFileSync } from 'node:fs'
import type { Page } from '../platform/http/call.ts'
import { staticPage } from '../platform/http/static-page.ts'
import type { Branding } from './branding.ts'

const asset = (name: string): Buffer => readFileSync(new URL(`../../assets/${name}`, import.meta.url))
const kept = { 'cache-control': 'public, max-age=86400' }

/** The mark in the colours of the deployment, for light and dark tabs. */
const iconText = ({ palettes: { light, dark } }: Branding): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><style>circle,path{fill:none;stroke:${light.seal};stroke-width:3;stroke-linecap:round;stroke-linejoin:round}@media (prefers-color-scheme:dark){circle,path{stroke:${dark.seal}}}</style><circle cx="16" cy="16" r="13"/><path d="M10 16l4 5 8-10"/></svg>\n`

const picture = (path: string, mediaType: string, bytes: Buffer): Page => ({
  path,
  handler: async () => ({ mediaType, text: '', bytes, headers: kept }),
})

/** What search engines may read. Nothing behind the API is a page. */
const robots = `User-agent: *\nDisallow: /api/\nDisallow: /console\nDisallow: /me\nDisallow: /operator\n`

/** The pictures that browsers and other sites ask for, and the file for search engines. */
export const iconPages = (branding: Branding): Page[] => [
  // An image that is opened as a page has a policy of its own, which would forbid its colours.
  staticPage('/favicon.svg', {
    mediaType: 'image/svg+xml',
    text: iconText(branding),
    headers: { ...kept, 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'" },
  }),
  picture('/favicon.ico', 'image/x-icon', asset('favicon.ico')),
  ...['icon-192.png', 'icon-512.png', 'icon-maskable.png'].map((name) =>
    picture(`/assets/${name}`, 'image/png', asset(name)),
  ),
  ...(branding.socialCard ? [picture('/assets/card.png', 'image/png', branding.socialCard)] : []),
  staticPage('/robots.txt', { mediaType: 'text/plain; charset=utf-8', text: robots, headers: kept }),
]
