import { languageOf, languageSwitch } from '../members/index.ts'
import type { Page } from '../platform/http/call.ts'
import { html, pageHeaders, externalImagePageHeaders, type Template } from '../platform/http/html.ts'
import { shellMessages } from './messages.ts'

/**
 * The worker's pages: the list of tasks, the earnings, and one unit. Their script fetches the data, so the pages are the
 * same for everybody and contain no personal data.
 */
export const pages = (template: Template): Page[] => {
  const pageAt = (path: string, headers: Readonly<Record<string, string>>): Page => ({
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
        headers,
      )
    },
  })
  return [
    pageAt('/work', pageHeaders),
    pageAt('/work/earnings', pageHeaders),
    // Only this page may load images of the buyer.
    pageAt('/work/:assignmentId', externalImagePageHeaders),
  ]
}
