import { languageOf, languageSwitch } from '../members/index.ts'
import type { Page } from '../platform/http/call.ts'
import { html, pageHeaders, externalImagePageHeaders, type Template } from '../platform/http/html.ts'
import { shellMessages } from './messages.ts'

/**
 * The worker's pages: the list of work, what was earned, and one unit. The script fetches what they show, so that they
 * are the same for everybody and say nothing about who looks.
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
    // Only here is there anything of a buyer's to look at.
    pageAt('/work/:assignmentId', externalImagePageHeaders),
  ]
}
