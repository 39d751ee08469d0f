import { authenticate, languageOf, languageSwitch } from '../members/index.ts'
import { inTransaction } from '../platform/db/db.ts'
import type { Page, PageResponse } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import { html, pageHeaders, renderPage, type Template } from '../platform/http/html.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { shellMessages } from './messages.ts'
import { findOwnAssignment } from './workers/assignment.ts'
import { readInputAddress } from './workers/input-address.ts'

type LinkRequest = {
  readonly assignmentId: string
  readonly field: string
  readonly cookie: string | undefined
}

/** The buyer's link in the person's own unit; undefined where there is none, or nobody is signed in. */
const findBuyerLink = async (
  ctx: Ctx,
  { assignmentId, field, cookie }: LinkRequest,
): Promise<URL | undefined> => {
  try {
    const { personId } = await authenticate(ctx, { origin: undefined, cookie, writes: false })
    const address = await inTransaction(ctx, 'system', async (tx) => {
      const assignment = await findOwnAssignment(tx, personId, assignmentId)
      return assignment && readInputAddress(tx, assignment, { field, type: 'link' })
    })
    const url = address === undefined ? null : URL.parse(address)
    return url?.protocol === 'https:' ? url : undefined
  } catch (error) {
    if (error instanceof Refusal && error.code === 'sign_in_required') return undefined
    throw error
  }
}

/**
 * The page before the buyer's link: it says where the link leads and what that site will see of the person. The link sends
 * no referrer.
 */
const linkPage =
  (ctx: Ctx): Page['handler'] =>
  async (request): Promise<PageResponse> => {
    const language = languageOf(request.query['lang'], request.header('accept-language'))
    const { link: messages } = shellMessages[language]
    const { assignmentId = '', field = '' } = request.params
    const url = await findBuyerLink(ctx, { assignmentId, field, cookie: request.header('cookie') })
    if (!url)
      return renderPage(
        messages.title,
        html`<h1>${messages.title}</h1>
          <p>${messages.gone}</p>`,
        404,
        language,
      )
    return renderPage(
      messages.title,
      html`${languageSwitch(language)}
        <h1>${messages.title}</h1>
        <p>${messages.host} <strong>${url.host}</strong>.</p>
        <p>${messages.seen} ${messages.notSeen}</p>
        <p>${messages.advice}</p>
        <p class="muted">${messages.address} <span class="address">${url.href}</span></p>
        <p>
          <a
            class="btn main"
            href="${url.href}"
            rel="noopener noreferrer external"
            referrerpolicy="no-referrer"
            >${messages.open} ↗</a
          >
        </p>`,
      200,
      language,
    )
  }

/**
 * The worker's pages: the list of tasks, the earnings, one unit, and the page before a link. A script fetches the data of
 * the first three, so they are the same for everybody and contain no personal data.
 */
export const pages = (ctx: Ctx, template: Template): Page[] => {
  const pageAt = (path: string): Page => ({
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
  })
  return [
    pageAt('/work'),
    pageAt('/work/earnings'),
    pageAt('/work/:assignmentId'),
    { path: '/work/:assignmentId/link/:field', handler: linkPage(ctx) },
  ]
}
