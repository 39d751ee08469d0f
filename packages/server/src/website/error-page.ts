import type { ErrorPage } from '../platform/http/call.ts'
import { html } from '../platform/http/html.ts'
import { languageOf } from '../platform/http/negotiation.ts'
import type { RenderWebsitePage } from './layout.ts'
import { messagesOf } from './messages.ts'

/** What a browser shows of an error: what happened, what to do, and the id by which the operator finds the request. */
export const makeErrorPage =
  (render: RenderWebsitePage, baseUrl: string): ErrorPage =>
  ({ status, code, requestId, acceptLanguage }) => {
    const language = languageOf(undefined, acceptLanguage)
    const messages = messagesOf(language)
    const known = ([404, 405, 429, 500, 503] as const).find((one) => one === status) ?? 500
    const { title, text, next } = messages.errors[known]
    return render({
      title,
      language,
      status,
      hasMenu: false,
      body: html`<div class="fault">
        <p><span class="chip ${status >= 500 ? 'stop' : 'warn'} num">${status}</span></p>
        <h1>${title}</h1>
        <p class="lead muted">${text} ${next}</p>
        <p class="cta">
          <a class="btn main" href="/">${messages.home}</a>
          ${status >= 500 ? html`<a class="btn" href="${baseUrl}/status">${messages.statusLink}</a>` : html``}
        </p>
        <p class="reference small">
          <span class="muted">${messages.reference}</span> <code class="id">${requestId}</code>
          <span class="faint block">${messages.referenceHelp}</span>
        </p>
        <p class="linkrow small">
          <a href="${baseUrl}/docs/errors/${code}" hreflang="en">${messages.meaning}</a>
        </p>
      </div>`,
    })
  }
