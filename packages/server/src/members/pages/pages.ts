import type { Page, PageResponse } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { html, renderPage, type Html } from '../../platform/http/html.ts'
import type { MembersDeps } from '../membership/enrol.ts'
import { requireInvited } from '../membership/invitation.ts'
import { issuerMessages } from './issuer-messages.ts'
import { issuerPart, type OfferedIssuer } from './issuer-part.ts'
import { languageSwitch } from './language-switch.ts'
import { findSignedIn } from '../people/login.ts'
import { readPerson } from '../people/me.ts'
import { mePage, signInPage } from './me-page.ts'
import { returnPage } from './return-page.ts'
import { consentVersion } from '../rules.ts'
import { fillPlaceholders, languageOf, messagesOf, type Language, type Messages } from './messages.ts'

/** Placeholder values: the inviting agent, and how long recordings are kept. */
type Facts = { readonly agent: string; readonly days: string }
type InvitedIssuers = {
  readonly required: OfferedIssuer | undefined
  readonly offered: readonly OfferedIssuer[]
}
type Invitation = { readonly facts: Facts; readonly issuers: InvitedIssuers }

const listOf = (texts: readonly string[], facts: Facts): Html[] =>
  texts.map((text) => html`<li>${fillPlaceholders(text, facts)}</li>`)

type Step = keyof Messages['stepNext']
const stepNumbers: Readonly<Record<Step, string>> = { consent: '1', codes: '2', check: '3' }

/** Which step this is, and what comes next. */
const stepLine = ({ stepOf, stepNext }: Messages, step: Step): Html =>
  html`<p class="small muted">
    <b>${fillPlaceholders(stepOf, { n: stepNumbers[step] })}.</b> ${stepNext[step]}
  </p>`

const consentPart = (messages: Messages, facts: Facts): Html =>
  html`<section id="step-consent" class="flow">
    <p class="muted">${fillPlaceholders(messages.enrolLead, facts)}</p>
    ${stepLine(messages, 'consent')}
    <h2>${messages.stepsTitle}</h2>
    <ol class="plain">
      ${listOf(messages.steps, facts)}
    </ol>
    <h2>${messages.recordedTitle}</h2>
    <ul class="plain">
      ${listOf(messages.recorded, facts)}
    </ul>
    <h2>${messages.limitsTitle}</h2>
    <p>${messages.limits}</p>
    <form class="card pad flow">
      <label class="agree"><input type="checkbox" name="agree" /><span>${messages.agree}</span></label>
      <p class="actions">
        <button class="btn main" type="submit" value="create">${messages.makePasskey}</button>
        <button class="btn" type="submit" value="sign_in">${messages.usePasskey}</button>
      </p>
    </form>
  </section>`

/** The sign-in that the inviting owner wants: the person cannot decide anything without it. */
const companyStep = (language: Language, issuer: OfferedIssuer | undefined): Html =>
  issuer
    ? html`<section id="step-company" class="flow" hidden>
        <h2 tabindex="-1">${issuerMessages[language].title}</h2>
        ${issuerPart(language, { issuer, isRequired: true, back: `/approve?lang=${language}` })}
      </section>`
    : html``

const offeredPart = (language: Language, offered: readonly OfferedIssuer[]): Html =>
  offered.length === 0
    ? html``
    : html`<h3>${issuerMessages[language].title}</h3>
        ${offered.map((issuer) =>
          issuerPart(language, { issuer, isRequired: false, back: `/me?lang=${language}` }),
        )}`

const laterSteps = (messages: Messages, facts: Facts, issuers: InvitedIssuers): Html =>
  html`<section id="step-codes" class="flow" hidden>
      ${stepLine(messages, 'codes')}
      <h2 tabindex="-1">${messages.codesTitle}</h2>
      <p>${messages.codesLead}</p>
      <pre class="codes"></pre>
      <p class="muted">${messages.codesStored}</p>
      <p><button class="btn main" type="button">${messages.codesKept}</button></p>
    </section>
    <section id="step-check" class="flow" hidden>
      ${stepLine(messages, 'check')}
      <h2 tabindex="-1">${messages.checkTitle}</h2>
      <p>${messages.checkLead}</p>
      <p class="muted">${fillPlaceholders(messages.checkWhy, facts)}</p>
    </section>
    ${companyStep(messages.language, issuers.required)}
    <section id="step-done" class="flow" hidden>
      <h2 tabindex="-1">${messages.doneTitle}</h2>
      <p>${fillPlaceholders(messages.doneLead, facts)}</p>
      ${offeredPart(messages.language, issuers.offered)}
      <p><a class="btn" href="/work?lang=${messages.language}">${messages.toWork}</a></p>
      <p><a href="/approve?lang=${messages.language}">${messages.toApprove}</a></p>
      <p><a href="/me?lang=${messages.language}">${messages.seeData}</a></p>
    </section>`

const enrolPage = (messages: Messages, { facts, issuers }: Invitation, token: string): PageResponse =>
  renderPage(
    messages.enrolTitle,
    html`${languageSwitch(messages.language)}
      <h1>${messages.enrolTitle}</h1>
      <div
        id="enrol"
        class="flow"
        data-token="${token}"
        data-version="${consentVersion}"
        data-language="${messages.language}"
        data-words="${JSON.stringify({ wait: messages.wait, waitDevice: messages.waitDevice, agreeFirst: messages.agreeFirst, failed: messages.failed })}"
      >
        ${consentPart(messages, facts)} ${laterSteps(messages, facts, issuers)}
        <p class="result" role="status" aria-live="polite"></p>
      </div>
      <noscript><p>${messages.needsScript}</p></noscript>
      <script src="/check.js" defer></script>
      <script src="/assets/enrol.js" type="module"></script>`,
    200,
    messages.language,
  )

const expiredLinkPage = (messages: Messages, language: Language): PageResponse =>
  renderPage(
    messages.linkGone,
    html`${languageSwitch(language)}
      <h1>${messages.linkGone}</h1>
      <p class="muted">${messages.linkGoneLead}</p>`,
    404,
    language,
  )

/** The invitation behind a link; undefined when the link is unknown or expired. */
const findInvitation = async (
  { ctx, findName, issuers }: MembersDeps,
  token: string,
): Promise<Invitation | undefined> =>
  inTransaction(ctx, 'system', async (tx) => {
    try {
      const { agentId, memberId, requiredIssuer } = await requireInvited(tx, token)
      const agent = await findName(tx, agentId)
      if (agent === undefined) return undefined
      const offered = (await issuers.list(tx, agentId)).map((issuer) => ({ ...issuer, memberId }))
      const required = offered.find(({ name }) => name === requiredIssuer)
      return {
        facts: { agent, days: String(ctx.config.TELEMETRY_KEEP_DAYS) },
        issuers: { required, offered: offered.filter((one) => one !== required) },
      }
    } catch (error) {
      if (error instanceof Refusal && error.code === 'not_found') return undefined
      throw error
    }
  })

/** The pages for people. A GET changes nothing. */
export const pages = (deps: MembersDeps): Page[] => [
  returnPage,
  {
    path: '/m/:token',
    handler: async (request) => {
      const { params, query } = request
      const language = languageOf(query['lang'], request.header('accept-language'))
      const messages = messagesOf(language)
      const token = params['token'] ?? ''
      const invitation = await findInvitation(deps, token)
      return invitation === undefined
        ? expiredLinkPage(messages, language)
        : enrolPage(messages, invitation, token)
    },
  },
  {
    path: '/me',
    handler: async (request) => {
      const { query } = request
      const language = languageOf(query['lang'], request.header('accept-language'))
      const messages = messagesOf(language)
      const page = { origin: undefined, cookie: request.header('cookie') }
      const person = await inTransaction(deps.ctx, 'system', async (tx) => {
        const personId = await findSignedIn(tx, page)
        return personId === undefined ? undefined : readPerson(tx, deps, personId)
      })
      return person === undefined
        ? signInPage(messages, language)
        : mePage(messages, person, deps.ctx.config.PROOF_TOMBSTONE_DAYS)
    },
  },
]
