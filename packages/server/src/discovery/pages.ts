import { readFileSync } from 'node:fs'
import { errorCatalogue, errorCodes } from '@pohf/protocol'
import { answers, question, sentence } from '@pohf/protocol/story'
import type { Page } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { html, renderPage } from '../platform/http/html.ts'
import { staticPage } from '../platform/http/static-page.ts'
import { docsPages } from './docs-pages.ts'
import { addresses, catalogueLink, makeDocuments } from './documents/index.ts'
import type { PaymentOptions } from './manifest.ts'

const script = 'text/javascript; charset=utf-8'

/** The stylesheet belongs to the web package; it is served as it is written, so that it needs no build. */
const assets: Record<string, { readonly files: readonly string[]; readonly mediaType: string }> = {
  'pohf.css': {
    files: ['../../../web/src/shared/design/base.css', '../../../web/src/shared/design/components.css'],
    mediaType: 'text/css; charset=utf-8',
  },
  'enrol.js': { files: ['../../assets/enrol.js'], mediaType: script },
  'step-up.js': { files: ['../../assets/step-up.js'], mediaType: script },
  'issuer.js': { files: ['../../assets/issuer.js'], mediaType: script },
  'issuer-return.js': { files: ['../../assets/issuer-return.js'], mediaType: script },
  'me.js': { files: ['../../assets/me.js'], mediaType: script },
  'passkey.js': { files: ['../../assets/passkey.js'], mediaType: script },
  'checkout-page.js': { files: ['../../assets/checkout-page.js'], mediaType: script },
  'token-page.js': { files: ['../../assets/token-page.js'], mediaType: script },
}

const assetPage = (name: string, { files, mediaType }: (typeof assets)[string]): Page => {
  const text = files.map((file) => readFileSync(new URL(file, import.meta.url), 'utf8')).join('\n')
  return staticPage(`/assets/${name}`, {
    mediaType,
    text,
    headers: { 'cache-control': 'public, max-age=300' },
  })
}

/** What `/` answers to programs. */
export const home: Page = {
  path: '/',
  handler: async () => {
    const page = renderPage(
      'Proof of human',
      html`<h1>${question}</h1>
        <p class="muted">${sentence} ${answers.limit}</p>
        <ul class="plain">
          <li><a href="/verify">Verify a credential</a></li>
          ${addresses.map(({ path, title }) => html`<li><a href="${path}">${title}</a></li>`)}
        </ul>`,
    )
    return { ...page, headers: { ...page.headers, link: catalogueLink } }
  },
}

const errorIndex: Page = {
  path: '/docs/errors',
  handler: async () =>
    renderPage(
      'Error codes',
      html`<h1>Error codes</h1>
        <table>
          <thead>
            <tr>
              <th scope="col">Status</th>
              <th scope="col">Code</th>
              <th scope="col">What happened</th>
            </tr>
          </thead>
          <tbody>
            ${errorCodes.map(
              (code) =>
                html`<tr>
                  <td class="num">${errorCatalogue[code].status}</td>
                  <td>
                    <a href="/docs/errors/${code}"><code>${code}</code></a>
                  </td>
                  <td>${errorCatalogue[code].message}</td>
                </tr>`,
            )}
          </tbody>
        </table>`,
    ),
}

const errorPage: Page = {
  path: '/docs/errors/:code',
  handler: async ({ params }) => {
    const code = errorCodes.find((candidate) => candidate === params['code'])
    if (!code)
      return renderPage(
        'Unknown code',
        html`<h1>There is no such code.</h1>
          <p><a href="/docs/errors">All codes</a></p>`,
        404,
      )
    const entry = errorCatalogue[code]
    return renderPage(
      code,
      html`<p>
          <span class="chip">${entry.status}</span>
          <span class="chip ${entry.retryable ? 'ok' : 'stop'}"
            >${entry.retryable ? 'may succeed later' : 'will fail again'}</span
          >
        </p>
        <h1><code>${code}</code></h1>
        <p>${entry.message}</p>
        <h2>Why</h2>
        <p>${entry.why}</p>
        <h2>What to do</h2>
        <p>${entry.fix}</p>
        <p><a href="/docs/errors">All codes</a></p>`,
    )
  },
}

/** What the pages of error codes say where the documentation is not built. */
export const errorPages: readonly Page[] = [errorIndex, errorPage]

/** A text that changes only with a new version, readable from any origin. It is made once, for its first reader. */
const publicText = (path: string, mediaType: string, makeText: () => string): Page => {
  const headers = { 'cache-control': 'public, max-age=300', 'access-control-allow-origin': '*' }
  let page: Page | undefined
  return {
    path,
    handler: (call) => {
      page ??= staticPage(path, { mediaType, text: makeText(), headers })
      return page.handler(call)
    },
  }
}

export const pages = ({ config }: Ctx, { chains, asset }: PaymentOptions): Page[] => [
  ...makeDocuments({ baseUrl: config.BASE_URL, chains, asset }).map(({ path, mediaType, makeText }) =>
    publicText(path, mediaType, makeText),
  ),
  ...docsPages(errorPages),
  ...Object.entries(assets).map(([name, asset]) => assetPage(name, asset)),
]
