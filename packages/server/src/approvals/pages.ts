import { languageOf, languageSwitch, type Language } from '../members/index.ts'
import type { Page } from '../platform/http/call.ts'
import { html, pageHeaders, type Template } from '../platform/http/html.ts'

/** The text of the approver's pages before their script runs; all other text is in the script. */
const shellMessages: Readonly<Record<Language, { readonly title: string; readonly needsScript: string }>> = {
  en: {
    title: 'Approvals',
    needsScript:
      'This page needs JavaScript: it shows the request exactly as it was signed, and uses your passkey.',
  },
  de: {
    title: 'Freigaben',
    needsScript:
      'Diese Seite braucht JavaScript: Sie zeigt die Anfrage genau so, wie sie signiert ist, und verwendet Ihren Passkey.',
  },
}

/**
 * The approver's pages: what waits, and one approval. A script fetches the data, so they are the same for everybody and contain
 * no personal data.
 */
export const pages = (template: Template): Page[] =>
  ['/approve', '/approve/:approvalId'].map((path) => ({
    path,
    handler: async (request) => {
      const language = languageOf(request.query['lang'], request.header('accept-language'))
      const { title, needsScript } = shellMessages[language]
      return template(
        {
          lang: language,
          title,
          languages: languageSwitch(language),
          'needs-script': html`<p>${needsScript}</p>`,
        },
        pageHeaders,
      )
    },
  }))
