import { returnPath } from '../../issuers/index.ts'
import type { Page } from '../../platform/http/call.ts'
import { html, renderPage } from '../../platform/http/html.ts'
import { issuerMessages } from './issuer-messages.ts'
import { languageOf } from './messages.ts'

/**
 * The page to which an issuer leads the browser back. It is the same for everybody: its script sends the parameters of its
 * address together with the state that this tab kept, so that nobody can finish a sign-in that was begun elsewhere.
 */
export const returnPage: Page = {
  path: returnPath,
  handler: async (request) => {
    const language = languageOf(request.query['lang'], request.header('accept-language'))
    const messages = issuerMessages[language]
    const { wait, lost, doneTitle, doneLead, next, failedTitle, back, otherwise, rules } = messages
    const { unavailable, offline, sign_in_required, duplicate } = messages
    const failed = { ...rules, issuer_unavailable: unavailable, offline, sign_in_required, duplicate }
    return renderPage(
      messages.returning,
      html`<div
          id="issuer-return"
          class="flow"
          data-language="${language}"
          data-words="${JSON.stringify({ lost, doneTitle, doneLead, next, failedTitle, back, otherwise, failed })}"
        >
          <h1 tabindex="-1">${messages.returning}</h1>
          <p class="result" role="status" aria-live="polite">${wait}</p>
          <p hidden><a class="btn main" href="/me">${messages.next}</a></p>
        </div>
        <script src="/assets/issuer-return.js" type="module"></script>`,
      200,
      language,
    )
  },
}
