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
  const written = values.map((value) => {
    if (value instanceof Html) return value.text
    if (typeof value === 'object') return value.map((item) => item.text).join('')
    return escape(String(value))
  })
  return new Html(strings.map((text, index) => text + (written[index] ?? '')).join(''))
}

const contentSecurityPolicyOf = (images: string): string =>
  `default-src 'none'; style-src 'self'; script-src 'self'; img-src ${images}; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`

/** Scripts, styles and requests only from and to ourselves, nothing inline, in nobody's frame. */
export const pageHeaders = { 'content-security-policy': contentSecurityPolicyOf("'self' data:") }

/** The same for a page that shows pictures of others: any host, for they are not known before, and only by https. */
export const externalImagePageHeaders = {
  'content-security-policy': contentSecurityPolicyOf("'self' data: https:"),
}

/** A page that was built beforehand, with places for values and headers of its own. */
export type Template = (
  values: Readonly<Record<string, string | Html>>,
  headers: Readonly<Record<string, string>>,
) => PageResponse

/** A whole page in the house's look. Scripts come only from our own files, so the policy stays strict. */
export const renderPage = (title: string, body: Html, status = 200, lang = 'en'): PageResponse => ({
  status,
  mediaType: 'text/html; charset=utf-8',
  text: html`<!doctype html>
    <html lang="${lang}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · PoHF</title>
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
