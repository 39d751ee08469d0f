import type { Page, PageAnswer } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { html, pageOf, type Html } from '../../platform/http/html.ts'
import type { MembersDeps } from '../membership/enrol.ts'
import { requireInvited } from '../membership/invitation.ts'
import { languageSwitch } from './language-switch.ts'
import { findSignedIn } from '../people/login.ts'
import { readPerson } from '../people/me.ts'
import { mePage, signInPage } from './me-page.ts'
import { consentVersion } from '../rules.ts'
import { fill, languageOf, wordsOf, type Language, type Words } from './messages.ts'

/** What the words leave open: who asks, and how long recordings are kept. */
type Facts = { readonly agent: string; readonly days: string }

const listOf = (texts: readonly string[], facts: Facts): Html[] =>
  texts.map((text) => html`<li>${fill(text, facts)}</li>`)

const consentPart = (words: Words, facts: Facts): Html =>
  html`<section id="step-consent" class="flow">
    <p class="muted">${fill(words.enrolLead, facts)}</p>
    <h2>${words.stepsTitle}</h2>
    <ol class="plain">
      ${listOf(words.steps, facts)}
    </ol>
    <h2>${words.recordedTitle}</h2>
    <ul class="plain">
      ${listOf(words.recorded, facts)}
    </ul>
    <h2>${words.limitsTitle}</h2>
    <p>${words.limits}</p>
    <form class="card pad flow">
      <label class="agree"><input type="checkbox" name="agree" /><span>${words.agree}</span></label>
      <p class="actions">
        <button class="btn main" type="submit" value="create">${words.makePasskey}</button>
        <button class="btn" type="submit" value="sign_in">${words.usePasskey}</button>
      </p>
    </form>
  </section>`

const laterParts = (words: Words, facts: Facts): Html =>
  html`<section id="step-codes" class="flow" hidden>
      <h2 tabindex="-1">${words.codesTitle}</h2>
      <p>${words.codesLead}</p>
      <pre class="codes"></pre>
      <p><button class="btn main" type="button">${words.codesKept}</button></p>
    </section>
    <section id="step-check" class="flow" hidden>
      <h2 tabindex="-1">${words.checkTitle}</h2>
      <p>${words.checkLead}</p>
    </section>
    <section id="step-done" class="flow" hidden>
      <h2 tabindex="-1">${words.doneTitle}</h2>
      <p>${fill(words.doneLead, facts)}</p>
      <p><a class="btn" href="/work?lang=${words.language}">${words.toWork}</a></p>
      <p><a href="/me?lang=${words.language}">${words.seeData}</a></p>
    </section>`

const enrolPage = (words: Words, language: Language, facts: Facts, token: string): PageAnswer =>
  pageOf(
    words.enrolTitle,
    html`${languageSwitch(language)}
      <h1>${words.enrolTitle}</h1>
      <div
        id="enrol"
        class="flow"
        data-token="${token}"
        data-version="${consentVersion}"
        data-language="${language}"
        data-words="${JSON.stringify({ wait: words.wait, waitDevice: words.waitDevice, agreeFirst: words.agreeFirst, failed: words.failed })}"
      >
        ${consentPart(words, facts)} ${laterParts(words, facts)}
        <p class="result" role="status" aria-live="polite"></p>
      </div>
      <noscript><p>${words.needsScript}</p></noscript>
      <script src="/check.js" defer></script>
      <script src="/assets/enrol.js" type="module"></script>`,
    200,
    language,
  )

const gonePage = (words: Words, language: Language): PageAnswer =>
  pageOf(
    words.linkGone,
    html`${languageSwitch(language)}
      <h1>${words.linkGone}</h1>
      <p class="muted">${words.linkGoneLead}</p>`,
    404,
    language,
  )

/** Who a link is from; undefined where it leads nowhere. */
const inviterOf = async ({ ctx, findName }: MembersDeps, token: string): Promise<string | undefined> =>
  inTransaction(ctx, 'system', async (tx) => {
    try {
      return await findName(tx, (await requireInvited(tx, token)).agentId)
    } catch (error) {
      if (error instanceof Refusal && error.code === 'not_found') return undefined
      throw error
    }
  })

/** The pages for people. Reading one changes nothing. */
export const pages = (deps: MembersDeps): Page[] => [
  {
    path: '/m/:token',
    handler: async (request) => {
      const { params, query } = request
      const language = languageOf(query['lang'], request.header('accept-language'))
      const words = wordsOf(language)
      const token = params['token'] ?? ''
      const agent = await inviterOf(deps, token)
      return agent === undefined
        ? gonePage(words, language)
        : enrolPage(words, language, { agent, days: String(deps.ctx.config.TELEMETRY_KEEP_DAYS) }, token)
    },
  },
  {
    path: '/me',
    handler: async (request) => {
      const { query } = request
      const language = languageOf(query['lang'], request.header('accept-language'))
      const words = wordsOf(language)
      const page = { origin: undefined, cookie: request.header('cookie') }
      const held = await inTransaction(deps.ctx, 'system', async (tx) => {
        const personId = await findSignedIn(tx, page)
        return personId === undefined ? undefined : readPerson(tx, deps, personId)
      })
      return held === undefined ? signInPage(words, language) : mePage(words, language, held)
    },
  },
]
