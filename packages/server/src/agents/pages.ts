import type { Page } from '../platform/http/call.ts'
import { html, renderPage } from '../platform/http/html.ts'

const tokenPage = (
  path: string,
  content: { title: string; lead: string; button: string; action: string },
): Page => ({
  path,
  handler: async ({ query }) =>
    renderPage(
      content.title,
      html`<h1>${content.title}</h1>
        <p class="muted">${content.lead}</p>
        <form class="token" data-action="${content.action}" data-token="${query['token'] ?? ''}">
          <button class="btn main" type="submit">${content.button}</button>
        </form>
        <p role="status" aria-live="polite" class="result"></p>
        <noscript><p>This page needs JavaScript for its button.</p></noscript>
        <script src="/assets/token-page.js" defer></script>`,
    ),
})

/** Opening a page changes nothing; its button does. Mail scanners open links by themselves. */
export const pages: readonly Page[] = [
  tokenPage('/agents/confirm', {
    title: 'Confirm your address',
    lead: 'This turns on the free plan of your agent and lets you recover a lost key.',
    button: 'Confirm this address',
    action: '/api/agents/email/confirm',
  }),
  tokenPage('/agents/recover', {
    title: 'Get a new API key',
    lead: 'You get one new key, shown once. All present keys of this agent stop working at that moment.',
    button: 'Stop the old keys and show a new one',
    action: '/api/agents/keys/recover/complete',
  }),
]
