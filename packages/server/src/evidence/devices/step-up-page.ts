import type { Issuers } from '../../issuers/index.ts'
import {
  issuerMessages,
  issuerPart,
  languageOf,
  languageSwitch,
  type Language,
  type OfferedIssuer,
} from '../../members/index.ts'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import type { Page, PageResponse } from '../../platform/http/call.ts'
import { html, renderPage, type Html } from '../../platform/http/html.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { findSession } from '../../sessions/index.ts'
import type { Subject } from './challenge.ts'
import { readStepUpToken } from './step-up-token.ts'

const en = {
  title: 'Answer with a security key',
  lead: '{agent} asks you to answer with a security key: a small device that you plug in or hold to your phone, with a PIN or a fingerprint reader.',
  why: 'A program can imitate what people do in a browser. A security key is a device of its own, and a program needs one for itself.',
  none: 'You have no such key? Close this page and go back to {agent}. It may offer you another way.',
  factsTitle: 'What is stored',
  facts: [
    'The model of the key, and a number that the key makes for this service. No name, and nothing about your other accounts.',
    '{agent} learns the model. It does not learn which key it was, and other sites learn nothing.',
    'Your browser remembers the number, so that you can use the same key again. The service deletes it after 90 days without use.',
  ],
  use: 'Use my security key',
  other: 'Use another key',
  doneTitle: 'Thank you, this is enough.',
  doneLead: 'You can close this page and go back to {agent}.',
  gone: 'This link is no longer valid.',
  goneLead: 'It lasts for a day. Go back to the site that sent you here and try again.',
  needsScript: 'This page needs JavaScript to talk to your security key.',
  wait: 'One moment.',
  waitDevice: 'Follow what your browser and your security key ask for.',
  failed: {
    offline: 'The service did not answer. Check your connection and try again.',
    unsupported: 'This browser cannot use security keys.',
    cancelled: 'The key did not answer, or you cancelled. Try again.',
    not_found: 'This link is no longer valid.',
    nonce_expired: 'That took too long. Try again.',
  },
  refused: {
    device_unproven:
      'This key does not prove that it is a separate device. Passkeys in a phone, a browser or a password manager do not count. Use a security key, and let your browser show its model.',
    other: 'The answer of the key could not be checked. Try again, or use another key.',
  },
}
type StepUpMessages = typeof en

const de: StepUpMessages = {
  title: 'Mit einem Sicherheitsschlüssel antworten',
  lead: '{agent} bittet Sie, mit einem Sicherheitsschlüssel zu antworten: einem kleinen Gerät, das Sie einstecken oder an Ihr Telefon halten, mit einer PIN oder einem Fingerabdruckleser.',
  why: 'Ein Programm kann nachahmen, was Menschen in einem Browser tun. Ein Sicherheitsschlüssel ist ein eigenes Gerät, und ein Programm braucht selbst eines.',
  none: 'Sie haben keinen solchen Schlüssel? Schließen Sie diese Seite und kehren Sie zu {agent} zurück. Vielleicht gibt es dort einen anderen Weg.',
  factsTitle: 'Was gespeichert wird',
  facts: [
    'Das Modell des Schlüssels und eine Nummer, die der Schlüssel für diesen Dienst bildet. Kein Name und nichts über Ihre anderen Konten.',
    '{agent} erfährt das Modell. Welcher Schlüssel es war, erfährt die Seite nicht, und andere Seiten erfahren nichts.',
    'Ihr Browser merkt sich die Nummer, damit Sie denselben Schlüssel wieder verwenden können. Der Dienst löscht sie nach 90 Tagen ohne Verwendung.',
  ],
  use: 'Meinen Sicherheitsschlüssel verwenden',
  other: 'Einen anderen Schlüssel verwenden',
  doneTitle: 'Danke, das genügt.',
  doneLead: 'Sie können diese Seite schließen und zu {agent} zurückkehren.',
  gone: 'Dieser Link gilt nicht mehr.',
  goneLead:
    'Er gilt einen Tag. Gehen Sie zurück zu der Seite, die Sie hierher geschickt hat, und versuchen Sie es erneut.',
  needsScript: 'Diese Seite braucht JavaScript, um mit Ihrem Sicherheitsschlüssel zu sprechen.',
  wait: 'Einen Moment.',
  waitDevice: 'Folgen Sie dem, was Ihr Browser und Ihr Sicherheitsschlüssel verlangen.',
  failed: {
    offline: 'Der Dienst hat nicht geantwortet. Prüfen Sie die Verbindung und versuchen Sie es erneut.',
    unsupported: 'Dieser Browser kann keine Sicherheitsschlüssel verwenden.',
    cancelled: 'Der Schlüssel hat nicht geantwortet, oder Sie haben abgebrochen. Versuchen Sie es erneut.',
    not_found: 'Dieser Link gilt nicht mehr.',
    nonce_expired: 'Das hat zu lange gedauert. Versuchen Sie es erneut.',
  },
  refused: {
    device_unproven:
      'Dieser Schlüssel beweist nicht, dass er ein eigenes Gerät ist. Passkeys in einem Telefon, einem Browser oder einem Passwortmanager zählen nicht. Verwenden Sie einen Sicherheitsschlüssel, und lassen Sie Ihren Browser das Modell zeigen.',
    other:
      'Die Antwort des Schlüssels ließ sich nicht prüfen. Versuchen Sie es erneut, oder verwenden Sie einen anderen Schlüssel.',
  },
}
export const stepUpMessages: Readonly<Record<Language, StepUpMessages>> = { en, de }

/** The companies with which the member behind the subject can sign in instead. */
const companiesPart = (language: Language, { token, issuers }: StepUp): Html =>
  issuers.length === 0
    ? html``
    : html`<section id="step-company" class="flow">
        <h2>${issuerMessages[language].title}</h2>
        ${issuers.map((issuer) =>
          issuerPart(language, { issuer, isRequired: false, back: `/step-up/${token}?lang=${language}` }),
        )}
      </section>`

type StepUp = {
  readonly agent: string
  readonly token: string
  readonly issuers: readonly OfferedIssuer[]
}

const askPage = (language: Language, stepUp: StepUp): PageResponse => {
  const { agent, token } = stepUp
  const messages = stepUpMessages[language]
  const fill = (text: string) => text.replaceAll('{agent}', agent)
  const { wait, waitDevice, failed, refused } = messages
  return renderPage(
    messages.title,
    html`${languageSwitch(language)}
      <div
        id="step-up"
        class="flow"
        data-token="${token}"
        data-words="${JSON.stringify({ wait, waitDevice, failed, refused })}"
      >
        <section id="step-ask" class="flow">
          <h1>${messages.title}</h1>
          <p>${fill(messages.lead)}</p>
          <p>${messages.why}</p>
          <p class="actions">
            <button class="btn main" type="button">${messages.use}</button>
            <button class="btn" type="button" hidden>${messages.other}</button>
          </p>
          <p class="result" role="status" aria-live="polite"></p>
          <p class="muted">${fill(messages.none)}</p>
          <h2>${messages.factsTitle}</h2>
          <ul class="plain">
            ${messages.facts.map((text) => html`<li>${fill(text)}</li>`)}
          </ul>
        </section>
        ${companiesPart(language, stepUp)}
        <section id="step-done" class="flow" hidden>
          <h1 tabindex="-1">${messages.doneTitle}</h1>
          <p>${fill(messages.doneLead)}</p>
        </section>
      </div>
      <noscript><p>${messages.needsScript}</p></noscript>
      <script src="/assets/step-up.js" type="module"></script>`,
    200,
    language,
  )
}

const expiredPage = (language: Language): PageResponse => {
  const { gone, goneLead } = stepUpMessages[language]
  return renderPage(
    gone,
    html`${languageSwitch(language)}
      <h1>${gone}</h1>
      <p class="muted">${goneLead}</p>`,
    404,
    language,
  )
}

export type StepUpPageDeps = {
  readonly ctx: Ctx
  /** Injected by the wiring: the name of an agent. */
  readonly findName: (tx: Tx, agentId: string) => Promise<string | undefined>
  readonly issuers: Issuers
}

/** A proof is about a person, so only a member can show one: the subject itself, or whose session it is. */
const findMemberId = async (tx: Tx, { agentId, mode, subjectRef }: Subject): Promise<string | undefined> => {
  const session = await findSession(tx, { agentId, mode, sessionId: subjectRef })
  return session ? (session.memberRef ?? undefined) : subjectRef
}

/** What the page of a link shows; undefined for a link that is invalid or over. */
const findStepUp = async (
  tx: Tx,
  { ctx, findName, issuers }: StepUpPageDeps,
  token: string,
): Promise<StepUp | undefined> => {
  const subject = readStepUpToken(ctx, token, await readNow(tx))
  const agent = subject && (await findName(tx, subject.agentId))
  if (!subject || agent === undefined) return undefined
  const memberId = await findMemberId(tx, subject)
  const offered = memberId === undefined ? [] : await issuers.list(tx, subject.agentId)
  return { agent, token, issuers: offered.map((issuer) => ({ ...issuer, memberId })) }
}

/** The page on which a person answers with an attested authenticator, or signs in with a company. A GET changes nothing. */
export const pages = (deps: StepUpPageDeps): Page[] => [
  {
    path: '/step-up/:token',
    handler: async (request) => {
      const language = languageOf(request.query['lang'], request.header('accept-language'))
      const stepUp = await inTransaction(deps.ctx, 'system', (tx) =>
        findStepUp(tx, deps, request.params['token'] ?? ''),
      )
      return stepUp === undefined ? expiredPage(language) : askPage(language, stepUp)
    },
  },
]
