import { languageOf, languageSwitch, type Language } from '../members/index.ts'
import type { Page } from '../platform/http/call.ts'
import { html, installablePageHeaders, type Template } from '../platform/http/html.ts'

/** The text of the approver's pages before their script runs; all other text is in the script. */
type ShellMessages = { readonly title: string; readonly description: string; readonly needsScript: string }
const shellMessages: Readonly<Record<Language, ShellMessages>> = {
  en: {
    title: 'Approvals',
    description: 'Read what an agent wants to do, and approve or deny it.',
    needsScript:
      'This page needs JavaScript: it shows the request exactly as it was signed, and uses your passkey.',
  },
  de: {
    title: 'Freigaben',
    description: 'Lesen Sie, was ein Agent tun will, und geben Sie es frei oder lehnen Sie es ab.',
    needsScript:
      'Diese Seite braucht JavaScript: Sie zeigt die Anfrage genau so, wie sie signiert ist, und verwendet Ihren Passkey.',
  },
}

const manifestPath = '/approve.webmanifest'

/** The colours of the page, light: a manifest has one of each. The page itself names the dark one. */
const paper = '#fbfaf7'

const iconOf = (name: string, pixels: number, purpose: 'any' | 'maskable') => ({
  src: `/assets/${name}`,
  sizes: `${pixels}x${pixels}`,
  type: 'image/png',
  purpose,
})

/**
 * The web app manifest, with which a phone installs the page as an app. The app starts with the list, never with a single
 * approval, so that it always reads the current state.
 */
const manifestOf = (language: Language) => {
  const { title, description } = shellMessages[language]
  return {
    id: '/approve',
    name: `PoHF ${title}`,
    short_name: title,
    description,
    lang: language,
    start_url: `/approve?lang=${language}`,
    scope: '/approve',
    display: 'standalone',
    background_color: paper,
    theme_color: paper,
    icons: [
      iconOf('icon-192.png', 192, 'any'),
      iconOf('icon-512.png', 512, 'any'),
      iconOf('icon-maskable.png', 512, 'maskable'),
    ],
  }
}

const manifestPage: Page = {
  path: manifestPath,
  handler: async (request) => ({
    mediaType: 'application/manifest+json; charset=utf-8',
    text: `${JSON.stringify(manifestOf(languageOf(request.query['lang'], request.header('accept-language'))))}\n`,
    headers: { 'cache-control': 'public, max-age=86400', vary: 'accept-language' },
  }),
}

/**
 * The approver's pages: what waits, and one approval. A script fetches the data, so they are the same for everybody and contain
 * no personal data.
 */
export const pages = (template: Template): Page[] => [
  manifestPage,
  ...['/approve', '/approve/:approvalId'].map((path) => ({
    path,
    handler: async (request: Parameters<Page['handler']>[0]) => {
      const language = languageOf(request.query['lang'], request.header('accept-language'))
      const { title, needsScript } = shellMessages[language]
      return template(
        {
          lang: language,
          title,
          manifest: `${manifestPath}?lang=${language}`,
          languages: languageSwitch(language),
          'needs-script': html`<p>${needsScript}</p>`,
        },
        installablePageHeaders,
      )
    },
  })),
]
