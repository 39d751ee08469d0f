import { readFileSync } from 'node:fs'
import { errorCatalogue, errorCodes, openApiDocument } from '@pohf/protocol'
import type { Page } from '../platform/call.ts'
import { html, pageOf } from '../platform/html.ts'

/** The look is one stylesheet, which the console owns; it is served as it is written, so that no build is needed. */
const assets: Record<string, { readonly file: string; readonly mediaType: string }> = {
  'pohf.css': { file: '../../../console/src/look/pohf.css', mediaType: 'text/css; charset=utf-8' },
  'token-page.js': { file: '../../assets/token-page.js', mediaType: 'text/javascript; charset=utf-8' },
}

const assetPage = (name: string, { file, mediaType }: (typeof assets)[string]): Page => {
  const text = readFileSync(new URL(file, import.meta.url), 'utf8')
  return {
    path: `/assets/${name}`,
    handler: async () => ({ mediaType, text, headers: { 'cache-control': 'public, max-age=300' } }),
  }
}

const openApi = JSON.stringify(openApiDocument())

const home: Page = {
  path: '/',
  handler: async () =>
    pageOf(
      'Proof of human',
      html`<h1>Proof that a human did it.</h1>
        <p class="muted">
          This service signs credentials which say that a real, attentive person did a specific act. Anyone
          checks them offline against public keys.
        </p>
        <ul class="plain">
          <li><a href="/verify">Verify a credential</a></li>
          <li><a href="/openapi.json">OpenAPI document</a></li>
          <li><a href="/docs/errors">Error codes</a></li>
        </ul>`,
    ),
}

const errorIndex: Page = {
  path: '/docs/errors',
  handler: async () =>
    pageOf(
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
      return pageOf(
        'Unknown code',
        html`<h1>There is no such code.</h1>
          <p><a href="/docs/errors">All codes</a></p>`,
        404,
      )
    const entry = errorCatalogue[code]
    return pageOf(
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

export const pages: readonly Page[] = [
  home,
  {
    path: '/openapi.json',
    handler: async () => ({
      mediaType: 'application/json; charset=utf-8',
      text: openApi,
      headers: { 'cache-control': 'public, max-age=300', 'access-control-allow-origin': '*' },
    }),
  },
  errorIndex,
  errorPage,
  ...Object.entries(assets).map(([name, asset]) => assetPage(name, asset)),
]
