import type { PageResponse } from './call.ts'

/** Text that is safe inside HTML, made only by `html` and `raw`. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const escapes: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escape = (value: string) => value.replaceAll(/[&<>"']/g, (character) => escapes[character] ?? '')

type Part = string | number | Html | readonly Html[]

/** A template whose values are escaped unless they are HTML already. */
export const html = (strings: TemplateStringsArray, ...values: readonly Part[]): Html => {
  const escaped = values.map((value) => {
    if (value instanceof Html) return value.text
    if (typeof value === 'object') return value.map((item) => item.text).join('')
    return escape(String(value))
  })
  return new Html(strings.map((text, index) => text + (escaped[index] ?? '')).join(''))
}

const contentSecurityPolicyOf = (images: string): string =>
  `default-src 'none'; style-src 'self'; script-src 'self'; img-src ${images}; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`

/** Scripts, styles and requests from our own origin only, nothing inline, no framing. */
export const pageHeaders = { 'content-security-policy': contentSecurityPolicyOf("'self' data:") }

/**
 * As `pageHeaders`, for a page that can be installed. They forbid workers, so that no service worker can stand between the
 * page and the service.
 */
export const installablePageHeaders = {
  'content-security-policy': `${pageHeaders['content-security-policy']}; manifest-src 'self'; worker-src 'none'`,
}

/** A prebuilt page with placeholders for values, and headers of its own. */
export type Template = (
  values: Readonly<Record<string, string | Html>>,
  headers: Readonly<Record<string, string>>,
) => PageResponse

/** Renders a complete page in our design. Scripts come from our own files only, so the policy stays strict. */
export const renderPage = (title: string, body: Html, status = 200, lang = 'en'): PageResponse => ({
  status,
  mediaType: 'text/html; charset=utf-8',
  text: html`<!doctype html>
    <html lang="${lang}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · PoHF</title>
        <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/assets/pohf.css" />
      </head>
      <body>
        <main class="page narrow">
          <p class="brand"><a href="/">PoHF</a></p>
          ${body}
        </main>
      </body>
    </html>`.text,
  headers: pageHeaders,
})
